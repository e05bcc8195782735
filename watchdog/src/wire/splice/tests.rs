use proptest::prelude::*;

use super::super::head::{Scan, elements, id_at, scan};
use super::*;

fn head(line: &[u8]) -> Head {
    match scan(line) {
        Scan::Message(head) => head,
        other => panic!("no message: {other:?}"),
    }
}

#[test]
fn an_id_is_rewritten_and_restored() {
    let line = Bytes::from_static(br#"{ "params":{"id":1}, "id" : 1.0 ,"method":"roots\/list" }"#);
    let ours = rewrite_id(&line, &head(&line), &Id::text("w/2/1"));
    assert_eq!(ours, &br#"{ "params":{"id":1}, "id" : "w/2/1" ,"method":"roots\/list" }"#[..]);
    let theirs = id_at(&line, head(&line).id.as_ref()).expect("an id");
    assert_eq!(rewrite_id(&ours, &head(&ours), &theirs), line);
}

#[test]
fn a_message_without_an_id_stays() {
    let line = Bytes::from_static(br#"{"method":"x"}"#);
    assert_eq!(rewrite_id(&line, &head(&line), &Id::from_int(1)), line);
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "such a span is what is tested")]
fn impossible_spans_change_nothing() {
    let line = Bytes::from_static(b"0123");
    for edits in [&[(3..9, &b"x"[..])][..], &[(3..1, b"x")], &[(2..3, b"x"), (1..2, b"y")], &[(9..9, b"x")]] {
        assert_eq!(replace_each(&line, edits), line);
    }
    assert_eq!(replace(&line, 4..4, b"x"), &b"0123x"[..]);
}

#[test]
fn an_empty_batch_is_one() {
    assert_eq!(join_batch(std::iter::empty()), &b"[]"[..]);
}

proptest! {
    #[test]
    fn all_other_bytes_stay(
        pieces in prop::collection::vec((".{0,6}", ".{0,6}", ".{0,6}"), 0..5),
        tail in ".{0,6}",
    ) {
        let (mut line, mut expected, mut edits) = (String::new(), String::new(), Vec::new());
        for (kept, old, new) in &pieces {
            line.push_str(kept);
            edits.push((line.len()..line.len() + old.len(), new.as_bytes()));
            line.push_str(old);
            expected.push_str(kept);
            expected.push_str(new);
        }
        line.push_str(&tail);
        expected.push_str(&tail);
        prop_assert_eq!(replace_each(&Bytes::from(line), &edits), expected.as_bytes());
    }

    #[test]
    fn a_batch_is_taken_apart_again(bodies in prop::collection::vec(r#"\{"a":("[,\[\]]*"|\[\]|1)\}"#, 0..6)) {
        let line = join_batch(bodies.iter().map(String::as_bytes));
        let spans = elements(&line).expect("a batch");
        let found: Vec<_> = spans.into_iter().map(|span| &line[span]).collect();
        prop_assert_eq!(found, bodies.iter().map(String::as_bytes).collect::<Vec<_>>());
    }
}
