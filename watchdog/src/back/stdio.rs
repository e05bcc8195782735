//! A child process on three pipes, below a guard.
//!
//! Two things tell of its end: its exit, and the end of its stdout. Whichever comes first is the loss; the other one is
//! awaited for a moment, because the exit status explains it and because a launcher's death leaves stdout open. What a
//! process wrote before it ended is in the pipe and is delivered.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Sleep, sleep};

use super::facts::Processes;
use super::runtime::{Back, News, Runtime};
use super::{Child, ChildEvent, Fence, Pipes, StartError, cannot_start};
use crate::config::{Bounds, Command, Server};
use crate::core::ending::Ending;
use crate::core::slot::Lost;
use crate::event_loop::{Quiet, Watcher, yield_turn};
use crate::stream::outbox::Outbox;
use crate::stream::{Sink, Source, StderrTail};
use crate::telemetry::LogHandle;
use crate::wire::framed::Framed;
use crate::wire::lines::{Line, Lines};

/// How long the end of stdout, or a broken stdin, waits for the exit that explains it. An exit is answered within
/// 100 ms (contract.md, promise 5).
const EXPLANATION: Duration = Duration::from_millis(50);
/// Room for one read, in bytes.
const READ: usize = 64 * 1024;
/// The same for stderr. One poll reads it once or twice: each line costs work, and a line can be short.
const READ_STDERR: usize = 4 * 1024;
/// The most that is drained from a pipe after its writer's death: more than any pipe of ours holds.
const DRAIN: usize = 4 << 20;
/// Lines of stderr that go into errors.
const TAIL_LINES: usize = 10;

/// Starts processes.
#[derive(Debug)]
pub struct Stdio {
    watcher: Watcher,
}

impl Stdio {
    /// Processes whose streams this watches.
    #[must_use]
    pub const fn under(watcher: Watcher) -> Self {
        Self { watcher }
    }
}

impl Back for Stdio {
    fn start(&mut self, server: &Server, log: &LogHandle) -> Result<Box<dyn Runtime>, StartError> {
        Ok(Box::new(StdioRuntime::start(&server.command, server.limits.max_line, log.clone(), &self.watcher)?))
    }
}

/// One process.
pub struct StdioRuntime {
    child: Child,
    program: String,
    cwd: String,
    bounds: Bounds,
    stdin: Option<Sink>,
    stdout: Option<Source>,
    stderr: Option<Source>,
    lines: Lines,
    outbox: Outbox,
    tail: StderrTail,
    /// What was read from stderr last.
    scratch: BytesMut,
    log: LogHandle,
    ending: Option<Ending>,
    trouble: Option<String>,
    explanation: Option<Pin<Box<Sleep>>>,
    stage: Stage,
    gone: Option<Vec<u32>>,
    watcher: Watcher,
    /// The guard's reports.
    quiet: Quiet,
}

/// How much of the end has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Serving,
    /// The loss is known and has to be told.
    Ended,
    /// It was told, or is not wanted.
    Told,
}

impl StdioRuntime {
    /// Starts a process.
    ///
    /// # Errors
    /// When no guard could be started, or no pipes made.
    pub fn start(command: &Command, max_line: usize, log: LogHandle, watcher: &Watcher) -> Result<Self, StartError> {
        let (child, pipes) = Child::start(command)?;
        Self::over(child, pipes, command, max_line, log, watcher)
    }

    /// The same for a process that is being started already.
    fn over(
        child: Child,
        pipes: Pipes,
        command: &Command,
        max_line: usize,
        log: LogHandle,
        watcher: &Watcher,
    ) -> Result<Self, StartError> {
        Ok(Self {
            child,
            program: command.program.to_string_lossy().into_owned(),
            cwd: command.cwd.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            bounds: command.bounds,
            stdin: Some(Sink::own_pipe(pipes.stdin, watcher).map_err(StartError::Pipes)?),
            stdout: Some(Source::own_pipe(pipes.stdout, watcher).map_err(StartError::Pipes)?),
            stderr: Some(Source::own_pipe(pipes.stderr, watcher).map_err(StartError::Pipes)?),
            lines: Lines::new(max_line),
            outbox: Outbox::default(),
            tail: StderrTail::new(),
            scratch: BytesMut::new(),
            log,
            ending: None,
            trouble: None,
            explanation: None,
            stage: Stage::Serving,
            gone: None,
            watcher: watcher.clone(),
            quiet: Quiet::default(),
        })
    }

