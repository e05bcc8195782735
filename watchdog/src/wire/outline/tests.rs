use proptest::prelude::*;

use super::super::head::{Kind, Scan, id_at, scan};
use super::super::samples;
use super::*;

fn in_pieces(line: &[u8], cuts: &[usize]) -> (OversizedKind, Option<Id>) {
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

/// What the scan says of the whole line; `None` where it is not JSON to the scan, which looks deeper.
fn expected(line: &[u8]) -> Option<(OversizedKind, Option<Id>)> {
    Some(match scan(line) {
        Scan::Message(head) => {
            let id = id_at(line, head.id.as_ref());
            match head.kind {
                Kind::Request => (OversizedKind::Request, id),
                Kind::Notification => (OversizedKind::Notification, None),
                Kind::Result | Kind::Error => (OversizedKind::Response, id),
            }
        }
        Scan::NotAMessage(span) => (OversizedKind::Unknown, id_at(line, span.as_ref())),
        Scan::Batch => (OversizedKind::Unknown, None),
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
            (OversizedKind::Request, Some(Id::parse("\"é\\u0061\"".as_bytes()).expect("an id")))
        );
    }
}

#[test]
fn torn_lines_have_no_verdict() {
    let line = br#"{"id":1,"method":"x","params":{"a":[1]}}"#;
    for end in 0..line.len() {
        assert_eq!(in_pieces(&line[..end], &[]), (OversizedKind::Unknown, None));
    }
    for line in [
        r#"{"id":1,"method":"x"}}"#,
        r#"{"id":1"method":"x"}"#,
        r#"{"id":01,"method":"x"}"#,
        "[]",
        "text",
        r#"{"id":1,}"#,
    ] {
        assert_eq!(in_pieces(line.as_bytes(), &[]), (OversizedKind::Unknown, None), "{line}");
    }
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
            assert!(outline.held.capacity() <= 4 * HELD_MAX);
        }
        assert_eq!(outline.end(), (OversizedKind::Request, Some(Id::from_int(3))));
    }
    for id in [format!("\"{long}\""), long] {
        assert_eq!(
            in_pieces(format!(r#"{{"id":{id},"result":1}}"#).as_bytes(), &[99]),
            (OversizedKind::Response, None)
        );
    }
}

proptest! {
    #[test]
    fn agrees_with_the_scan_in_any_pieces(
        line in prop_oneof![2 => samples::line().prop_map(String::into_bytes), 1 => samples::mutated()],
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
