//! The server dies: what becomes of the requests that it had, and of those that come meanwhile.

use crate::core::slot::Lost;
use crate::core::testing::{Script, World, answer_line, call_line, ids, refused, secs, value};

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

/// A world whose server died, and whose next one is silent, so that the session is being replayed.
fn down(change: impl FnOnce(&mut crate::config::Server)) -> World {
    let mut world = World::new(change);
    world.open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.forget();
    world
}

#[test]
fn s252_idle_death_is_a_restart_that_the_client_does_not_see() {
    let mut world = open();
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.generation().0, 2);
    assert!(world.slot.lifecycle().is_connected());
    let disconnected = &world.told("server_disconnected")[0];
    assert_eq!((&disconnected["reason"], &disconnected["wasIntentional"]), (&"transport-exit".into(), &false.into()));
    assert_eq!(world.told("server_exited")[0]["signal"], "SIGKILL");
    assert_eq!(world.told("server_reconnected")[0]["attemptsTaken"], 1);

    world.server_got();
    world.call("1", "t");
    assert_eq!(world.server_got(), [call_line("1", "t")]);
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")]);
}

#[test]
fn s27_the_time_that_it_was_down_counts_from_the_death_over_all_failed_attempts() {
    let mut world = open();
    world.next.extend([(); 2].map(|()| Script { refuses: &["initialize"], ..Script::default() }));
    world.advance(secs(60));
    world.server_dies();
    world.advance(secs(1));
    world.advance(secs(2));
    assert!(world.slot.lifecycle().is_connected());
    let told = &world.told("server_reconnected")[0];
    assert_eq!((&told["attemptsTaken"], &told["downMs"]), (&3.into(), &3000.into()));
}

#[test]
fn death_in_a_call_is_answered_at_once_with_all_that_is_known() {
    let mut world = open();
    world.call("7", "write");
    let tail = vec!["panic: out of cheese".to_owned()];
    world.server_ends(Lost { ending: Some(crate::core::ending::Ending::Code(3)), tail, ..Lost::default() });
    let line = world.client_got_one();
    let data = refused(&line, "7", -31000);
    assert_eq!((&data["sent"], &data["retryable"]), (&true.into(), &false.into()));
    assert_eq!((&data["generation"], &data["reason"]), (&1.into(), &"transport-exit".into()));
    assert_eq!((&data["exit"], &data["lastError"]), (&serde_json::json!({"code": 3}), &"exit code 3".into()));
    assert_eq!(data["stderrTail"], serde_json::json!(["panic: out of cheese"]));
    let message = value(&line)["error"]["message"].to_string();
    assert!(message.contains("Server disconnected") && message.contains("write"), "s11: {message}");
    for phrase in ["connection closed", "timed out", "session not found"] {
        assert!(!message.to_lowercase().contains(phrase), "clients match on `{phrase}`");
    }
    assert!(!world.server_got_methods().contains(&"tools/call".to_owned()), "s62: never twice");
}

#[test]
fn a_read_only_request_is_sent_once_more_and_then_answered() {
    let mut world = open();
    world.request("8", "resources/read");
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
    assert!(world.server_got_methods().contains(&"resources/read".to_owned()));
    world.server_dies();
    let data = refused(&world.client_got_one(), "8", -31000);
    assert_eq!((&data["sent"], &data["retryable"]), (&true.into(), &true.into()));
    world.advance(secs(5));
    assert!(world.slot.lifecycle().is_connected());
    assert!(!world.server_got_methods().contains(&"resources/read".to_owned()), "a second death answers it");
}

#[test]
fn exactly_the_methods_of_the_contract_are_sent_again() {
    const AGAIN: [&str; 11] = [
        "ping",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "resources/subscribe",
        "x/list",
    ];
    let never =
        ["tools/call", "tasks/get", "tasks/result", "tasks/cancel", "tasks/update", "resources/unsubscribe", "x/y"];
    for method in AGAIN.iter().chain(&never) {
        let ignores: &[_] = if *method == "resources/unsubscribe" { &["resources/unsubscribe"] } else { &AGAIN };
        let mut world = World::with_servers([Script { ignores, ..Script::default() }], |_| ());
        world.open();
        world.request("8", method);
        world.server_dies();
        assert_eq!(world.server_got_methods().contains(&(*method).to_owned()), AGAIN.contains(method), "{method}");
        let refused = world.client_got().iter().any(|line| value(line)["error"]["code"] == -31000);
        assert_eq!(refused, never.contains(method), "{method}");
    }
}

#[test]
fn a_subscription_whose_end_was_lost_goes_on() {
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}}"#;
    let mut world = World::with_servers([Script { ignores: &["resources/unsubscribe"], ..Script::default() }], |_| ());
    world.open();
    world.say(subscribe);
    world.say(&subscribe.replace("subscribe", "unsubscribe").replace("\"id\":1", "\"id\":2"));
    world.client_got_one();
    world.server_dies();
    assert_eq!(refused(&world.client_got_one(), "2", -31000)["sent"], true);
    assert_eq!(world.server_got_methods().last().map(String::as_str), Some("resources/subscribe"));
}

