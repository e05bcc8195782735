//! A line, and what is known of it.

use std::ops::Deref;

use bytes::Bytes;

use super::head::{self, Scan};

/// A line without its line end and without a leading byte order mark. Of one that came in pieces it is known what
/// [`head::scan`] finds: most of it was read while the rest was still to come.
#[derive(Debug, Clone)]
pub struct Framed {
    bytes: Bytes,
    pub(super) seen: Option<Box<Seen>>,
}

/// What was found in a line.
#[derive(Debug, Clone)]
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

impl Framed {
    pub(super) const fn new(bytes: Bytes, seen: Option<Box<Seen>>) -> Self {
        Self { bytes, seen }
    }

    /// Reads what [`head::scan`] finds in it into a [`Scan::unread`], which is not moved again: a head takes as long to move as
    /// some members to read.
    #[inline]
    pub fn scan_into(&self, scan: &mut Scan) {
        match &self.seen {
            None => scan.read(&self.bytes),
            Some(seen) => *scan = seen.scan(),
        }
    }

    /// What [`head::is_utf8`] says of it.
    #[must_use]
    #[inline]
    pub fn is_utf8(&self) -> bool {
        self.seen.as_ref().map_or_else(|| head::is_utf8(&self.bytes), |seen| seen.is_utf8)
    }

    /// The line alone.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl From<Bytes> for Framed {
    fn from(bytes: Bytes) -> Self {
        Self::new(bytes, None)
    }
}

impl Deref for Framed {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// The same bytes: what is known of a line follows from them.
impl PartialEq for Framed {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Framed {}