    /// Reads a piece. A server that writes more than is read waits in its write; nobody else does.
    fn pump_stderr(&mut self, cx: &mut Context<'_>) {
        if self.stderr.as_ref().is_some_and(|stderr| !stderr.is_spent()) {
            self.read_stderr(cx);
        }
    }

    #[inline(never)]
    fn read_stderr(&mut self, cx: &mut Context<'_>) {
        let Some(stderr) = &mut self.stderr else { return };
        let mut read = 0;
        while read < READ_STDERR {
            if stderr.is_spent() {
                return;
            }
            self.scratch.clear();
            self.scratch.reserve(READ_STDERR);
            match stderr.poll_read(cx, &mut self.scratch) {
                Poll::Pending => return,
                Poll::Ready(Ok(n)) if n > 0 => {
                    read += n;
                    self.tail.push(&self.scratch, |line| self.log.line(line));
                }
                Poll::Ready(_) => {
                    self.stderr = None;
                    return self.tail.finish(|line| self.log.line(line));
                }
            }
        }
        yield_turn(cx);
    }

    /// Reads what is in the pipes at this moment.
    fn drain(&mut self) {
        let mut left = DRAIN;
        while let Some(stdout) = &mut self.stdout {
            match stdout.try_read_now(self.lines.spare(READ)) {
                Ok(Some(n)) if n > 0 && left > n => left -= n,
                Ok(None) => break,
                _ => self.stdout = None,
            }
        }
        let mut left = DRAIN;
        while let Some(stderr) = &mut self.stderr {
            self.scratch.clear();
            self.scratch.reserve(READ_STDERR);
            match stderr.try_read_now(&mut self.scratch) {
                Ok(Some(n)) if n > 0 && left > n => {
                    left -= n;
                    self.tail.push(&self.scratch, |line| self.log.line(line));
                }
                Ok(None) => break,
                _ => self.stderr = None,
            }
        }
        self.tail.finish(|line| self.log.line(line));
    }

    /// The child, to be told something. It may have to wait then for what nobody has been told to wake us for, such as its
    /// deadline.
    fn tell_child(&mut self) -> &mut Child {
        self.quiet = Quiet::default();
        &mut self.child
    }

    fn poll_child(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        if self.gone.is_some() || self.quiet.lasts(&self.watcher) {
            return Poll::Pending;
        }
        self.ask_child(cx)
    }

    #[cold]
    fn ask_child(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        match self.child.poll_event(cx) {
            Poll::Pending => {
                self.quiet.begin(&self.watcher);
                Poll::Pending
            }
            Poll::Ready(ChildEvent::Started { pid }) => Poll::Ready(News::Started { pid }),
            Poll::Ready(ChildEvent::CannotStart { errno, step }) => {
                self.stage = Stage::Told;
                let why = cannot_start::describe(&self.program, &self.cwd, &self.bounds, errno, step);
                Poll::Ready(News::CannotStart { why, exit: step.exit(errno), may_have_run: self.child.may_have_run() })
            }
            Poll::Ready(ChildEvent::Exited(ending)) => {
                self.ending = Some(ending);
                self.drain();
                self.end();
                Poll::Ready(News::Drained)
            }
            Poll::Ready(ChildEvent::Empty { survivors }) => {
                self.drain();
                self.end();
                self.gone = Some(survivors);
                Poll::Ready(News::Drained)
            }
        }
    }

    /// Gives up waiting for the exit that would explain what happened.
    #[cold]
    fn poll_explanation(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        if let Some(wait) = &mut self.explanation
            && wait.as_mut().poll(cx).is_ready()
        {
            self.explanation = None;
            if self.stage == Stage::Serving {
                self.drain();
                self.end();
                // What it had said is taken before its loss.
                return Poll::Ready(News::Drained);
            }
        }
        Poll::Pending
    }

    fn end(&mut self) {
        if self.stage == Stage::Serving {
            self.stage = Stage::Ended;
        }
    }

    /// Waits for the exit that explains what happened.
    fn explain(&mut self, trouble: Option<&str>) {
        self.trouble = self.trouble.take().or_else(|| trouble.map(str::to_owned));
        if self.stage == Stage::Serving && self.explanation.is_none() {
            self.explanation = Some(Box::pin(sleep(EXPLANATION)));
        }
    }

