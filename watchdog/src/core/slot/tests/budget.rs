//! A server that does not come back: delays, budgets, and what requests meet meanwhile.

use crate::config::{Delays, OnCall, Server, Start};
use crate::core::testing::{INITIALIZE, Script, World, call_line, millis, refused, secs, stateless};
use crate::exit::Exit;

fn dead() -> Script {
    Script { dies_at_start: true, ..Script::default() }
}

/// A server that was connected once, died, and dies at every start since.
fn crash_loop(change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::new(change);
    world.open();
    world.script = dead();
    world.server_dies();
    world.forget();
    world
}

fn bounded(server: &mut Server) {
    server.restart.max_attempts = Some(2);
    server.restart.delays = Delays::Schedule(vec![secs(0), secs(5)]);
}

#[test]
fn s270_a_crash_loop_follows_the_schedule_for_ever() {
    let mut world = crash_loop(|_| ());
    assert_eq!(world.generation().0, 2, "the first delay is none");
    let mut generation = 2;
    for delay in [1, 2, 5, 10, 30, 60, 60, 60] {
        world.advance(secs(delay) - millis(1));
        assert_eq!(world.generation().0, generation, "not before {delay} s");
        world.advance(millis(1));
        generation += 1;
        assert_eq!(world.generation().0, generation, "after {delay} s");
    }
    assert_eq!(world.client_got(), [""; 0], "an idle client hears nothing");
}

#[test]
fn s64_a_request_in_a_crash_loop_causes_an_attempt_and_learns_how_it_ended() {
    let mut world = crash_loop(|_| ());
    world.advance(secs(1));
    world.advance(secs(2));
    world.advance(secs(2));
    let generation = world.generation().0;
    world.call("1", "t");
    assert_eq!(world.generation().0, generation + 1, "at once, not at the end of the delay");
    let data = refused(&world.client_got_one(), "1", -31006);
    assert_eq!(
        (&data["sent"], &data["retryable"], &data["state"]),
        (&false.into(), &true.into(), &"Reconnecting".into())
    );
    assert_eq!((&data["lastError"], &data["exit"]), (&"exit code 1".into(), &serde_json::json!({"code": 1})));
    assert!(data["lastAttempt"].is_u64(), "{data}");
}

#[test]
fn s9_the_next_request_waits_for_the_interval_between_attempts() {
    let mut world = crash_loop(|_| ());
    let generation = world.generation().0;
    world.advance(millis(300));
    world.call("1", "t");
    world.call("2", "t");
    assert_eq!((world.client_got(), world.generation().0), (vec![], generation));
    world.advance(millis(700));
    assert_eq!(world.generation().0, generation + 1, "min_attempt_interval after the last attempt");
    let got = world.client_got();
    refused(&got[0], "1", -31006);
    refused(&got[1], "2", -31006);
}

#[test]
fn a_request_whose_attempt_succeeds_is_answered_by_the_server() {
    let mut world = crash_loop(|_| ());
    world.advance(secs(1));
    world.advance(secs(1));
    world.script = Script::default();
    world.call("1", "t");
    assert!(world.slot.lifecycle().is_connected());
    assert!(world.server_got_methods().contains(&"tools/call".to_owned()));
    assert_eq!(world.told("server_reconnected").len(), 1);
}

#[test]
fn s213_after_permanent_failure_each_request_is_one_attempt() {
    let mut world = crash_loop(bounded);
    world.advance(secs(60));
    assert_eq!((world.generation().0, world.slot.lifecycle().status()), (3, "failed"));
    assert_eq!(world.told("server_failed").len(), 1);
    assert_eq!(world.slot.next_wake(), None, "no timer");

    world.call("1", "t");
    assert_eq!(world.generation().0, 4);
    let data = refused(&world.client_got_one(), "1", -31005);
    assert_eq!((&data["retryable"], &data["maxAttempts"], &data["sent"]), (&true.into(), &2.into(), &false.into()));
    world.advance(secs(60));
    assert_eq!(world.generation().0, 4, "only a request causes one");

    world.script = Script::default();
    world.call("2", "t");
    assert!(world.slot.lifecycle().is_connected());
    world.server_answers("2");
    assert_eq!(world.client_got().len(), 1);
}

