//! Replacements that the watchdog itself decides on, between two calls.

use crate::config::{Delays, OnCall, Server};
use crate::core::testing::{
    INITIALIZE, Script, World, call_line, ids, millis, raw_id, refused, secs, stateless, value,
};

fn open(change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::new(change);
    world.open();
    world
}

/// A file of the server has changed.
fn edit(world: &mut World, path: &str) {
    world.tell(|slot, now, _| slot.file_changed(now, path.to_owned()));
}

/// It has, and has come to rest.
fn edited(world: &mut World) {
    edit(world, "a.py");
    world.advance(secs(1));
}

const GIB: u64 = 1 << 30;

#[test]
fn changed_files_replace_the_process_when_the_last_call_is_answered() {
    let mut world = open(|_| ());
    world.call("1", "t");
    world.request("2", "x/y");
    edited(&mut world);
    let due = world.told("server_replacement_due");
    assert_eq!(
        (due.len(), &due[0]["reason"], &due[0]["detail"]),
        (1, &"files-changed".into(), &"a.py has changed".into())
    );
    assert_eq!(world.slot.snapshot().replacement_due, Some("files-changed"));
    world.advance(secs(30));
    world.server_answers("2");
    assert_eq!(world.generation().0, 1, "not in the middle of a call");
    world.server_answers("1");
    assert_eq!(ids(&world.client_got()), ["2", "1"]);
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"], "the session is kept");
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.slot.snapshot().replacement_due, None);
    let gone = world.told("server_disconnected");
    assert_eq!((&gone[0]["wasIntentional"], &gone[0]["reason"]), (&true.into(), &"files-changed".into()));
    assert_eq!(world.told("server_reconnected").len(), 1);
    world.advance(secs(3600));
    assert_eq!(world.generation().0, 2, "once");
}

#[test]
fn calls_that_come_in_between_wait_for_the_new_process() {
    let mut world = open(|_| ());
    world.lingering = true;
    edited(&mut world);
    assert_eq!(world.generation().0, 1, "its tree is going away");
    world.call("1", "t");
    world.call("2", "t");
    assert_eq!(world.client_got(), [""; 0]);
    world.gone();
    assert_eq!(world.generation().0, 2);
    let got = world.server_got();
    assert_eq!(got[2..], [call_line("1", "t"), call_line("2", "t")]);
    world.server_answers("1");
    world.server_answers("2");
    assert_eq!(ids(&world.client_got()), ["1", "2"]);
}

/// Whatever calls meet while a server is down: this is no outage.
#[test]
fn they_wait_wherever_calls_meet_an_error_and_for_as_long_as_a_start_may_take() {
    for on_call in [OnCall::Attempt, OnCall::Wait, OnCall::Error] {
        let mut world = open(|server| server.restart.on_call = on_call);
        world.lingering = true;
        edited(&mut world);
        world.call("1", "t");
        world.script.ignores = &["initialize"];
        world.lingering = false;
        world.gone();
        world.call("2", "t");
        world.advance(secs(28));
        assert_eq!((world.client_got(), world.generation().0), (vec![], 2), "{on_call:?}");
        world.advance(secs(3));
        assert_eq!(ids(&world.client_got()), ["1", "2"], "{on_call:?}: the start has failed");
    }
}

