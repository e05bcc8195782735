//! A tree in somebody's keeping: reaping, the stop ladder, and the sweep at the end of it. A guard keeps its server's tree, the
//! first process of a container everybody's.

use std::time::{Duration, Instant};

use nix::poll::PollTimeout;
use nix::unistd::Pid;

use super::ladder::{Ladder, Rung};
use super::tree::Tree;
use crate::cgroup::Group;

/// How long SIGKILL is repeated before what is left counts as unkillable.
pub(crate) const SWEEP: Duration = Duration::from_secs(2);

/// The pauses between rounds of SIGKILL when no child ends meanwhile: short at first, because a process that forks faster than
/// it is killed must be met often; then long enough that one that cannot be killed costs nothing.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// How many rounds have the short pause.
const SHORT_PAUSES: u32 = 100;

/// How often what a leader left behind is looked at when nothing is heard: on systems without subreapers the end of an orphan
/// is not told to the guard.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A tree and how far its end has come.
pub(crate) struct Keeper {
    pub(crate) tree: Tree,
    pub(crate) ladder: Ladder,
    /// The cgroup of the tree, where it has one.
    fence: Option<Group>,
    sweep: Option<Sweep>,
}

/// The last rung in progress.
struct Sweep {
    until: Instant,
    rounds: u32,
}

impl Keeper {
    /// Keeps the tree of a child that was just made, in a cgroup of its own if it has one.
    pub(crate) fn new(leader: Pid, fence: Option<Group>) -> Self {
        Self { tree: Tree::new(leader), ladder: Ladder::default(), fence, sweep: None }
    }

    /// Reaps, and does what the ladder says is due. Gives the survivors when all is over: none, or those that cannot be killed.
    pub(crate) fn advance(&mut self) -> Option<Vec<Pid>> {
        if self.tree.reap_rest() {
            return Some(Vec::new());
        }
        self.climb();
        let over = self.sweep.as_ref().is_some_and(|sweep| sweep.until <= Instant::now());
        over.then(|| self.tree.survivors())
    }

    fn climb(&mut self) {
        match self.ladder.due(Instant::now()) {
            Some(Rung::Term) => self.tree.terminate(),
            Some(Rung::Kill) => {
                let sweep = self.sweep.get_or_insert_with(|| Sweep { until: Instant::now() + SWEEP, rounds: 0 });
                sweep.rounds = sweep.rounds.saturating_add(1);
                if let Some(fence) = &self.fence {
                    fence.kill();
                }
                self.tree.kill();
            }
            None => {}
        }
    }

    /// How long nothing is due, if nothing is heard meanwhile.
    pub(crate) fn pause(&self) -> PollTimeout {
        let deadline = self.ladder.next().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let pause = match &self.sweep {
            Some(sweep) => Some(PAUSES[usize::from(sweep.rounds > SHORT_PAUSES)]),
            None if self.tree.leader_ended() => Some(deadline.map_or(LOOK_AGAIN, |deadline| deadline.min(LOOK_AGAIN))),
            None => deadline,
        };
        pause.map_or(PollTimeout::NONE, rounded_up)
    }
}

/// In whole milliseconds and never early, or the loop would turn without a pause just before a deadline. A time that does not
/// fit is asked for in pieces.
fn rounded_up(duration: Duration) -> PollTimeout {
    let milliseconds = duration.as_nanos().div_ceil(1_000_000);
    i32::try_from(milliseconds).ok().and_then(|fits| PollTimeout::try_from(fits).ok()).unwrap_or(PollTimeout::MAX)
}
