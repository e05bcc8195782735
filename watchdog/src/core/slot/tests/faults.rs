//! Faults that earlier versions had, one scene each, so that none of them comes back.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use probe_api::Verdict;

use crate::config::{ChainMode, Delays, Server};
use crate::core::chain::{Chain, ChainPolicy, Heard, Latches, Link};
use crate::core::ids::CallId;
use crate::core::slot::{Effect, ProbeReply, Slot};
use crate::core::testing::{
    INITIALIZE, INITIALIZED, Script, World, answer_line, call_line, ids, millis, raw_id, refused, secs, value,
};
use crate::exit::Exit;

/// The result of `initialize`, under this id.
fn welcome(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}}"#)
}

/// The client's second `initialize`.
fn second() -> String {
    INITIALIZE.replace("0.0", "9")
}

/// A session with a server that says only what the test says; `opening` is its answer to `initialize`.
fn opened_with(opening: &str, change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::with_servers([Script::deaf()], change);
    world.say(INITIALIZE);
    world.server_says(opening);
    world.say(INITIALIZED);
    assert!(world.slot.lifecycle().is_connected());
    world.forget();
    world
}

fn opened_by_hand() -> World {
    opened_with(&welcome("0.0"), |_| ())
}

// -- deadlines and holds ----------------------------------------------------------------------------------------------

#[test]
fn a_deadline_reaches_a_call_that_waits_for_the_old_tree_to_end() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(1)));
    world.open();
    world.lingering = true;
    world.server_dies();
    world.call("1", "t");
    world.advance(secs(1) - millis(1));
    assert_eq!(world.client_got(), [""; 0]);
    world.advance(millis(1));
    let line = world.client_got_one();
    let data = refused(&line, "1", -31001);
    assert_eq!((&data["reason"], &data["sent"]), (&"deadline".into(), &false.into()));
    assert!(value(&line)["error"]["message"].to_string().contains("is being restarted"), "the server is not kept");
    world.gone();
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"], "nobody wants it any more");
}

#[test]
fn a_deadline_reaches_a_call_that_waits_for_the_replay() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(1)));
    world.open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = raw_id(&world.server_got()[0]);
    world.call("1", "t");
    world.advance(secs(1));
    assert_eq!(refused(&world.client_got_one(), "1", -31001)["sent"], false);
    world.server_says(&welcome(&replay));
    assert_eq!(world.server_got_methods(), ["notifications/initialized"], "the call is not sent any more");
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_deadline_reaches_a_call_that_is_held_again() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open();
    world.call("1", "t");
    world.advance(secs(3));
    world.lingering = true;
    world.server_dies_unread(1);
    world.advance(secs(2));
    assert_eq!(refused(&world.client_got_one(), "1", -31001)["sent"], false);
    world.gone();
    assert!(!world.server_got_methods().contains(&"tools/call".to_owned()));
}

/// A call hangs and the chain meets silence. The time is then `40 s + 6 s` after the start of the server.
fn hung(change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::new(change);
    world.open();
    world.call("1", "t");
    world.advance(secs(40));
    world
}

#[test]
fn a_hung_call_waits_for_the_outcome_no_longer_than_others_wait_for_a_server() {
    let mut world = hung(|server| server.restart.hold = secs(4));
    world.next.push_back(Script::deaf());
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2, "its handshake goes on for longer than that");
    world.advance(secs(4) - millis(1));
    assert_eq!(world.client_got(), [""; 0]);
    world.advance(millis(1));
    assert_eq!(refused(&world.client_got_one(), "1", -31001)["sent"], true);
    world.advance(secs(60));
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.client_got(), [""; 0], "answered once");
}

#[test]
fn a_hung_call_is_a_reason_to_make_the_attempt_soon() {
    let mut world = hung(|server| {
        server.restart.delays = Delays::Schedule(vec![secs(300)]);
        server.restart.min_attempt_interval = secs(50);
    });
    world.probe_meets_silence();
    assert_eq!((world.generation().0, world.client_got()), (1, vec![]), "46 s after the first attempt");
    world.advance(secs(4) - millis(1));
    assert_eq!(world.generation().0, 1);
    world.advance(millis(1));
    assert_eq!(world.generation().0, 2, "not 300 s later");
    assert_eq!(refused(&world.client_got_one(), "1", -31001)["restarted"], true);
}

