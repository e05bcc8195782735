use std::io::Read;
use std::thread;

use super::*;
use crate::guard::message::Frames;
use crate::probe_host::message::from_body;

/// Far more than anything here takes; nothing waits for it to pass.
const LONG: Duration = Duration::from_secs(60);

fn rig() -> (Table, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    (Table::new(ours), theirs)
}

fn hear(engine: &mut UnixStream) -> Report {
    let mut frames = Frames::new(LONGEST_REPORT);
    loop {
        let mut byte = [0];
        engine.read_exact(&mut byte).unwrap();
        frames.push(&byte);
        if let Some(body) = frames.next().unwrap() {
            return from_body(&body).unwrap();
        }
    }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// The text that a reply points to.
fn read(reply: Str) -> String {
    // SAFETY: the table keeps it until the next check begins, and none has.
    let bytes = unsafe { std::slice::from_raw_parts(reply.ptr.cast::<u8>(), reply.len) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_call_gets_its_own_answer() {
    let (table, mut engine) = rig();
    let handle = table.begin(Some(4), LONG);
    let (code, reply) = thread::scope(|scope| {
        let call = scope.spawn(|| {
            let (code, reply) = table.call(handle, "ping", Some(raw("[1]")), 500);
            (code, read(reply))
        });
        let Report::Call { check: 4, call: number, method, params, timeout_ms: 500 } = hear(&mut engine) else {
            panic!("no call")
        };
        assert_eq!((method.as_str(), params.unwrap().get()), ("ping", "[1]"));
        table.answer(number + 1, call::GONE, None);
        table.answer(number, call::RESULT, Some(raw("{\"a\": 1}")));
        call.join().unwrap()
    });
    assert_eq!((code, reply.as_str()), (call::RESULT, "{\"a\": 1}"));
    assert!(table.lock().waiting.is_empty());
}

#[test]
fn null_is_an_answer_and_a_failure_has_none() {
    for (code, expected) in [(call::RESULT, "null"), (call::ERROR, "null"), (call::TIMEOUT, "")] {
        let (table, mut engine) = rig();
        let handle = table.begin(Some(1), LONG);
        let reply = thread::scope(|scope| {
            let call = scope.spawn(|| read_or_empty(table.call(handle, "ping", None, 500).1));
            hear(&mut engine);
            table.answer(1, code, None);
            call.join().unwrap()
        });
        assert_eq!(reply, expected);
    }
}

fn read_or_empty(reply: Str) -> String {
    if reply.ptr.is_null() { String::new() } else { read(reply) }
}

#[test]
fn so_many_calls_wait_at_a_time() {
    let (table, mut engine) = rig();
    let handle = table.begin(Some(1), LONG);
    thread::scope(|scope| {
        let calls: Vec<_> = (0..CALLS).map(|_| scope.spawn(|| table.call(handle, "ping", None, 500).0)).collect();
        for _ in 0..CALLS {
            assert!(matches!(hear(&mut engine), Report::Call { .. }));
        }
        assert_eq!(table.call(handle, "ping", None, 500).0, call::INVALID);
        table.end();
        assert!(calls.into_iter().all(|call| call.join().unwrap() == call::CANCELLED));
        // The next check has all of them.
        let next = table.begin(Some(2), LONG);
        let table = &table;
        let call = scope.spawn(move || table.call(next, "ping", None, 500).0);
        let Report::Call { check: 2, call: number, .. } = hear(&mut engine) else { panic!("no call") };
        table.answer(number, call::GONE, None);
        assert_eq!(call.join().unwrap(), call::GONE);
    });
}

#[test]
fn the_end_of_a_check_ends_its_calls() {
    let (table, mut engine) = rig();
    let handle = table.begin(Some(1), LONG);
    let code = thread::scope(|scope| {
        let call = scope.spawn(|| table.call(handle, "ping", None, 500).0);
        hear(&mut engine);
        table.end();
        call.join().unwrap()
    });
    assert_eq!(code, call::CANCELLED);
}

#[test]
fn a_call_does_not_wait_beyond_the_check() {
    let (table, _engine) = rig();
    let handle = table.begin(Some(1), Duration::from_millis(1));
    assert_eq!(table.call(handle, "ping", None, u32::MAX).0, call::CANCELLED);
    assert!(table.remaining_ms(handle) <= 0);
}

#[test]
fn stale_handles_and_strangers_do_nothing() {
    let (table, mut engine) = rig();
    let old = table.begin(Some(1), LONG);
    table.detail(old, "first".into());
    assert_eq!(table.end().as_deref(), Some("first"));
    let new = table.begin(Some(2), LONG);
    for stale in [0, old, new + 1, usize::MAX] {
        assert_eq!(table.call(stale, "ping", None, 1).0, call::CANCELLED);
        assert_eq!(table.remaining_ms(stale), 0);
        table.detail(stale, "stale".into());
        table.log(stale, log::ERROR, "stale".into());
    }
    assert!(table.remaining_ms(new) > 1000);
    table.log(new, log::INFO, "new".into());
    assert!(matches!(hear(&mut engine), Report::Log { level: log::INFO, text } if text == "new"));
    assert_eq!(table.end(), None);
}

#[test]
fn nobody_is_asked_while_an_instance_is_made() {
    let (table, _engine) = rig();
    let handle = table.begin(None, LONG);
    assert_eq!(table.call(handle, "ping", None, 1).0, call::INVALID);
}

#[test]
fn answers_stay_where_they_are_until_the_next_check() {
    let (table, _engine) = rig();
    table.begin(Some(1), LONG);
    let replies: Vec<Str> = (0..200).map(|number| table.lock().keep(raw(&number.to_string()))).collect();
    for (number, reply) in replies.into_iter().enumerate() {
        assert_eq!(read(reply), number.to_string());
    }
    table.end();
    table.begin(Some(2), LONG);
    assert!(table.lock().replies.is_empty());
}
