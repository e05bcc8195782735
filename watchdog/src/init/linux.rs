//! The moment at which one process becomes two.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{ForkResult, Pid, dup2_stdin, dup2_stdout, fork, getpid, getppid, setsid};

use super::run;
use crate::exit::Exit;
use crate::guard::{self, signals};
use crate::os;

/// Divides this process. Returns `None` in the engine, and in the init how it ends, once that has come.
///
/// # Errors
/// What the system refuses, in either of them.
pub(super) fn divide() -> io::Result<Option<ExitCode>> {
    // Nothing is lost from here on: what comes before somebody reads it waits.
    signals::block_all()?;
    signals::keep_the_dead();
    let null = os::null()?;
    prctl::set_child_subreaper(true)?;
    let init = getpid();
    // SAFETY: this is the only thread, because nothing has run yet that starts one; so nothing is locked or half done, and
    // the child may do whatever a process may.
    match unsafe { fork() }? {
        ForkResult::Child => Ok((!become_engine(init)?).then(|| Exit::Internal.into())),
        ForkResult::Parent { child } => {
            let signals = become_init(null)?;
            Ok(Some(run::run(child, signals).into()))
        }
    }
}

/// Prepares the engine. Gives whether there is somebody to work for.
fn become_engine(init: Pid) -> nix::Result<bool> {
    // A terminal, and whoever signals the group that they started, means the whole, which is the init's to tell: a SIGTERM
    // that came twice would be an order to drop everything.
    setsid()?;
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // None is sent where the init has gone already.
    let orphaned = getppid() != init;
    signals::unblock_all()?;
    Ok(!orphaned)
}

/// Lets go of everything that is the engine's, above all the client's pipes, whose ends nobody would notice.
fn become_init(null: OwnedFd) -> io::Result<SignalFd> {
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    drop(null);
    guard::close_inherited();
    prctl::set_name(c"watchdog-init")?;
    Ok(SignalFd::with_flags(&SigSet::all(), SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}
