//! Probes on the wire, the periodic check, and servers that answer in order.

use probe_api::{Era, ProcessFacts, Trigger, Verdict};

use crate::config::OnUnhealthy;
use crate::core::chain::{Heard, LinkIndex};
use crate::core::ids::{CallId, Generation};
use crate::core::slot::ProbeReply;
use crate::core::testing::{INITIALIZE, Script, World, answer_line, call_line, ids, raw_id, secs, stateless, value};

fn checked(change: impl FnOnce(&mut crate::config::Server)) -> World {
    let mut world = World::new(|server| {
        server.health.interval = Some(secs(120));
        change(server);
    });
    world.open();
    world
}

fn probe(world: &mut World, method: &str) {
    let generation = world.generation();
    world.tell(|slot, now, out| slot.probe_call(now, generation, CallId(1), method, None, out));
}

#[test]
fn a_probe_speaks_under_an_id_of_the_clients_kind_and_its_answer_is_swallowed() {
    let mut world = checked(|_| ());
    world.advance(secs(120));
    assert!(matches!(world.chain, Some((Generation(1), Trigger::Periodic))));
    world.script.ignores = &["ping"];
    probe(&mut world, "ping");
    let line = world.server_got().remove(0);
    let id: i64 = raw_id(&line).parse().expect("a number, as the client's are");
    assert!((2_000_000_000..i64::from(i32::MAX)).contains(&id));
    assert_eq!(line, format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.replies, [(CallId(1), ProbeReply::Result("{}".into()))]);

    world.request("\"a\"", "resources/read");
    probe(&mut world, "tools/list");
    assert!(world.server_got()[1].contains(r#""id":"mcp-watchdog/"#), "text, as the client's last one");
}

#[test]
fn an_error_is_an_answer_too_and_a_dead_server_is_gone() {
    let mut world = World::with_servers([Script { refuses: &["ping"], ..Script::default() }], |_| ());
    world.open();
    probe(&mut world, "ping");
    assert!(matches!(&world.replies[..], [(_, ProbeReply::Error(_))]));
    world.call("1", "t");
    probe(&mut world, "tools/call");
    world.server_dies();
    assert_eq!(world.replies[1], (CallId(1), ProbeReply::Gone));
    world.tell(|slot, now, out| slot.probe_call(now, Generation(1), CallId(2), "ping", None, out));
    assert_eq!(world.replies[2], (CallId(2), ProbeReply::Gone), "an older generation");
}

#[test]
fn before_initialize_is_answered_only_ping_may_be_sent() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    probe(&mut world, "ping");
    assert_eq!(world.replies.pop(), Some((CallId(1), ProbeReply::Invalid)), "the era is not fixed");
    world.say(INITIALIZE);
    world.server_got();
    probe(&mut world, "tools/list");
    assert_eq!(world.replies.pop(), Some((CallId(1), ProbeReply::Invalid)));
    assert_eq!(world.server_got(), [""; 0]);
}

#[test]
fn a_stateless_probe_snapshot_names_the_era_and_the_version() {
    let mut world = World::new(|_| ());
    world.open_stateless();
    let mut process = ProcessFacts::default();
    process.cpu_ms = Some(7);
    let snapshot = world.slot.probe_snapshot(world.now, Trigger::Periodic, process);
    assert_eq!((snapshot.era, snapshot.protocol_version.as_deref()), (Some(Era::Stateless), Some("2026-07-28")));
    assert_eq!((snapshot.generation, snapshot.process.cpu_ms, snapshot.pid), (1, Some(7), Some(101)));
    let mut world = World::new(|_| ());
    world.open();
    world.call("1", "t");
    world.advance(secs(2));
    let snapshot = world.slot.probe_snapshot(world.now, Trigger::Periodic, ProcessFacts::default());
    assert_eq!((snapshot.era, snapshot.in_flight, snapshot.since_start_ms), (Some(Era::Handshake), 1, 2000));
}

#[test]
fn s41_failed_checks_warn_at_the_threshold_and_never_restart() {
    let mut world = checked(|_| ());
    for check in 1..=5 {
        world.advance(secs(120));
        world.probe_meets_silence();
        assert_eq!(world.told("server_health_degraded").len(), usize::from(check >= 3), "check {check}");
    }
    let told = &world.told("server_health_degraded")[0];
    assert_eq!(told["consecutiveFailures"], 3);
    assert!(told["lastError"].as_str().is_some_and(|text| text.starts_with("Health check timeout")), "s99");
    assert_eq!(world.generation().0, 1, "s40");
    world.call("1", "t");
    world.server_answers("1");
    assert_eq!(world.told("server_health_restored").len(), 1, "s44: a call that succeeds is health");
}

#[test]
fn s181_failed_checks_restart_where_that_is_asked_for() {
    let mut world = checked(|server| server.health.on_unhealthy = OnUnhealthy::Restart);
    for _ in 0..2 {
        world.advance(secs(120));
        world.probe_meets_silence();
    }
    assert_eq!(world.generation().0, 1);
    world.advance(secs(120));
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.told("server_disconnected")[0]["reason"], "health");
    world.advance(secs(119));
    assert!(world.chain.is_none());
    world.advance(secs(1));
    assert!(world.chain.is_some(), "s77: checks go on with the new one");
}

