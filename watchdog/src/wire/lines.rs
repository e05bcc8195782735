//! Framing: bytes as they are read become lines, without a copy, and in bounded memory.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

use super::ahead::Ahead;
use super::framed::{Framed, Seen};
use super::outline::Outline;
pub use super::outline::{OversizedKind, OversizedMessage};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of a line that do not count against its limit: a byte order mark and a carriage return.
const UNCOUNTED: usize = BYTE_ORDER_MARK.len() + 1;
/// A line longer than this leaves a buffer behind that is not worth keeping; in bytes.
const KEEP_BUFFER: usize = 2 << 20;
/// A line is read ahead of its end in pieces of at least so many bytes.
const PIECE: usize = 16 << 10;
/// So many bytes of a buffer are used up before it is used again from its beginning.
const WORN: usize = 1024;
/// By how much a buffer grows that a line does not fit in.
const GROWTH: usize = 4;

/// One line of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line without its line end and without a leading byte order mark. It shares the memory of the read it came
    /// with: what is kept for long should be copied.
    Whole(Framed),
    /// A line beyond the limit. Its bytes are gone.
    TooLong(Oversized),
}

/// What is known of a line beyond the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversized {
    /// Its length in bytes, without the LF.
    pub len: u64,
    /// The messages in it: one, or those of a batch as far as they are kept (about a hundred thousand); none where it is not JSON.
    pub messages: Vec<OversizedMessage>,
}

/// Splits a stream into lines. A reader fills [`Lines::spare`], then takes lines until there is none: the iterator goes
/// on after a `None`, once there is more input.
///
/// Lines end at LF alone. One CR before it and a byte order mark in front are dropped, lines of white space are skipped.
/// At most `max_line` bytes and one read are held.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// What the buffer held when it was new, in bytes; lines that are taken off it make it smaller.
    size: usize,
    /// How many bytes of the buffer are known to have no LF.
    searched: usize,
    /// What was read of the line that has not ended, once there is much of it.
    ahead: Option<Box<Ahead>>,
    /// How much of that line has to be there before more of it is read.
    ahead_at: usize,
    max_line: usize,
    discarded: Option<Box<Discarded>>,
}

/// The line that is streaming by.
#[derive(Debug, Default)]
struct Discarded {
    len: u64,
    outline: Outline,
}

impl Lines {
    /// A splitter that gives no line longer than `max_line` bytes.
    #[must_use]
    pub fn new(max_line: usize) -> Self {
        Self { buffer: BytesMut::new(), size: 0, searched: 0, ahead: None, ahead_at: PIECE, max_line, discarded: None }
    }

    /// The buffer to append input to, with room for at least half of `room` bytes without growing. The bytes that it
    /// holds must stay.
    pub fn spare(&mut self, room: usize) -> &mut BytesMut {
        // Once all its lines are gone it is used again from its beginning, where a line that follows finds the most room
        // and nothing has to be moved. That takes as long as to read some members of a line: it is done for several lines.
        let is_worn = self.buffer.capacity() + WORN <= self.size;
        _ = is_worn && self.buffer.is_empty() && self.buffer.try_reclaim(self.size);
        // Room for a whole read each time would take a new buffer for every short line that is still held elsewhere.
        if self.buffer.capacity() - self.buffer.len() < room.div_ceil(2) {
            self.grow(room);
        }
        &mut self.buffer
    }

