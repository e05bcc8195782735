//! One client, on a stream of lines each way.

use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::stream::outbox::Outbox;
use crate::stream::{Sink, Source};
use crate::telemetry::allowance::Allowance;
use crate::wire::framed::Framed;
use crate::wire::lines::{Line, Lines};

/// Room for one read, in bytes.
const READ: usize = 64 * 1024;

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A client has come.
    Came,
    /// It said something: take [`Client::next_line`] until there is none.
    Read {
        /// Whether nothing more can be new before the task is woken.
        spent: bool,
    },
    /// It closed its sending side, but what it wrote before is not read yet. At most once.
    HungUp,
    /// It closed its sending side, and all that it wrote is read. Once.
    Eof,
    /// It does not read any more. Once.
    Gone,
}

/// The client.
#[derive(Debug)]
pub struct Client {
    source: Option<Source>,
    sink: Option<Sink>,
    lines: Lines,
    outbox: Outbox,
    hung_up: bool,
    gone: bool,
}

impl Client {
    /// A client on these streams.
    #[must_use]
    pub fn new(source: Source, sink: Sink, max_line: usize) -> Self {
        Self {
            source: Some(source),
            sink: Some(sink),
            lines: Lines::new(max_line),
            outbox: Outbox::default(),
            hung_up: false,
            gone: false,
        }
    }

    /// What the client does next. With `wanted` unset nothing is read, but its end is noticed. The log is told of a bad end as far as
    /// `complaints` go.
    pub(super) fn poll_input(&mut self, cx: &mut Context<'_>, wanted: bool, complaints: &mut Allowance) -> Poll<Input> {
        if let Some(sink) = &mut self.sink
            && self.outbox.backlog() == 0
            && sink.poll_hangup(cx).is_ready()
        {
            self.lose();
        }
        if std::mem::take(&mut self.gone) {
            return Poll::Ready(Input::Gone);
        }
        let Some(source) = &mut self.source else { return Poll::Pending };
        if wanted {
            if source.is_spent() {
                return Poll::Pending;
            }
            match source.poll_read(cx, self.lines.spare(READ)) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(n)) if n > 0 => Poll::Ready(Input::Read { spent: source.is_spent() }),
                Poll::Ready(end) => Poll::Ready(self.end(end.err().as_ref(), complaints)),
            }
        } else {
            if self.hung_up || source.poll_hangup(cx).is_pending() {
                return Poll::Pending;
            }
            self.hung_up = true;
            Poll::Ready(Input::HungUp)
        }
    }

    #[cold]
    #[inline(never)]
    fn end(&mut self, error: Option<&io::Error>, complaints: &mut Allowance) -> Input {
        self.source = None;
        complain(error, self.lines.finish(), complaints);
        Input::Eof
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self) {
        self.sink = None;
        self.source = None;
        self.gone = true;
        self.outbox = Outbox::default();
    }

    /// The next line that was read.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        self.lines.next()
    }

    /// Queues a line.
    pub fn send(&mut self, line: &Framed<'_>) {
        if self.sink.is_some() {
            self.outbox.push(line, 0, false);
        }
    }

    /// Writes what is queued, as far as the client takes it. Ready when nothing is left.
    pub fn flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(sink) = &mut self.sink else { return Poll::Ready(()) };
        let written = match self.outbox.poll_write(cx, sink) {
            Poll::Ready(Ok(())) => sink.poll_flush(cx),
            other => other,
        };
        match written {
            Poll::Pending => Poll::Pending,
            // Somebody has to tell us of a client that leaves while there is nothing to write.
            Poll::Ready(Ok(())) if sink.poll_hangup(cx).is_pending() => Poll::Ready(()),
            Poll::Ready(_) => {
                self.lose();
                cx.waker().wake_by_ref();
                Poll::Ready(())
            }
        }
    }

    /// What it has been sent and has not read yet ([`Sink::unread`]).
    #[must_use]
    pub fn unread(&self) -> usize {
        self.sink.as_ref().map_or(0, Sink::unread)
    }

    /// Bytes that are queued.
    #[must_use]
    pub const fn backlog(&self) -> usize {
        self.outbox.backlog()
    }
}

/// Tells the log of an end that was an error, or that left so many bytes of a line.
fn complain(error: Option<&io::Error>, torn: u64, complaints: &mut Allowance) {
    if error.is_none() && torn == 0 {
        return;
    }
    let Some(left_out) = complaints.admit(Instant::now()) else { return };
    let repeated = Some(left_out).filter(|left_out| *left_out > 0);
    if let Some(error) = error {
        tracing::warn!(%error, repeated, "reading from the client failed");
    }
    if torn > 0 {
        tracing::warn!(bytes = torn, repeated, "a torn last line of the client was dropped");
    }
}
