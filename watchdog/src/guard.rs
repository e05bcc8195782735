//! The guard: the second role of the binary. One guard owns one child process tree, and nothing of that tree outlives it.
//!
//! The engine starts a guard for each generation of a server: the same program with another `argv[0]`, one thread, no runtime
//! and no plugins. It is a session of its own, so that killing the engine's group does not reach it, and a subreaper, so that
//! whatever the child forks comes to it in the end, double forks and new sessions included. The two talk over a socket that is
//! the guard's descriptor 0 at the start:
//!
//! 1. the engine sends what to execute, and the child's ends of its three pipes ([`message`]);
//! 2. the guard forks and executes it ([`spawn`]), and reports the start, the leader's end, and the empty tree;
//! 3. the engine may ask for a stop or a kill ([`ladder`]). The end of the socket is such an order too: the engine has gone,
//!    for whatever reason, and the tree follows.
//!
//! Only the guard reaps, and only what it has looked at, so no signal ever reaches a stranger with a recycled number
//! ([`tree`], [`members`], [`exits`]).
#![expect(unsafe_code, reason = "fork, exec, waitid, pidfd and signal dispositions have no safe form")]

use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

use crate::exit::Exit;

mod control;
mod exits;
mod keeper;
mod ladder;
mod members;
pub(crate) mod message;
mod run;
pub(crate) mod signals;
mod spawn;
mod tree;

pub(crate) use keeper::SWEEP;
pub(crate) use ladder::LEFTOVER_GRACE;
pub(crate) use spawn::close_inherited;
pub(crate) use spawn::search::candidates;
#[cfg(target_os = "linux")]
pub(crate) use {keeper::Keeper, ladder::ORPHAN_GRACE};
/// The `argv[0]` that makes a process of this binary a guard.
pub const ARGV0: &str = "mcp-watchdog-guard";

/// Whether a process with this `argv[0]` is a guard.
#[must_use]
pub fn is_guard(argv0: &OsStr) -> bool {
    argv0 == ARGV0
}

/// Runs the guard until its tree is gone. Descriptor 0 is the control socket.
///
/// An engine that goes away before it said what to execute is a normal end.
#[must_use]
pub fn main() -> ExitCode {
    match guard() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => Exit::Internal.into(),
    }
}

fn guard() -> io::Result<()> {
    signals::block_all()?;
    signals::settle();
    close_inherited();
    let mut control = control::take_from_stdin()?;
    // Fails only for the leader of a group, which nobody made us.
    nix::unistd::setsid()?;
    adopt_orphans()?;
    let child_ended = signals::child_pipe()?;
    signals::unblock_all()?;
    if let Some((launch, stdio)) = control.launch() {
        run::run(control, child_ended, &launch, stdio);
    }
    Ok(())
}

/// Makes this process the parent of its descendants' orphans, and gives it a name of its own in `top`: what `/proc/self/exe`
/// leaves there is `exe`.
#[cfg(target_os = "linux")]
fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_name(c"watchdog-guard")?;
    nix::sys::prctl::set_child_subreaper(true)
}

/// Orphans go to the first process; there is no way to have them.
#[cfg(not(target_os = "linux"))]
const fn adopt_orphans() -> nix::Result<()> {
    Ok(())
}
