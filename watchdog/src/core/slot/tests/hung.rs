//! A call that takes too long: suspicion, the probe chain's verdict, and what the callers learn.

use probe_api::{Trigger, Verdict};

use crate::config::{Delays, OnProbeFailure, OnUnhealthy};
use crate::core::chain::Heard;
use crate::core::ids::CallId;
use crate::core::slot::Effect;
use crate::core::testing::{Script, World, answer_line, cancel_line, millis, refused, secs, value};

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

/// A world with a call under this id whose chain runs.
fn suspected(id: &str, change: impl FnOnce(&mut crate::config::Server)) -> World {
    let mut world = World::new(change);
    world.open();
    world.call(id, "t");
    world.server_got();
    world.advance(secs(40));
    assert!(matches!(world.chain, Some((_, Trigger::ToolTimeout))));
    world
}

#[test]
fn s269_a_slow_call_on_a_healthy_server_is_left_alone() {
    let mut world = suspected("1", |_| ());
    let told = &world.told("tool_timeout")[0];
    assert_eq!((&told["tool"], &told["elapsedMs"]), (&"t".into(), &40_000.into()));
    world.probe_passes();
    assert_eq!((world.client_got(), world.generation().0), (vec![], 1));
    world.advance(secs(39));
    assert!(world.chain.is_none());
    world.advance(secs(1));
    assert!(world.chain.is_some(), "it has its whole time again, and no more");
    world.probe_passes();
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")]);
    assert_eq!(world.server_got(), [""; 0], "the server heard nothing of it");
}

#[test]
fn s266_a_hung_server_is_replaced_and_the_caller_learns_that() {
    let mut world = suspected("1", |_| ());
    world.probe_meets_silence();
    let line = world.client_got_one();
    let data = refused(&line, "1", -31001);
    assert_eq!((&data["sent"], &data["retryable"], &data["restarted"]), (&true.into(), &false.into(), &true.into()));
    assert_eq!((&data["state"], &data["generation"]), (&"Connected".into(), &2.into()), "after the restart");
    assert!(value(&line)["error"]["message"].to_string().contains("replaced"));
    assert_eq!(world.told("server_disconnected")[0]["reason"], "probe-failure");
    assert!(!world.server_got_methods().contains(&"tools/call".to_owned()));
}

#[test]
fn where_failed_chains_are_counted_the_caller_learns_of_the_restart_all_the_same() {
    let mut world = suspected("1", |server| {
        server.probe.on_failure = OnProbeFailure::Count;
        server.health.on_unhealthy = OnUnhealthy::Restart;
        server.health.threshold = 2;
    });
    world.probe_meets_silence();
    assert_eq!((world.client_got(), world.generation().0), (vec![], 1), "one is not enough");
    world.advance(secs(40));
    world.probe_meets_silence();
    let data = refused(&world.client_got_one(), "1", -31001);
    assert_eq!((&data["sent"], &data["restarted"], &data["generation"]), (&true.into(), &true.into(), &2.into()));
    assert_eq!(world.told("server_disconnected")[0]["reason"], "health");
}

#[test]
fn a_hung_call_with_a_deadline_is_not_said_to_have_met_it() {
    let mut world = suspected("1", |server| server.request_deadline = Some(secs(100)));
    world.probe_meets_silence();
    let message = value(&world.client_got_one())["error"]["message"].to_string();
    assert!(message.contains("replaced") && !message.contains("deadline"), "{message}");
}

#[test]
fn s268_where_the_restart_fails_too_the_caller_learns_that() {
    let mut world = suspected("1", |_| ());
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.probe_meets_silence();
    let data = refused(&world.client_got_one(), "1", -31003);
    assert_eq!((&data["sent"], &data["retryable"]), (&true.into(), &true.into()));
    assert_eq!(data["lastError"], "exit code 1");
}

#[test]
fn others_in_flight_to_a_hung_server_are_lost() {
    let mut world = open();
    world.call("1", "hung");
    world.advance(secs(39));
    world.call("2", "young");
    world.request("3", "resources/read");
    world.advance(secs(1));
    world.lingering = true;
    world.probe_meets_silence();
    let data = refused(&world.client_got_one(), "2", -31000);
    assert_eq!(data["reason"], "probe-failure");
    world.gone();
    refused(&world.client_got_one(), "1", -31001);
    world.server_answers("3");
    assert_eq!(world.client_got(), [answer_line("3")], "what is read-only goes to the new one");
}

