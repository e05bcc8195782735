//! The few edits of a message that exist: splices at known places; every other byte stays as it was.

use bytes::{BufMut, Bytes, BytesMut};

use super::Span;
use super::head::Head;
use super::id::Id;

/// A line with other bytes at one place. A span that is not within the line changes nothing.
#[must_use]
pub fn replace(line: &[u8], span: Span, with: &[u8]) -> Bytes {
    replace_each(line, &[(span, with)])
}

/// A line with other bytes at several places, in the order in which they stand in the line. Spans that overlap, are out
/// of order or not within the line leave the line as it is.
#[must_use]
pub fn replace_each(line: &[u8], edits: &[(Span, &[u8])]) -> Bytes {
    let added: usize = edits.iter().map(|(_, with)| with.len()).sum();
    let mut out = BytesMut::with_capacity(line.len() + added);
    let mut done = 0;
    for (span, with) in edits {
        let (Some(before), true) = (line.get(done..span.start), span.start <= span.end) else {
            return Bytes::copy_from_slice(line);
        };
        out.put_slice(before);
        out.put_slice(with);
        done = span.end;
    }
    match line.get(done..) {
        Some(after) => out.put_slice(after),
        None => return Bytes::copy_from_slice(line),
    }
    out.freeze()
}

/// A message with another id; one without an id stays as it is.
#[must_use]
pub fn rewrite_id(line: &[u8], head: &Head, id: &Id) -> Bytes {
    match &head.id {
        Some(span) => replace(line, span.clone(), &id.raw()),
        None => Bytes::copy_from_slice(line),
    }
}

/// A batch of these messages, each as it is.
#[must_use]
pub fn join_batch<'a>(elements: impl Iterator<Item = &'a [u8]>) -> Bytes {
    let mut out = BytesMut::from(&b"["[..]);
    for (place, element) in elements.enumerate() {
        if place > 0 {
            out.put_u8(b',');
        }
        out.put_slice(element);
    }
    out.put_u8(b']');
    out.freeze()
}

#[cfg(test)]
mod tests;