#[test]
fn a_restart_that_nobody_waits_for_keeps_to_the_schedule() {
    let mut world = World::new(|server| server.restart.delays = Delays::Schedule(vec![secs(300)]));
    world.open();
    world.advance(secs(46));
    world.server_dies();
    world.advance(secs(299));
    assert_eq!(world.generation().0, 1);
    world.advance(secs(1));
    assert_eq!(world.generation().0, 2);
}

// -- a second initialize ----------------------------------------------------------------------------------------------

/// The server dies, and its successor gets the session that was established first.
#[track_caller]
fn established_session_goes_on(world: &mut World) {
    world.advance(secs(10));
    world.forget();
    world.server_dies();
    let got = world.server_got();
    assert_eq!(got.len(), 2, "{got:?}");
    assert_eq!(got[0], INITIALIZE.replace("0.0", &raw_id(&got[0])));
    assert_eq!(got[1], INITIALIZED);
    assert!(world.slot.lifecycle().is_connected());
    world.call("2", "t");
    assert_eq!(world.server_got(), [call_line("2", "t")]);
    world.server_answers("2");
    assert_eq!(world.client_got(), [answer_line("2")]);
}

#[test]
fn a_second_initialize_that_was_cancelled_changes_nothing() {
    let mut world = opened_by_hand();
    world.say(&second());
    world.cancel("9");
    established_session_goes_on(&mut world);
}

#[test]
fn a_second_initialize_that_was_cancelled_while_it_was_held_changes_nothing() {
    let mut world = opened_by_hand();
    world.lingering = true;
    world.server_dies();
    world.say(&second());
    world.cancel("9");
    world.gone();
    assert!(world.slot.lifecycle().is_connected());
    world.lingering = false;
    established_session_goes_on(&mut world);
}

#[test]
fn a_second_initialize_that_was_refused_changes_nothing() {
    let mut world = opened_by_hand();
    world.say(&second());
    let refusal = r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32600,"message":"already initialized"}}"#;
    world.server_says(refusal);
    assert_eq!(world.client_got(), [refusal]);
    established_session_goes_on(&mut world);
}

#[test]
fn a_second_initialize_during_a_replay_waits_for_it() {
    let mut world = opened_by_hand();
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = raw_id(&world.server_got()[0]);
    world.say(&second());
    assert_eq!(world.server_got(), [""; 0]);
    world.server_says(&welcome(&replay));
    assert_eq!(world.server_got(), [INITIALIZED.to_owned(), second()]);
    assert_eq!((world.generation().0, world.told("server_reconnected").len()), (2, 1), "no attempt has failed");
    world.server_says(&welcome("9"));
    assert_eq!(world.client_got(), [welcome("9")]);
}

#[test]
fn a_second_initialize_that_was_in_flight_follows_the_replay_and_then_counts() {
    let mut world = opened_by_hand();
    world.say(&second());
    world.server_got();
    world.server_dies();
    let got = world.server_got();
    assert_eq!(got[0], INITIALIZE.replace("0.0", &raw_id(&got[0])));
    assert_eq!(got[1..], [INITIALIZED.to_owned(), second()]);
    assert_eq!(ids(&world.client_got()), ["9"]);
    world.say(INITIALIZED);
    world.advance(secs(10));
    world.forget();
    world.server_dies();
    let got = world.server_got();
    assert_eq!(
        got,
        [second().replace('9', &raw_id(&got[0])), INITIALIZED.to_owned()],
        "the latest one that was answered"
    );
}

#[test]
fn a_session_whose_opening_nobody_can_read_goes_on_all_the_same() {
    let odd = r#"{"jsonrpc":"2.0","id":0.0,"result":{"protocolVersion":20250618,"capabilities":{},"serverInfo":{}}}"#;
    let mut world = opened_with(odd, |_| ());
    established_session_goes_on(&mut world);

    let mut world = opened_with(odd, |_| ());
    world.next.push_back(Script::deaf());
    world.server_dies();
    let replay = raw_id(&world.server_got()[0]);
    world.server_says(&odd.replace("0.0", &replay));
    world.call("2", "t");
    assert_eq!(world.server_got(), [INITIALIZED.to_owned(), call_line("2", "t")]);
}

// -- a hung server ----------------------------------------------------------------------------------------------------

fn silence() -> (Verdict, Heard) {
    (Verdict::Fail("no answer".to_owned()), Heard::Silence)
}

