//! The handshake era: the client's opening goes through once, and is replayed to every later process.

use crate::core::testing::{
    INITIALIZE, INITIALIZED, Script, World, answer_line, millis, raw_id, refused, secs, stateless, value,
};

#[test]
fn the_clients_own_opening_goes_through_unchanged() {
    let mut world = World::new(|_| ());
    assert_eq!(world.server_got(), [""; 0], "a fresh server hears nothing of ours");
    world.say(INITIALIZE);
    world.say(INITIALIZED);
    assert_eq!(world.server_got(), [INITIALIZE, INITIALIZED]);
    let told = &world.told("server_connected")[0];
    assert_eq!((&told["protocolVersion"], &told["pid"]), (&"2025-06-18".into(), &101.into()));
}

#[test]
fn the_replay_is_byte_exact_but_for_the_id_and_the_reply_is_swallowed() {
    let mut world = World::new(|_| ());
    world.open();
    world.server_dies();
    let got = world.server_got();
    let ours = raw_id(&got[0]);
    assert_ne!(ours, "0.0");
    assert_eq!(got[0], INITIALIZE.replace("0.0", &ours));
    assert_eq!(got[1], INITIALIZED);
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn the_last_level_and_the_live_subscriptions_are_replayed_and_their_answers_swallowed() {
    let mut world = World::with_servers([Script { refuses: &["x"], ..Script::default() }], |_| ());
    world.open();
    let level = |id: u8, level: &str| {
        format!(r#"{{"id":{id},"method":"logging/setLevel","params":{{"level":"{level}"}},"jsonrpc":"2.0"}}"#)
    };
    let subscribe = |id: u8, what: &str, uri: &str| {
        format!(r#"{{"jsonrpc":"2.0", "id":{id},"method":"resources/{what}","params":{{"uri":"{uri}"}}}}"#)
    };
    for line in [
        level(1, "debug"),
        subscribe(2, "subscribe", "file:///a"),
        subscribe(3, "subscribe", "file:///b"),
        level(4, "error"),
        subscribe(5, "unsubscribe", "file:///a"),
    ] {
        world.say(&line);
    }
    world.server_dies();
    let got = world.server_got();
    let replayed: Vec<_> = got.iter().skip(2).map(|line| line.replace(&raw_id(line), "ID")).collect();
    let expected =
        [level(4, "error"), subscribe(3, "subscribe", "file:///b")].map(|line| line.replace(&raw_id(&line), "ID"));
    assert_eq!(replayed, expected);
    assert_eq!(world.client_got().len(), 5, "the client's own answers and no more");
    let preserved = &world.told("server_reconnected")[0]["preserved"];
    assert_eq!(preserved, &serde_json::json!(["handshake", "logging level and subscriptions"]));
}

#[test]
fn state_that_the_new_server_refuses_is_told_and_nothing_else() {
    let mut world = World::new(|_| ());
    world.open();
    world.request("1", "logging/setLevel");
    world.next.push_back(Script { refuses: &["logging/setLevel"], ..Script::default() });
    world.forget();
    world.server_dies();
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.told("replay_refused"), [serde_json::json!({ "what": "logging/setLevel" })]);
}

#[test]
fn subscriptions_that_a_process_refuses_are_told_once_for_each_process() {
    let mut world = World::new(|_| ());
    world.open();
    for id in 1..=3 {
        world.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"u:{id}"}}}}"#
        ));
    }
    world.next.extend([(); 2].map(|()| Script { refuses: &["resources/subscribe"], ..Script::default() }));
    world.server_dies();
    assert_eq!(world.told("replay_refused"), [serde_json::json!({ "what": "resources/subscribe" })]);
    world.server_dies();
    world.advance(secs(1));
    assert_eq!(world.told("replay_refused").len(), 2);
}

#[test]
fn a_level_that_never_succeeded_is_not_replayed() {
    let mut world = World::with_servers([Script { refuses: &["logging/setLevel"], ..Script::default() }], |_| ());
    world.open();
    world.request("1", "logging/setLevel");
    world.server_dies();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
}