#[test]
fn a_crash_after_each_handshake_uses_up_the_budget() {
    let mut world = World::new(bounded);
    world.open();
    for _ in 0..2 {
        world.server_dies();
        world.advance(secs(5));
        assert!(world.slot.lifecycle().is_connected());
    }
    world.call("1", "t");
    world.client_got();
    world.server_dies();
    refused(&world.client_got_one(), "1", -31000);
    assert_eq!(world.slot.lifecycle().status(), "failed");
}

#[test]
fn s86_a_container_exits_when_the_budget_is_used_up() {
    let mut world = World::that_exits([], bounded);
    world.open();
    world.script = dead();
    world.call("1", "t");
    world.server_dies();
    refused(&world.client_got_one(), "1", -31000);
    world.advance(secs(60));
    assert_eq!(world.exit, Some(Exit::PermanentFailure));
}

#[test]
fn s246_the_private_preset_restarts_once_and_answers_with_errors() {
    let mut world = crash_loop(|server| {
        server.restart.delays = Delays::Schedule(vec![secs(0)]);
        server.restart.max_attempts = Some(1);
        server.restart.on_call = OnCall::Error;
    });
    assert_eq!((world.generation().0, world.slot.lifecycle().status()), (2, "failed"));
    world.call("1", "t");
    refused(&world.client_got_one(), "1", -31005);
    assert_eq!(world.generation().0, 2, "and no attempt");
}

#[test]
fn a_disabled_server_answers_with_that() {
    let mut world = World::new(|server| server.enabled = false);
    world.say(INITIALIZE);
    refused(&world.client_got_one(), "0.0", -31004);
    assert_eq!(world.generation().0, 0);

    let mut world = World::new(|_| ());
    world.open();
    world.lingering = true;
    world.call("1", "in flight");
    world.tell(|slot, now, out| slot.disable(now, out));
    let data = refused(&world.client_got_one(), "1", -31004);
    assert_eq!((&data["sent"], &data["retryable"]), (&true.into(), &false.into()));
    world.call("2", "closing");
    assert_eq!(refused(&world.client_got_one(), "2", -31004)["sent"], false);
    assert!(world.slot.retry(world.now, &mut Vec::new()).is_err(), "s206");
    world.gone();
    world.call("3", "disabled");
    refused(&world.client_got_one(), "3", -31004);
    world.tell(|slot, now, out| slot.enable(now, out));
    world.gone();
    assert!(world.slot.lifecycle().is_connected(), "the session is replayed");
    world.call("4", "t");
    assert_eq!(world.server_got_methods().last().map(String::as_str), Some("tools/call"));
}

#[test]
fn s79_force_retry_of_a_connected_server_replaces_it_now() {
    let mut world = World::new(|server| server.restart.delays = Delays::Schedule(vec![secs(30)]));
    world.open();
    world.call("1", "t");
    world.tell(|slot, now, out| slot.retry(now, out).expect("it is connected"));
    let data = refused(&world.client_got_one(), "1", -31000);
    assert_eq!(data["reason"], "force");
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.told("server_disconnected")[0]["wasIntentional"], true);
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn before_the_first_connection_initialize_waits_through_failed_attempts_for_five_seconds() {
    let mut world = World::with_servers([dead(), dead(), dead()], |_| ());
    world.say(INITIALIZE);
    world.advance(secs(4));
    assert!(world.slot.lifecycle().is_connected(), "the fourth one lives");
    assert!(world.client_got_one().contains("\"id\":0.0"));

    let mut world = World::new(|_| ());
    world.script = dead();
    world.server_dies();
    world.say(INITIALIZE);
    world.advance(secs(5) - millis(1));
    assert_eq!(world.client_got(), [""; 0]);
    world.advance(millis(1));
    let data = refused(&world.client_got_one(), "0.0", -31006);
    assert_eq!(data["lastError"], "exit code 1");
}

#[test]
fn a_hanging_first_start_is_ended_by_the_handshake_timeout() {
    let mut world = World::with_servers([Script::deaf()], |server| server.handshake.timeout = secs(3));
    world.say(INITIALIZE);
    world.advance(secs(3));
    assert_eq!(world.generation().0, 2);
    assert!(world.slot.lifecycle().is_connected(), "the same initialize, to the next one");
    assert_eq!(world.server_got(), [INITIALIZE]);
    world.client_got_one();
}

