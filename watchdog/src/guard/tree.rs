//! The child's process tree as the guard sees it: a leader, and everybody else.

use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::exits;
use super::members::{self, Member};
use super::message::Ending;

/// The tree of one child.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Pid,
    state: Leader,
}

/// What has become of the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leader {
    /// It runs.
    Alive,
    /// It has ended and is not reaped, so that its number, which is the group's, stays its own.
    Ended,
    /// It is reaped; its number means nothing any more.
    Reaped,
}

impl Tree {
    /// The tree of a child that was just made.
    pub(super) const fn new(leader: Pid) -> Self {
        Self {
            leader,
            state: Leader::Alive,
        }
    }

    /// The leader's number.
    pub(super) const fn leader(&self) -> Pid {
        self.leader
    }

    /// Reaps whoever has ended but the leader. Gives the leader's ending, once.
    pub(super) fn reap(&mut self) -> Option<Ending> {
        if self.state != Leader::Alive {
            self.reap_beside_the_leader();
            return None;
        }
        while let Some(ended) = exits::next() {
            if ended.pid == self.leader {
                self.state = if ended.reaped { Leader::Reaped } else { Leader::Ended };
                return Some(ended.ending);
            }
            if !ended.reaped {
                exits::reap(ended.pid);
            }
        }
        None
    }

    /// An unreaped leader hides all the others from a look at "any child", so they are asked for by name.
    fn reap_beside_the_leader(&self) {
        if self.state == Leader::Reaped {
            exits::reap_all();
            return;
        }
        for member in self.others().unwrap_or_default() {
            // Those that are not our children are not reaped by this, and need not be.
            exits::reap(member.pid);
        }
    }

    fn others(&self) -> io::Result<Vec<Member>> {
        members::list(self.leader)
    }

    /// Whether nothing is left. The listing may miss one that is changing its parent at that moment, so it only says when to
    /// ask the question that has a sure answer: whether the guard has any child.
    pub(super) fn is_empty(&mut self) -> bool {
        match self.state {
            Leader::Alive => return false,
            Leader::Ended if !self.others().is_ok_and(|others| others.is_empty()) => return false,
            Leader::Ended => {
                exits::reap(self.leader);
                self.state = Leader::Reaped;
            }
            Leader::Reaped => {}
        }
        exits::reap_all() && self.others().is_ok_and(|others| others.is_empty())
    }

    /// SIGTERM, and SIGCONT so that a stopped process meets it, to every process once.
    pub(super) fn terminate(&self) {
        let signals = [Signal::SIGTERM, Signal::SIGCONT];
        // Who is in the group is asked before the signal that may end them.
        let others = self.others().unwrap_or_default();
        let beside: Vec<_> = others
            .into_iter()
            .filter(|member| !self.is_in_group(member.pid))
            .collect();
        self.signal_group(&signals);
        beside.into_iter().for_each(|member| members::signal(member, &signals));
    }

    fn is_in_group(&self, pid: Pid) -> bool {
        self.state != Leader::Reaped && members::group_of(pid) == Some(self.leader)
    }

    /// One round of SIGKILL to everything that can be found.
    pub(super) fn kill(&self) {
        self.signal_group(&[Signal::SIGKILL]);
        for member in self.others().unwrap_or_default() {
            members::signal(member, &[Signal::SIGKILL]);
        }
    }

    fn signal_group(&self, signals: &[Signal]) {
        if self.state == Leader::Reaped {
            return;
        }
        for &signal in signals {
            // A child that was only just made has no group yet.
            if killpg(self.leader, signal) == Err(Errno::ESRCH) {
                _ = kill(self.leader, signal);
            }
        }
    }

    /// Whoever is alive.
    pub(super) fn survivors(&self) -> Vec<Pid> {
        let leader = (self.state == Leader::Alive).then_some(self.leader);
        let others = self.others().unwrap_or_default().into_iter().map(|member| member.pid);
        leader
            .into_iter()
            .chain(others)
            .filter(|&pid| members::group_of(pid).is_some())
            .collect()
    }
}