#[test]
fn another_version_fails_the_attempt() {
    let mut world = World::new(|_| ());
    world.open();
    world.next.push_back(Script { version: "2024-11-05", ..Script::default() });
    world.lingering = true;
    world.server_dies();
    world.call("1", "t");
    world.gone();
    let data = refused(&world.client_got_one(), "1", -31006);
    assert!(data["lastError"].as_str().is_some_and(|text| text.contains("handshake_incompatible")), "{data}");
    let told = &world.told("handshake_incompatible")[0];
    assert_eq!((&told["expected"], &told["found"]), (&"2025-06-18".into(), &"2024-11-05".into()));
    world.gone();
    world.advance(secs(1));
    assert!(world.slot.lifecycle().is_connected(), "the next one speaks it again");
}

#[test]
fn other_capabilities_are_an_event_and_the_session_goes_on() {
    let mut world = World::new(|_| ());
    world.open();
    world.next.push_back(Script { capabilities: "{}", ..Script::default() });
    world.server_dies();
    let told = &world.told("server_reconnected")[0];
    assert_eq!(told["capabilitiesChanged"], true);
    assert_eq!(told["capabilities"], serde_json::json!({}), "those of the new process");
    assert_ne!(told["oldHash"], told["newHash"]);
}

#[test]
fn a_refused_or_unreadable_replay_fails_the_attempt() {
    for script in
        [Script { refuses: &["initialize"], ..Script::default() }, Script { version: "\",\"x", ..Script::default() }]
    {
        let mut world = World::new(|_| ());
        world.open();
        world.next.push_back(script);
        world.server_dies();
        assert!(!world.slot.lifecycle().is_connected());
        assert_eq!(world.told("mcp_restart_failed").len(), 1);
        world.advance(secs(1));
        assert_eq!(world.generation().0, 3);
        assert!(world.slot.lifecycle().is_connected());
    }
}

#[test]
fn s101_a_replay_without_answer_ends_at_the_handshake_timeout() {
    let mut world = World::new(|server| server.restart.hold = secs(60));
    world.open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.call("1", "t");
    world.advance(secs(30) - millis(1));
    assert_eq!(world.client_got(), [""; 0]);
    world.advance(millis(1));
    let data = refused(&world.client_got_one(), "1", -31006);
    assert!(data["lastError"].as_str().is_some_and(|text| text.contains("handshake.timeout")), "{data}");
}

#[test]
fn an_initialize_that_was_unanswered_at_death_is_sent_again() {
    let mut world = World::with_servers([Script { dies_on: Some("initialize"), ..Script::default() }], |_| ());
    world.say(INITIALIZE);
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.server_got(), [INITIALIZE], "the same bytes, the same id");
    let line = world.client_got_one();
    assert_eq!(raw_id(&line), "0.0");
    assert!(!value(&line)["result"].is_null());
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn what_follows_an_initialize_that_is_sent_again_waits_for_its_answer() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.request("2", "resources/read");
    world.server_dies();
    assert_eq!(world.server_got(), [INITIALIZE]);
    world.server_says(r#"{"jsonrpc":"2.0","id":0.0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#);
    assert_eq!(world.server_got_methods(), ["resources/read"]);
}

#[test]
fn a_ping_before_the_answer_to_initialize_does_not_lift_its_limit() {
    let mut world = World::with_servers([Script { ignores: &["initialize"], ..Script::default() }], |_| ());
    world.say(INITIALIZE);
    world.request("1", "ping");
    assert_eq!(world.client_got(), [answer_line("1")]);
    world.advance(secs(30));
    assert_eq!(world.generation().0, 2, "handshake.timeout");
    assert_eq!(raw_id(&world.client_got_one()), "0.0");
}

