//! Processes: which belong to a session, and which are still there.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The environment variable that marks all processes of a session; its value is the session's own folder.
pub(crate) const MARK: &str = "MCP_HARNESS_FOLDER";

/// A process of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The base names of its arguments, for messages.
    pub command: String,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.pid, self.command)
    }
}

/// Whether the process is there, and neither a zombie nor about to be one: what has no memory any more runs nothing.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // From the third field on (proc_pid_stat(5)): the state, and as the 23rd the size of the memory.
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let (state, memory) = (fields.next(), fields.nth(19));
    !matches!(state, None | Some("" | "Z" | "X")) && memory != Some("0")
}

/// The processes whose environment has this variable with this folder as its value.
///
/// # Panics
/// Where /proc cannot be read.
pub fn carriers(variable: &str, folder: &Path) -> impl Iterator<Item = u32> {
    let mut mark = format!("{variable}=").into_bytes();
    mark.extend(folder.as_os_str().as_encoded_bytes());
    let pids = fs::read_dir("/proc")
        .expect("/proc can be read")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(move |pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    })
}

/// The running processes of the session that has this folder.
pub(crate) fn marked(folder: &Path) -> Vec<Process> {
    let running = carriers(MARK, folder).filter(|pid| is_running(*pid));
    running.map(|pid| Process { pid, command: command(pid) }).collect()
}

fn command(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let words = text.split_terminator('\0').map(|word| word.rsplit('/').next().unwrap_or_default());
    words.collect::<Vec<_>>().join(" ")
}

/// Sends a signal to one process, if that still has the mark: its number may be another's by now.
pub(crate) fn signal(pid: u32, signal: Signal, folder: &Path) -> bool {
    let ours = marked(folder).iter().any(|process| process.pid == pid);
    ours && i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), signal).is_ok())
}