    fn poll_stdout(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        let Some(stdout) = self.stdout.as_mut().filter(|stdout| !stdout.is_spent()) else { return Poll::Pending };
        match stdout.poll_read(cx, self.lines.spare(READ)) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(n)) if n > 0 => {
                // A wait that has to be polled comes after all that was read.
                let spent = stdout.is_spent() && self.explanation.is_none();
                Poll::Ready(News::Read { spent })
            }
            Poll::Ready(end) => Poll::Ready(self.stdout_ended(end.err().as_ref())),
        }
    }

    #[cold]
    fn stdout_ended(&mut self, error: Option<&io::Error>) -> News {
        self.stdout = None;
        self.drop_torn_line();
        self.explain(error.map(|error| format!("reading from it failed: {error}")).as_deref());
        // The wait has to be polled in this turn.
        News::Drained
    }

    #[cold]
    fn stdin_closed(&mut self, cx: &mut Context<'_>, error: &io::Error) {
        self.stdin = None;
        self.explain(Some(&format!("it closed its stdin ({error})")));
        // Woken once more, so that the wait is polled.
        cx.waker().wake_by_ref();
    }

    /// What no line end has ended is never passed on.
    fn drop_torn_line(&mut self) {
        let torn = self.lines.finish();
        if torn > 0 {
            tracing::warn!(target: "mcp", bytes = torn, "a torn last line of the server was dropped");
        }
    }

    #[cold]
    fn lost(&mut self) -> Lost {
        self.drop_torn_line();
        self.stage = Stage::Told;
        Lost {
            ending: self.ending,
            transport_error: self.trouble.take().filter(|_| self.ending.is_none()),
            tail: self.tail.tail(TAIL_LINES),
            unsent: self.outbox.unsent(),
        }
    }
}

impl Runtime for StdioRuntime {
    fn poll_news(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<News> {
        self.pump_stderr(cx);
        if let Poll::Ready(news) = self.poll_child(cx) {
            return Poll::Ready(news);
        }
        if self.stage == Stage::Ended {
            return Poll::Ready(News::Lost(self.lost()));
        }
        if let Some(survivors) = self.gone.take() {
            return Poll::Ready(News::Gone { survivors });
        }
        // What a program says first may overtake the guard's word that it runs; that comes in a moment, and comes first.
        let told = self.child.pid().is_some();
        if wanted
            && told
            && let Poll::Ready(news) = self.poll_stdout(cx)
        {
            return Poll::Ready(news);
        }
        if self.explanation.is_some() { self.poll_explanation(cx) } else { Poll::Pending }
    }

    fn next_line(&mut self) -> Option<Line<'_>> {
        self.lines.next()
    }

    fn send(&mut self, line: &Framed<'_>, tag: u64, urgent: bool) {
        if self.stdin.is_some() || tag != 0 {
            self.outbox.push(line, tag, urgent);
        }
    }

    fn flush(&mut self, cx: &mut Context<'_>) {
        let Some(stdin) = &mut self.stdin else { return };
        if let Poll::Ready(Err(error)) = self.outbox.poll_write(cx, stdin) {
            self.stdin_closed(cx, &error);
        }
    }

    fn backlog(&self) -> usize {
        self.outbox.backlog()
    }

    fn stop(&mut self, hear: bool, eof_grace: Duration, term_grace: Duration) -> HashMap<u64, Bytes> {
        self.stdin = None;
        self.explanation = None;
        if !hear {
            self.stdout = None;
            self.lines = Lines::new(0);
            self.stage = Stage::Told;
        }
        self.tell_child().stop(eof_grace, term_grace);
        self.outbox.unsent()
    }

    fn kill(&mut self) {
        self.tell_child().kill();
    }

    fn signal(&mut self, signal: i32) {
        self.tell_child().signal(signal);
    }

    fn stderr_tail(&self, lines: usize) -> Vec<String> {
        self.tail.tail(lines)
    }

    fn fence(&self) -> Option<&Fence> {
        Some(self.child.fence())
    }

    fn processes(&self) -> Option<Processes> {
        Some(Processes { guard: self.child.guard_pid()?, leader: self.child.pid() })
    }
}

#[cfg(test)]
mod tests;
