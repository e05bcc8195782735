//! The child's process tree as the guard sees it: a leader, and everybody else.

use std::collections::BTreeSet;
use std::io;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::exits;
use super::members::{self, Member};
use crate::core::ending::Ending;

/// The tree of one child.
#[derive(Debug)]
pub(crate) struct Tree {
    leader: Pid,
    state: Leader,
    /// Whether the group as a whole has had SIGTERM.
    group_terminated: bool,
    /// Who else was there to have it: numbers and start times.
    terminated: BTreeSet<(Pid, u64)>,
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
        Self { leader, state: Leader::Alive, group_terminated: false, terminated: BTreeSet::new() }
    }

    /// The leader's number.
    pub(crate) const fn leader(&self) -> Pid {
        self.leader
    }

    /// Whether the leader has ended.
    pub(crate) fn leader_ended(&self) -> bool {
        self.state != Leader::Alive
    }

    /// Reaps while the leader is alive. Gives the leader's ending, once; it stays unreaped.
    pub(crate) fn reap_until_leader(&mut self) -> Option<Ending> {
        if self.state != Leader::Alive {
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

    /// Reaps after the leader's end. Gives whether nothing is left of the tree, the leader included.
    pub(super) fn reap_rest(&mut self) -> bool {
        match self.state {
            Leader::Alive => return false,
            // An unreaped leader hides all the others from a look at "any child", so they are reaped by name. The listing may miss
            // one that is changing its parent at that moment, so it only says when to ask the question that has a sure answer.
            // Where nobody can be listed, that question is asked at once.
            Leader::Ended if !self.reap_by_name().unwrap_or(exits::CHILDREN_ARE_ALL) => return false,
            Leader::Ended => {
                exits::reap(self.leader);
                self.state = Leader::Reaped;
            }
            Leader::Reaped => {}
        }
        exits::reap_all() && self.others().map_or(exits::CHILDREN_ARE_ALL, |others| others.is_empty())
    }

    /// Whether nobody was left to be listed.
    fn reap_by_name(&self) -> io::Result<bool> {
        // Those that are not the guard's children are not reaped by this, and count.
        Ok(self.others()?.into_iter().filter(|member| !exits::reap(member.pid)).count() == 0)
    }

    fn others(&self) -> io::Result<Vec<Member>> {
        members::list(self.leader)
    }

    /// SIGTERM, and SIGCONT so that a stopped process meets it. Repeated, it is for those who have come since: many programs
    /// take a second SIGTERM as an order to drop everything.
    pub(super) fn terminate(&mut self) {
        let signals = [Signal::SIGTERM, Signal::SIGCONT];
        // They are looked at before the signal that may end them.
        let others = self.others().unwrap_or_default().into_iter();
        let mut others: Vec<_> = others.filter_map(|member| Some((member, members::look(member.pid)?))).collect();
        others.retain(|(member, look)| self.terminated.insert((member.pid, look.start)));
        if !self.group_terminated && self.signal_group(&signals) {
            self.group_terminated = true;
            others.retain(|(_, look)| look.group != self.leader);
        }
        others.into_iter().for_each(|(member, _)| members::signal(member, &signals));
    }

    /// A signal to the leader, if it is alive.
    pub(crate) fn signal_leader(&self, signal: Signal) {
        if self.state == Leader::Alive {
            _ = kill(self.leader, signal);
        }
    }

    /// One round of SIGKILL to everything that can be found.
    pub(super) fn kill(&self) {
        self.signal_group(&[Signal::SIGKILL]);
        for member in self.others().unwrap_or_default() {
            members::signal(member, &[Signal::SIGKILL]);
        }
    }

    /// Signals the leader's group, if its number is certain to be that: while the leader is not reaped, or a child is in it.
    fn signal_group(&self, signals: &[Signal]) -> bool {
        if self.state == Leader::Reaped && !exits::has_child_in(self.leader) {
            return false;
        }
        for &signal in signals {
            // A child that was only just made has no group yet.
            if killpg(self.leader, signal) == Err(Errno::ESRCH) {
                _ = kill(self.leader, signal);
            }
        }
        true
    }

    /// Whoever is alive, as far as they can be seen.
    pub(super) fn survivors(&self) -> Vec<Pid> {
        let leader = (self.state == Leader::Alive).then_some(self.leader);
        let others = self.others().unwrap_or_default().into_iter().map(|member| member.pid);
        leader.into_iter().chain(others).filter(|&pid| members::look(pid).is_some()).collect()
    }
}
