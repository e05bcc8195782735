//! What the operating system says about processes: who is whose child, who is in a group, how much they used.
//!
//! One set of functions, one file for each system. Nothing in here signals or reaps.

mod files;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
mod own;

pub(crate) use files::room_for_runtime;
#[cfg(target_os = "linux")]
use linux::Shown;
#[cfg(target_os = "linux")]
pub(crate) use linux::{Member, descendants, group_members, start_time, stat};
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{group_members, start_time};
pub(crate) use own::{null, own_program};

/// What an operator has to know where this process cannot see others.
#[cfg(target_os = "linux")]
pub(crate) fn blindness() -> Option<String> {
    let why = match linux::shown() {
        Shown::Ours => return None,
        Shown::Nothing => "is not mounted",
        Shown::Others => {
            "is that of another PID namespace (`unshare --mount-proc`, `bwrap --proc /proc` mount one's own)"
        }
    };
    Some(format!(
        "/proc {why}: of a server's processes, those that left its process group are not found when it ends, and CPU time and \
         memory of its processes are unknown"
    ))
}

/// What an operator has to know where this process cannot see others.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn blindness() -> Option<String> {
    None
}
