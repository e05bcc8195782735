//! The init: the role of the first process of a container, and of any watchdog with `--init`.
//!
//! Pid 1 is the parent of every orphan, is protected from signals that it does not catch, and takes everything along when it
//! ends. So that neither the engine nor a plugin has to know of that, the process divides before anything else happens: the
//! child goes on as the engine, and the parent becomes an init with one thread, which
//!
//! * reaps whatever ends, strangers too;
//! * passes signals on to the engine, each of them once ([`signals`]): the engine has a session of its own, so that a terminal
//!   or a `kill` of the whole process group reaches the init alone;
//! * ends what is left when the engine has ended, and then ends as the engine did.
//!
//! The engine dies with the init, and with the engine its guards end their servers.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "fork has no safe form"))]

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::OnceLock;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod signals;

#[cfg(target_os = "linux")]
use linux::divide;
#[cfg(not(target_os = "linux"))]
use other::divide;

/// The init above this process.
static ABOVE: OnceLock<u32> = OnceLock::new();

/// Divides this process if it is the first one, or if the arguments ask for it. To be called before anything starts a thread.
///
/// Returns `None` in the engine, and where nothing was divided; in the init it returns once all is over.
pub(crate) fn enter(args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let before = std::process::id();
    if before != 1 && !is_asked_for(args) {
        return None;
    }
    let over = divide().unwrap_or_else(|error| {
        say(&format!("the init failed: {error}"));
        Some(crate::exit::Exit::Internal.into())
    });
    if over.is_none() {
        // This is the engine, and the first who says so.
        _ = ABOVE.set(before);
    }
    over
}

/// The number of the init that this engine divided from, if it did.
pub(crate) fn above() -> Option<u32> {
    ABOVE.get().copied()
}

/// Whether `--init` is among the options, which end at `--`. No option takes a value that looks like it.
fn is_asked_for(args: impl Iterator<Item = OsString>) -> bool {
    args.skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--init")
}

/// Tells the operator. Whoever does not read stderr cannot hold up the end: a short line goes into a pipe whole, or not at all.
fn say(text: &str) {
    let stderr = std::io::stderr();
    let mut writable = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut writable, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
        // There is nobody else to tell that it cannot be written.
        _ = write(&stderr, format!("mcp-watchdog: {text}\n").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(line: &str) -> bool {
        is_asked_for(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_option_counts_before_the_command_alone() {
        assert!(asks("mcp-watchdog --init -- server"));
        assert!(asks("mcp-watchdog serve --config x --init"));
        assert!(!asks("mcp-watchdog -- server --init"));
        assert!(!asks("mcp-watchdog --name=--init -- server"));
        assert!(!asks("--init -- server"));
    }
}