/// The chain that runs meets silence, and when the server is torn down it turns out that it was never given these lines.
/// The lines carry the ids of the requests in them, in the order in which the client sent them from 1 on.
fn meets_silence_unread(world: &mut World, unread: &[(u64, String)]) {
    let (generation, _) = world.chain.take().expect("a chain runs");
    let probe = &world.slot.config().probe;
    let policy = ChainPolicy { mode: probe.mode, confirmations: probe.confirmations };
    let mut chain = Chain::new(policy, vec![Link { name: "ping".to_owned(), skippable: false }], &Latches::default());
    let link = chain.next_link().expect("a link is due");
    let (verdict, heard) = silence();
    chain.record(link, verdict, heard);
    assert!(chain.next_link().is_none(), "the chain has ended");
    world.now += secs(6);
    let unsent: HashMap<u64, Bytes> = unread.iter().map(|(tag, line)| (*tag, line.clone().into())).collect();
    world.tell(|slot, now, out| {
        slot.chain_done(now, generation, &chain, Duration::ZERO, out);
        assert!(matches!(out.last(), Some(Effect::Tear { .. })), "nothing is decided before it is torn: {out:?}");
        slot.torn(now, generation, unsent, out);
    });
}

#[test]
fn what_a_hung_server_was_never_given_goes_to_the_next_one() {
    let mut world = World::new(|_| ());
    world.open();
    world.call("1", "hung");
    world.advance(secs(39));
    world.call("2", "given");
    world.call("3", "not given");
    world.call("4", "cancelled");
    world.cancel("4");
    world.request("5", "x/y");
    world.advance(secs(1));
    world.lingering = true;
    // The handshake was the first request of the client.
    let tag = |id: u64| id + 1;
    let five = r#"{"jsonrpc":"2.0","id":5,"method":"x/y"}"#.to_owned();
    let unread = [(tag(3), call_line("3", "not given")), (tag(4), call_line("4", "cancelled")), (tag(5), five.clone())];
    meets_silence_unread(&mut world, &unread);
    let data = refused(&world.client_got_one(), "2", -31000);
    assert_eq!(data["sent"], true);
    world.gone();
    refused(&world.client_got_one(), "1", -31001);
    let got = world.server_got();
    assert_eq!(got[2..], [call_line("3", "not given"), five]);
    world.server_answers("3");
    world.server_answers("5");
    assert_eq!(world.client_got(), [answer_line("3"), answer_line("5")], "as if nothing had happened");
}

#[test]
fn an_overdue_call_that_was_never_given_to_the_hung_server_goes_to_the_next_one() {
    let mut world = hung(|_| ());
    meets_silence_unread(&mut world, &[(2, call_line("1", "t"))]);
    assert_eq!((world.generation().0, world.client_got()), (2, vec![]));
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized", "tools/call"]);
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")]);
}

#[test]
fn an_overdue_question_that_changes_nothing_is_asked_again() {
    let mut world = opened_by_hand();
    world.request("1", "tools/list");
    world.advance(secs(40));
    world.server_got();
    world.probe_meets_silence();
    assert_eq!(world.generation().0, 2);
    let line = world.client_got_one();
    assert_eq!(value(&line)["result"]["tools"][0]["name"], "a", "the answer of the next server");
    assert_eq!(raw_id(&line), "1");
    assert_eq!(world.server_got().iter().filter(|line| raw_id_of(line) == "1").count(), 1);
}

/// The id of a message, or nothing for a notification.
fn raw_id_of(line: &str) -> String {
    if value(line)["id"].is_null() { String::new() } else { raw_id(line) }
}

// -- evidence ---------------------------------------------------------------------------------------------------------

/// In `probe.mode: all` the chain of an overdue call has heard the answer to its ping, and its next link has not spoken.
fn half_way() -> World {
    let mut world = hung(|server| server.probe.mode = ChainMode::All);
    world.replies.clear();
    let generation = world.generation();
    world.tell(|slot, now, out| slot.probe_call(now, generation, CallId(1), "ping", None, out));
    assert_eq!(world.replies, [(CallId(1), ProbeReply::Result("{}".into()))]);
    world
}

fn next_link_is_met_by_silence(world: &mut World) {
    world.now += secs(3);
    world.chain_ends(&[(Verdict::Pass, Heard::Answer), silence()], Duration::ZERO);
}

#[test]
fn the_answer_to_one_link_does_not_excuse_the_silence_to_another() {
    let mut world = half_way();
    next_link_is_met_by_silence(&mut world);
    assert_eq!(world.generation().0, 2);
    refused(&world.client_got_one(), "1", -31001);
}

