use proptest::prelude::*;

use super::super::Span;
use super::super::head::{Kind, Scan, elements, id_at, scan};
use super::super::samples;
use super::message::HELD_MAX;
use super::*;
use crate::wire::id::Id;

fn in_pieces(line: &[u8], cuts: &[usize]) -> Vec<OversizedMessage> {
    let mut outline = Outline::default();
    let mut rest = line;
    for &length in cuts {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        outline.feed(piece);
        rest = after;
    }
    outline.feed(rest);
    outline.end()
}

fn message(kind: OversizedKind, id: Option<Id>) -> OversizedMessage {
    OversizedMessage { kind, id }
}

/// What the scan says of the whole line; `None` where it is not JSON to the scan, which looks deeper.
fn expected(line: &[u8]) -> Option<Vec<OversizedMessage>> {
    match scan(line) {
        Scan::Batch => elements(line)?.into_iter().map(|span| expected_of_one(&line[span])).collect(),
        Scan::NotJson => None,
        _ => Some(vec![expected_of_one(line)?]),
    }
}

fn text_id_at(line: &[u8], span: Option<&Span>) -> Option<Id> {
    id_at(line, span).filter(|id| std::str::from_utf8(&id.raw()).is_ok())
}

fn expected_of_one(line: &[u8]) -> Option<OversizedMessage> {
    Some(match scan(line) {
        Scan::Message(head) => {
            let id = text_id_at(line, head.id.as_ref());
            match head.kind {
                Kind::Request if id.is_none() => message(OversizedKind::Notification, None),
                Kind::Request => message(OversizedKind::Request, id),
                Kind::Notification => message(OversizedKind::Notification, None),
                Kind::Result | Kind::Error => message(OversizedKind::Response, id),
            }
        }
        Scan::NotAMessage(span) => message(OversizedKind::Unknown, text_id_at(line, span.as_ref())),
        Scan::Batch => message(OversizedKind::Unknown, None),
        Scan::NotJson => return None,
    })
}

#[test]
fn the_id_is_found_wherever_it_stands() {
    let body = r#""params":{"id":7,"a":["\"}",{}]}"#;
    for line in
        [format!(r#"{{"id":"é\u0061",{body},"method":"x"}}"#), format!(r#"{{{body},"method":"x","id":"é\u0061"}} "#)]
    {
        assert_eq!(
            in_pieces(line.as_bytes(), &vec![1; line.len()]),
            [message(OversizedKind::Request, Some(Id::parse("\"é\\u0061\"".as_bytes()).expect("an id")))]
        );
    }
}

#[test]
fn torn_lines_have_no_verdict() {
    let line = br#"{"id":1,"method":"x","params":{"a":[1]}}"#;
    for end in 0..line.len() {
        assert_eq!(in_pieces(&line[..end], &[]), []);
        assert_eq!(in_pieces(&[b"[", &line[..], b",", &line[..end]].concat(), &[]), []);
    }
    for line in [
        r#"{"id":1,"method":"x"}}"#,
        r#"{"id":1"method":"x"}"#,
        r#"{"id":01,"method":"x"}"#,
        "text",
        r#"[{"id":1,"method":"x"}"#,
        r#"[{"id":1,"method":"x"},]"#,
        r#"[{"id":1,"method":"x"}]]"#,
        r#"[{"id":1,"method":"x"}{}]"#,
        r#"[,{"id":1,"method":"x"}]"#,
        r#"{"id":1,}"#,
    ] {
        assert_eq!(in_pieces(line.as_bytes(), &[]), [], "{line}");
    }
}

#[test]
fn each_message_of_a_batch_is_found() {
    let line = br#" [ {"id":1,"method":"x"} ,{"method":"y"}, 7,"a]b" , [{"id":2,"method":"x"}] ,null,{"id":"3","result":{"id":4}},{"id":5} ] "#;
    let number = |id| Some(Id::from_int(id));
    let found = [
        message(OversizedKind::Request, number(1)),
        message(OversizedKind::Notification, None),
        message(OversizedKind::Unknown, None),
        message(OversizedKind::Unknown, None),
        message(OversizedKind::Unknown, None),
        message(OversizedKind::Unknown, None),
        message(OversizedKind::Response, Some(Id::text("3"))),
        message(OversizedKind::Unknown, number(5)),
    ];
    assert_eq!(in_pieces(line, &vec![1; line.len()]), found);
    assert_eq!(in_pieces(line, &[]), found);
    assert_eq!(in_pieces(b"[ ]", &[]), []);
}

#[test]
fn of_a_batch_without_an_end_so_much_is_kept_and_no_more() {
    let mut outline = Outline::default();
    outline.feed(b"[");
    let element = format!(r#"{{"id":"{}","method":"x"}},"#, r"\u00e9".repeat(HELD_MAX / 6));
    let each = size_of::<OversizedMessage>() + HELD_MAX;
    for _ in 0..2 * KEPT / each {
        outline.feed(element.as_bytes());
    }
    outline.feed(br#"{"id":1,"method":"x"}]"#);
    let found = outline.end();
    assert!((KEPT / 4..KEPT).contains(&(found.len() * each)), "{}", found.len());
}

#[test]
fn an_id_that_is_not_text_is_none() {
    let found = in_pieces(b"[{\"id\":\"\xff\",\"method\":\"x\"},{\"id\":\"\xff\",\"result\":1}]", &[9]);
    assert_eq!(found, [message(OversizedKind::Notification, None), message(OversizedKind::Response, None)]);
}

#[test]
fn memory_is_bounded_whatever_is_long() {
    let long = "9".repeat(5 * HELD_MAX);
    for line in [
        format!(r#"{{"{long}":1,"method":"{long}","id":3}}"#),
        format!(r#"{{"a":{long},"method":"x","id":3}}"#),
        format!(r#"{{"id":"{long}","method":"x","id":3}}"#),
    ] {
        let mut outline = Outline::default();
        for piece in line.as_bytes().chunks(100) {
            outline.feed(piece);
            assert!(
                matches!(&outline.at, At::Message(message) if message.holds() <= 4 * HELD_MAX)
                    || matches!(outline.at, At::End)
            );
        }
        assert_eq!(outline.end(), [message(OversizedKind::Request, Some(Id::from_int(3)))]);
    }
    for id in [format!("\"{long}\""), long] {
        assert_eq!(
            in_pieces(format!(r#"{{"id":{id},"result":1}}"#).as_bytes(), &[99]),
            [message(OversizedKind::Response, None)]
        );
    }
}

/// Lines, and batches of them.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let line = || prop_oneof![2 => samples::line().prop_map(String::into_bytes), 1 => samples::mutated()];
    let batch = prop::collection::vec(line(), 0..5).prop_map(|lines| [b"[", &lines.join(&b","[..])[..], b"]"].concat());
    prop_oneof![line(), batch]
}

proptest! {
    #[test]
    fn agrees_with_the_scan_in_any_pieces(
        line in lines(),
        cuts in prop::collection::vec(0_usize..40, 0..60),
    ) {
        let whole = in_pieces(&line, &[]);
        if let Some(expected) = expected(&line) {
            prop_assert_eq!(&whole, &expected, "{}", String::from_utf8_lossy(&line));
        }
        prop_assert_eq!(in_pieces(&line, &cuts), whole.clone());
        prop_assert_eq!(in_pieces(&line, &vec![1; line.len()]), whole);
    }
}
