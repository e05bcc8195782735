//! The server of the runs. It does what its plan says for this life, and notes everything in the journal.

mod act;
mod family;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pub use family::main as child_main;

use crate::journal::{Journal, What};
use crate::message::{Kind, Message, Stamp, meta};
use crate::plan::{Era, Life, Plan, Start, When};
use crate::processes::{MARK, Process};

/// The argument that makes this binary the server.
pub const ROLE: &str = "--server";
/// The argument that makes it a child of the server.
pub const CHILD_ROLE: &str = "--child";

/// What the server does when its time has come.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Task {
    /// A line is written; whether it answers a request, and which.
    Write(String, Option<u64>),
    /// The fate is fulfilled.
    Fate,
}

struct Server {
    journal: Arc<Journal>,
    life: Life,
    era: Era,
    /// By time, then in the order in which they were made.
    tasks: BinaryHeap<Reverse<(Instant, u64, Task)>>,
    made: u64,
    requests: u32,
    questions: u64,
    /// It says nothing more.
    silent: bool,
    /// Its reader reads nothing more.
    deaf: Arc<AtomicBool>,
}

/// Runs the server until it ends in one way or another.
#[must_use]
pub fn main() -> ExitCode {
    let Some(folder) = std::env::var_os(MARK).map(PathBuf::from) else { return ExitCode::from(64) };
    let plan = std::fs::read_to_string(folder.join("plan")).ok();
    let plan = plan.and_then(|text| serde_json::from_str::<Plan>(&text).ok());
    let (Some(plan), Ok(journal)) = (plan, Journal::begin(&folder)) else { return ExitCode::from(64) };
    let life = plan.life(journal.life());
    Server {
        journal: Arc::new(journal),
        life,
        era: plan.era,
        tasks: BinaryHeap::new(),
        made: 0,
        requests: 0,
        questions: 0,
        silent: false,
        deaf: Arc::default(),
    }
    .run(&folder)
}

impl Server {
    fn run(mut self, folder: &std::path::Path) -> ExitCode {
        let pid = nix::unistd::getpid().as_raw();
        self.journal.note(What::Start { pid, guard: nix::unistd::getppid().as_raw() });
        for (life, process) in self.journal.overlaps() {
            self.journal.note(What::Overlap { life, process });
        }
        if let Some(process) = Process::find(pid, "server") {
            self.journal.register(&process);
        }
        for kin in self.life.family.clone() {
            family::spawn(folder, self.journal.life(), kin);
        }
        match self.life.start {
            Start::Dies(code) => self.exit(code),
            Start::Slow(ms) => std::thread::sleep(Duration::from_millis(ms.into())),
            Start::Banner => self.raw(b"Welcome to chaos \xff\xfe {\"not\": \"a message\"}\n[1,2\n"),
            _ => {}
        }
        if let Some(When::Millis(ms)) = self.life.fate.as_ref().map(|fate| fate.when) {
            self.later(ms, Task::Fate);
        }
        let (send, lines) = channel();
        let (journal, deaf) = (Arc::clone(&self.journal), Arc::clone(&self.deaf));
        std::thread::spawn(move || {
            // A large buffer: lines are noted when they are taken out of it, and few should be lost between.
            let mut stdin = BufReader::with_capacity(1 << 16, std::io::stdin());
            let mut line = Vec::new();
            while !deaf.load(Ordering::Relaxed) {
                line.clear();
                let _ = stdin.read_until(b'\n', &mut line);
                // Half a line before the end is no message.
                let Some(line) = line.strip_suffix(b"\n") else {
                    journal.note(What::Eof);
                    break;
                };
                let message = Message::read(line);
                journal.note(What::Read(message.clone()));
                if send.send(message).is_err() {
                    break;
                }
            }
            while deaf.load(Ordering::Relaxed) {
                std::thread::park();
            }
        });
        self.serve(&lines)
    }

