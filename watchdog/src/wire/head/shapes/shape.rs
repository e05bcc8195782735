//! One shape.

use super::super::super::read::{AtOnce, Pass, scalar_end};
use super::super::super::word;
use super::super::Head;
use super::super::members::is_id;
use super::holes;
use super::places::{HOLES, Places};

/// Lines with more text around their values are not learned; in bytes. The `_meta` of a call of 2026-07-28 is a third of that.
const TEXT: usize = 1 << 10;

/// What lines have in common that differ in some values only. The default is that of no line.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// The text between the holes, without them.
    text: Box<[u8]>,
    pieces: [Piece; HOLES + 1],
    places: Places,
    /// Whether no line but the one that it was learned from has had it.
    pub(super) is_new: bool,
}

/// A part of the text, and what stands behind it.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    length: u16,
    behind: Class,
}

/// Values that are all the same to the scan, but for where they end. `true`, `false`, `null` and what Python writes for numbers that
/// are none have no class: they are part of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Class {
    Number,
    String,
    Object,
    Array,
    /// No value: the line ends.
    End,
    /// There is no such piece.
    #[default]
    None,
}

impl Shape {
    /// The shape of a line in which this was found, unless it takes too much to keep it.
    pub(super) fn of(line: &[u8], head: &Head) -> Option<Self> {
        let holes = holes::of(line)?;
        let spans: Vec<_> = holes.iter().map(|(span, _)| span.clone()).collect();
        let mut shape = Self { is_new: true, places: Places::of(head, &spans)?, ..Self::default() };
        let end = (line.len()..line.len(), Class::End);
        let mut text = Vec::new();
        let mut at = 0;
        for ((span, behind), piece) in holes.into_iter().chain([end]).zip(&mut shape.pieces) {
            let before = line.get(at..span.start)?;
            if text.len() + before.len() > TEXT {
                return None;
            }
            *piece = Piece { length: u16::try_from(before.len()).ok()?, behind };
            text.extend_from_slice(before);
            at = span.end;
        }
        shape.text = text.into_boxed_slice();
        Some(shape)
    }

    /// Fills in the head of a line of this shape; leaves that of any other as it is.
    #[inline(always)]
    pub(super) fn read(&self, line: &[u8], head: &mut Head) -> Option<()> {
        let mut ends = [0; HOLES + 1];
        let mut at = 0;
        let mut text = &*self.text;
        for (nth, piece) in self.pieces.iter().enumerate() {
            ends[nth] = at;
            let (known, rest) = text.split_at_checked(usize::from(piece.length))?;
            let behind = at + known.len();
            if !equal(line.get(at..behind)?, known) {
                return None;
            }
            if piece.behind == Class::End {
                return (behind == line.len()).then(|| self.places.fill_in(head, &ends));
            }
            at = piece.behind.end(line, behind)?;
            text = rest;
        }
        None
    }
}

impl Class {
    /// The class of a value.
    pub(super) fn of(value: &[u8]) -> Option<Self> {
        match value.first()? {
            b'"' => Some(Self::String),
            b'{' => Some(Self::Object),
            b'[' => Some(Self::Array),
            _ => is_id(value).then_some(Self::Number),
        }
    }

    /// The bracket that an object or array begins with.
    const fn opening(self) -> u8 {
        if matches!(self, Self::Object) { b'{' } else { b'[' }
    }

    /// The end of a value of this class that begins at `start`, as the scan finds it; `None` where there is none.
    #[inline(always)]
    fn end(self, line: &[u8], start: usize) -> Option<usize> {
        let rest = line.get(start..)?;
        match self {
            Self::Number => match word::first(rest).and_then(word::integer) {
                Some(length) => Some(start + length),
                None => number_end(line, start),
            },
            Self::String if rest.first() == Some(&b'"') => AtOnce.string(line, start),
            Self::Object | Self::Array if rest.first() == Some(&self.opening()) => AtOnce.nested(line, start),
            _ => None,
        }
    }
}

/// The end of a number that is not a short integer, or stands near the end of the line.
#[inline(never)]
fn number_end(line: &[u8], start: usize) -> Option<usize> {
    if let Some(length) = word::rest(line, start).and_then(word::integer) {
        return Some(start + length);
    }
    let end = scalar_end(line, start)?;
    is_id(line.get(start..end)?).then_some(end)
}

/// Whether two texts of one length are equal. Most are short: to call the function that the platform has would take longer.
#[inline(always)]
fn equal(one: &[u8], other: &[u8]) -> bool {
    if let (Some(end), Some(other_end)) = (one.last_chunk::<16>(), other.last_chunk::<16>()) {
        // The last chunk begins in the one before it.
        let ((chunks, _), (others, _)) = (one.as_chunks::<16>(), other.as_chunks::<16>());
        return end == other_end && chunks.iter().zip(others).all(|(chunk, other)| chunk == other);
    }
    if let (Some(end), Some(other_end)) = (one.last_chunk::<8>(), other.last_chunk::<8>()) {
        return end == other_end && one.first_chunk::<8>() == other.first_chunk::<8>();
    }
    one.iter().zip(other).all(|(byte, other)| byte == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_differ_in_every_place() {
        for length in 0..100 {
            let text = vec![b'a'; length];
            assert!(equal(&text, &text));
            for at in 0..length {
                let mut other = text.clone();
                other[at] = b'b';
                assert!(!equal(&text, &other), "{at} of {length}");
            }
        }
    }
}
