//! Lines on their way into a [`Sink`]: bounded by whoever fills it, written in batches, accounted line by line.
//!
//! An urgent line passes the ordinary ones that wait, but never breaks into one that has begun. What was
//! never begun can be taken back, so that a request which a dead server did not get a byte of is not lost.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::Sink;

/// A line up to this length is copied to its neighbours, so that they are written as one: that costs less than a slice of
/// its own, in the kernel above all. In bytes.
const SHORT: usize = 4 * 1024;
/// So many longer ones are written at once, at the most.
const LONG: usize = 8;
/// As much is copied at once, at the most; in bytes.
const COPIED: usize = 16 * 1024;

#[derive(Debug)]
struct Piece {
    line: Bytes,
    tag: u64,
}

/// The queue.
#[derive(Debug, Default)]
pub struct Outbox {
    /// What waits: the line that has begun, the urgent ones, the others.
    pieces: VecDeque<Piece>,
    /// How much of the first line (with its line end) is written.
    written: usize,
    /// How many urgent lines wait that have not begun.
    urgent: usize,
    /// Bytes that wait.
    backlog: usize,
    /// Room for what is written at once.
    copied: Vec<u8>,
}

impl Outbox {
    /// Queues a line, without its line end. `tag` names it should it come back; 0 for a line that is not worth that.
    pub fn push(&mut self, line: Bytes, tag: u64, urgent: bool) {
        self.backlog += line.len() + 1;
        let piece = Piece { line, tag };
        if urgent {
            self.pieces.insert(self.begun() + self.urgent, piece);
            self.urgent += 1;
        } else {
            self.pieces.push_back(piece);
        }
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
        while let Some(first) = self.pieces.front() {
            let is_long = first.line.len() > SHORT;
            let written = if is_long { self.write_long(cx, sink) } else { self.write_short(cx, sink) };
            self.advance(ready!(written)?);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the long lines that come first.
    #[inline(never)]
    fn write_long(&self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<usize>> {
        let (mut slices, mut used, mut written) = ([IoSlice::new(b"\n"); 2 * LONG], 0, self.written);
        let long = self.pieces.iter().take_while(|piece| piece.line.len() > SHORT);
        for (piece, pair) in long.zip(slices.chunks_exact_mut(2)) {
            pair[0] = IoSlice::new(&piece.line[std::mem::take(&mut written)..]);
            used += pair.len();
        }
        sink.poll_write(cx, &slices[..used])
    }

    /// Writes the short lines that come first.
    fn write_short(&mut self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<usize>> {
        self.copied.clear();
        let mut written = self.written;
        // By their places: an iterator over a ring has two parts, and mostly there is one line.
        let mut place = 0;
        while let Some(piece) = self.pieces.get(place) {
            if piece.line.len() > SHORT || self.copied.len() + piece.line.len() >= COPIED {
                break;
            }
            self.copied.extend_from_slice(&piece.line[std::mem::take(&mut written)..]);
            self.copied.push(b'\n');
            place += 1;
        }
        sink.poll_write(cx, &[IoSlice::new(&self.copied)])
    }

    /// Accounts for bytes that were written.
    fn advance(&mut self, written: usize) {
        self.backlog -= written;
        let begun = self.begun();
        let mut whole = 0;
        self.written += written;
        while let Some(first) = self.pieces.front()
            && self.written > first.line.len()
        {
            self.written -= first.line.len() + 1;
            self.pieces.pop_front();
            whole += 1;
        }
        // Lines begin in their order, the urgent ones first.
        self.urgent = self.urgent.saturating_sub(whole + self.begun() - begun);
    }

    /// Takes back the lines that were never begun, by tag. What had begun, or has no tag, is gone.
    #[must_use]
    pub fn unsent(&mut self) -> HashMap<u64, Bytes> {
        let begun = self.begun();
        let Self { pieces, .. } = std::mem::take(self);
        let unsent = pieces.into_iter().skip(begun).filter(|piece| piece.tag != 0);
        unsent.map(|piece| (piece.tag, piece.line)).collect()
    }
}

#[cfg(test)]
mod tests;
