//! What is done about a child's processes when its guard has died: the one thing that the guard cannot do.
//!
//! On Linux the leader dies with the guard (PDEATHSIG), the rest of its group does not. Processes that left the group are out
//! of reach then (design/processes.md, section 5), unless there is a cgroup.

use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cgroup::Group;
use crate::os;

/// How long the group may take to end after SIGKILL before what is left of it counts as unkillable.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// Between two looks at a group that has been killed.
pub(super) const PAUSE: Duration = Duration::from_millis(5);

/// What of a tree can be found without its guard.
#[derive(Debug)]
pub(super) struct Orphans {
    /// Once it has started.
    pub(super) leader: Option<Leader>,
    /// The cgroup of the tree, if the guard makes one.
    pub(super) cgroup: Option<Group>,
}

impl Orphans {
    /// SIGKILL to the leader's group, and to everything in the cgroup.
    pub(super) fn kill(&self) {
        if let Some(leader) = self.leader {
            leader.kill_group();
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    /// Those that are alive. A cgroup in which there is nobody any more is removed.
    pub(super) fn survivors(&self) -> Vec<u32> {
        let mut survivors = self.leader.map(|leader| leader.survivors()).unwrap_or_default();
        survivors.extend(self.cgroup.iter().filter(|cgroup| !cgroup.remove_empty()).flat_map(Group::members));
        survivors.sort_unstable();
        survivors.dedup();
        survivors
    }
}

/// The leader of a child, and with it the child's process group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leader {
    pid: Pid,
    /// With the pid, an identity that is never used twice.
    start: Option<u64>,
}

impl Leader {
    /// Remembers a leader that has just been reported. The guard has not reaped it, so the number is its own.
    pub(super) fn new(pid: u32) -> Option<Self> {
        // 0 and 1 are nobody's child, and as groups they mean something else.
        let pid = Pid::from_raw(i32::try_from(pid).ok().filter(|&pid| pid > 1)?);
        Some(Self { pid, start: os::start_time(pid) })
    }

    /// The leader's number.
    pub(super) const fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// SIGKILL to the group, unless its number belongs to another process by now. While a group has members its number is not
    /// given to a new process, so it is enough that no other process has it.
    pub(super) fn kill_group(&self) {
        let holder = os::start_time(self.pid);
        if holder.is_none() || holder == self.start {
            _ = killpg(self.pid, Signal::SIGKILL);
        }
    }

    /// The members of the group that are alive.
    pub(super) fn survivors(&self) -> Vec<u32> {
        let holder = os::start_time(self.pid);
        if holder.is_some() && holder != self.start {
            return Vec::new();
        }
        let members = os::group_members(self.pid).unwrap_or_default();
        members.into_iter().map(|pid| pid.as_raw().unsigned_abs()).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_group_is_killed_while_its_number_is_its_own() {
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let leader = Leader::new(child.id()).unwrap();
        assert_eq!(leader.survivors(), [child.id()]);
        leader.kill_group();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
        assert_eq!(leader.survivors(), [0_u32; 0]);
    }

    #[test]
    fn a_group_whose_number_went_to_another_process_is_left_alone() {
        let mut child = Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let mut stale = Leader::new(child.id()).unwrap();
        stale.start = stale.start.map(|start| start - 1);
        stale.kill_group();
        assert_eq!(stale.survivors(), [0_u32; 0]);
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_first_process_is_nobodys_leader() {
        assert!(Leader::new(0).is_none());
        assert!(Leader::new(1).is_none());
        assert!(Leader::new(u32::MAX).is_none());
    }
}
