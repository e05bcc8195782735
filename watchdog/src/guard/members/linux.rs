//! Linux: the guard is a subreaper, so the tree is everything that descends from it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use super::Look;
pub(crate) use crate::os::Member;
use crate::os::{descendants, stat};

/// Everything of the tree but the leader; unreaped ends are among it.
pub(crate) fn list(leader: Pid) -> io::Result<Vec<Member>> {
    let mut members = descendants(getpid())?;
    members.retain(|member| member.pid != leader);
    Ok(members)
}

/// Looks at a member; `None` if it has ended.
pub(crate) fn look(pid: Pid) -> Option<Look> {
    let stat = stat(pid).ok().filter(|stat| !stat.is_dead())?;
    Some(Look { group: stat.group, start: stat.start })
}

/// Sends signals, in order, to a member of a list. That it has gone meanwhile, or may not be signalled, is not an error:
/// whoever needs it gone lists again.
pub(crate) fn signal(member: Member, signals: &[Signal]) {
    if member.parent == getpid() {
        // Our own child, and only we reap it: the number is its own.
        signals.iter().for_each(|&signal| _ = kill(member.pid, signal));
        return;
    }
    let Ok(handle) = pidfd_open(member.pid) else { return };
    // The handle is of whoever has the number since it was opened. If a process with the listed parent has the number now,
    // then either the handle is its, or it is of one that died since, which no signal reaches.
    if stat(member.pid).is_ok_and(|stat| stat.parent == member.parent) {
        signals.iter().for_each(|&signal| pidfd_send_signal(&handle, signal));
    }
}

/// pidfd_open(2), Linux 5.3. An older kernel leaves grandchildren to be signalled once they are our own children.
fn pidfd_open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers and touches no memory.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) };
    let descriptor = i32::try_from(result).ok().filter(|&fd| fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// pidfd_send_signal(2), Linux 5.1.
fn pidfd_send_signal(handle: &OwnedFd, signal: Signal) {
    // SAFETY: a null `siginfo_t` is allowed and means the same as kill(2); the descriptor is open.
    unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal as i32, null::<libc::siginfo_t>(), 0);
    }
}