#[test]
fn s77_a_server_that_is_down_is_not_checked() {
    let mut world = checked(|_| ());
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.advance(secs(29));
    assert!(world.chain.is_none());
}

#[test]
fn an_overdue_call_joins_the_check_that_runs() {
    let mut world = checked(|_| ());
    world.advance(secs(85));
    world.call("1", "t");
    world.advance(secs(35));
    assert!(world.chain.is_some(), "the periodic check");
    world.advance(secs(5));
    assert!(world.chain.is_some(), "one chain for both");
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2, "the verdict counts for the call too");
}

#[test]
fn a_server_that_answers_in_order_is_learned_and_not_condemned_by_silence() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    answers_in_order(&mut world, "1");
    world.call("2", "slow");
    world.advance(secs(40));
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 1, "silence during a call is its way");
    assert!(world.told("probe_busy").last().is_some_and(|told| told["evidence"].to_string().contains("in order")));
}

/// The server answers a ping right behind the call that was before it.
fn answers_in_order(world: &mut World, call: &str) {
    world.call(call, "slow");
    probe(world, "ping");
    let ping = world.server_got().pop().expect("the ping");
    world.advance(secs(1));
    world.server_answers(call);
    world.server_answers(&raw_id(&ping));
}

#[test]
fn a_server_that_lets_a_probe_overtake_a_call_does_not_answer_in_order_whatever_it_does_by_chance() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    answers_in_order(&mut world, "1");
    world.call("2", "slow");
    probe(&mut world, "ping");
    let ping = world.server_got().pop().expect("the ping");
    world.server_answers(&raw_id(&ping));
    world.server_answers("2");
    answers_in_order(&mut world, "3");
    world.call("4", "hangs");
    world.advance(secs(40));
    world.probe_meets_silence();
    world.gone();
    assert_eq!(world.generation().0, 2, "its silence condemns it");
}

#[test]
fn a_probe_that_passed_calls_on_the_way_to_the_server_says_nothing_of_the_order_of_its_answers() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |server| {
        server.health.interval = Some(secs(120));
    });
    world.open();
    answers_in_order(&mut world, "1");
    world.call("2", "waits to be written");
    probe(&mut world, "ping");
    world.slot.probe_passed(CallId(1));
    let ping = world.server_got().pop().expect("the ping");
    world.server_answers(&raw_id(&ping));
    world.server_answers("2");
    world.call("3", "slow");
    world.advance(secs(40));
    world.probe_meets_silence();
    world.gone();
    assert_eq!(world.generation().0, 1, "it answers in order as before");
}

#[test]
fn a_server_that_is_slow_to_get_warm_does_not_answer_in_order_for_that() {
    let mut world = World::new(|_| ());
    world.open();
    world.request("1", "tools/list");
    world.client_got_one();
    world.next.push_back(Script { ignores: &["tools/list"], ..Script::default() });
    world.lingering = true;
    world.server_dies();
    world.call("2", "held");
    world.gone();
    let list = world.server_got().into_iter().find(|line| line.contains("tools/list")).expect("it is compared");
    world.advance(secs(1));
    world.server_answers("2");
    world.server_answers(&raw_id(&list));
    world.call("3", "hangs");
    world.advance(secs(40));
    world.probe_meets_silence();
    world.gone();
    assert_eq!(world.generation().0, 3, "its silence condemns it as that of any other");
}

#[test]
fn a_server_that_answers_in_order_is_not_checked_during_a_call() {
    let mut world = checked(|_| ());
    world.next.push_back(Script { ignores: &["ping"], ..Script::default() });
    world.server_dies();
    answers_in_order(&mut world, "1");

    world.call("2", "slow");
    world.advance(secs(39));
    world.server_says(&answer_line("2"));
    world.call("3", "slow");
    world.advance(secs(39));
    world.server_says(&answer_line("3"));
    world.call("4", "slow");
    world.advance(secs(39));
    world.server_says(&answer_line("4"));
    world.call("5", "slow");
    world.advance(secs(10));
    assert!(world.chain.is_none(), "128 s have passed");
    world.server_answers("5");
    world.advance(secs(120));
    assert!(world.chain.is_some(), "but between calls it is");
}