    /// Makes room. A line that did not fit is likely to be long: what is held already decides how much, so that little of
    /// it is moved more than once. Memory that is never written to costs nothing.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: usize) {
        let most = self.max_line.saturating_add(UNCOUNTED + room).saturating_sub(self.buffer.len());
        let more = self.buffer.len().saturating_mul(GROWTH - 1).min(most).max(room);
        self.buffer.reserve(more);
        self.size = self.buffer.capacity();
    }

    /// The length of the line that has begun and not ended, in bytes.
    #[must_use]
    pub fn partial_len(&self) -> u64 {
        length(self.buffer.len()) + self.discarded.as_ref().map_or(0, |discarded| discarded.len)
    }

    /// Ends the stream: drops what no LF has ended, and gives its length in bytes.
    pub fn finish(&mut self) -> u64 {
        let len = self.partial_len();
        *self = Self::new(self.max_line);
        len
    }

    fn next_line(&mut self) -> Option<Line> {
        while let Some(line) = self.take_line() {
            if let Some(line) = self.line(line) {
                return Some(line);
            }
        }
        self.wait();
        None
    }

    /// Leaves the line that goes on for later.
    #[inline(never)]
    fn wait(&mut self) {
        self.discard();
        self.read_ahead();
    }

    /// Takes the next line with its LF off the buffer, and gives it without.
    fn take_line(&mut self) -> Option<Bytes> {
        let searched = self.searched.min(self.buffer.len());
        let Some(more) = memchr(b'\n', &self.buffer[searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        self.searched = 0;
        let length = searched + more;
        let mut line = self.buffer.split_to(length + 1);
        if length >= KEEP_BUFFER {
            self.shrink();
        }
        line.truncate(length);
        Some(line.freeze())
    }

    /// Reads what has come of a line that goes on.
    fn read_ahead(&mut self) {
        if self.buffer.len() < self.ahead_at || self.discarded.is_some() {
            return;
        }
        self.ahead.get_or_insert_default().feed(without_mark(&self.buffer));
        self.ahead_at = self.buffer.len() + PIECE;
    }

    /// Lets go of a line that has grown beyond the limit before it ended.
    fn discard(&mut self) {
        if self.discarded.is_none() && self.buffer.len() <= self.max_line.saturating_add(UNCOUNTED) {
            return;
        }
        let grown = self.discarded.is_none();
        self.discarded.get_or_insert_default().feed(&self.buffer);
        self.searched = 0;
        self.ahead = None;
        if grown {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
    }

    /// The line that ended, given without its LF; `None` if it is to be skipped.
    fn line(&mut self, bytes: Bytes) -> Option<Line> {
        let content = content(&bytes);
        if self.discarded.is_some() || content.len() > self.max_line {
            return Some(self.too_long(&bytes));
        }
        let seen = if self.ahead.is_some() { self.seen(content) } else { None };
        if content.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let whole = content.len() == bytes.len();
        Some(Line::Whole(Framed::new(if whole { bytes } else { bytes.slice_ref(content) }, seen)))
    }

    /// What is known of a line that was read ahead.
    #[cold]
    #[inline(never)]
    fn seen(&mut self, content: &[u8]) -> Option<Box<Seen>> {
        self.ahead_at = PIECE;
        let ahead = self.ahead.take()?;
        Some(Box::new(ahead.end(content)))
    }

    /// Ends a line beyond the limit with the last bytes of it, which may be all.
    #[cold]
    #[inline(never)]
    fn too_long(&mut self, rest: &[u8]) -> Line {
        self.ahead = None;
        self.ahead_at = PIECE;
        let mut discarded = self.discarded.take().unwrap_or_default();
        discarded.feed(rest);
        Line::TooLong(discarded.end())
    }

    /// Moves what follows a long line to a buffer of its own, so that the long line's memory can be freed.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        self.buffer = BytesMut::from(&self.buffer[..]);
    }
}

impl Iterator for Lines {
    type Item = Line;

    #[inline]
    fn next(&mut self) -> Option<Line> {
        // Behind the last line of a read there is mostly nothing.
        if self.buffer.is_empty() { None } else { self.next_line() }
    }
}

impl Discarded {
    fn feed(&mut self, bytes: &[u8]) {
        // The first piece is longer than a byte order mark, for the limit was passed with it.
        let mark = if self.len == 0 { without_mark(bytes) } else { bytes };
        self.outline.feed(mark);
        self.len += length(bytes.len());
    }

    fn end(self) -> Oversized {
        Oversized { len: self.len, messages: self.outline.end() }
    }
}

/// A line without its byte order mark and its CR.
#[inline]
fn content(line: &[u8]) -> &[u8] {
    match line {
        // Nearly all are whole: a look at both ends shows it.
        [b'{', .., b'}'] => line,
        _ => trimmed(line),
    }
}

#[inline(never)]
fn trimmed(line: &[u8]) -> &[u8] {
    let line = without_mark(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod reference;
#[cfg(test)]
mod tests;
