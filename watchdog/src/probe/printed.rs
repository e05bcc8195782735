//! What a process of a probe prints, on its way to the log.
//!
//! Whatever it prints, one poll reads a bounded piece, the log gets a bounded number of lines, and a process that prints more
//! than is read waits in its write: its neighbours do not.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::event_loop::{Watcher, yield_turn};
use crate::stream::{Source, StderrTail};
use crate::telemetry::LogHandle;
use crate::telemetry::allowance::Allowance;

/// Room for one read, in bytes; one poll reads no more.
const READ: usize = 16 * 1024;
/// What is read in one [`WINDOW`], to the nearest read.
const MOST: usize = 256 * 1024;
const WINDOW: Duration = Duration::from_secs(1);
/// What is read of a process that has ended, in bytes: more than its pipe holds.
const REST: usize = 128 * 1024;

/// A pipe to which a process of a probe writes lines. Dropping it tells of the lines that the log did not get.
pub(crate) struct Printed {
    /// `None` after its end.
    source: Option<Source>,
    lines: StderrTail,
    log: Log,
    buffer: BytesMut,
    /// When the window began, and how much was read in it.
    window: (Instant, usize),
    /// Until the next window, where enough was read in this one.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Printed {
    /// Reads this pipe of ours. `name` is that of the link.
    ///
    /// # Errors
    /// Where the event loop does not take the descriptor.
    pub(crate) fn new(pipe: OwnedFd, name: String, log: LogHandle) -> io::Result<Self> {
        Ok(Self {
            source: Some(Source::own_pipe(pipe, &Watcher::Runtime)?),
            lines: StderrTail::new(),
            log: Log { log, name, allowance: Allowance::new(std::time::Instant::now()) },
            buffer: BytesMut::new(),
            window: (Instant::now(), 0),
            pause: None,
        })
    }

    /// Reads a piece. Ready at the end, which comes when every process that may print has ended.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(source) = &mut self.source else { return Poll::Ready(()) };
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        self.buffer.clear();
        self.buffer.reserve(READ);
        match ready!(source.poll_read(cx, &mut self.buffer)) {
            Ok(length) if length > 0 => self.count(length),
            _ => {
                self.finish();
                return Poll::Ready(());
            }
        }
        self.take();
        yield_turn(cx);
        Poll::Pending
    }

    /// Reads what its process has printed before it ended.
    pub(crate) fn drain(&mut self) {
        let mut read = 0;
        while let Some(source) = &mut self.source {
            self.buffer.clear();
            self.buffer.reserve(READ);
            match source.try_read_now(&mut self.buffer) {
                Ok(Some(length)) if length > 0 && read < REST => {
                    read += length;
                    self.take();
                }
                _ => self.finish(),
            }
        }
    }

    fn take(&mut self) {
        let now = std::time::Instant::now();
        self.lines.push(&self.buffer, |line| self.log.tell(now, line));
    }

    fn finish(&mut self) {
        self.source = None;
        let now = std::time::Instant::now();
        self.lines.finish(|line| self.log.tell(now, line));
    }

    fn count(&mut self, length: usize) {
        let (begun, read) = &mut self.window;
        if begun.elapsed() >= WINDOW {
            (*begun, *read) = (Instant::now(), 0);
        }
        *read += length;
        if *read >= MOST {
            self.pause = Some(Box::pin(sleep_until(*begun + WINDOW)));
        }
    }
}

/// The log, with what one process may have of it.
struct Log {
    log: LogHandle,
    name: String,
    allowance: Allowance,
}

impl Log {
    fn tell(&mut self, now: std::time::Instant, line: &[u8]) {
        let Some(left_out) = self.allowance.admit_line(now, line.len()) else { return };
        self.tell_left_out(left_out);
        self.log.probe_line(&self.name, line);
    }

    fn tell_left_out(&self, lines: u64) {
        self.log.left_out(&format!("that probe {} printed", self.name), lines);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let left_out = self.allowance.take_refused();
        self.tell_left_out(left_out);
    }
}

#[cfg(test)]
mod tests;
