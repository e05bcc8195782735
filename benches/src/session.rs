//! A client of a server, whatever stands between them.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::lines::Lines;
use crate::message::{Call, FIRST_ID, INITIALIZED, OPENING_ID, opening};
use crate::process::{self, Tree};
use crate::target::Target;

/// How long anything may take before what is measured counts as stuck.
pub(crate) const STUCK: Duration = Duration::from_secs(60);
/// How long a program may take to end after its stdin has.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// An open session.
pub(crate) struct Session {
    child: Child,
    sink: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    next_id: u64,
    /// From the spawn to the answer of the opening request.
    pub(crate) started_in: Duration,
}

impl Session {
    /// Starts a target and opens a session with the server behind it.
    ///
    /// # Errors
    /// Where it cannot be started, ends, is stuck, or answers with an error.
    pub(crate) fn open(target: &Target) -> io::Result<Self> {
        let [program, arguments @ ..] = &target.command[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (sink, source) = streams.ok_or_else(|| io::Error::other("no pipes"))?;
        let mut session =
            Self { child, sink: Some(sink), lines: Lines::new(source), next_id: FIRST_ID, started_in: Duration::ZERO };
        session.started_in = session.watched(STUCK, |session| {
            session.write(opening().as_bytes())?;
            session.answer_of(OPENING_ID)?;
            Ok(begin.elapsed())
        })?;
        session.write(INITIALIZED)?;
        Ok(session)
    }

    /// Ends what is measured if it takes longer than this, so that reading from it ends too.
    pub(crate) fn watched<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let (done, waiting) = mpsc::channel::<()>();
        let pid = self.pid();
        thread::scope(|scope| {
            scope.spawn(move || {
                if waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    let tree = Tree::of(pid).map(|tree| tree.processes()).unwrap_or_default();
                    tree.into_iter().for_each(|pid| _ = kill(pid, Signal::SIGKILL));
                }
            });
            let result = work(self);
            drop(done);
            result
        })
    }

    /// The process that was started.
    pub(crate) fn pid(&self) -> Pid {
        process::pid(self.child.id())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line)
    }

    /// Waits for the answer to a request, past notifications and questions.
    ///
    /// # Errors
    /// Also where the answer is an error.
    fn answer_of(&mut self, id: u64) -> io::Result<()> {
        loop {
            let line: Value = serde_json::from_slice(self.lines.next()?)?;
            if line["id"] == id && line.get("method").is_none() {
                return match line.get("error") {
                    Some(error) => Err(io::Error::other(error.to_string())),
                    None => Ok(()),
                };
            }
        }
    }

    /// Sends a call and waits for its answer.
    ///
    /// # Errors
    /// Also where the answer is not the one that is due.
    pub(crate) fn round_trip(&mut self, call: &mut Call) -> io::Result<Duration> {
        let id = self.next_id;
        self.next_id += 1;
        let line = call.under(id);
        let begin = Instant::now();
        self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line)?;
        let answer = self.lines.next()?;
        let took = begin.elapsed();
        if call.is_answered_by(answer, id) { Ok(took) } else { Err(wrong(answer)) }
    }

    /// Sends so many calls, never more than `window` of them unanswered, each with a write of its own as clients do.
    ///
    /// # Errors
    /// Also where an answer is not one that is due. They have to come in order, since the server answers so.
    pub(crate) fn pipelined(&mut self, call: &mut Call, calls: u64, window: u64) -> io::Result<Duration> {
        let (first, end) = (self.next_id, self.next_id + calls);
        let mut due = first;
        let begin = Instant::now();
        while self.next_id < end.min(first + window) {
            self.write_call(call)?;
        }
        while due < end {
            match self.lines.buffered() {
                Some(answer) if call.is_answered_by(answer, due) => {
                    due += 1;
                    if self.next_id < end {
                        self.write_call(call)?;
                    }
                }
                Some(answer) => return Err(wrong(answer)),
                None => self.lines.fill()?,
            }
        }
        Ok(begin.elapsed())
    }

    fn write_call(&mut self, call: &mut Call) -> io::Result<()> {
        let line = call.under(self.next_id);
        self.next_id += 1;
        self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line)
    }

    /// Sends a call, and says what came of it.
    ///
    /// # Errors
    /// Where the session is lost, or an answer comes that belongs to no call.
    pub(crate) fn attempt(&mut self, call: &mut Call) -> io::Result<Attempt> {
        let id = self.next_id;
        self.write_call(call)?;
        loop {
            let line = self.lines.next()?;
            if call.is_answered_by(line, id) {
                return Ok(Attempt::Answered);
            }
            let message: Value = serde_json::from_slice(line)?;
            if message.get("method").is_some() {
                continue;
            }
            return if message["id"] == id && message.get("error").is_some() {
                Ok(Attempt::Refused)
            } else {
                Err(wrong(line))
            };
        }
    }

    /// Ends the session, and waits for the program's end.
    pub(crate) fn close(mut self) {
        self.sink = None;
        let end = Instant::now() + LAST_WORDS;
        while Instant::now() < end {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
        // Whatever stays is the program's own business; it is not ours to wait for.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The server answered it.
    Answered,
    /// It was answered with an error.
    Refused,
}

fn wrong(answer: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
    io::Error::other(format!("not the answer that is due: {shown}"))
}
