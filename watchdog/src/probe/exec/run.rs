//! One run of a program: its tree behind a guard, and its three pipes.

use std::future::poll_fn;
use std::io::IoSlice;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::runtime::Handle;

use super::super::printed::Printed;
use super::first_line::FirstLine;
use crate::back::{Child, ChildEvent, StartError, cannot_start};
use crate::config::{Bounds, Command};
use crate::core::ending::Ending;
use crate::event_loop::{Watcher, yield_turn};
use crate::stream::{Sink, Source};
use crate::telemetry::LogHandle;

/// Room for one read, in bytes.
const READ: usize = 16 * 1024;
/// Reads of stdout in one poll. A program that writes without end must not keep the session waiting.
const IN_A_ROW: usize = 8;

/// How a run ended.
#[derive(Debug)]
pub(super) enum End {
    /// The program has ended; what it left behind is being ended too.
    Exited(Ending),
    /// It was not executed.
    CannotStart(String),
}

/// A program that runs. Dropping this ends its whole tree.
pub(super) struct Run {
    /// Taken when this is dropped.
    child: Option<Child>,
    program: String,
    cwd: String,
    stdin: Option<Sink>,
    /// What is left to be written to stdin.
    input: BytesMut,
    stdout: Option<Source>,
    first_line: FirstLine,
    stderr: Printed,
    scratch: BytesMut,
}

impl Run {
    /// Starts the program. What it writes to stderr goes to the log, as this link's.
    ///
    /// # Errors
    /// When no guard can be started, or no pipes made.
    pub(super) fn start(command: &Command, input: String, link: &str, log: &LogHandle) -> Result<Self, StartError> {
        let (child, pipes) = Child::start(command)?;
        let mut input = BytesMut::from(input.as_bytes());
        input.extend_from_slice(b"\n");
        Ok(Self {
            child: Some(child),
            program: command.program.to_string_lossy().into_owned(),
            cwd: command.cwd.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            stdin: Some(Sink::own_pipe(pipes.stdin, &Watcher::Runtime).map_err(StartError::Pipes)?),
            input,
            stdout: Some(Source::own_pipe(pipes.stdout, &Watcher::Runtime).map_err(StartError::Pipes)?),
            first_line: FirstLine::default(),
            stderr: Printed::new(pipes.stderr, link.to_owned(), log.clone()).map_err(StartError::Pipes)?,
            scratch: BytesMut::new(),
        })
    }

    /// Waits for the end of the program, and reads and writes its pipes meanwhile. Dropping the future loses nothing.
    pub(super) async fn end(&mut self) -> End {
        poll_fn(|cx| self.poll_end(cx)).await
    }

    /// The first line of its stdout so far.
    pub(super) fn first_line(&self) -> String {
        self.first_line.text()
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        self.write_input(cx);
        let more = self.read_stdout(Some(&mut *cx));
        // Its end is not the program's.
        _ = self.stderr.poll(cx);
        // What was written before the end is in the pipes, and was perhaps not there a moment ago.
        let Some(child) = &mut self.child else { return Poll::Pending };
        while let Poll::Ready(event) = child.poll_event(cx) {
            match event {
                ChildEvent::Started { .. } => {}
                ChildEvent::CannotStart { errno, step } => {
                    let why = cannot_start::describe(&self.program, &self.cwd, &Bounds::default(), errno, step);
                    return Poll::Ready(End::CannotStart(why));
                }
                ChildEvent::Exited(ending) => {
                    self.read_stdout(None);
                    self.stderr.drain();
                    return Poll::Ready(End::Exited(ending));
                }
                // Never the first to tell of an end.
                ChildEvent::Empty { .. } => break,
            }
        }
        if more {
            yield_turn(cx);
        }
        Poll::Pending
    }

    /// A program need not read what it is told.
    fn write_input(&mut self, cx: &mut Context<'_>) {
        while let Some(stdin) = &mut self.stdin {
            match stdin.poll_write(cx, &[IoSlice::new(&self.input)]) {
                Poll::Pending => return,
                Poll::Ready(Ok(written)) if written < self.input.len() => drop(self.input.split_to(written)),
                Poll::Ready(_) => self.stdin = None,
            }
        }
    }

    /// Reads what is there, up to a limit, and waits for more where there is someone to wake. Whether the limit was met. What
    /// comes after the first line is read as well, however much it is: a program that writes a page still has to end.
    fn read_stdout(&mut self, mut cx: Option<&mut Context<'_>>) -> bool {
        for _ in 0..IN_A_ROW {
            let Some(pipe) = &mut self.stdout else { return false };
            self.scratch.clear();
            self.scratch.reserve(READ);
            let read = match &mut cx {
                Some(cx) => match pipe.poll_read(cx, &mut self.scratch) {
                    Poll::Pending => return false,
                    Poll::Ready(read) => read.map(Some),
                },
                None => pipe.try_read_now(&mut self.scratch),
            };
            match read {
                Ok(Some(bytes)) if bytes > 0 => self.first_line.push(&self.scratch),
                Ok(None) => return false,
                _ => self.stdout = None,
            }
        }
        self.stdout.is_some()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        child.kill();
        // Where there is no runtime any more, dropping the child ends its tree too, if not at once.
        if let Ok(runtime) = Handle::try_current() {
            let program = std::mem::take(&mut self.program);
            runtime.spawn(async move {
                // What cannot be killed at once is another user's, or is stuck in the kernel.
                loop {
                    if let ChildEvent::Empty { survivors } = child.event().await {
                        if !survivors.is_empty() {
                            tracing::warn!(program, ?survivors, "processes of a probe cannot be ended");
                        }
                        return;
                    }
                }
            });
        }
    }
}
