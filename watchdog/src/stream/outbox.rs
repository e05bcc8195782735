//! Lines on their way into a [`Sink`]: bounded by whoever fills it, written in batches, accounted line by line.
//!
//! Two lanes: an urgent line passes the ordinary ones that wait, but never breaks into one that has begun. What was
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
    /// The line that has begun, and how much of it (with its line end) is written.
    begun: Option<(Piece, usize)>,
    urgent: VecDeque<Piece>,
    ordinary: VecDeque<Piece>,
    /// Bytes that wait.
    backlog: usize,
    /// Room for what is written at once.
    copied: Vec<u8>,
}

impl Outbox {
    /// Queues a line, without its line end. `tag` names it should it come back; 0 for a line that is not worth that.
    pub fn push(&mut self, line: Bytes, tag: u64, urgent: bool) {
        self.backlog += line.len() + 1;
        let lane = if urgent { &mut self.urgent } else { &mut self.ordinary };
        lane.push_back(Piece { line, tag });
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
            let written = ready!(self.poll_once(cx, sink))?;
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes the long lines that come first, or the short ones.
    fn poll_once(&mut self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<usize>> {
        let begun = self.begun.iter().map(|(piece, written)| (piece, *written));
        let waiting = self.urgent.iter().chain(&self.ordinary).map(|piece| (piece, 0));
        let mut pieces = begun.chain(waiting).peekable();
        let is_long = |(piece, _): &(&Piece, usize)| piece.line.len() > SHORT;
        if pieces.peek().is_some_and(is_long) {
            let (mut slices, mut used) = ([IoSlice::new(b"\n"); 2 * LONG], 0);
            for ((piece, written), pair) in pieces.take_while(is_long).zip(slices.chunks_exact_mut(2)) {
                pair[0] = IoSlice::new(&piece.line[written..]);
                used += pair.len();
            }
            return sink.poll_write(cx, &slices[..used]);
        }
        self.copied.clear();
        for (piece, written) in pieces.take_while(|piece| !is_long(piece)) {
            if self.copied.len() + piece.line.len() >= COPIED {
                break;
            }
            self.copied.extend_from_slice(&piece.line[written..]);
            self.copied.push(b'\n');
        }
        sink.poll_write(cx, &[IoSlice::new(&self.copied)])
    }

    /// Accounts for bytes that were written.
    fn advance(&mut self, mut written: usize) {
        self.backlog -= written;
        while written > 0 {
            let Some((piece, done)) = self.begun.take().or_else(|| self.next().map(|piece| (piece, 0))) else {
                return;
            };
            let whole = piece.line.len() + 1;
            let left = whole - done;
            if written < left {
                self.begun = Some((piece, done + written));
                return;
            }
            written -= left;
        }
    }

    fn next(&mut self) -> Option<Piece> {
        self.urgent.pop_front().or_else(|| self.ordinary.pop_front())
    }

    /// Takes back the lines that were never begun, by tag. What had begun, or has no tag, is gone.
    #[must_use]
    pub fn unsent(&mut self) -> HashMap<u64, Bytes> {
        self.backlog = 0;
        self.begun = None;
        let pieces = self.urgent.drain(..).chain(self.ordinary.drain(..));
        pieces.filter(|piece| piece.tag != 0).map(|piece| (piece.tag, piece.line)).collect()
    }
}

#[cfg(test)]
mod tests;
