//! Processes: which belong to a run, and which still run.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The variable that marks all processes of a run; its value is the folder of the run.
pub const MARK: &str = "CHAOS_FOLDER";

/// A process. Its start tells it from others that get the same number later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it was started, in ticks since the start of the machine.
    pub started: u64,
    /// What it is.
    pub name: String,
}

impl Process {
    /// The process with this number, called so.
    #[must_use]
    pub fn find(pid: i32, name: &str) -> Option<Self> {
        let (_, started) = stat(pid)?;
        Some(Self { pid, started, name: name.to_owned() })
    }

    /// Whether it is there and no zombie.
    #[must_use]
    pub fn is_running(&self) -> bool {
        stat(self.pid).is_some_and(|(state, started)| started == self.started && !matches!(state, 'Z' | 'X'))
    }

    /// Sends it a signal, if it is still there. Whether it was.
    #[must_use]
    pub fn signal(&self, signal: Signal) -> bool {
        self.is_running() && kill(Pid::from_raw(self.pid), signal).is_ok()
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.pid, self.name)
    }
}

/// The state of a process, and when it was started.
fn stat(pid: i32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    // The third and the twenty-second field of proc(5).
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// The running processes of the run that has this folder.
#[must_use]
pub fn marked(folder: &Path) -> Vec<Process> {
    let pids = harness::carriers(MARK, folder).filter_map(|pid| i32::try_from(pid).ok());
    let name = |pid: i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).replace('\0', " ").chars().take(80).collect::<String>()
    };
    let found = pids.filter_map(|pid| Process::find(pid, name(pid).trim()));
    found.filter(Process::is_running).collect()
}
