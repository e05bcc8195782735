//! Processes that the server starts, and that a supervisor has to find when the server is gone.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use super::CHILD_ROLE;
use crate::journal;
use crate::plan::Kin;
use crate::processes::{MARK, Process};

/// So that a run that fails leaves nothing for long.
const LIFETIME: Duration = Duration::from_secs(120);

/// The one in between of a daemon.
const PARENT: &str = "parent";

/// Starts one, and waits until it is what it is to be.
pub(super) fn spawn(folder: &Path, life: u64, kin: Kin) {
    let name = match kin {
        Kin::Plain => "plain",
        Kin::Session => "session",
        Kin::Daemon => PARENT,
        Kin::Holder => "holder",
    };
    let stdout = if kin == Kin::Holder { Stdio::inherit() } else { Stdio::null() };
    let Some(mut command) = again(name, life) else { return };
    command.current_dir(folder).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return };
    // A byte, or the end of the pipe if it could not begin.
    let _ = child.stderr.take().map(|mut stderr| stderr.read(&mut [0]));
    if kin == Kin::Daemon {
        let _ = child.wait();
    }
}

fn again(name: &str, life: u64) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args([CHILD_ROLE, name, &life.to_string()]);
    Some(command)
}

/// The process itself.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let [name, life] = arguments else { return ExitCode::from(64) };
    let (Ok(life), Some(folder)) = (life.parse(), std::env::var_os(MARK)) else { return ExitCode::from(64) };
    if name == PARENT {
        // What is started inherits the pipe, and says when it is ready.
        let started = again("daemon", life).map(|mut command| command.spawn());
        return if matches!(started, Some(Ok(_))) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if name != "plain" {
        let polite: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
        let _ = polite.thread_block();
        // Fails only for a group's leader, which a new process is not.
        let _ = nix::unistd::setsid();
    }
    if let Some(process) = Process::find(nix::unistd::getpid().as_raw(), name) {
        journal::register(Path::new(&folder), life, &process);
    }
    let _ = std::io::stderr().write_all(b"+");
    std::thread::sleep(LIFETIME);
    ExitCode::SUCCESS
}
