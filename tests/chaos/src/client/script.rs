//! What the client does next. Knows the plan and the open requests, and nothing of pipes.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::journal;
use crate::message::{Kind, Message, Stamp, meta, padding};
use crate::plan::{End, Era, Plan, Request, Step, Target};
use crate::processes::Process;

/// How often an opening that was refused is tried again.
const OPENINGS: u32 = 4;
/// The longest wait for answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The next thing to do.
pub(super) enum Next {
    /// Write this line.
    Send(String),
    /// Move bytes, until then or for a moment.
    Wait(Option<Instant>),
    /// Read, or do not.
    Read(bool),
    /// End a process.
    Kill(Target),
    /// The answers do not come.
    GiveUp,
    /// The plan is carried out.
    Done,
}

/// Where the client is.
pub(super) struct Script<'a> {
    plan: &'a Plan,
    at: usize,
    opening: Opening,
    openings: u32,
    /// The requests without an answer: number and id.
    open: Vec<(u64, String)>,
    /// Lines to be written before the plan goes on.
    waiting: VecDeque<String>,
    /// When the present step is over.
    until: Option<Instant>,
    /// Whether the present step is one in which nothing is read.
    deaf: bool,
    since: Option<Instant>,
}

#[derive(PartialEq, Eq)]
enum Opening {
    Due,
    Asked(String),
    Done,
    /// The session could not be opened.
    Failed,
}

impl<'a> Script<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let opening = if plan.era == Era::Stateless { Opening::Done } else { Opening::Due };
        Self {
            plan,
            at: 0,
            opening,
            openings: 0,
            open: Vec::new(),
            waiting: VecDeque::new(),
            until: None,
            deaf: false,
            since: None,
        }
    }

    pub(super) fn push(&mut self, line: String) {
        self.waiting.push_back(line);
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        if let Some(line) = self.waiting.pop_front() {
            return Next::Send(line);
        }
        match self.opening {
            Opening::Done => {}
            Opening::Due if self.openings < OPENINGS => {
                self.openings += 1;
                let id = format!("\"open-{}\"", self.openings);
                let line = format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\
                     \"2025-11-25\",\"capabilities\":{{\"sampling\":{{}}}},\"clientInfo\":{{\"name\":\"chaos\",\
                     \"version\":\"1\"}}}}}}"
                );
                self.opening = Opening::Asked(id);
                self.since = Some(now);
                return Next::Send(line);
            }
            Opening::Asked(_) if self.is_late(now) => return Next::GiveUp,
            Opening::Asked(_) => return Next::Wait(None),
            Opening::Due | Opening::Failed => {
                self.opening = Opening::Failed;
                return Next::Done;
            }
        }
        if let Some(until) = self.until {
            if until > now {
                return Next::Wait(Some(until));
            }
            self.until = None;
            self.at += 1;
            if std::mem::take(&mut self.deaf) {
                return Next::Read(true);
            }
        }
        let Some(step) = self.plan.steps.get(self.at) else {
            return match self.plan.end {
                End::Leave if self.open.is_empty() => Next::Done,
                End::Leave => self.wait(now),
                _ => Next::Done,
            };
        };
        match step {
            Step::Await(few) if self.open.len() > *few => return self.wait(now),
            Step::Pause(ms) => {
                self.until = Some(now + Duration::from_millis((*ms).into()));
                return Next::Wait(self.until);
            }
            Step::StopReading(ms) => {
                self.until = Some(now + Duration::from_millis((*ms).into()));
                self.deaf = true;
                return Next::Read(false);
            }
            _ => {}
        }
        self.at += 1;
        self.since = None;
        match step {
            Step::Send(request) => {
                self.open.push((request.n, request.id.clone()));
                Next::Send(self.request(request))
            }
            Step::Cancel(n) => match self.open.iter().position(|(open, _)| open == n) {
                Some(at) => {
                    let (_, id) = self.open.swap_remove(at);
                    let params = format!("{{\"requestId\":{id}}}");
                    let method = "notifications/cancelled";
                    Next::Send(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}"))
                }
                None => Next::Wait(Some(now)),
            },
            Step::Notify(n) => {
                let meta = meta(&Stamp { n: Some(*n), ..Stamp::default() });
                let params = format!("{{\"_meta\":{{{meta}}}}}");
                Next::Send(format!("{{\"method\":\"notifications/chaos\",\"params\":{params},\"jsonrpc\":\"2.0\"}}"))
            }
            Step::Kill(target) => Next::Kill(*target),
            Step::Await(_) | Step::Pause(_) | Step::StopReading(_) => Next::Wait(Some(now)),
        }
    }

    /// Waits for answers, but not for ever.
    fn wait(&mut self, now: Instant) -> Next {
        self.since.get_or_insert(now);
        if self.is_late(now) { Next::GiveUp } else { Next::Wait(None) }
    }

    fn is_late(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now > since + PATIENCE)
    }

    fn request(&self, request: &Request) -> String {
        let Request { n, id, method, pad, order } = request;
        let meta = meta(&Stamp { n: Some(*n), order: Some(*order), ..Stamp::default() });
        let stateless = match self.plan.era {
            Era::Handshake => "",
            Era::Stateless => {
                "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
                 \"io.modelcontextprotocol/clientCapabilities\":{},"
            }
        };
        let name = if method == "tools/call" { "\"name\":\"do\"," } else { "" };
        let pad = padding(*pad);
        format!(
            "{{\"jsonrpc\":\"2.0\", \"id\":{id},\"method\":\"{method}\",\"params\":{{{name}\"_meta\":{{{stateless}\
             \"progressToken\":{id},{meta}}},\"pad\":\"{pad}\"}}}}"
        )
    }

    /// Takes a line of the watchdog; the answer to it, if it is a question.
    pub(super) fn received(&mut self, now: Instant, message: &Message) -> Option<String> {
        let id = message.id.as_deref()?;
        if message.kind == Kind::Request {
            // Whose question it was comes back in the answer.
            let meta = meta(&message.stamp);
            return Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"_meta\":{{{meta}}}}}}}"));
        }
        if !message.is_answer() {
            return None;
        }
        if matches!(&self.opening, Opening::Asked(asked) if asked == id) {
            let opened = message.kind == Kind::Result;
            self.opening = if opened { Opening::Done } else { Opening::Due };
            return opened.then(|| "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".to_owned());
        }
        if let Some(at) = self.open.iter().position(|(_, open)| open == id) {
            self.open.swap_remove(at);
            self.since = self.since.map(|_| now);
        }
        None
    }
}

/// The signal for a target.
pub(super) const fn signal(target: Target) -> Signal {
    match target {
        Target::Server | Target::Guard => Signal::SIGKILL,
        Target::ServerStop => Signal::SIGSTOP,
    }
}

/// The process of the life that runs, or its guard.
pub(super) fn find(folder: &Path, target: Target) -> Option<Process> {
    let (_, server) = journal::processes(folder).into_iter().rfind(|(_, process)| process.name == "server")?;
    if !server.is_running() {
        return None;
    }
    if target != Target::Guard {
        return Some(server);
    }
    let mut guards = journal::lives(folder).into_iter().flatten().filter_map(|entry| match entry.what {
        journal::What::Start { pid, guard } if pid == server.pid => Some(guard),
        _ => None,
    });
    // A server whose guard is gone already has another parent.
    let is_guard = |pid: &i32| {
        let words = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with("mcp-watchdog-guard")
    };
    guards.next_back().filter(is_guard).and_then(|pid| Process::find(pid, "guard"))
}