#[test]
fn anything_else_that_the_server_writes_does() {
    let mut half_a_line = half_way();
    let generation = half_a_line.generation();
    half_a_line.tell(|slot, now, _| slot.heard(now, generation));

    let line = |text: &str| {
        let mut world = half_way();
        let line = Bytes::copy_from_slice(text.as_bytes());
        world.tell(|slot, now, out| slot.server_told(now, generation, line, out));
        world
    };
    let message = line(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"still here"}}"#);
    let log_line = line("still here");
    let late_answer = line(&answer_line("77"));
    for mut world in [half_a_line, message, log_line, late_answer] {
        next_link_is_met_by_silence(&mut world);
        assert_eq!((world.generation().0, world.told("probe_busy").len()), (1, 1));
    }
}

// -- a command that cannot be started ---------------------------------------------------------------------------------

/// A world whose server is started by `Slot::enable`, and not before.
fn unstarted() -> World {
    World::new(|server| server.enabled = false)
}

/// A world whose program turns out not to be there. `first` happens while it is being started.
fn not_found(first: impl FnOnce(&mut Slot, Instant, &mut Vec<Effect>)) -> World {
    let mut world = unstarted();
    world.tell(|slot, now, out| {
        slot.enable(now, out);
        first(slot, now, out);
        let generation = slot.lifecycle().live().expect("it is still being started");
        slot.cannot_start(now, generation, "no such program".to_owned(), Exit::NotFound, false, out);
    });
    world
}

#[test]
fn the_end_of_stdin_waits_for_the_outcome_of_the_first_start() {
    let world = not_found(|slot, now, out| slot.client_eof(now, out));
    assert_eq!(world.exit, Some(Exit::NotFound), "at once: nobody is there to ask");

    let mut world = unstarted();
    world.tell(|slot, now, out| {
        slot.enable(now, out);
        slot.client_eof(now, out);
        assert!(slot.lifecycle().live().is_some());
    });
    assert_eq!(world.exit, Some(Exit::Done), "it runs, and that was all to know");
}

#[test]
fn a_start_that_takes_for_ever_does_not_hold_up_the_end() {
    let mut world = unstarted();
    let mut out = Vec::new();
    world.slot.enable(world.now, &mut out);
    world.slot.client_eof(world.now, &mut out);
    let end = world.slot.next_wake().expect("shutdown.drain");
    assert_eq!(end, world.now + secs(5));
    world.slot.tick(end, &mut out);
    assert!(matches!(out.last(), Some(Effect::Tear { .. })), "{out:?}");
}

#[test]
fn a_client_that_has_not_spoken_is_given_a_second_to_ask_why_there_is_no_server() {
    let mut world = not_found(|_, _, _| ());
    world.advance(secs(1) - millis(1));
    assert_eq!(world.exit, None);
    world.say(INITIALIZE);
    let data = refused(&world.client_got_one(), "0.0", -31005);
    assert_eq!((&data["reason"], &data["sent"]), (&"cannot-start".into(), &false.into()));
    assert_eq!(data["lastError"], "no such program");
    assert_eq!(world.exit, Some(Exit::NotFound), "and that is all");
}

#[test]
fn a_client_that_does_not_ask_is_not_waited_for() {
    let mut world = not_found(|_, _, _| ());
    world.say(INITIALIZED);
    assert_eq!((world.exit, world.client_got()), (None, vec![]), "a notification asks for nothing");
    world.advance(secs(1));
    assert_eq!(world.exit, Some(Exit::NotFound));

    let mut world = not_found(|_, _, _| ());
    world.tell(|slot, now, out| slot.client_eof(now, out));
    assert_eq!(world.exit, Some(Exit::NotFound));

    let mut world = not_found(|slot, now, out| slot.client_told(now, INITIALIZE, out));
    refused(&world.client_got_one(), "0.0", -31005);
    assert_eq!(world.exit, Some(Exit::NotFound));
}

// -- bytes ------------------------------------------------------------------------------------------------------------

/// The server writes bytes, and this much of them is logged as no message.
fn server_writes(world: &mut World, line: &[u8]) -> Vec<Bytes> {
    let generation = world.generation();
    let mut strays = Vec::new();
    world.tell(|slot, now, out| {
        slot.server_told(now, generation, Bytes::copy_from_slice(line), out);
        let (logged, others) = std::mem::take(out).into_iter().partition(|effect| matches!(effect, Effect::Stray(_)));
        let logged: Vec<_> = logged;
        *out = others;
        strays.extend(logged.into_iter().filter_map(|effect| match effect {
            Effect::Stray(line) => Some(line),
            _ => None,
        }));
    });
    strays
}

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

