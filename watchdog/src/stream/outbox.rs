//! Lines on their way into a [`Sink`]: bounded by whoever fills it, written in batches, accounted line by line.
//!
//! Two lanes: an urgent line passes the ordinary ones that wait, but never breaks into one that has begun. What was
//! never begun can be taken back, so that a request which a dead server did not get a byte of is not lost.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::Sink;

/// Slices of one write, two a line: where many lines wait, and where few do, which is the rule.
const MANY: usize = 256;
const FEW: usize = 8;

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
            let few = self.urgent.len() + self.ordinary.len() < FEW / 2;
            let written = if few { self.poll_once::<FEW>(cx, sink) } else { self.poll_once::<MANY>(cx, sink) };
            let written = ready!(written)?;
            self.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_once<const SLICES: usize>(&self, cx: &mut Context<'_>, sink: &mut Sink) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let begun = self.begun.iter().map(|(piece, written)| (piece, (*written).min(piece.line.len())));
        let waiting = self.urgent.iter().chain(&self.ordinary).map(|piece| (piece, 0));
        let mut used = 0;
        for ((piece, written), pair) in begun.chain(waiting).zip(slices.chunks_exact_mut(2)) {
            pair[0] = IoSlice::new(&piece.line[written..]);
            pair[1] = IoSlice::new(b"\n");
            used += 2;
        }
        sink.poll_write(cx, &slices[..used])
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
