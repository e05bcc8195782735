//! Who belongs to the tree, and signals to them that cannot hit a stranger.
//!
//! A pid may be signalled when it cannot have been given to another process meanwhile: the guard's own children, until the
//! guard reaps them, and anybody else through a handle (pidfd) that is checked after it was opened.

use nix::unistd::Pid;

#[cfg(not(target_os = "linux"))]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(super) use darwin::{Member, list, look, signal};
#[cfg(target_os = "linux")]
pub(super) use linux::{Member, list, look, signal};

/// What a living member is seen to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Its process group.
    pub group: Pid,
    /// When it started, which tells it from a later process of the same number; 0 where the system does not say.
    pub start: u64,
}