    /// Until the end of stdin, and of what is to be done then.
    fn serve(&mut self, lines: &Receiver<Message>) -> ExitCode {
        let mut ended = false;
        loop {
            let next = self.tasks.peek().map(|Reverse((at, ..))| *at);
            let wait = next.map(|at| at.saturating_duration_since(Instant::now()));
            if wait.is_some_and(|wait| wait.is_zero()) {
                if let Some(Reverse((_, _, task))) = self.tasks.pop() {
                    self.perform(task);
                }
                continue;
            }
            if ended && (wait.is_none() || self.silent) {
                return ExitCode::SUCCESS;
            }
            let wait = wait.unwrap_or(Duration::from_secs(3600));
            match (ended, lines.recv_timeout(wait)) {
                (true, _) => std::thread::sleep(wait),
                (false, Ok(message)) => self.take(&message),
                (false, Err(RecvTimeoutError::Timeout)) => {}
                // Some servers do not exit at the end of their stdin.
                (false, Err(RecvTimeoutError::Disconnected)) if self.silent => std::thread::sleep(wait),
                (false, Err(RecvTimeoutError::Disconnected)) => ended = true,
            }
        }
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::Write(line, answers) => self.write(&line, answers),
            Task::Fate => {
                if let Some(fate) = self.life.fate.clone() {
                    self.fulfil(&fate.how);
                }
            }
        }
    }

    fn later(&mut self, ms: u32, task: Task) {
        self.made += 1;
        let at = Instant::now() + Duration::from_millis(ms.into());
        self.tasks.push(Reverse((at, self.made, task)));
    }

    fn take(&mut self, message: &Message) {
        if self.silent {
            return;
        }
        match message.kind {
            Kind::Request if self.is_opening(message) => self.open(message),
            Kind::Request => self.answer(message),
            Kind::Result | Kind::Error if message.stamp.life != Some(self.journal.life()) => {
                self.journal.note(What::StrayAnswer(message.clone()));
            }
            _ => {}
        }
    }

    fn is_opening(&self, message: &Message) -> bool {
        match self.era {
            Era::Handshake => message.method() == "initialize",
            // The client's own question has a number.
            Era::Stateless => message.method() == "server/discover" && message.stamp.n.is_none(),
        }
    }

    fn open(&mut self, message: &Message) {
        let id = message.id.as_deref().unwrap_or("null");
        match self.life.start {
            Start::DiesOfOpening(code) => self.exit(code),
            Start::Mute => {
                self.journal.note(What::Failing("mute".to_owned()));
                self.silent = true;
            }
            Start::Refuses => {
                self.journal.note(What::Failing("refuses its opening".to_owned()));
                let stamp = meta(&self.stamp(None));
                let error = format!("{{\"code\":-32603,\"message\":\"no\",\"data\":{{\"_meta\":{{{stamp}}}}}}}");
                self.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}"), None);
            }
            _ => {
                let result = match self.era {
                    Era::Handshake => concat!(
                        r#""protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"#,
                        r#""prompts":{},"resources":{"subscribe":true}},"serverInfo":{"name":"chaos","version":"1"}"#
                    ),
                    Era::Stateless => concat!(
                        r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
                        r#""serverInfo":{"name":"chaos","version":"1"}"#
                    ),
                };
                let stamp = meta(&self.stamp(None));
                let result = format!("{{{result},\"_meta\":{{{stamp}}}}}");
                self.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"), None);
            }
        }
    }

    fn stamp(&self, n: Option<u64>) -> Stamp {
        Stamp { life: Some(self.journal.life()), n, ..Stamp::default() }
    }

    /// Writes a line, and notes before what it is.
    fn write(&self, line: &str, answers: Option<u64>) {
        if self.silent {
            return;
        }
        self.journal.note(What::Writing(Message::read(line.as_bytes())));
        self.raw(format!("{line}\n").as_bytes());
        if let Some(n) = answers {
            self.journal.note(What::Answered(n));
        }
    }

    fn raw(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        // Nobody reads it any more, perhaps.
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }
}
