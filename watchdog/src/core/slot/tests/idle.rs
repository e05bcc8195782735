//! A server that nobody needs is stopped, and started again when somebody does.

use std::sync::Arc;

use crate::config::{OnCall, Server, Start};
use crate::core::testing::{INITIALIZE, Script, World, call_line, ids, millis, raw_id, refused, secs, stateless};
use crate::exit::Exit;

fn idle(server: &mut Server) {
    server.idle_stop = Some(secs(600));
}

fn open() -> World {
    let mut world = World::new(idle);
    world.open();
    world
}

/// One that was stopped.
fn stopped() -> World {
    let mut world = open();
    world.advance(secs(600));
    assert!(world.slot.snapshot().standby);
    world.forget();
    world
}

fn state(world: &World) -> &'static str {
    world.slot.lifecycle().state_name()
}

#[test]
fn an_idle_server_stops_and_the_next_call_gets_its_answer() {
    let mut world = open();
    world.advance(secs(600) - millis(1));
    assert_eq!(state(&world), "Connected");
    world.advance(millis(1));
    assert_eq!(state(&world), "Disconnected");
    assert_eq!(world.told("server_idle")[0]["idleMs"], 600_000);
    let gone = world.told("server_disconnected");
    assert_eq!((&gone[0]["wasIntentional"], &gone[0]["reason"]), (&true.into(), &"idle-stop".into()));
    assert_eq!(world.slot.next_wake(), None, "it costs nothing");
    world.advance(secs(86_400));
    assert_eq!((world.generation().0, world.client_got()), (1, vec![]));
    world.call("1", "t");
    assert_eq!(world.generation().0, 2);
    let got = world.server_got();
    assert!(got[0].contains("initialize") && got[1].contains("notifications/initialized"), "{got:?}");
    assert_eq!(got[2..], [call_line("1", "t")]);
    world.server_answers("1");
    assert_eq!(ids(&world.client_got()), ["1"]);
    assert_eq!(world.told("server_connected")[0]["attemptsTaken"], 1);
    world.advance(secs(600));
    assert_eq!(state(&world), "Disconnected", "and again");
}

#[test]
fn each_word_of_the_client_and_each_answer_begins_the_time_anew() {
    let mut world = World::new(|server| {
        idle(server);
        server.tool_timeout = secs(86_400);
    });
    world.open();
    world.advance(secs(300));
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    world.advance(secs(599));
    world.call("1", "t");
    world.advance(secs(3000));
    assert_eq!(state(&world), "Connected", "it owes an answer");
    world.server_answers("1");
    world.advance(secs(599));
    assert_eq!(state(&world), "Connected");
    world.advance(secs(1));
    assert_eq!(state(&world), "Disconnected");
}

#[test]
fn a_server_that_is_owed_an_answer_is_not_idle_for_as_long_as_one_may_come() {
    let mut world = World::new(|server| {
        idle(server);
        server.probe.busy_max = secs(7000);
    });
    world.open();
    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}"#);
    world.advance(secs(6000));
    assert_eq!(state(&world), "Connected");
    world.say(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    world.advance(secs(1200));
    assert_eq!(state(&world), "Disconnected");

    let mut world = open();
    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}"#);
    world.advance(secs(1200));
    assert_eq!(state(&world), "Disconnected", "the client never answers");
}

#[test]
fn nor_is_one_whose_news_somebody_waits_for() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"u"}}"#);
    world.advance(secs(6000));
    assert_eq!(state(&world), "Connected");
    world.say(r#"{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"u"}}"#);
    world.advance(secs(1200));
    assert_eq!(state(&world), "Disconnected");

    let mut world = World::new(idle);
    world.open_stateless();
    world.say(&stateless("1", "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#));
    world.advance(secs(6000));
    assert_eq!(state(&world), "Connected");
    world.cancel("1");
    world.advance(secs(1200));
    assert_eq!(state(&world), "Disconnected");
}

#[test]
fn nor_is_one_with_a_task() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}"#);
    world.server_says(r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"T","status":"working","ttl":6000000}}}"#);
    world.advance(secs(5900));
    assert_eq!(state(&world), "Connected");
    world.server_says(
        r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"T","status":"failed"}}"#,
    );
    world.advance(secs(1200));
    assert_eq!(state(&world), "Disconnected");
}

