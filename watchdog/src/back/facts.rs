//! Facts about a child's process tree that a probe can take as evidence: who is in it, and what it used.

use std::time::Duration;

use probe_api::{ProcessFacts, ProcessState};

/// A server's processes, to be looked at whenever a probe asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processes {
    /// The guard, the parent of the tree.
    pub guard: u32,
    /// The process that was started as COMMAND, once it runs.
    pub leader: Option<u32>,
}

impl Processes {
    /// What they are and do at this moment.
    #[must_use]
    pub fn look(&self) -> ProcessFacts {
        let mut facts = ProcessFacts::default();
        facts.state = self.leader.and_then(state);
        if let Some(tree) = tree(self.guard) {
            facts.cpu_ms = u64::try_from(tree.cpu.as_millis()).ok();
            facts.resident_bytes = Some(tree.resident_bytes);
            facts.pids = tree.pids;
        }
        facts
    }
}

/// A process that has gone is as dead as one that waits to be reaped.
#[cfg(target_os = "linux")]
fn state(pid: u32) -> Option<ProcessState> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).ok()?);
    match crate::os::stat(pid) {
        Ok(stat) => Some(match stat.state {
            b'T' | b't' => ProcessState::Stopped,
            b'D' => ProcessState::Blocked,
            b'R' => ProcessState::Running,
            _ if stat.is_dead() => ProcessState::Dead,
            _ => ProcessState::Sleeping,
        }),
        Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then_some(ProcessState::Dead),
    }
}

/// Unknown here.
#[cfg(not(target_os = "linux"))]
fn state(_: u32) -> Option<ProcessState> {
    None
}

/// A process tree at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFacts {
    /// Its living processes, the guard not among them.
    pub pids: Vec<u32>,
    /// The CPU time of these processes and of those below them that have ended and been waited for. It grows while anything in
    /// the tree computes, short-lived processes included.
    pub cpu: Duration,
    /// The resident memory of the living processes; what they share counts once for each.
    pub resident_bytes: u64,
}

/// Looks at everything below a guard. `None` where the guard has gone, or the system does not tell.
#[cfg(target_os = "linux")]
#[must_use]
pub fn tree(guard_pid: u32) -> Option<TreeFacts> {
    use nix::unistd::Pid;

    use crate::os;

    let guard = Pid::from_raw(i32::try_from(guard_pid).ok()?);
    let members = os::descendants(guard).ok()?;
    // Orphans are waited for by the guard, and their time counts with its children.
    let mut ticks = os::stat(guard).ok()?.reaped_ticks;
    let mut pages: u64 = 0;
    let mut pids = Vec::with_capacity(members.len());
    for member in members {
        let Ok(stat) = os::stat(member.pid) else { continue };
        ticks = ticks.saturating_add(stat.own_ticks).saturating_add(stat.reaped_ticks);
        if !stat.is_dead() {
            pages = pages.saturating_add(stat.resident_pages);
            pids.push(member.pid.as_raw().unsigned_abs());
        }
    }
    Some(TreeFacts { pids, cpu: from_ticks(ticks), resident_bytes: pages.saturating_mul(page_size()) })
}

/// Unknown here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn tree(_: u32) -> Option<TreeFacts> {
    None
}

/// The resident memory of this process.
#[cfg(target_os = "linux")]
#[must_use]
pub fn own_resident_bytes() -> Option<u64> {
    let pages = crate::os::stat(nix::unistd::Pid::this()).ok()?.resident_pages;
    Some(pages.saturating_mul(page_size()))
}

/// Unknown here.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn own_resident_bytes() -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn from_ticks(ticks: u64) -> Duration {
    let per_second = system_value(nix::unistd::SysconfVar::CLK_TCK).unwrap_or(100);
    let nanoseconds = u128::from(ticks) * 1_000_000_000 / u128::from(per_second);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(target_os = "linux")]
fn page_size() -> u64 {
    system_value(nix::unistd::SysconfVar::PAGE_SIZE).unwrap_or(4096)
}

#[cfg(target_os = "linux")]
fn system_value(name: nix::unistd::SysconfVar) -> Option<u64> {
    let value = nix::unistd::sysconf(name).ok()??;
    u64::try_from(value).ok().filter(|&value| value > 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Any process can stand in for a guard here: the facts are about what is below it.
    #[test]
    fn a_busy_grandchild_shows_as_cpu_time_and_memory() {
        let script = "sh -c 'echo $$; while :; do :; done' & wait";
        let mut parent = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let busy: u32 = line.trim().parse().unwrap();
        let before = tree(parent.id()).unwrap();
        let mut after = before.clone();
        while after.cpu <= before.cpu {
            after = tree(parent.id()).unwrap();
        }
        let busy_pid = nix::unistd::Pid::from_raw(busy.cast_signed());
        nix::sys::signal::kill(busy_pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        parent.wait().unwrap();
        assert_eq!((before.pids, after.pids), (vec![busy], vec![busy]));
        assert!(after.resident_bytes > 0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_tree() {
        assert_eq!(tree(u32::MAX), None);
    }

    #[test]
    fn a_stopped_process_an_idle_one_and_one_that_has_ended_are_told_apart() {
        use nix::sys::signal::{Signal, kill};
        use nix::sys::wait::{Id, WaitPidFlag, waitid};
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = nix::unistd::Pid::from_raw(sleeper.id().cast_signed());
        let look = || Processes { guard: std::process::id(), leader: Some(sleeper.id()) }.look().state;
        assert!(matches!(look(), Some(ProcessState::Sleeping | ProcessState::Running | ProcessState::Blocked)));
        kill(pid, Signal::SIGSTOP).unwrap();
        waitid(Id::Pid(pid), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT).unwrap();
        assert_eq!(look(), Some(ProcessState::Stopped));
        kill(pid, Signal::SIGKILL).unwrap();
        waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
        assert_eq!(look(), Some(ProcessState::Dead), "a zombie");
        sleeper.wait().unwrap();
        assert_eq!(state(u32::try_from(i32::MAX).unwrap()), Some(ProcessState::Dead), "nobody");
    }
}