#[test]
fn a_command_that_cannot_be_executed_ends_the_first_start() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_cannot_start(Exit::NotFound);
    let data = refused(&world.client_got_one(), "0.0", -31005);
    assert_eq!((&data["sent"], &data["lastError"]), (&false.into(), &"no such program".into()));
    let told = world.told("mcp_restart_failed");
    assert_eq!((told.len(), &told[0]["reason"]), (1, &"cannot-start".into()));
    assert_eq!(world.exit, Some(Exit::NotFound));
}

#[test]
fn it_also_does_after_the_client_has_closed_its_end() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.tell(|slot, now, out| slot.client_eof(now, out));
    world.server_cannot_start(Exit::NotFound);
    refused(&world.client_got_one(), "0.0", -31005);
    assert_eq!(world.exit, Some(Exit::NotFound));
}

#[test]
fn a_command_that_vanishes_later_is_a_failed_attempt() {
    let mut world = World::new(|_| ());
    world.open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.call("1", "t");
    world.server_cannot_start(Exit::NotFound);
    refused(&world.client_got_one(), "1", -31006);
    let told = world.told("mcp_restart_failed");
    assert_eq!((told.len(), &told[0]["lastError"]), (1, &"no such program".into()), "an attempt fails once");
    assert_eq!(world.exit, None);
    world.advance(secs(1));
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn what_was_held_for_a_program_that_cannot_be_executed_was_not_sent() {
    let gone = Script { cannot_start: true, version: "2025-03-26", ..Script::default() };
    let first = Script { version: "2025-03-26", ..Script::default() };
    let mut world = World::with_servers([first], |server| server.handshake.replay = false);
    world.open();
    world.request("1", "resources/read");
    world.script = gone;
    world.lingering = true;
    world.server_dies();
    world.call("2", "t");
    world.request("3", "resources/read");
    world.say(&format!("[{},{}]", call_line("4", "t"), call_line("5", "t")));
    world.gone();
    let got = world.client_got();
    let sent: Vec<_> = ["1", "2", "3", "4", "5"].iter().zip(&got).map(|(id, line)| refused(line, id, -31006)).collect();
    let sent: Vec<_> = sent.iter().map(|data| data["sent"] == true).collect();
    assert_eq!(sent, [true, false, false, false, false], "the first one by an earlier process: {got:?}");
}

/// A guard that is killed while it starts the program leaves nobody who knows whether it ran.
#[test]
fn what_a_program_may_have_read_that_ran_for_a_moment_perhaps_is_given_to_no_other() {
    for may_have_run in [false, true] {
        for served in [false, true] {
            let off = |server: &mut Server| server.enabled = false;
            let mut world = if served { World::served(off) } else { World::new(off) };
            let call = stateless("1", "tools/call", r#""name":"t","#);
            world.tell(|slot, now, out| {
                slot.enable(now, out);
                slot.client_told(now, call.clone(), out);
                let generation = slot.lifecycle().live().expect("it is being started");
                slot.cannot_start(now, generation, "broken pipe".to_owned(), Exit::Internal, may_have_run, out);
            });
            world.advance(secs(4));
            let second = world.generation().0 == 2;
            let got_it = second && world.server_got().contains(&call);
            if !served {
                let data = refused(&world.client_got_one(), "1", -31005);
                assert_eq!((&data["sent"], world.exit), (&may_have_run.into(), Some(Exit::Internal)));
            } else if may_have_run {
                assert_eq!(refused(&world.client_got_one(), "1", -31000)["sent"], true);
                assert_eq!((second, got_it), (true, false));
            } else {
                assert_eq!((second, got_it), (true, true));
            }
        }
    }
}

#[test]
fn a_first_opening_outlives_programs_that_cannot_be_executed_for_a_while() {
    let gone = Script { cannot_start: true, ..Script::default() };
    let mut world = World::with_servers([dead(), gone.clone(), gone], |_| ());
    world.say(INITIALIZE);
    world.call("1", "t");
    world.advance(secs(4));
    assert_eq!(world.generation().0, 4);
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.server_got(), [INITIALIZE.to_owned(), call_line("1", "t")], "each once");
    assert!(world.client_got_one().contains("\"id\":0.0"));
}

#[test]
fn a_lazy_server_starts_with_the_first_line_and_gets_it() {
    let mut world = World::new(|server| server.start = Start::Lazy);
    assert_eq!(world.generation().0, 0);
    world.say(INITIALIZE);
    assert_eq!(world.server_got(), [INITIALIZE]);
    assert!(world.slot.lifecycle().is_connected());
}

/// A server whose only restart is used up by the time that it has this call; the next one is like `next`.
fn last_chance(next: Script, change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::new(|server| {
        server.restart.delays = Delays::Schedule(vec![secs(0)]);
        server.restart.max_attempts = Some(1);
        server.restart.min_uptime = secs(3600);
        change(server);
    });
    world.open();
    world.server_dies();
    assert!(world.slot.lifecycle().is_connected() && world.generation().0 == 2);
    world.script = next;
    world.call("1", "t");
    world.forget();
    world
}

#[test]
fn a_hung_call_that_meets_a_used_up_budget_learns_how_the_attempt_ends_that_it_causes() {
    let mut world = last_chance(Script::default(), |_| ());
    world.advance(secs(40));
    world.lingering = true;
    world.probe_meets_silence();
    assert_eq!((world.client_got(), world.slot.lifecycle().status()), (vec![], "failed"), "nothing is known yet");
    world.gone();
    let data = refused(&world.client_got_one(), "1", -31001);
    assert_eq!(
        (&data["restarted"], &data["state"], &data["generation"]),
        (&true.into(), &"Connected".into(), &3.into())
    );

    let mut world = last_chance(dead(), |_| ());
    world.advance(secs(40));
    world.probe_meets_silence();
    let data = refused(&world.client_got_one(), "1", -31003);
    assert_eq!((&data["state"], &data["lastError"]), (&"PermanentlyFailed".into(), &"exit code 1".into()));
    world.advance(secs(600));
    assert_eq!((world.generation().0, world.slot.next_wake()), (3, None), "one attempt");
}

#[test]
fn where_it_causes_none_it_is_lost_at_once() {
    let on_call = |on_call| last_chance(Script::default(), move |server| server.restart.on_call = on_call);
    for mut world in [on_call(OnCall::Wait), on_call(OnCall::Error)] {
        world.advance(secs(40));
        world.probe_meets_silence();
        let data = refused(&world.client_got_one(), "1", -31000);
        assert_eq!((&data["reason"], &data["sent"], world.generation().0), (&"probe-failure".into(), &true.into(), 2));
        world.request("2", "resources/read");
        let line = world.client_got_one();
        refused(&line, "2", -31005);
        assert!(line.contains("restart.on_call") && !line.contains("attempt made for"), "{line}");
    }
}

#[test]
fn what_may_be_sent_again_is_given_to_the_attempt_that_it_causes() {
    let mut world = last_chance(Script::default(), |_| ());
    world.request("2", "resources/read");
    world.server_dies();
    refused(&world.client_got_one(), "1", -31000);
    world.advance(secs(1));
    assert_eq!(world.server_got_methods().last().map(String::as_str), Some("resources/read"));
    assert_eq!(world.generation().0, 3);
    world.server_dies();
    refused(&world.client_got_one(), "2", -31000);
    world.advance(secs(600));
    assert_eq!(world.generation().0, 3, "a second death answers it");
}

#[test]
fn servers_that_never_read_a_request_are_not_tried_for_it_without_end() {
    let mut world = last_chance(Script::default(), |_| ());
    world.server_dies_unread(1);
    world.advance(secs(1));
    assert_eq!(
        (world.client_got(), world.generation().0),
        (vec![], 3),
        "it was not sent, and waits as a new one would"
    );
    world.server_dies_unread(1);
    assert_eq!(refused(&world.client_got_one(), "1", -31005)["sent"], false);
    world.advance(secs(600));
    assert_eq!(world.generation().0, 3);
}

#[test]
fn a_container_that_exits_makes_no_attempt_more() {
    let mut world = World::that_exits([], |server| {
        server.restart.max_attempts = Some(1);
        server.restart.min_uptime = secs(3600);
    });
    world.open();
    world.server_dies();
    world.call("1", "t");
    world.request("2", "resources/read");
    world.advance(secs(40));
    world.forget();
    world.probe_meets_silence();
    let got = world.client_got();
    refused(&got[0], "1", -31000);
    refused(&got[1], "2", -31005);
    assert!(got[1].contains("on_permanent_failure") && !got[1].contains("attempt made for"), "{}", got[1]);
    assert_eq!((world.generation().0, world.exit), (2, Some(Exit::PermanentFailure)));
}
