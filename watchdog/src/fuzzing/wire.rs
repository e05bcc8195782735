//! Framing, the head scan, and the few edits that lines get.

use bytes::Bytes;

use super::feed::Feed;
use crate::wire::head::{self, Head, Kind, Scan};
use crate::wire::id::Id;
use crate::wire::{lines, list, splice};

/// One line: the scan finds what serde finds, in a stream of lines like it too, ids keep their spelling, and an edit changes nothing
/// but what it is to change.
pub fn head(line: &[u8]) {
    head::oracle::check(line);
    head::shapes::oracle::check_alike(line);
    match head::scan(line) {
        Scan::Message(found) => message(line, &found),
        Scan::Batch => {
            let elements = head::elements(line).unwrap_or_else(|| panic!("a batch has elements"));
            let joined = splice::join_batch(elements.iter().map(|span| &line[span.clone()]));
            let again = head::elements(&joined).unwrap_or_else(|| panic!("a batch that was joined is one"));
            let same = elements.into_iter().map(|span| &line[span]).eq(again.into_iter().map(|span| &joined[span]));
            assert!(same, "the elements are the same");
        }
        Scan::NotAMessage(_) | Scan::NotJson => {}
    }
}

fn message(line: &[u8], found: &Head) {
    _ = head::is_read_only(found, line);
    if let Some(id) = head::id_at(line, found.id.as_ref()) {
        assert_eq!(head::bytes_at(line, found.id.as_ref()), Some(&*id.raw()), "an id keeps its spelling");
        another_id(line, found, &id);
    }
    if let Some(body) = head::bytes_at(line, found.body.as_ref()).filter(|_| found.kind == Kind::Result) {
        one_tool_more(body);
    }
}

/// A line with another id is the same line with another id.
fn another_id(line: &[u8], found: &Head, id: &Id) {
    let other = Id::from_int(if id.key == Id::from_int(7).key { 8 } else { 7 });
    let line = Bytes::copy_from_slice(line);
    let edited = splice::rewrite_id(&line, found, &other);
    let Scan::Message(again) = head::scan(&edited) else { panic!("no message any more") };
    assert_eq!(head::id_at(&edited, again.id.as_ref()), Some(other));
    assert_eq!((again.kind, again.method), (found.kind, found.method));
    assert_eq!(splice::rewrite_id(&edited, &again, id), line, "and back");
}

/// A list with one item more has one item more.
fn one_tool_more(result: &[u8]) {
    let Some(page) = list::page(result, "tools") else { return };
    for item in &page.items {
        _ = list::name(&result[item.clone()]);
    }
    let item: &[u8] = if page.items.is_empty() { br#"{"name":"w"}"# } else { br#",{"name":"w"}"# };
    let result = Bytes::copy_from_slice(result);
    let more = splice::replace(&result, page.end..page.end, item);
    let again = list::page(&more, "tools").unwrap_or_else(|| panic!("no list any more"));
    assert_eq!((again.items.len(), again.is_last), (page.items.len() + 1, page.is_last));
    let last = again.items.last().and_then(|span| list::name(&more[span.clone()]));
    assert_eq!(last.as_deref(), Some("w"));
}

/// A stream in pieces: the lines are those of the whole, however it is cut, and as much is known of one long line.
pub fn lines(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let max_line = feed.byte();
    let lengths = feed.lengths();
    let stream = feed.rest();
    let pieces = lengths.iter().copied().cycle().take(if lengths.is_empty() { 0 } else { stream.len() });
    head::oracle::check_in_pieces(stream, pieces.clone());
    assert_eq!(lines::reference::split(stream, max_line, pieces), lines::reference::reference(stream, max_line));
}
