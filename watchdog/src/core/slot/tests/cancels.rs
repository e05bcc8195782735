//! Cancelled requests, and what comes too late.

use crate::config::StrayStdout;
use crate::core::testing::{Script, World, answer_line, call_line, cancel_line, id, refused, secs};
use crate::wire::lines::{Oversized, OversizedKind, OversizedMessage};

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world
}

/// A world whose next server has not answered the replay, so that requests wait.
fn down() -> World {
    let mut world = open();
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.forget();
    world
}

#[test]
fn a_cancelled_request_gets_no_answer() {
    let mut world = open();
    world.call("1", "t");
    world.cancel("1");
    assert_eq!(world.server_got(), [call_line("1", "t"), cancel_line("1")]);
    world.server_answers("1");
    assert_eq!(world.client_got(), [""; 0]);
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0], "not at death either");
}

#[test]
fn its_id_may_be_used_again() {
    let mut world = open();
    world.call("1", "t");
    world.cancel("1.0");
    world.call("1", "u");
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")]);
}

#[test]
fn a_held_request_that_is_cancelled_is_never_sent() {
    let mut world = down();
    world.call("1", "t");
    world.call("2", "t");
    world.cancel("1");
    world.server_says(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}}}}}}"#,
        crate::core::testing::raw_id(r#"{"id":2000000001,"result":{}}"#)
    ));
    assert!(world.slot.lifecycle().is_connected());
    let got = world.server_got();
    assert!(got.contains(&call_line("2", "t")) && !got.contains(&call_line("1", "t")), "{got:?}");
    assert!(!got.contains(&cancel_line("1")), "the server knows nothing of it");
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_cancel_for_a_request_of_an_older_generation_is_not_forwarded() {
    let mut world = open();
    world.call("1", "t");
    world.request("2", "resources/read");
    world.lingering = true;
    world.server_dies();
    assert_eq!(world.client_got().len(), 1, "the call is lost, the read waits");
    world.cancel("1");
    world.cancel("2");
    world.gone();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
    assert_eq!(world.client_got(), [""; 0]);
    world.cancel("1");
    world.cancel("77");
    assert_eq!(world.server_got(), [""; 0]);
}

#[test]
fn a_read_that_was_sent_again_is_cancelled_at_the_new_server() {
    let mut world = open();
    world.request("2", "resources/read");
    world.server_dies();
    world.server_got();
    world.cancel("2");
    assert_eq!(world.server_got(), [cancel_line("2")]);
}

#[test]
fn late_progress_is_dropped() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}"#);
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
    world.server_says(progress);
    world.server_answers("1");
    world.server_says(progress);
    assert_eq!(world.client_got(), [progress.to_owned(), answer_line("1")]);
    world.server_says(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#);
    assert_eq!(world.client_got(), [""; 0], "whose progress?");

    world.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}"#);
    world.cancel("2");
    world.server_says(progress);
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn tokens_die_with_their_generation() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7}}}"#);
    world.server_dies();
    world.client_got();
    world.server_says(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
    );
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_second_answer_is_dropped() {
    let mut world = open();
    world.call("1", "t");
    world.server_answers("1");
    world.server_answers("1");
    assert_eq!(world.client_got(), [answer_line("1")]);
    assert_eq!(world.told("stale_result").len(), 1);
}

#[test]
fn a_cancel_without_an_id_concerns_nobody() {
    let mut world = open();
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    world.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}"#);
    assert_eq!((world.server_got(), world.client_got()), (vec![], vec![]));
}

/// How an answer may come.
const WAYS: [fn(&mut World, &str); 4] = [
    |world, id| world.server_answers(id),
    |world, id| world.server_says(&format!("[{}]", answer_line(id))),
    |world, id| {
        let line = [answer_line(id).replace("{}}", "\"").as_bytes(), b"\xff\"}"].concat();
        let generation = world.generation();
        world.tell(|slot, now, out| slot.server_told(now, generation, line, out));
    },
    |world, raw| {
        let answer = OversizedMessage { id: Some(id(raw)), kind: OversizedKind::Response };
        let line = Oversized { messages: vec![answer], len: 100 };
        let generation = world.generation();
        world.tell(|slot, now, out| slot.server_oversized(now, generation, &line, out));
    },
];

#[test]
fn a_late_answer_is_not_taken_for_that_of_another_request_whose_id_has_the_same_digits() {
    let batches = Script { version: "2025-03-26", ..Script::default() };
    for late in WAYS {
        for (cancelled, other) in [("5", "\"5\""), ("\"5\"", "5")] {
            for deadline in [None, Some(secs(3))] {
                let mut world = World::with_servers([batches.clone()], |server| {
                    server.request_deadline = deadline;
                    server.limits.stray_stdout = StrayStdout::Drop;
                });
                world.open();
                world.call(cancelled, "t");
                match deadline {
                    None => world.cancel(cancelled),
                    Some(limit) => {
                        world.advance(limit);
                        refused(&world.client_got_one(), cancelled, -31001);
                    }
                }
                world.call(other, "t");
                late(&mut world, cancelled);
                assert_eq!((world.client_got(), world.slot.in_flight()), (vec![], 1), "{cancelled}");
                world.server_answers(other);
                assert_eq!(world.client_got(), [answer_line(other)]);
            }
        }
    }
}

#[test]
fn a_number_given_back_as_a_string_is_understood_where_the_client_uses_no_strings() {
    let batches = Script { version: "2025-03-26", ..Script::default() };
    for answer in WAYS {
        let mut world = World::with_servers([batches.clone()], |server| server.limits.stray_stdout = StrayStdout::Drop);
        world.open();
        world.call("5", "t");
        answer(&mut world, "\"5\"");
        assert_eq!((world.client_got().len(), world.slot.in_flight()), (1, 0));
    }
}
