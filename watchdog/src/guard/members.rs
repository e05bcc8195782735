//! Who belongs to the tree, and signals to them that cannot hit a stranger.
//!
//! A pid may be signalled when it cannot have been given to another process meanwhile: the guard's own children, until the
//! guard reaps them, and anybody else through a handle (pidfd) that is checked after it was opened.

#[cfg(not(target_os = "linux"))]
mod darwin;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub(super) use darwin::{Member, group_of, list, signal};
#[cfg(target_os = "linux")]
pub(super) use linux::{Member, group_of, list, signal};
