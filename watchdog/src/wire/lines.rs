//! Framing: bytes as they are read become lines, without a copy, and in bounded memory.

use bytes::{Buf, Bytes, BytesMut};

use super::Span;
use super::ahead::Ahead;
use super::framed::{Framed, Seen};
use super::line_feed;
use super::outline::Outline;
pub use super::outline::{OversizedKind, OversizedMessage};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of a line that do not count against its limit: a byte order mark and a carriage return.
const UNCOUNTED: usize = BYTE_ORDER_MARK.len() + 1;
/// A line up to this length is lent from the buffer, and copied by who keeps it: that costs less than memory of its own to share. In bytes.
pub(crate) const SHORT: usize = 4 << 10;
/// A line longer than this leaves a buffer behind that is not worth keeping; in bytes.
const KEEP_BUFFER: usize = 2 << 20;
/// A line is read ahead of its end in pieces of at least so many bytes.
const PIECE: usize = 16 << 10;
/// By how much a buffer grows that a line does not fit in.
const GROWTH: usize = 4;

/// One line of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its line end and without a leading byte order mark.
    Whole(Framed<'a>),
    /// A line beyond the limit. Its bytes are gone.
    TooLong(&'a Oversized),
}

/// What is known of a line beyond the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversized {
    /// Its length in bytes, without the LF.
    pub len: u64,
    /// The messages in it: one, or those of a batch as far as they are kept (about a hundred thousand); none where it is not JSON.
    pub messages: Vec<OversizedMessage>,
}

/// Splits a stream into lines. A reader fills [`Lines::spare`], then takes lines until there is none: [`Lines::next`] goes
/// on after a `None`, once there is more input.
///
/// Lines end at LF alone. One CR before it and a byte order mark in front are dropped, lines of white space are skipped.
/// At most `max_line` bytes and one read are held, and the long line that was given last until the next one is asked for.
#[derive(Debug)]
pub struct Lines {
    buffer: BytesMut,
    /// Where in the buffer the first line begins that was not given.
    begin: usize,
    /// Up to where it is known to have no LF.
    searched: usize,
    /// What was given last, if it is long: it has memory of its own until the next one is asked for.
    long: Option<Box<Long>>,
    /// What was read of the line that has not ended, once there is much of it.
    ahead: Option<Box<Ahead>>,
    /// How much of that line has to be there before more of it is read.
    ahead_at: usize,
    max_line: usize,
    discarded: Option<Box<Discarded>>,
}