#[test]
fn an_initialize_that_was_refused_opens_no_session() {
    let mut world = World::with_servers([Script { refuses: &["initialize"], ..Script::default() }], |_| ());
    world.say(INITIALIZE);
    assert!(world.client_got_one().contains("-32601"), "the server's own words");
    world.server_dies();
    assert_eq!(world.server_got(), [""; 0], "nothing is replayed");
    world.say(INITIALIZE);
    assert_eq!(world.server_got(), [INITIALIZE]);
    world.client_got_one();
}

#[test]
fn an_initialized_that_comes_while_the_server_is_down_is_not_lost() {
    let mut world = World::new(|_| ());
    world.say(INITIALIZE);
    world.lingering = true;
    world.server_dies();
    world.say(INITIALIZED);
    world.gone();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    assert_eq!(world.server_got_methods(), ["notifications/roots/list_changed"]);
}

#[test]
fn a_second_initialize_waits_no_longer_than_any_request() {
    let mut world = World::with_servers([Script::deaf()], |server| {
        server.restart.hold = secs(3);
        server.restart.delays = crate::config::Delays::Schedule(vec![secs(30)]);
    });
    world.say(INITIALIZE);
    world.server_says(r#"{"jsonrpc":"2.0","id":0.0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#);
    world.client_got_one();
    world.say(&INITIALIZE.replace("0.0", "9"));
    world.server_dies();
    world.advance(secs(3));
    refused(&world.client_got_one(), "9", -31002);
}

#[test]
fn an_initialize_that_the_client_gave_up_is_not_waited_for() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |server| server.handshake.timeout = secs(3));
    world.say(INITIALIZE);
    world.server_dies();
    assert_eq!(world.server_got(), [INITIALIZE]);
    world.cancel("0.0");
    world.advance(secs(31));
    assert_eq!(world.generation().0, 2, "nothing is held against it");
    world.server_got();
    world.say(&INITIALIZE.replace("0.0", "1"));
    assert_eq!(world.server_got_methods(), ["initialize"]);
    world.advance(secs(4));
    assert_eq!(world.generation().0, 3, "handshake.timeout, and the next delay");
    assert_eq!(raw_id(&world.client_got_one()), "1");
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn without_replay_a_new_process_hears_the_client_alone() {
    let mut world = World::new(|server| server.handshake.replay = false);
    world.open();
    world.server_dies();
    assert!(world.slot.lifecycle().is_connected(), "the session is there with the process");
    assert_eq!(world.server_got(), [""; 0]);
    world.call("1", "t");
    assert_eq!(world.server_got_methods(), ["tools/call"]);
}

#[test]
fn without_replay_streams_end_with_their_process() {
    let mut world = World::with_servers([], |server| server.handshake.replay = false);
    world.open_stateless();
    let listen = |id: &str| stateless(id, "subscriptions/listen", r#""notifications":{},"#);
    world.say(&listen("7"));
    world.client_got_one();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let ended = value(&world.client_got_one());
    assert_eq!((&ended["method"], &ended["params"]["requestId"]), (&"notifications/cancelled".into(), &7.into()));
    world.say(&listen("8"));
    world.server_dies();
    assert_eq!(refused(&world.client_got_one(), "8", -31000)["sent"], true);
}

#[test]
fn s17_a_client_that_sends_no_opening_is_served_too() {
    let mut world = World::new(|_| ());
    world.call("1", "t");
    assert_eq!(world.server_got_methods(), ["tools/call"]);
    assert!(world.slot.lifecycle().is_connected());
    world.server_dies();
    refused(&world.client_got_one(), "1", -31000);
    world.call("2", "t");
    assert_eq!(world.server_got_methods(), ["tools/call"]);
}

#[test]
fn an_opening_that_one_process_had_was_sent_though_the_next_one_never_read_it() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_dies();
    assert_eq!(world.server_got(), [INITIALIZE], "the second process");
    world.server_dies_unread(1);
    assert_eq!(world.client_got(), [""; 0], "it waits for the first connection");
    world.tell(|slot, now, out| slot.signal(now, 15, out));
    assert_eq!(refused(&world.client_got_one(), "0.0", -31000)["sent"], true);
}
