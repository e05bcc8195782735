//! The probe host: the role of the binary that loads one probe plugin, in a process of its own.
//!
//! Nothing that a plugin does can be undone in a process that it shares: a crash, a stuck thread, a byte on stdout, a stolen
//! signal. So the engine starts this one, below a guard like any server, and speaks to it in frames of JSON over a socket
//! that is descriptor 0 at the start ([`message`]). The client of it is [`crate::probe::plugin`].
//!
//! Two threads, and whatever the plugin makes. The plugin's thread loads the library ([`load`]) and runs `create`, `check` and
//! `destroy` ([`instance`]); the main thread reads the socket ([`serve`]). The functions that a plugin may call
//! ([`functions`]) can come from any thread at any time: the check that they name is a number, which is looked up ([`table`]) and
//! never followed.
#![expect(unsafe_code, reason = "the border to a plugin: a foreign library is loaded and called, and calls back")]

use std::ffi::OsStr;
use std::process::ExitCode;

use crate::exit::Exit;

mod functions;
mod instance;
mod load;
pub mod message;
mod serve;
mod table;
mod trust;

/// The first argument that makes a process of this binary a probe host.
pub const ARGUMENT: &str = "--mcp-watchdog-probe-host";

/// Whether a process with this first argument is a probe host.
#[must_use]
pub fn is_probe_host(argument: &OsStr) -> bool {
    argument == ARGUMENT
}

/// Serves the engine on descriptor 0 until it closes its end.
///
/// An engine that goes away is a normal end. A process that no engine made fails.
#[must_use]
pub fn main() -> ExitCode {
    match serve::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => Exit::Internal.into(),
    }
}
