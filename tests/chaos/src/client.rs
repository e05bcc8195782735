//! The client of a run: starts the watchdog, carries the plan out in one thread, and records everything.

mod pipes;
mod script;

use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::history::{Did, Event, History};
use crate::journal::{self, now};
use crate::plan::{End, Plan};
use crate::processes::{self, MARK, Process};
use crate::server;
use pipes::Pipes;
use script::Script;

/// How long the client waits for an answer that does not come, and for the end of the watchdog.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the processes of a watchdog that was killed may take to be gone. The ladder of a guard has 1.5 s.
const AFTERMATH: Duration = Duration::from_secs(6);
/// Who looks so much later than was meant was kept from it: the machine is busy with other things.
const STALL: Duration = Duration::from_millis(30);
/// How often it is looked whether something has ended of which nothing tells.
const LOOK: Duration = Duration::from_millis(20);

/// The programs of a run.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The watchdog.
    pub watchdog: PathBuf,
    /// This binary, which has the other roles.
    pub chaos: PathBuf,
    /// All time limits of a run are multiplied by this.
    pub slack: u32,
}

/// Carries a plan out.
///
/// # Errors
/// When the run cannot begin.
pub fn run(plan: &Plan, programs: &Programs) -> io::Result<History> {
    let folder = tempfile::Builder::new().prefix("chaos").tempdir()?;
    std::fs::write(folder.path().join("plan"), plan.text())?;
    let child = command(plan, programs, folder.path()).spawn()?;
    let mut run = Run {
        folder: folder.path(),
        pipes: Pipes::new(child)?,
        script: Script::new(plan),
        events: Vec::new(),
        patience: PATIENCE * programs.slack,
        looked: Instant::now(),
    };
    run.carry_out();
    let exit = run.finish(plan.end)?;
    let (events, stderr) = (run.events, String::from_utf8_lossy(&run.pipes.errors).into_owned());
    let left = wait_none_left(folder.path(), AFTERMATH * programs.slack);
    let lives = journal::lives(folder.path());
    Ok(History { plan: plan.clone(), client: events, lives, stderr, exit, left })
}

fn command(plan: &Plan, programs: &Programs, folder: &Path) -> Command {
    let mut command = Command::new(&programs.watchdog);
    harness::remove_settings(&mut command);
    command
        .arg0("mcp-watchdog")
        .args(["--name", "chaos"])
        .args(&plan.options)
        .arg("--")
        .arg(&programs.chaos)
        .arg(server::ROLE)
        .env("MCP_WATCHDOG_EVENTS__STDERR", "jsonl")
        .env("MCP_WATCHDOG_RUNTIME_DIR", folder)
        .env(MARK, folder)
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits until nothing of the run is there, and ends what does not end by itself.
fn wait_none_left(folder: &Path, within: Duration) -> Vec<Process> {
    let end = Instant::now() + within;
    loop {
        let left = processes::marked(folder);
        if left.is_empty() {
            return left;
        }
        if Instant::now() >= end {
            for process in &left {
                let _ = process.signal(Signal::SIGKILL);
            }
            return left;
        }
        std::thread::sleep(LOOK);
    }
}

struct Run<'a> {
    folder: &'a Path,
    pipes: Pipes,
    script: Script<'a>,
    events: Vec<Event>,
    patience: Duration,
    /// When it was last looked at the pipes.
    looked: Instant,
}

impl Run<'_> {
    fn note(&mut self, what: Did) {
        self.events.push(Event { at: now(), what });
    }

    /// Follows the plan to its end, or to that of the watchdog.
    fn carry_out(&mut self) {
        while !self.pipes.stdout_ended() {
            match self.script.next(Instant::now()) {
                script::Next::Send(line) => self.send(&line),
                script::Next::Wait(until) => self.pump(until),
                script::Next::Read(reads) => {
                    self.note(if reads { Did::GoOnReading } else { Did::StopReading });
                    self.pipes.reading = reads;
                }
                script::Next::Kill(target) => {
                    if let Some(process) = script::find(self.folder, target) {
                        let signal = script::signal(target);
                        // Before the deed: what comes of it is later.
                        let at = now();
                        if process.signal(signal) {
                            self.events.push(Event { at, what: Did::Kill(target, process) });
                        }
                    }
                }
                script::Next::GiveUp => {
                    self.note(Did::GaveUp);
                    return;
                }
                script::Next::Done => return,
            }
        }
    }

    fn send(&mut self, line: &str) {
        self.note(Did::Send(crate::message::Message::read(line.as_bytes())));
        self.pipes.write(line.as_bytes());
        self.pump(Some(Instant::now()));
    }

    /// Moves bytes until something was read, or until then.
    fn pump(&mut self, until: Option<Instant>) {
        let until = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
        let until = until.min(self.patience);
        let begin = Instant::now();
        let (lines, end) = self.pipes.poll(until);
        // What has passed since the last look beside what was to be waited for.
        let late = self.looked.elapsed().saturating_sub(begin.elapsed().min(until));
        self.looked = Instant::now();
        if late > STALL {
            self.note(Did::Stalled(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX)));
        }
        for line in lines {
            let message = crate::message::Message::read(&line);
            if let Some(answer) = self.script.received(Instant::now(), &message) {
                self.script.push(answer);
            }
            self.note(Did::Receive(message));
        }
        if let Some(half) = end {
            self.note(Did::StreamEnd { half });
        }
    }

    /// Ends the run as planned, and records what follows. The exit code, if there is one in time.
    fn finish(&mut self, end: End) -> io::Result<Option<i32>> {
        self.pipes.reading = true;
        if self.pipes.child.try_wait()?.is_none() {
            self.note(Did::End);
        }
        match end {
            End::Leave | End::LeaveAtOnce => self.pipes.close_stdin(),
            End::CloseStdout => self.pipes.close_stdout(),
            End::Terminate => signal(&self.pipes.child, Signal::SIGTERM),
            End::Kill => signal(&self.pipes.child, Signal::SIGKILL),
        }
        let until = Instant::now() + self.patience;
        let mut exit = None;
        while exit.is_none() && Instant::now() < until {
            exit = self.pipes.child.try_wait()?;
            self.pump(Some(Instant::now() + LOOK));
        }
        // What is in the pipes is still the watchdog's word.
        let until = Instant::now() + Duration::from_secs(2);
        while !self.pipes.all_ended() && Instant::now() < until {
            self.pump(Some(Instant::now() + LOOK));
        }
        if exit.is_none() {
            self.pipes.child.kill()?;
            self.pipes.child.wait()?;
        } else {
            self.note(Did::Exit);
        }
        Ok(exit.and_then(|exit| exit.code().or_else(|| exit.signal().map(|signal| 128 + signal))))
    }
}

fn signal(child: &Child, signal: Signal) {
    // It is ours and not waited for, so its number is its own.
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = kill(Pid::from_raw(pid), signal);
    }
}