#[test]
fn a_cancelled_hung_call_gets_no_answer() {
    let mut world = suspected("1", |_| ());
    world.lingering = true;
    world.probe_meets_silence();
    world.cancel("1");
    world.gone();
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn progress_is_life() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}"#);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#;
    for _ in 0..5 {
        world.advance(secs(39));
        world.server_says(progress);
        assert_eq!(world.client_got(), [progress]);
    }
    assert!(world.chain.is_none());
    world.advance(secs(40));
    assert!(world.chain.is_some());
    // Progress while the chain runs rebuts its silence, and the call is watched on.
    world.server_says(progress);
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 1);
    assert_eq!(world.told("probe_busy")[0]["evidence"].as_str().map(|text| text.contains("progress")), Some(true));
    world.advance(secs(34));
    assert!(world.chain.is_some(), "40 s after that progress");
}

#[test]
fn a_server_whose_question_the_client_has_not_answered_is_not_dead() {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}"#;
    let mut world = suspected("1", |_| ());
    world.server_says(question);
    assert_eq!(world.client_got(), [question]);
    // What it wrote is a sign of life in this chain; in those that follow, only the question is.
    for _ in 0..3 {
        world.probe_meets_silence();
        assert_eq!(world.generation().0, 1);
        world.advance(secs(60));
    }
    let told = world.told("probe_busy");
    assert!(told[2]["evidence"].to_string().contains("question"), "{told:?}");
    world.say(answer);
    assert_eq!(world.server_got().pop().as_deref(), Some(answer));
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2, "it has its answer, and says nothing all the same");
}

#[test]
fn a_question_that_is_never_answered_is_no_excuse_for_ever() {
    let mut world = open();
    world.call("1", "t");
    world.server_says(r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#);
    let mut waited = 0;
    while world.generation().0 == 1 {
        world.advance(secs(1));
        waited += 1;
        if world.chain.is_some() {
            world.probe_meets_silence();
        }
        assert!(waited < 1000, "probe.busy_max is 10 minutes");
    }
    assert!((500..=660).contains(&waited), "{waited} s");
}

#[test]
fn a_server_that_computes_is_busy_and_not_dead() {
    let mut world = suspected("1", |_| ());
    world.probe_meets_silence_and(secs(5));
    assert_eq!(world.generation().0, 1);
    world.advance(secs(59));
    assert!(world.chain.is_none(), "busy_grace");
    world.advance(secs(1));
    assert!(world.chain.is_some());
}

#[test]
fn being_busy_excuses_a_call_only_so_long() {
    let mut world = suspected("1", |server| server.probe.busy_max = secs(200));
    for _ in 0..3 {
        world.probe_meets_silence_and(secs(5));
        assert_eq!(world.generation().0, 1);
        world.advance(secs(60));
    }
    world.probe_meets_silence_and(secs(5));
    world.advance(secs(60));
    world.probe_meets_silence_and(secs(5));
    assert_eq!(world.generation().0, 2);
    refused(&world.client_got_one(), "1", -31001);
}

#[test]
fn a_server_that_writes_during_the_chain_is_not_silent() {
    let mut world = suspected("1", |_| ());
    world.server_says(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"still here"}}"#);
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 1);
}

#[test]
fn a_chain_that_can_tell_nothing_kills_nothing() {
    let mut world = suspected("1", |_| ());
    let cannot_tell = || (Verdict::Inconclusive("hm".to_owned()), Heard::Nothing);
    world.chain_ends(&[cannot_tell(), cannot_tell()], secs(0));
    assert_eq!(world.told("probe_undecided").len(), 1);
    world.advance(secs(40));
    assert!(world.chain.is_some(), "the call has its time again");
    let generation = world.generation();
    world.chain = None;
    world.tell(|slot, now, out| slot.chain_broken(now, generation, out));
    world.advance(secs(40));
    assert_eq!((world.generation().0, world.chain.is_some()), (1, true));
}

#[test]
fn a_chain_of_a_dead_generation_condemns_nobody() {
    let mut world = suspected("1", |_| ());
    let chain = world.chain;
    world.server_dies();
    assert!(world.chain.is_none(), "it was ended");
    world.chain = chain;
    world.probe_meets_silence();
    assert_eq!((world.generation().0, world.told("stale_result").len()), (2, 1));
}

#[test]
fn a_deadline_is_kept_and_the_server_with_it() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open();
    world.call("\"a\\u0062\"", "t");
    world.server_got();
    world.advance(secs(5) - millis(1));
    assert_eq!(world.client_got(), [""; 0]);
    world.advance(millis(1));
    let line = world.client_got_one();
    let data = refused(&line, "\"a\\u0062\"", -31001);
    assert_eq!((&data["reason"], &data["retryable"]), (&"deadline".into(), &false.into()));
    assert!(data["restarted"].is_null() && value(&line)["error"]["message"].to_string().contains("deadline"));
    let cancelled = &world.server_got()[0];
    assert!(
        cancelled.contains(r#""method":"notifications/cancelled""#) && cancelled.contains("\"requestId\":\"a\\u0062\"")
    );
    world.server_answers("\"ab\"");
    assert_eq!((world.client_got(), world.generation().0), (vec![], 1), "the late answer is dropped");
}