#[test]
fn bytes_that_are_no_text_never_reach_the_client() {
    let mut world = open();
    let lines: [&[u8]; 3] = [
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\xc3\"}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\"}}",
        b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":\"\xed\xa0\x80\"}",
    ];
    for line in lines {
        assert_eq!(server_writes(&mut world, line), [line]);
    }
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![]));
}

#[test]
fn an_answer_that_is_no_text_is_an_error_for_its_request() {
    let mut world = open();
    world.call("1", "t");
    world.call("2", "t");
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"caf\xe9\"}}";
    assert_eq!(server_writes(&mut world, line).len(), 1);
    let answer = world.client_got_one();
    let data = refused(&answer, "1", -31000);
    assert_eq!((&data["reason"], &data["sent"]), (&"unreadable-answer".into(), &true.into()));
    assert!(answer.contains("UTF-8"));
    world.server_answers("2");
    assert_eq!((world.client_got(), world.generation().0), (vec![answer_line("2")], 1), "the server is kept");
}

#[test]
fn a_log_line_in_json_is_not_taken_for_a_message() {
    let mut world = open();
    world.call("1", "t");
    let lines = [
        r#"{"level":"error","error":"boom"}"#,
        r#"{"method":"GET","url":"/"}"#,
        r#"{"id":1,"method":"GET"}"#,
        r#"{"id":99,"result":"of a job"}"#,
        r#"{"error":{"code":1,"message":"boom"},"id":null}"#,
    ];
    for line in lines {
        world.server_says(line);
    }
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.strays, lines);
    // Some servers leave the member out of their answers, and clients may well take them.
    let careless = r#"{"id":1,"result":{}}"#;
    world.server_says(careless);
    assert_eq!((world.client_got(), world.strays.len()), (vec![careless.to_owned()], lines.len()));
}

#[test]
fn bytes_of_the_client_that_are_no_text_never_reach_the_server() {
    let mut world = open();
    let lines: [&[u8]; 2] = [
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"\xff\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"x\":\"\xc3\"}}",
    ];
    for line in lines {
        world.tell(|slot, now, out| slot.client_told(now, Bytes::copy_from_slice(line), out));
        let answer = value(&world.client_got_one());
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&(-32700).into(), &serde_json::Value::Null));
    }
    assert_eq!((world.server_got(), world.slot.in_flight()), (vec![], 0));
}

// -- what is told -----------------------------------------------------------------------------------------------------

/// Events are kept by the hundred, and written to the log and to files: a client's id of a megabyte is not.
#[test]
fn events_have_a_part_of_a_long_id_and_a_long_name_and_answers_all_of_it() {
    let mut world = World::new(|_| ());
    world.open();
    let long = "ä".repeat(500_000);
    let id = format!("\"{long}\"");
    world.call(&id, &long);
    world.advance(secs(40));
    world.lingering = true;
    world.tell(|slot, now, out| slot.disable(now, out));
    refused(&world.client_got_one(), &id, -31004);
    let [overdue, failed] = ["tool_timeout", "request_failed"].map(|name| world.told(name).remove(0));
    for text in [&overdue["requestId"], &overdue["tool"], &failed["requestId"]] {
        let text = text.as_str().unwrap();
        assert!(text.len() <= 260 && text.ends_with("ä…"), "{text}");
    }
}

#[test]
fn that_a_call_is_overdue_is_told_once() {
    let mut world = hung(|_| ());
    assert_eq!(world.told("tool_timeout").len(), 1);
    for _ in 0..3 {
        world.probe_passes();
        world.advance(secs(40));
        assert!(world.chain.is_some(), "but the server is asked every time");
    }
    assert_eq!(world.told("tool_timeout").len(), 1);
    world.call("2", "other");
    world.probe_passes();
    world.advance(secs(40));
    let told = world.told("tool_timeout");
    assert_eq!((told.len(), &told[1]["tool"]), (2, &"other".into()));
}

#[test]
fn a_failed_check_that_only_warns_is_no_reason_for_anything_later() {
    let mut world = World::new(|server| {
        server.health.interval = Some(secs(120));
        server.request_deadline = Some(secs(5));
    });
    world.open();
    for _ in 0..3 {
        world.advance(secs(120));
        world.probe_meets_silence();
    }
    assert_eq!((world.generation().0, world.told("server_health_degraded").len()), (1, 1));
    world.call("1", "t");
    world.advance(secs(5));
    let data = refused(&world.client_got_one(), "1", -31001);
    assert!(data.get("lastError").is_none_or(serde_json::Value::is_null), "{data}");
}