#[test]
fn what_a_chain_taught_of_links_dies_with_the_generation() {
    let mut world = checked(|_| ());
    world.advance(secs(120));
    world.chain_ends(
        &[(Verdict::Fail("no answer".to_owned()), Heard::Silence), (Verdict::Pass, Heard::Answer)],
        secs(0),
    );
    let learned = world.slot.latches().clone();
    assert_ne!(learned, crate::core::chain::Latches::default(), "ping is ignored here");
    world.slot.probe_heard_late(LinkIndex(0));
    assert_ne!(*world.slot.latches(), learned, "but it was only slow");
    world.server_dies();
    assert_eq!(*world.slot.latches(), crate::core::chain::Latches::default());
}

#[test]
fn a_client_id_that_ours_has_in_flight_waits_for_it() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).remove(0);
    world.call(&ours, "t");
    assert_eq!(world.server_got(), [""; 0]);
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![call_line(&ours, "t")]));
    world.server_answers(&ours);
    assert_eq!(world.client_got(), [answer_line(&ours)]);
}

#[test]
fn a_request_that_waits_for_ours_can_be_cancelled_and_is_drained() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).remove(0);
    world.call(&ours, "t");
    world.cancel(&ours);
    world.server_answers(&ours);
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![]));

    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).remove(0);
    world.call(&ours, "t");
    world.tell(|slot, now, out| slot.client_eof(now, out));
    world.server_answers(&ours);
    world.server_answers(&ours);
    assert_eq!(world.client_got(), [answer_line(&ours)]);
    assert!(world.exit.is_some());
}

#[test]
fn a_clients_text_id_that_spells_ours_is_not_taken_for_it() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    world.request("0", "resources/read");
    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).pop().expect("the ping");
    world.call(&format!("\"{ours}\""), "t");
    world.server_answers(&ours);
    assert_eq!(world.client_got(), [""; 0]);
    assert!(matches!(&world.replies[..], [(CallId(1), ProbeReply::Result(_))]));
}

#[test]
fn a_late_answer_to_a_clients_text_id_that_spells_ours_is_none_to_ours() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).remove(0);
    let theirs = format!("\"{ours}\"");
    world.call(&theirs, "t");
    world.cancel(&theirs);
    world.server_answers(&theirs);
    assert_eq!((world.client_got(), world.replies.len()), (vec![], 0));
    world.server_answers(&ours);
    assert_eq!(world.replies.len(), 1);
}

#[test]
fn a_server_that_gives_our_number_back_as_a_string_is_understood() {
    let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |_| ());
    world.open();
    probe(&mut world, "ping");
    let ours = ids(&world.server_got()).remove(0);
    world.server_answers(&format!("\"{ours}\""));
    assert_eq!((world.client_got(), world.replies.len()), (vec![], 1));
}

#[test]
fn stateless_probes_carry_the_clients_version() {
    let mut world = World::new(|_| ());
    world.open_stateless();
    world.say(&stateless("1", "tools/list", "").replace("2026-07-28", "2027-01-01"));
    world.server_dies();
    let discover = value(&world.server_got()[0]);
    assert_eq!(discover["method"], "server/discover");
    let meta = &discover["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2027-01-01");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], serde_json::json!({}));
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "mcp-watchdog");
}

#[test]
fn a_call_that_is_cancelled_while_the_chain_runs_still_explains_the_silence_of_a_server_that_answers_in_order() {
    for deadline in [None, Some(secs(42))] {
        let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |server| {
            server.request_deadline = deadline;
        });
        world.open();
        answers_in_order(&mut world, "1");
        world.call("2", "slow");
        world.advance(secs(40));
        assert!(world.chain.is_some());
        match deadline {
            None => world.cancel("2"),
            Some(_) => world.advance(secs(2)),
        }
        assert_eq!(world.slot.in_flight(), 0);
        world.probe_meets_silence();
        world.gone();
        assert_eq!(world.generation().0, 1, "it may be at it still: {deadline:?}");
    }
}

#[test]
fn a_server_that_answers_in_order_is_not_condemned_for_a_cancelled_call_that_it_may_be_at_before_busy_max_is_over() {
    // The last answer is the late one to the cancelled call itself.
    for (answered, last, replaced) in [("", 8, false), ("", 12, true), ("3", 8, true), ("2", 8, true)] {
        let mut world = World::with_servers([Script { ignores: &["ping"], ..Script::default() }], |server| {
            server.health.interval = Some(secs(60));
            server.health.on_unhealthy = OnUnhealthy::Restart;
            server.health.threshold = 1;
        });
        world.open();
        answers_in_order(&mut world, "1");
        world.call("2", "slow");
        world.advance(secs(10));
        world.cancel("2");
        if answered == "3" {
            world.call("3", "quick");
        }
        if !answered.is_empty() {
            world.server_answers(answered);
        }
        for _ in 0..last {
            world.advance(secs(60));
            if world.chain.is_some() {
                world.probe_meets_silence();
                world.gone();
            }
        }
        assert_eq!(world.generation().0 > 1, replaced, "after {last} minutes, answered: {answered}");
    }
}