#[test]
fn single_tools_have_a_patience_of_their_own() {
    let mut world = World::new(|server| server.tool_timeouts = [("build".to_owned(), secs(300))].into());
    world.open();
    world.call("1", "build");
    world.advance(secs(299));
    assert!(world.chain.is_none());
    world.advance(secs(1));
    assert!(world.chain.is_some());
}

#[test]
fn what_waits_by_design_is_never_suspected() {
    let mut world = open();
    world.request("1", "tasks/result");
    world.advance(secs(4000));
    assert!(world.chain.is_none());
}

#[test]
fn other_answers_to_a_failed_chain_are_configurable() {
    let mut warn = suspected("1", |server| server.probe.on_failure = OnProbeFailure::Warn);
    warn.probe_meets_silence();
    assert_eq!((warn.generation().0, warn.client_got()), (1, vec![]));
    assert_eq!(warn.told("probe_failed").len(), 1);
    warn.server_answers("1");
    assert_eq!(warn.client_got(), [answer_line("1")]);

    let mut close = World::new(|server| server.probe.on_failure = OnProbeFailure::Close);
    close.open();
    close.call("1", "t");
    close.advance(secs(40));
    assert!(close.chain.is_none(), "no probe");
    refused(&close.client_got_one(), "1", -31001);
    assert_eq!(close.generation().0, 2);
}

#[test]
fn waking_up_from_sleep_gives_calls_the_time_that_the_machine_slept() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(60)));
    world.open();
    world.call("1", "t");
    world.advance(secs(30));
    world.now += secs(3600);
    world.slot.stood_still(secs(3600));
    world.tell(|slot, now, out| slot.wake(now, secs(3600), out));
    world.tell(|slot, now, out| slot.tick(now, out));
    assert!(world.client_got().is_empty() && world.chain.is_none(), "no deadline and no suspicion");
    assert_eq!(world.told("clock_jump")[0]["jumpMs"], 3_600_000);
    world.advance(secs(9));
    assert!(world.chain.is_none());
    world.advance(secs(1));
    assert!(world.chain.is_some(), "40 s of waking time");
    world.probe_passes();
    world.advance(secs(20));
    refused(&world.client_got_one(), "1", -31001);
}

#[test]
fn s78_waking_up_looks_once_and_only_warns() {
    let mut world = World::new(|server| server.health.interval = Some(secs(120)));
    world.open();
    world.now += secs(3600);
    world.tell(|slot, now, out| slot.wake(now, secs(3600), out));
    assert!(matches!(world.chain, Some((_, Trigger::Periodic))));
    for _ in 0..3 {
        world.probe_meets_silence();
        world.tell(|slot, now, out| slot.wake(now, secs(3600), out));
    }
    assert_eq!((world.generation().0, world.told("server_health_degraded").len()), (1, 0));
}

#[test]
fn a_cancel_does_not_probe_and_does_not_restart() {
    let mut world = open();
    world.call("1", "t");
    world.cancel("1");
    assert_eq!(world.server_got().last().map(String::as_str), Some(&*cancel_line("1")));
    world.advance(secs(4000));
    assert!(world.chain.is_none() && world.generation().0 == 1, "s256");
}

#[test]
fn the_calls_of_probes_are_urgent_and_a_cancel_never_passes_its_own_request() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open();
    world.call("1", "t");
    world.now += secs(5);
    let (now, generation, mut out) = (world.now, world.generation(), Vec::new());
    world.slot.tick(now, &mut out);
    world.slot.probe_call(now, generation, CallId(1), "ping", None, &mut out);
    let urgent: Vec<_> = out
        .iter()
        .filter_map(|effect| match effect {
            Effect::Forward { urgent, .. } => Some(*urgent),
            _ => None,
        })
        .collect();
    assert_eq!(urgent, [false, true], "{out:?}");
}

#[test]
fn callers_who_know_how_the_attempt_ended_are_no_reason_for_another_one() {
    let fails = Script { dies_at_start: true, ..Script::default() };
    let mut world = World::with_servers([Script::default(), fails], |server| {
        server.restart.delays = Delays::Schedule(vec![secs(0), secs(30)]);
    });
    world.open();
    world.call("1", "hangs");
    world.advance(secs(40));
    world.probe_meets_silence();
    world.gone();
    refused(&world.client_got_one(), "1", -31003);
    world.advance(secs(29));
    assert_eq!(world.generation().0, 2, "restart.delays");
    world.advance(secs(1));
    assert_eq!(world.generation().0, 3);
}