#[test]
fn checks_are_no_use_of_it_and_wake_nobody() {
    let mut world = World::new(|server| {
        idle(server);
        server.health.interval = Some(secs(100));
    });
    world.open();
    for _ in 0..6 {
        world.advance(secs(99));
        while world.chain.is_some() {
            world.probe_passes();
        }
        world.advance(secs(1));
        while world.chain.is_some() {
            world.probe_passes();
        }
    }
    world.advance(secs(600));
    assert_eq!(state(&world), "Disconnected");
    world.advance(secs(86_400));
    assert_eq!((world.chain, world.generation().0), (None, 1));
    world.tell(|slot, now, out| assert!(!slot.probe_now(now, out)));
    assert_eq!(world.generation().0, 1);
}

#[test]
fn a_list_that_is_known_starts_nothing_and_one_of_other_files_does() {
    let mut world = open();
    world.request("1", "tools/list");
    world.advance(secs(600));
    world.forget();
    world.request("2", "tools/list");
    let list = world.client_got_one();
    assert!(raw_id(&list) == "2" && list.contains(r#""tools":[{"name":"a"}]"#), "{list}");
    assert_eq!((world.generation().0, state(&world)), (1, "Disconnected"));
    world.request("3", "prompts/list");
    assert_eq!((world.generation().0, raw_id(&world.client_got_one())), (2, "3".to_owned()), "nobody knows that one");

    world.advance(secs(600));
    world.script.tools = r#"[{"name":"b"}]"#;
    world.tell(|slot, now, _| slot.file_changed(now, "a.py".to_owned()));
    world.advance(secs(10));
    assert_eq!((world.generation().0, state(&world)), (2, "Disconnected"));
    world.forget();
    world.request("4", "tools/list");
    assert_eq!(world.generation().0, 3);
    let got = world.client_got();
    let answers: Vec<_> = got.iter().filter(|line| line.contains("\"id\"")).collect();
    assert!(answers.len() == 1 && answers[0].contains(r#""tools":[{"name":"b"}]"#), "{got:?}");
}

#[test]
fn where_the_new_files_do_not_start_the_last_lists_are_served_again() {
    let mut world = open();
    world.request("1", "tools/list");
    world.advance(secs(600));
    world.tell(|slot, now, _| slot.file_changed(now, "a.py".to_owned()));
    world.advance(secs(1));
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.forget();
    world.request("2", "tools/list");
    refused(&world.client_got_one(), "2", -31006);
    world.request("3", "tools/list");
    let list = world.client_got_one();
    assert!(raw_id(&list) == "3" && list.contains(r#""tools":[{"name":"a"}]"#), "{list}");
}

/// As one that a launcher fetches first: longer than `restart.hold`, and no longer than `handshake.timeout`.
#[test]
fn a_start_may_take_its_time_and_no_call_pays_for_it() {
    for on_call in [OnCall::Attempt, OnCall::Wait, OnCall::Error] {
        let mut world = World::new(|server| {
            idle(server);
            server.restart.on_call = on_call;
        });
        world.open();
        world.advance(secs(600));
        world.forget();
        world.script.ignores = &["initialize"];
        world.call("1", "t");
        world.call("2", "t");
        world.advance(secs(29));
        assert_eq!((world.client_got(), world.generation().0), (vec![], 2), "{on_call:?}");
        world.advance(secs(2));
        let got = world.client_got();
        assert_eq!(ids(&got), ["1", "2"], "{on_call:?}");
        // From here on it is down as any other.
        world.call("3", "t");
        world.advance(secs(11));
        assert_eq!(ids(&world.client_got()), ["3"], "{on_call:?}");
    }
}

#[test]
fn what_the_client_says_without_a_question_starts_nothing() {
    let mut world = stopped();
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#);
    world.cancel("99");
    world.say(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#);
    assert_eq!((world.generation().0, state(&world), world.client_got()), (1, "Disconnected", vec![]));
}

#[test]
fn the_state_of_the_session_is_there_again() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#);
    world.advance(secs(600));
    world.forget();
    world.call("2", "t");
    let methods = ["initialize", "notifications/initialized", "logging/setLevel", "tools/call"];
    assert_eq!(world.server_got_methods(), methods);
}

#[test]
fn a_call_during_the_stop_waits_until_the_tree_is_gone() {
    let mut world = open();
    world.lingering = true;
    world.advance(secs(600));
    assert_eq!(state(&world), "Disabling");
    world.call("1", "t");
    assert_eq!(world.client_got(), [""; 0]);
    world.gone();
    world.server_answers("1");
    assert_eq!(ids(&world.client_got()), ["1"]);
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_server_that_does_not_wake_up_is_told_of_as_any_other() {
    let mut world = stopped();
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.call("1", "t");
    let data = refused(&world.client_got_one(), "1", -31006);
    assert_eq!(data["lastError"], "exit code 1");
    world.script = Script::default();
    world.advance(secs(60));
    world.call("2", "t");
    world.server_answers("2");
    assert_eq!(ids(&world.client_got()), ["2"]);
}

#[test]
fn a_lazy_server_stops_too_and_both_stand_by() {
    let mut world = World::new(|server| {
        idle(server);
        server.start = Start::Lazy;
    });
    assert!(world.slot.snapshot().standby);
    world.say(INITIALIZE);
    assert!(!world.slot.snapshot().standby);
    world.advance(secs(600));
    assert!(world.slot.snapshot().standby);
}

#[test]
fn a_client_that_leaves_meanwhile_ends_the_program_at_once() {
    let mut world = stopped();
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert_eq!(world.exit, Some(Exit::Done));
}

#[test]
fn a_served_server_stops_without_a_client_and_starts_for_the_next_one() {
    let mut world = World::served(idle);
    world.advance(secs(1));
    assert_eq!(state(&world), "Connected");
    world.advance(secs(600));
    assert!(world.slot.snapshot().standby);
    world.say(INITIALIZE);
    assert_eq!((world.generation().0, raw_id(&world.client_got_one())), (2, "0.0".to_owned()));
    world.advance(secs(600));
    assert!(world.slot.snapshot().standby);
    world.tell(|slot, now, out| slot.client_eof(now, out));
    let mut next = world.slot.successor(1);
    let mut effects = Vec::new();
    next.start(world.now, &mut effects);
    assert!(next.snapshot().standby && effects.is_empty(), "no process for nobody: {effects:?}");
}

#[test]
fn a_client_that_asks_and_leaves_before_its_process_is_started_is_answered() {
    let mut world = World::served(|_| ());
    world.say(INITIALIZE);
    world.client_got_one();
    world.tell(|slot, now, out| slot.client_eof(now, out));
    world.slot = world.slot.successor(1);
    world.tell(|slot, now, out| slot.start(now, out));
    world.say(INITIALIZE);
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert_eq!((state(&world), world.client_got()), ("Connecting", vec![]), "attempts are a second apart");
    world.advance(secs(1));
    assert!(world.client_got_one().contains("result"));
}

#[test]
fn a_reload_switches_it_on_and_off() {
    let mut world = World::new(|_| ());
    world.open();
    let with = |world: &World, limit| {
        let mut config = (**world.slot.config()).clone();
        config.idle_stop = limit;
        Arc::new(config)
    };
    let on = with(&world, Some(secs(600)));
    world.tell(|slot, now, out| slot.configure(now, on, false, out));
    world.advance(secs(300));
    let off = with(&world, None);
    world.tell(|slot, now, out| slot.configure(now, off, false, out));
    world.advance(secs(6000));
    assert_eq!(state(&world), "Connected");
    let on = with(&world, Some(secs(600)));
    world.tell(|slot, now, out| slot.configure(now, on, false, out));
    world.advance(secs(600));
    assert_eq!((state(&world), world.generation().0), ("Disconnected", 1));
}

#[test]
fn an_operator_starts_and_switches_off_what_stands_by() {
    let mut world = stopped();
    world.tell(|slot, now, out| assert!(slot.retry(now, out).is_ok()));
    assert_eq!((state(&world), world.generation().0), ("Connected", 2));
    world.advance(secs(600));
    world.tell(|slot, now, out| slot.disable(now, out));
    assert_eq!(state(&world), "Disabled");
    world.call("1", "t");
    refused(&world.client_got_one(), "1", -31004);
}
