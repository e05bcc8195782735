//! A client of a server, whatever stands between them.

mod due;

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
use due::Due;

/// How long a program may take to end after its stdin has.
const LAST_WORDS: Duration = Duration::from_secs(2);

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
    /// Where it cannot be started, ends, has not answered when the patience is over, or answers with an error.
    pub(crate) fn open(target: &Target, patience: Duration) -> io::Result<Self> {
        let [program, arguments @ ..] = &target.command[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (sink, source) = streams.ok_or_else(|| io::Error::other("no pipes"))?;
        let mut session =
            Self { child, sink: Some(sink), lines: Lines::new(source), next_id: FIRST_ID, started_in: Duration::ZERO };
        let opened = session.watched(patience, |session| {
            session.write(opening().as_bytes())?;
            session.answer_of(OPENING_ID)?;
            session.started_in = begin.elapsed();
            session.write(INITIALIZED)
        });
        match opened {
            Ok(()) => Ok(session),
            Err(error) => {
                session.close();
                Err(error)
            }
        }
    }

    /// Ends what is measured if it takes longer than this, so that reading from it ends too.
    ///
    /// # Errors
    /// `TimedOut` if it did, and what the work says.
    pub(crate) fn watched<T>(
        &mut self,
        limit: Duration,
        work: impl FnOnce(&mut Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let (done, waiting) = mpsc::channel::<()>();
        let pid = self.pid();
        thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let over = waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                if over {
                    kill_tree(pid);
                }
                over
            });
            let result = work(self);
            drop(done);
            match watch.join() {
                Ok(true) if result.is_err() => {
                    Err(io::Error::new(io::ErrorKind::TimedOut, format!("stuck: ended after {limit:?}")))
                }
                _ => result,
            }
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

    /// Sends a call and waits for its answer, past notifications and questions.
    ///
    /// # Errors
    /// Also where the answer is not the one that is due.
    pub(crate) fn round_trip(&mut self, call: &mut Call) -> io::Result<Duration> {
        let id = self.next_id;
        self.next_id += 1;
        let line = call.under(id);
        let begin = Instant::now();
        self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(line)?;
        loop {
            let answer = self.lines.next()?;
            let took = begin.elapsed();
            if call.is_answered_by(answer, id) {
                return Ok(took);
            }
            if !asks_or_tells(answer) {
                return Err(wrong(answer));
            }
        }
    }

    /// Sends so many calls, never more than `window` of them unanswered, each with a write of its own as clients do; no more
    /// of them once `longest` is over. Returns how many calls were answered, and how long that took.
    ///
    /// # Errors
    /// Also where an answer is not one that is due. They may come in any order, though the server answers in theirs.
    pub(crate) fn pipelined(&mut self, call: &mut Call, flight: Flight) -> io::Result<(u32, Duration)> {
        let first = self.next_id;
        let mut end = first + u64::from(flight.calls);
        let mut due = Due::from(first);
        let begin = Instant::now();
        while self.next_id < end.min(first + u64::from(flight.window)) {
            self.write_call(call)?;
        }
        while due.first() < end {
            let Some(answer) = self.lines.buffered() else {
                self.lines.fill()?;
                if begin.elapsed() > flight.longest {
                    end = self.next_id;
                }
                continue;
            };
            if call.is_answered_by(answer, due.first()) {
                due.has_come();
            } else if let Some(id) = id_of(answer).filter(|id| *id < self.next_id && call.is_answered_by(answer, *id)) {
                if !due.has_come_early(id) {
                    return Err(wrong(answer));
                }
            } else if asks_or_tells(answer) {
                continue;
            } else {
                return Err(wrong(answer));
            }
            if self.next_id < end {
                self.write_call(call)?;
            }
        }
        Ok((u32::try_from(end - first).unwrap_or(u32::MAX), begin.elapsed()))
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
            if asks_or_tells(line) {
                continue;
            }
            let message: Value = serde_json::from_slice(line)?;
            let refuses = message.get("error").is_some() || message["result"]["isError"] == true;
            return if message["id"] == id && refuses { Ok(Attempt::Refused) } else { Err(wrong(line)) };
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
        kill_tree(self.pid());
        _ = self.child.wait();
    }
}

/// Ends a program and all that it has started.
fn kill_tree(pid: Pid) {
    let tree = Tree::of(pid).map(Tree::processes).unwrap_or_default();
    tree.into_iter().for_each(|pid| _ = kill(pid, Signal::SIGKILL));
}

/// Calls of which several are under way at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) calls: u32,
    /// How many of them may be unanswered.
    pub(crate) window: u32,
    /// When no more of them are sent.
    pub(crate) longest: Duration,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The server answered it.
    Answered,
    /// It was answered with an error, of the protocol or as the tool's own.
    Refused,
}

/// Whether a line is a notification or a request: nothing that anybody has waited for.
fn asks_or_tells(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|message| message.get("method").is_some())
}

/// The id that a line is an answer to.
fn id_of(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(line).ok()?["id"].as_u64()
}

fn wrong(answer: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
    io::Error::other(format!("not the answer that is due: {shown}"))
}
