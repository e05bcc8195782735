//! Control groups, version 2: a fence around a process tree that the kernel itself keeps.
//!
//! A guard holds a tree by descent and has to be alive for that. A cgroup holds it by membership: whatever is forked stays in
//! it, one write kills all of it, other users' processes included, and limits hold for the whole. It needs a part of the
//! hierarchy that we may divide, which not every place has; [`home`] finds out, and says what is missing.
//!
//! ```text
//! delegated to us            our own group, or the one above it where that is marked as delegated (systemd's DelegateSubgroup=)
//! └── mcp-watchdog-PID-…     this process's; locked while it or a guard of it lives, so that nobody else takes it for left over
//!     ├── self               this process and what is below it without a group, where a limit asks for a controller
//!     ├── 1                  the tree of the first process that was started so
//!     └── 2                  …
//! ```
//!
//! The guard makes the group of a tree, and removes it when the tree is gone ([`group`]). What nobody could remove because
//! everybody was killed is killed and removed by the next watchdog that starts in the same place.

pub(crate) mod group;
#[cfg(target_os = "linux")]
mod home;
#[cfg(target_os = "linux")]
mod mark;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod place;

pub(crate) use group::Group;
#[cfg(target_os = "linux")]
pub(crate) use home::Home;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Home;

use std::path::PathBuf;

/// What a guard has to know about the group that it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The folder of the group.
    pub folder: PathBuf,
    /// The most memory that it may have, in bytes.
    pub memory_max: Option<u64>,
}
