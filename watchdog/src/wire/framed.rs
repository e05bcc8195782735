//! A line, and what is known of it.

use std::ops::Deref;

use bytes::Bytes;

use super::head::{self, Scan, Shapes};

/// A line without its line end and without a leading byte order mark, lent by who has read it: nearly all lines are passed on as they
/// are, and at once, so that to own each of them would only cost time. Of one that came in pieces it is known what [`head::scan`]
/// finds: most of it was read while the rest was still to come.
#[derive(Debug, Clone, Copy)]
pub struct Framed<'a> {
    text: &'a [u8],
    /// The same, where it is in memory that can be shared.
    shared: Option<&'a Bytes>,
    pub(super) seen: Option<&'a Seen>,
    /// Whether all of it is known to be ASCII.
    ascii: bool,
}

/// What was found in a line.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) scan: Scan,
    pub(super) is_utf8: bool,
}

impl Seen {
    #[cold]
    #[inline(never)]
    fn scan(&self) -> Scan {
        self.scan.clone()
    }
}

impl<'a> Framed<'a> {
    /// One that can be had only as a copy, and whether it is known to be ASCII.
    pub(super) const fn lent(text: &'a [u8], ascii: bool) -> Self {
        Self { text, shared: None, seen: None, ascii }
    }

    /// One that can be shared.
    pub(super) fn shared(line: &'a Bytes, seen: Option<&'a Seen>) -> Self {
        Self { text: line, shared: Some(line), seen, ascii: false }
    }

    /// Reads what [`head::scan`] finds in it into a [`Scan::unread`], which is not moved again: a head takes as long to move as
    /// some members to read. `shapes` are those of the stream that it is a line of.
    #[inline]
    pub fn scan_into(&self, shapes: &mut Shapes, scan: &mut Scan) {
        match self.seen {
            None => shapes.read(self.text, scan),
            Some(seen) => *scan = seen.scan(),
        }
    }

    /// What [`head::is_utf8`] says of it.
    #[must_use]
    #[inline]
    pub fn is_utf8(&self) -> bool {
        self.ascii || self.seen.map_or_else(|| head::is_utf8(self.text), |seen| seen.is_utf8)
    }

    /// The line, for who keeps it: shared where that is possible, or else copied.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.shared.cloned().unwrap_or_else(|| Bytes::copy_from_slice(self.text))
    }
}

impl<'a> From<&'a Bytes> for Framed<'a> {
    fn from(line: &'a Bytes) -> Self {
        Self::shared(line, None)
    }
}

impl Deref for Framed<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.text
    }
}

/// The same bytes: what is known of a line follows from them.
impl PartialEq for Framed<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Framed<'_> {}
