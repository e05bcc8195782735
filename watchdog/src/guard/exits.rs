//! Ends of processes: noticing them, and reaping them one by one.
//!
//! On Linux an end is looked at before it is reaped (`WNOWAIT`), because a leader that has not been reaped keeps the number of its
//! process group from being used again: until then the group can be signalled safely.

use nix::errno::Errno;
use nix::libc;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::core::ending::Ending;

/// A child of the guard that has ended.
pub(super) struct Ended {
    /// Which one.
    pub pid: Pid,
    /// How.
    pub ending: Ending,
    /// Whether its number is free by now.
    pub reaped: bool,
}

/// The next child that has ended, not reaped: the same one again until it is.
#[cfg(target_os = "linux")]
pub(super) fn next() -> Option<Ended> {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all zeroes is a valid `siginfo_t`, and the kernel writes no more than one.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        (libc::waitid(libc::P_ALL, 0, &raw mut info, options), info)
    };
    // SAFETY: the fields are those that `waitid` sets, or zero where it set none.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if result != 0 || pid == 0 {
        return None;
    }
    let ending = if info.si_code == libc::CLD_EXITED { Ending::Code(status) } else { Ending::Signal(status) };
    Some(Ended { pid: Pid::from_raw(pid), ending, reaped: false })
}

/// The next child that has ended. What `WNOWAIT` does elsewhere is not known well enough, so it is reaped.
#[cfg(not(target_os = "linux"))]
pub(super) fn next() -> Option<Ended> {
    let mut status = 0;
    // SAFETY: the status is written to a live integer.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    let exited = libc::WIFEXITED(status);
    let ending = if exited { Ending::Code(libc::WEXITSTATUS(status)) } else { Ending::Signal(libc::WTERMSIG(status)) };
    (pid > 0).then_some(Ended { pid: Pid::from_raw(pid), ending, reaped: true })
}

/// Whether a process without a child has no descendant either: with a subreaper, every orphan comes to it.
pub(super) const CHILDREN_ARE_ALL: bool = cfg!(target_os = "linux");

/// Whether a child is in this process group, ended or not.
pub(super) fn has_child_in(group: Pid) -> bool {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    let Ok(group) = libc::id_t::try_from(group.as_raw()) else { return false };
    // SAFETY: all zeroes is a valid `siginfo_t`, and the kernel writes no more than one.
    let result = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PGID, group, &raw mut info, options)
    };
    result == 0
}

/// Reaps one child if it has ended.
pub(super) fn reap(pid: Pid) -> bool {
    // A real-time signal as the reason of the end is an error of `nix`'s own making; the child is reaped all the same.
    !matches!(waitpid(pid, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD))
}

/// Reaps whatever has ended. Gives whether no child is left at all: the proof that the tree is empty.
pub(super) fn reap_all() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return false,
            Err(Errno::ECHILD) => return true,
            _ => {}
        }
    }
}
