//! macOS: there is no subreaper and no /proc. The tree is the leader's process group, and what can be reached from the leader
//! and from the group by going from parents to children. A process that left the group and whose parent has ended is not
//! found (design/processes.md, section 5). Untested.

use std::collections::BTreeSet;
use std::io;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};

use super::Look;

/// A process of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// The process.
    pub pid: Pid,
}

/// One of the system's two listings: of a group, and of a parent's children.
type Listing = unsafe extern "C" fn(libc::pid_t, *mut libc::c_void, libc::c_int) -> libc::c_int;

/// More processes than this in one group, or of one parent, are not listed at once; the sweep lists again.
const MOST: usize = 4096;

/// Everything of the tree that can be found but the leader.
pub(crate) fn list(leader: Pid) -> io::Result<Vec<Member>> {
    let mut seen = BTreeSet::from([leader]);
    let mut pending = vec![leader];
    let mut found = Vec::new();
    let mut add = |pids: Vec<Pid>, pending: &mut Vec<Pid>| {
        for pid in pids.into_iter().filter(|&pid| seen.insert(pid)) {
            found.push(Member { pid });
            pending.push(pid);
        }
    };
    add(ask(libc::proc_listpgrppids, leader)?, &mut pending);
    while let Some(parent) = pending.pop() {
        add(ask(libc::proc_listchildpids, parent).unwrap_or_default(), &mut pending);
    }
    Ok(found)
}

fn ask(listing: Listing, of: Pid) -> io::Result<Vec<Pid>> {
    let mut pids: Vec<libc::pid_t> = vec![0; MOST];
    let bytes = libc::c_int::try_from(size_of_val(&*pids)).map_err(io::Error::other)?;
    // SAFETY: the buffer is as long as the call is told.
    let count = unsafe { listing(of.as_raw(), pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(count).map_err(|_| io::Error::last_os_error())?);
    // Some versions give the number of bytes: the numbers behind the last pid are zero.
    Ok(pids.into_iter().filter(|&pid| pid > 0).map(Pid::from_raw).collect())
}

/// Looks at a member; `None` if it has ended.
pub(crate) fn look(pid: Pid) -> Option<Look> {
    getpgid(Some(pid)).ok().map(|group| Look { group, start: 0 })
}

/// Sends signals, in order, to a member of a fresh list.
pub(crate) fn signal(member: Member, signals: &[Signal]) {
    signals.iter().for_each(|&signal| _ = kill(member.pid, signal));
}
