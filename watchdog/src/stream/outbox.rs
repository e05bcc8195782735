//! Lines on their way into a [`Sink`]: bounded by whoever fills it, written in batches, accounted line by line.
//!
//! An urgent line passes the ordinary ones that wait, but never breaks into one that has begun. What was
//! never begun can be taken back, so that a request which a dead server did not get a byte of is not lost.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::Sink;
use crate::wire::framed::Framed;
use crate::wire::lines::SHORT;

/// So many long lines are written at once, at the most.
const LONG: usize = 8;
/// So many bytes of short lines are written at once where long ones wait too: to find where they end takes a look at each.
const SOME: usize = 64 * 1024;
/// Room for short lines that is kept when nothing waits, in bytes: a read may bring half as much.
const KEEP: usize = 256 * 1024;
/// Places for lines that are kept then.
const KEEP_PIECES: usize = 4096;

#[derive(Debug)]
struct Piece {
    tag: u64,
    /// Of the line with its line end.
    length: usize,
    /// The line, if it is long.
    long: Option<Box<Bytes>>,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Outbox {
    /// What waits: the line that has begun, the urgent ones, the others.
    pieces: VecDeque<Piece>,
    /// The short ones of them, each with its line end, one behind the other: they are written as one, which costs less than a
    /// slice for each, in the kernel above all.
    short: Vec<u8>,
    /// How much of these is written.
    short_written: usize,
    /// How many long ones wait.
    long: usize,
    /// How much of the first line (with its line end) is written.
    written: usize,
    /// How many urgent lines wait that have not begun.
    urgent: usize,
    /// Bytes that wait.
    backlog: usize,
}

impl Outbox {
    /// Queues a line, without its line end. `tag` names it should it come back; 0 for a line that is not worth that.
    pub fn push(&mut self, line: &Framed<'_>, tag: u64, urgent: bool) {
        let length = line.len() + 1;
        self.backlog += length;
        if urgent || line.len() > SHORT {
            return self.push_apart(line, tag, urgent);
        }
        self.short.reserve(length);
        self.short.extend_from_slice(line);
        self.short.push(b'\n');
        self.pieces.push_back(Piece { tag, length, long: None });
    }

    /// The same of a line that is long or urgent.
    #[cold]
    #[inline(never)]
    fn push_apart(&mut self, line: &Framed<'_>, tag: u64, urgent: bool) {
        let place = if urgent { self.begun() + self.urgent } else { self.pieces.len() };
        self.urgent += usize::from(urgent);
        let length = line.len() + 1;
        let long = (line.len() > SHORT).then(|| Box::new(line.to_bytes()));
        if long.is_some() {
            self.long += 1;
        } else {
            let at = self.short_written + self.short_before(place) - self.short_begun();
            self.short.splice(at..at, line.iter().copied().chain([b'\n']));
        }
        self.pieces.insert(place, Piece { tag, length, long });
    }

    /// The length of the short lines before a place, with what of the first one is written.
    fn short_before(&self, place: usize) -> usize {
        self.pieces.iter().take(place).filter(|piece| piece.long.is_none()).map(|piece| piece.length).sum()
    }

    /// How much of the first line is written, if it is a short one.
    fn short_begun(&self) -> usize {
        if self.pieces.front().is_some_and(|first| first.long.is_none()) { self.written } else { 0 }
    }

    /// How many lines have begun.
    const fn begun(&self) -> usize {
        if self.written > 0 { 1 } else { 0 }
    }

    /// Bytes that wait.
    #[must_use]
    pub const fn backlog(&self) -> usize {
        self.backlog
    }

    /// Writes until nothing waits or the sink takes no more.
    ///
    /// # Errors
    /// What the write says.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<()>> {
        while self.backlog > 0 {
            let written = if self.long > 0 {
                self.write_some(cx, sink)
            } else {
                sink.poll_write(cx, &[IoSlice::new(&self.short[self.short_written..])])
            };
            self.advance(ready!(written)?);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the lines that come first and are of one kind, where not all of them are short.
    #[cold]
    #[inline(never)]
    fn write_some(&self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<usize>> {
        let mut short = 0;
        for piece in self.pieces.iter().take_while(|piece| piece.long.is_none()) {
            short += piece.length;
            if short > SOME {
                break;
            }
        }
        if short > 0 {
            let end = self.short_written + short - self.written;
            return sink.poll_write(cx, &[IoSlice::new(&self.short[self.short_written..end])]);
        }
        let (mut slices, mut used, mut written) = ([IoSlice::new(b"\n"); 2 * LONG], 0, self.written);
        let long = self.pieces.iter().map_while(|piece| piece.long.as_ref());
        for (line, pair) in long.zip(slices.chunks_exact_mut(2)) {
            pair[0] = IoSlice::new(&line[std::mem::take(&mut written)..]);
            used += pair.len();
        }
        sink.poll_write(cx, &slices[..used])
    }

    /// Accounts for bytes that were written.
    fn advance(&mut self, written: usize) {
        self.backlog -= written;
        if self.backlog == 0 {
            self.pieces.clear();
            self.short.clear();
            (self.short_written, self.long, self.written, self.urgent) = (0, 0, 0, 0);
            if self.short.capacity() > KEEP || self.pieces.capacity() > KEEP_PIECES {
                self.give_back();
            }
        } else {
            self.advance_some(written);
        }
    }

    /// Keeps as much memory as a moment takes in which little waits.
    #[cold]
    #[inline(never)]
    fn give_back(&mut self) {
        self.short.shrink_to(KEEP);
        self.pieces.shrink_to(KEEP_PIECES);
    }

    /// The same where something is left.
    #[cold]
    #[inline(never)]
    fn advance_some(&mut self, mut left: usize) {
        let begun = self.begun();
        let mut whole = 0;
        while let Some(first) = self.pieces.front() {
            let now = left.min(first.length - self.written);
            self.short_written += if first.long.is_none() { now } else { 0 };
            self.written += now;
            left -= now;
            if self.written < first.length {
                break;
            }
            self.long -= usize::from(first.long.is_some());
            self.written = 0;
            self.pieces.pop_front();
            whole += 1;
        }
        // Lines begin in their order, the urgent ones first.
        self.urgent = self.urgent.saturating_sub(whole + self.begun() - begun);
        // What is left is moved only when that is less than what is gone, so that a queue which is never empty takes no more than
        // three times of what waits. A line that has begun stays whole.
        let gone = self.short_written - self.short_begun();
        if gone > self.short.len() / 2 {
            self.short.drain(..gone);
            self.short_written -= gone;
        }
    }

    /// Takes back the lines that were never begun, by tag. What had begun, or has no tag, is gone.
    #[must_use]
    pub fn unsent(&mut self) -> HashMap<u64, Bytes> {
        let begun = self.begun();
        let mut at = self.short_written - self.short_begun();
        let Self { pieces, short, .. } = std::mem::take(self);
        let mut unsent = HashMap::new();
        for (place, piece) in pieces.into_iter().enumerate() {
            let start = at;
            at += if piece.long.is_none() { piece.length } else { 0 };
            if place >= begun && piece.tag != 0 {
                let line = piece.long.map_or_else(|| Bytes::copy_from_slice(&short[start..at - 1]), |line| *line);
                unsent.insert(piece.tag, line);
            }
        }
        unsent
    }
}

#[cfg(test)]
mod tests;