#[test]
fn a_request_while_the_server_restarts_waits_and_goes_to_the_new_one_in_order() {
    let mut world = open();
    world.lingering = true;
    world.call("1", "lost");
    world.request("2", "resources/read");
    world.server_dies();
    world.call("3", "a");
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    world.call("4", "b");
    world.client_got();
    assert_eq!(world.generation().0, 1, "the old tree is not gone");
    world.gone();
    let got: Vec<_> = world.server_got().into_iter().skip(2).collect();
    assert_eq!(got[1..], [call_line("3", "a"), call_line("4", "b")], "what was sent first goes first, as it was");
    assert_eq!(ids(&got), ["2", "3", "4"], "a notification for nobody is dropped");
    for id in ["4", "2", "3"] {
        world.server_answers(id);
    }
    assert_eq!(world.client_got(), ["4", "2", "3"].map(answer_line));
}

#[test]
fn a_hold_that_is_over_is_answered() {
    let mut world = down(|server| server.restart.hold = secs(3));
    world.call("1", "t");
    world.advance(secs(2));
    world.call("2", "t");
    world.advance(secs(1));
    let data = refused(&world.client_got_one(), "1", -31002);
    assert_eq!(
        (&data["sent"], &data["retryable"], &data["reason"]),
        (&false.into(), &true.into(), &"held-too-long".into())
    );
    world.advance(secs(2));
    refused(&world.client_got_one(), "2", -31002);
    assert_eq!(world.told("request_failed").len(), 2);
}

#[test]
fn a_full_hold_is_answered_at_once() {
    let mut world = down(|server| server.restart.hold_max_requests = 2);
    for id in ["1", "2", "3"] {
        world.call(id, "t");
    }
    let data = refused(&world.client_got_one(), "3", -31007);
    assert_eq!((&data["sent"], &data["retryable"]), (&false.into(), &true.into()));

    let mut world = down(|server| server.restart.hold_max_bytes = 100);
    world.call("1", "a");
    world.call("2", &"x".repeat(100));
    refused(&world.client_got_one(), "2", -31007);
}

#[test]
fn lines_that_were_never_written_wait_again_and_are_not_failed() {
    let mut world = open();
    world.call("1", "written");
    world.call("2", "not written");
    world.call("3", "not written either");
    world.server_dies_unread(2);
    refused(&world.client_got_one(), "1", -31000);
    let got: Vec<_> = world.server_got().into_iter().skip(2).collect();
    assert_eq!(got, [call_line("2", "not written"), call_line("3", "not written either")]);
}

#[test]
fn what_was_never_written_says_so_when_it_is_refused() {
    let mut world = World::new(|server| server.restart.hold = secs(3));
    world.open();
    world.next.push_back(Script::deaf());
    world.call("1", "t");
    world.server_dies_unread(1);
    world.advance(secs(3));
    let data = refused(&world.client_got_one(), "1", -31002);
    assert_eq!(data["sent"], false);
}

#[test]
fn nothing_of_a_dead_generation_is_delivered() {
    let mut world = open();
    let old = world.generation();
    world.request("8", "resources/read");
    world.server_dies();
    world.server_of_says(old, &answer_line("8"));
    world.server_of_says(old, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#);
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.told("stale_result").len(), 2);
    world.server_answers("8");
    assert_eq!(world.client_got(), [answer_line("8")]);
}

#[test]
fn a_transport_that_breaks_is_a_death() {
    let mut world = open();
    world.call("1", "t");
    world.server_ends(Lost { transport_error: Some("it closed its stdin".to_owned()), ..Lost::default() });
    let data = refused(&world.client_got_one(), "1", -31000);
    assert_eq!((&data["reason"], &data["lastError"]), (&"transport-error".into(), &"it closed its stdin".into()));
    assert!(data["exit"].is_null(), "nothing is known of an exit");
    assert_eq!(world.generation().0, 2);
}

#[test]
fn an_old_death_does_not_explain_a_new_failure() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open();
    world.server_dies();
    world.forget();
    world.call("1", "t");
    world.advance(secs(5));
    let data = refused(&world.client_got_one(), "1", -31001);
    assert!(data["exit"].is_null() && data["lastError"].is_null(), "{data}");
}

#[test]
fn s288_many_callers_wait_for_one_attempt() {
    let mut world = open();
    world.lingering = true;
    world.server_dies();
    for id in 0..50 {
        world.call(&id.to_string(), "t");
    }
    world.gone();
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.server_got_methods().iter().filter(|method| *method == "tools/call").count(), 50);
    for id in 0..50 {
        world.server_answers(&id.to_string());
    }
    assert_eq!(world.client_got().len(), 50);
}