#[test]
fn a_list_that_is_asked_for_meanwhile_is_that_of_the_new_files() {
    let mut world = open(|_| ());
    world.request("1", "tools/list");
    world.forget();
    world.script.tools = r#"[{"name":"b"}]"#;
    world.lingering = true;
    edited(&mut world);
    world.request("2", "tools/list");
    assert_eq!(world.client_got(), [""; 0]);
    world.gone();
    let got = world.client_got();
    let answers: Vec<_> = got.iter().filter(|line| line.contains("\"id\"")).collect();
    assert!(answers.len() == 1 && answers[0].contains(r#""tools":[{"name":"b"}]"#), "{got:?}");
}

#[test]
fn edits_that_follow_each_other_are_one_and_do_not_put_it_off_for_long() {
    let mut world = open(|_| ());
    for _ in 0..3 {
        edit(&mut world, "a.py");
        world.advance(millis(200));
        edit(&mut world, "b.py");
    }
    world.advance(millis(299));
    assert_eq!(world.generation().0, 1);
    world.advance(millis(1));
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.told("server_replacement_due")[0]["detail"], "a.py and others have changed");
    world.advance(secs(10));
    for _ in 0..10 {
        edit(&mut world, "a.py");
        world.advance(millis(100));
    }
    assert_eq!(world.generation().0, 3, "files that never come to rest");
}

#[test]
fn a_question_to_the_client_is_waited_for_and_its_answer_arrives() {
    let mut world = open(|_| ());
    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    edited(&mut world);
    world.advance(secs(60));
    assert_eq!(world.generation().0, 1);
    world.server_got();
    let answer = r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#;
    world.say(answer);
    assert_eq!((world.server_got(), world.generation().0), (vec![answer.to_owned()], 1), "it is given a moment");
    world.advance(millis(50));
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_question_that_is_never_answered_is_waited_for_as_long_as_being_busy_is_an_excuse() {
    for planned in [|world: &mut World| edited(world), |world: &mut World| world.memory = Some(2 * GIB)] {
        let mut world = open(|server| (server.limits.memory, server.probe.busy_max) = (Some(GIB), secs(100)));
        world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create"}"#);
        world.client_got_one();
        planned(&mut world);
        world.advance(secs(40));
        world.server_says(r#"{"jsonrpc":"2.0","id":"8","method":"sampling/createMessage"}"#);
        world.client_got_one();
        world.advance(secs(99));
        assert_eq!(world.generation().0, 1, "the later one has its time too");
        world.advance(secs(3));
        assert_eq!(world.generation().0, 2);
        assert_eq!(world.client_got().len(), 2, "both are withdrawn");
    }
}

#[test]
fn a_question_that_waits_and_its_answer_put_nothing_off() {
    let mut world = open(|_| ());
    world.call("1", "t");
    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    edited(&mut world);
    world.say(r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#);
    world.advance(secs(10));
    assert_eq!(world.generation().0, 1, "the call");
    world.server_answers("1");
    world.advance(millis(50));
    assert_eq!(world.generation().0, 2);
}

#[test]
fn sleep_of_the_machine_is_no_time_to_answer_in() {
    let mut world = open(|server| server.probe.busy_max = secs(100));
    world.server_says(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#);
    edited(&mut world);
    world.now += secs(3600);
    world.slot.stood_still(secs(3600));
    world.advance(secs(98));
    assert_eq!(world.generation().0, 1);
    world.advance(secs(2));
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_cancelled_call_is_waited_for_no_longer() {
    let mut world = open(|_| ());
    world.call("1", "t");
    edited(&mut world);
    world.cancel("1");
    world.advance(millis(50));
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_task_that_the_server_works_on_is_waited_for() {
    let mut world = open(|_| ());
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{}}}"#);
    world.server_says(r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"T","status":"working","ttl":600000}}}"#);
    edited(&mut world);
    world.advance(secs(60));
    assert_eq!(world.generation().0, 1);
    world.server_says(
        r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"T","status":"completed"}}"#,
    );
    world.say(r#"{"jsonrpc":"2.0","id":2,"method":"tasks/result","params":{"taskId":"T"}}"#);
    world.server_says(
        r#"{"jsonrpc":"2.0","id":2,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"T"}}}}"#,
    );
    assert_eq!(world.generation().0, 2, "its result is with the client");
}

#[test]
fn a_task_that_nobody_asks_for_is_waited_for_until_its_time_is_over() {
    let mut world = World::new(|_| ());
    world.open_stateless();
    world.say(&stateless("1", "tools/call", r#""name":"t","#));
    world.server_says(r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"T","ttlMs":60000}}"#);
    edited(&mut world);
    world.advance(secs(58));
    assert_eq!(world.generation().0, 1);
    world.advance(secs(1));
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_server_that_crashes_is_tried_at_once_with_other_files() {
    let mut world = open(|server| server.restart.delays = Delays::Schedule(vec![secs(0), secs(600)]));
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.server_dies();
    assert_eq!(world.generation().0, 2);
    world.script = Script::default();
    edited(&mut world);
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!((world.generation().0, world.client_got()), (3, vec![]));
}

#[test]
fn so_is_one_that_has_failed_for_good_and_not_one_that_is_switched_off() {
    let mut world = open(|server| server.restart.max_attempts = Some(1));
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.server_dies();
    assert_eq!(world.slot.lifecycle().state_name(), "PermanentlyFailed");
    world.script = Script::default();
    edited(&mut world);
    assert!(world.slot.lifecycle().is_connected());
    world.tell(|slot, now, out| slot.disable(now, out));
    let generation = world.generation();
    world.forget();
    edited(&mut world);
    assert_eq!((world.generation(), world.slot.lifecycle().state_name()), (generation, "Disabled"));
    assert_eq!(world.told("server_replacement_due").len(), 0);
}

#[test]
fn an_opening_that_runs_with_old_files_is_begun_anew_and_the_client_hears_nothing() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    edited(&mut world);
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.server_got(), [INITIALIZE]);
    assert_eq!(raw_id(&world.client_got_one()), "0.0");
}

#[test]
fn an_opening_with_a_call_in_it_is_let_be() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.call("1", "t");
    edited(&mut world);
    assert_eq!(world.generation().0, 1);
    world.server_answers("1");
    world.server_says(r#"{"jsonrpc":"2.0","id":0.0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#);
    assert_eq!((ids(&world.client_got()), world.generation().0), (vec!["1".to_owned(), "0.0".to_owned()], 2));
}

/// Otherwise it would restart without end: a server that writes a log among the files that are watched.
#[test]
fn a_server_that_writes_where_it_is_watched_restarts_less_and_less() {
    let mut world = open(|_| ());
    let mut seen = 0;
    for _ in 0..600 {
        if world.generation().0 != seen {
            seen = world.generation().0;
            edit(&mut world, "server.log");
        }
        world.advance(secs(1));
    }
    assert!((10..25).contains(&seen), "{seen} processes in ten minutes");
    let told = world.told("server_replacement_due");
    assert!(told.last().is_some_and(|told| told["detail"].as_str().is_some_and(|text| text.contains("write there"))));
    world.advance(secs(120));
    world.forget();
    edited(&mut world);
    assert_eq!(world.told("server_reconnected").len(), 1, "an edit of somebody else has its usual delay");
}

#[test]
fn a_process_that_has_lived_for_long_enough_is_replaced_give_or_take_a_tenth() {
    let mut world = open(|server| server.limits.max_lifetime = Some(secs(3600)));
    let mut before = world.generation();
    for _ in 0..5 {
        world.advance(secs(3239));
        assert_eq!(world.generation(), before);
        world.advance(secs(722));
        assert_eq!(world.generation(), before.next());
        before = before.next();
        // The next one counts from its own start, which was at some time in these 722 s.
        let started = world.slot.snapshot().started_at.expect("it runs");
        world.now = started;
    }
    assert_eq!(world.told("server_replacement_due")[0]["reason"], "max-lifetime");
    assert_eq!(world.told("server_reconnected").len(), 5);
}

#[test]
fn a_lifetime_that_is_over_when_the_server_is_connected_leaves_it_a_moment() {
    let mut world = open(|server| server.limits.max_lifetime = Some(millis(1)));
    world.advance(secs(60));
    let lives = world.generation().0;
    assert!((30..=61).contains(&lives), "{lives} processes in a minute");
}

fn limited(server: &mut Server) {
    server.limits.memory = Some(GIB);
}

#[test]
fn a_process_that_grew_too_large_is_replaced_between_calls() {
    let mut world = open(limited);
    world.memory = Some(GIB);
    world.advance(secs(60));
    assert_eq!(world.generation().0, 1, "the limit itself is allowed");
    world.call("1", "t");
    world.memory = Some(GIB + 1);
    world.advance(secs(30));
    let due = world.told("server_replacement_due");
    assert_eq!(due.len(), 1, "told once");
    assert_eq!(
        (&due[0]["reason"], &due[0]["detail"]),
        (&"memory-limit".into(), &"1025MiB of memory in use, above the limit of 1GiB".into())
    );
    assert_eq!(world.generation().0, 1);
    world.server_answers("1");
    assert_eq!((raw_id(&world.client_got_one()), world.generation().0), ("1".to_owned(), 2));
}

#[test]
fn what_a_call_has_used_and_given_back_costs_no_process() {
    let mut world = open(limited);
    world.memory = Some(GIB);
    world.advance(secs(60));
    world.call("1", "t");
    world.memory = Some(4 * GIB);
    world.advance(secs(5));
    assert_eq!(world.slot.snapshot().replacement_due, Some("memory-limit"));
    world.memory = Some(GIB / 2);
    world.advance(secs(1));
    world.server_answers("1");
    assert_eq!((world.generation().0, world.slot.snapshot().replacement_due), (1, None));
}

#[test]
fn a_server_that_is_always_too_large_is_replaced_less_and_less() {
    let mut world = open(limited);
    world.memory = Some(2 * GIB);
    world.advance(secs(9));
    assert_eq!(world.generation().0, 1, "restart.min_uptime is kept");
    world.advance(secs(6));
    assert_eq!(world.generation().0, 2);
    world.advance(secs(24 * 3600));
    let after_a_day = world.generation().0;
    assert!((20..40).contains(&after_a_day), "{after_a_day} processes");
    world.memory = Some(GIB);
    world.advance(secs(2 * 3600));
    world.memory = Some(2 * GIB);
    world.advance(secs(5));
    assert_eq!(world.generation().0, after_a_day + 1);
    world.advance(secs(15));
    assert_eq!(world.generation().0, after_a_day + 2, "one that grew slowly has forgotten the others");
}

#[test]
fn memory_is_looked_at_only_where_there_is_a_limit() {
    let mut world = open(|_| ());
    world.memory = Some(GIB);
    world.advance(secs(3600));
    assert_eq!(world.weighings, 0);
    assert_eq!(world.slot.next_wake(), None, "an idle server causes no work");
}

#[test]
fn a_reload_changes_the_limits_of_a_process_that_runs() {
    let mut world = open(|_| ());
    world.memory = Some(2 * GIB);
    world.advance(secs(60));
    let mut config = (**world.slot.config()).clone();
    config.limits.memory = Some(GIB);
    world.tell(|slot, now, out| slot.configure(now, config.into(), false, out));
    assert_eq!(world.generation().0, 1);
    world.advance(secs(5));
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_new_process_that_does_not_start_is_an_outage_as_any_other() {
    let mut world = open(|server| server.restart.max_attempts = Some(2));
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.lingering = true;
    edited(&mut world);
    world.call("1", "t");
    world.lingering = false;
    world.step_until_idle();
    let data = refused(&world.client_got_one(), "1", -31006);
    assert_eq!(data["lastError"], "exit code 1");
    world.advance(secs(60));
    assert_eq!(world.told("server_failed").len(), 1);
    assert_eq!(world.generation().0, 4, "the planned attempt, and the two of the budget");
    assert_eq!(value(&format!("{}", world.told("server_reconnecting")[0]))["reason"], "start-failure");
}