/// A line that is long.
#[derive(Debug)]
enum Long {
    /// Without its line end and its mark.
    Whole {
        line: Bytes,
        seen: Option<Box<Seen>>,
    },
    TooLong(Oversized),
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
        Self {
            buffer: BytesMut::new(),
            begin: 0,
            searched: 0,
            long: None,
            ahead: None,
            ahead_at: PIECE,
            max_line,
            discarded: None,
        }
    }

    /// The buffer to append input to, with room for at least half of `room` bytes without growing. The bytes that it
    /// holds must stay.
    pub fn spare(&mut self, room: usize) -> &mut BytesMut {
        // With all its lines gone it is used from its beginning, where what follows finds the most room.
        if self.begin == self.buffer.len() {
            self.buffer.clear();
            (self.begin, self.searched) = (0, 0);
        }
        // Room for a whole read each time would move what has come of a line more often.
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
        self.long = None;
        self.drop_given();
        let most = self.max_line.saturating_add(UNCOUNTED + room).saturating_sub(self.buffer.len());
        let more = self.buffer.len().saturating_mul(GROWTH - 1).min(most).max(room);
        self.buffer.reserve(more);
    }

    /// Takes what was given off the buffer.
    fn drop_given(&mut self) {
        self.buffer.advance(self.begin);
        self.searched = self.searched.saturating_sub(self.begin);
        self.begin = 0;
    }

    /// What has come of the first line that was not given.
    fn rest(&self) -> &[u8] {
        &self.buffer[self.begin..]
    }

    /// The length of the line that has begun and not ended, in bytes.
    #[must_use]
    pub fn partial_len(&self) -> u64 {
        length(self.rest().len()) + self.discarded.as_ref().map_or(0, |discarded| discarded.len)
    }

    /// Ends the stream: drops what no LF has ended, and gives its length in bytes.
    pub fn finish(&mut self) -> u64 {
        let len = self.partial_len();
        *self = Self::new(self.max_line);
        len
    }

    /// The next line, lent until the one after it is asked for.
    #[expect(clippy::should_implement_trait, reason = "no iterator lends")]
    #[inline]
    pub fn next(&mut self) -> Option<Line<'_>> {
        if self.long.is_some() {
            self.long = None;
        }
        // Behind the last line of a read there is mostly nothing.
        if self.begin == self.buffer.len() { None } else { self.next_line() }
    }

    #[inline(never)]
    fn next_line(&mut self) -> Option<Line<'_>> {
        let (place, ascii) = loop {
            let from = self.begin.max(self.searched);
            let Some(found) = line_feed::first(&self.buffer[from..]) else {
                self.wait();
                return None;
            };
            let (begin, end) = (self.begin, from + found.at);
            if end - begin > SHORT.min(self.max_line) || self.discarded.is_some() {
                if self.take_long(end - begin) {
                    return self.long();
                }
                continue;
            }
            self.begin = end + 1;
            let text = content(&self.buffer[begin..end]);
            let place = begin + text.start..begin + text.end;
            if !is_blank(&self.buffer[place.clone()]) {
                break (place, found.ascii && from == begin);
            }
        };
        Some(Line::Whole(Framed::lent(&self.buffer[place], ascii)))
    }

    /// The line that was taken, if one was.
    #[inline(never)]
    fn long(&mut self) -> Option<Line<'_>> {
        Some(match self.long.as_deref()? {
            Long::Whole { line, seen } => Line::Whole(Framed::shared(line, seen.as_deref())),
            Long::TooLong(line) => Line::TooLong(line),
        })
    }

    /// Leaves the line that goes on for later.
    #[inline(never)]
    fn wait(&mut self) {
        self.searched = self.buffer.len();
        self.discard();
        self.read_ahead();
    }

    /// Takes a line of that length, which may be longer than the limit, with its LF off the buffer. Whether it is not to be skipped.
    #[inline(never)]
    fn take_long(&mut self, length: usize) -> bool {
        self.drop_given();
        self.searched = 0;
        let mut line = self.buffer.split_to(length + 1);
        if length >= KEEP_BUFFER {
            self.shrink();
        }
        line.truncate(length);
        let line = line.freeze();
        let text = content(&line);
        if self.discarded.is_some() || text.len() > self.max_line {
            self.long = Some(Box::new(Long::TooLong(self.too_long(&line))));
            return true;
        }
        let line = line.slice(text);
        let seen = if self.ahead.is_some() { self.seen(&line) } else { None };
        if is_blank(&line) {
            return false;
        }
        self.long = Some(Box::new(Long::Whole { line, seen }));
        true
    }

    /// Reads what has come of a line that goes on.
    fn read_ahead(&mut self) {
        if self.rest().len() < self.ahead_at || self.discarded.is_some() {
            return;
        }
        let line = without_mark(&self.buffer[self.begin..]);
        self.ahead.get_or_insert_default().feed(line);
        self.ahead_at = self.rest().len() + PIECE;
    }

    /// Lets go of a line that has grown beyond the limit before it ended.
    fn discard(&mut self) {
        if self.discarded.is_none() && self.rest().len() <= self.max_line.saturating_add(UNCOUNTED) {
            return;
        }
        let grown = self.discarded.is_none();
        self.discarded.get_or_insert_default().feed(&self.buffer[self.begin..]);
        (self.begin, self.searched) = (0, 0);
        self.ahead = None;
        if grown {
            self.buffer = BytesMut::new();
        } else {
            self.buffer.clear();
        }
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
    fn too_long(&mut self, rest: &[u8]) -> Oversized {
        self.ahead = None;
        self.ahead_at = PIECE;
        let mut discarded = self.discarded.take().unwrap_or_default();
        discarded.feed(rest);
        discarded.end()
    }

    /// Moves what follows a long line to a buffer of its own, so that the long line's memory can be freed.
    #[cold]
    #[inline(never)]
    fn shrink(&mut self) {
        self.buffer = BytesMut::from(&self.buffer[..]);
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

/// Where in a line its text is: without its byte order mark and its CR.
#[inline]
fn content(line: &[u8]) -> Span {
    match line {
        // Nearly all are whole: a look at both ends shows it.
        [b'{', .., b'}'] => 0..line.len(),
        _ => trimmed(line),
    }
}

#[inline(never)]
fn trimmed(line: &[u8]) -> Span {
    let start = line.len() - without_mark(line).len();
    let carriage_return = usize::from(line[start..].ends_with(b"\r"));
    start..line.len() - carriage_return
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
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
