//! Faults at the edges of starting, ending and reading, one scene each.

use std::collections::HashMap;

use bytes::Bytes;

use crate::config::{Delays, OnCall, OnUnhealthy};
use crate::core::slot::{Effect, Outgoing};
use crate::core::testing::{INITIALIZE, Script, World, call_line, refused, secs, stateless};
use crate::exit::Exit;

fn welcome(id: &str, version: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{{}}}}}}"#)
}

/// The server writes bytes; what goes to the log is left out.
fn server_writes(world: &mut World, line: &[u8]) {
    let generation = world.generation();
    world.tell(|slot, now, out| {
        slot.server_told(now, generation, Bytes::copy_from_slice(line), out);
        out.retain(|effect| !matches!(effect, Effect::Stray(_)));
    });
}

#[test]
fn a_server_whose_opening_was_given_up_serves_whoever_speaks_next() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_dies();
    world.advance(secs(5));
    refused(&world.client_got_one(), "0.0", -31006);
    world.server_got();
    world.request("5", "ping");
    assert_eq!(world.server_got_methods(), ["ping"]);
    world.advance(secs(20));
    assert_eq!(world.generation().0, 2, "it is not torn down for an opening that nobody waits for");
}

#[test]
fn a_failure_from_before_the_client_spoke_does_not_shorten_its_wait() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.server_dies();
    world.advance(secs(1));
    world.say(INITIALIZE);
    world.advance(secs(10));
    assert_eq!(world.client_got(), [""; 0], "no attempt has failed since");
    world.server_says(&welcome("0.0", "2025-06-18"));
    assert_eq!(world.client_got(), [welcome("0.0", "2025-06-18")]);
}

#[test]
fn a_batch_that_is_not_utf_8_never_reaches_the_client() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_says(&welcome("0.0", "2025-03-26"));
    world.client_got();
    world.say(&format!("[{}]", call_line("1", "t")));
    server_writes(&mut world, b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xc3\"}}]");
    let data = refused(&world.client_got_one(), "1", -31000);
    assert_eq!(data["reason"], "unreadable-answer");
}

#[test]
fn an_answer_to_a_listen_counts_however_it_is_spelled() {
    let open = || {
        let mut world = World::with_servers([Script::deaf()], |_| ());
        world.say(&stateless("1", "subscriptions/listen", r#""notifications":{},"#));
        world
    };
    let mut world = open();
    server_writes(&mut world, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xff\"}}");
    refused(&world.client_got_one(), "1", -31000);
    let mut world = open();
    world.server_says(r#"{"id":1,"result":{"x":"a"}}"#);
    assert_eq!(world.client_got(), [r#"{"id":1,"result":{"x":"a"}}"#]);
}

#[test]
fn what_was_never_given_to_the_server_is_not_said_to_be_sent_at_the_end_either() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_says(&welcome("0.0", "2025-06-18"));
    world.client_got();
    world.call("1", "given");
    world.call("2", "not given");
    let (now, generation) = (world.now, world.generation());
    let mut out = Vec::new();
    world.slot.signal(now, 15, &mut out);
    let unsent = HashMap::from([(3, Bytes::from(call_line("2", "not given")))]);
    world.slot.torn(now, generation, unsent, &mut out);
    world.slot.torn_down(now, generation, &[], &mut out);
    let sent: Vec<_> = out
        .iter()
        .filter_map(|effect| match effect {
            Effect::Deliver(Outgoing::Made(line)) => Some(serde_json::from_slice::<serde_json::Value>(line).unwrap()),
            _ => None,
        })
        .map(|answer| (answer["id"].clone(), answer["error"]["data"]["sent"].clone()))
        .collect();
    assert_eq!(sent, [(1.into(), true.into()), (2.into(), false.into())]);
    assert!(matches!(out.last(), Some(Effect::Exit(Exit::Signal(15)))), "{out:?}");
}

#[test]
fn a_batch_is_a_first_word_too() {
    let mut world = World::new(|server| server.enabled = false);
    world.tell(|slot, now, out| {
        slot.enable(now, out);
        let generation = slot.lifecycle().live().expect("it is still being started");
        slot.cannot_start(now, generation, "no such program".to_owned(), Exit::NotFound, false, out);
    });
    world.say(&format!("[{INITIALIZE}]"));
    let data = refused(&world.client_got_one(), "0.0", -31005);
    assert_eq!((&data["reason"], world.exit), (&"cannot-start".into(), Some(Exit::NotFound)));
}

#[test]
fn a_request_without_a_timer_of_its_own_does_not_excuse_silence_from_health_checks() {
    let mut world = World::new(|server| {
        server.health.interval = Some(secs(30));
        server.health.jitter = 0.0;
        server.health.threshold = 1;
        server.health.on_unhealthy = OnUnhealthy::Restart;
    });
    world.open();
    world.request("1", "tasks/result");
    world.advance(secs(30));
    assert!(world.chain.is_some());
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2);
}

#[test]
fn a_call_that_a_server_has_is_not_given_up_for_the_sake_of_the_opening() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_dies();
    world.advance(secs(5));
    refused(&world.client_got_one(), "0.0", -31006);
    world.call("1", "t");
    assert!(world.server_got().contains(&call_line("1", "t")));
    world.advance(secs(20));
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn the_time_to_the_next_attempt_is_counted_from_the_answer() {
    let mut world = World::new(|server| {
        server.restart.delays = Delays::Schedule(vec![secs(3)]);
        server.restart.hold = secs(1);
        server.restart.on_call = OnCall::Wait;
    });
    world.open();
    world.server_dies();
    for (id, left) in [("1", 2000), ("2", 1000)] {
        world.call(id, "t");
        world.advance(secs(1));
        let data = refused(&world.client_got_one(), id, -31002);
        assert_eq!(data["nextRetryMs"], left);
    }
}

#[test]
fn the_end_does_not_wait_for_the_question_of_an_era_that_was_left() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(&stateless("7", "server/discover", ""));
    world.say(INITIALIZE);
    world.server_says(&welcome("0.0", "2025-06-18"));
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert_eq!(world.exit, Some(Exit::Done), "without shutdown.drain");
}
