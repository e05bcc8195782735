//! The life of a guard: one loop over the control socket, ends of children, and deadlines.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::control::{Control, Stdio};
use super::ladder::{Ladder, ORPHAN_GRACE, Rung};
use super::message::{ChildEvent, Launch, Order};
use super::spawn::{self, ExecStatus, Failure};
use super::tree::Tree;

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

/// Executes the launch and stays until its tree is gone.
pub(super) fn run(control: Control, child_ended: OwnedFd, launch: &Launch, stdio: Stdio) {
    match spawn::spawn(launch, stdio) {
        Ok(spawned) => {
            let mut guard = Guard {
                control,
                child_ended,
                tree: Tree::new(spawned.pid),
                starting: Some(spawned.status),
                started: false,
                ladder: Ladder::default(),
                engine_gone: false,
                sweep: None,
            };
            while !guard.turn() {}
        }
        Err(failure) => {
            control.send(&cannot_start(failure));
            control.send(&ChildEvent::Empty { survivors: Vec::new() });
        }
    }
}

const fn cannot_start(Failure { step, errno }: Failure) -> ChildEvent {
    ChildEvent::CannotStart { errno, step }
}

struct Guard {
    control: Control,
    child_ended: OwnedFd,
    tree: Tree,
    /// Until it is known whether the program runs.
    starting: Option<ExecStatus>,
    /// Whether it was reported as running, so that its end is reported too.
    started: bool,
    ladder: Ladder,
    engine_gone: bool,
    sweep: Option<Sweep>,
}

/// The last rung in progress.
struct Sweep {
    until: Instant,
    rounds: u32,
}

impl Guard {
    /// One turn of the loop. Gives whether that was the last one.
    fn turn(&mut self) -> bool {
        self.obey();
        self.reap();
        if self.tree.reap_rest() {
            self.finish(Vec::new());
            return true;
        }
        self.climb();
        if self.sweep.as_ref().is_some_and(|sweep| sweep.until <= Instant::now()) {
            let survivors = self.tree.survivors();
            self.finish(survivors.into_iter().map(|pid| pid.as_raw().unsigned_abs()).collect());
            return true;
        }
        self.wait();
        false
    }

    /// Takes the orders that have arrived.
    fn obey(&mut self) {
        while let Some(order) = self.control.poll() {
            match order {
                Order::Stop { eof_grace, term_grace } => self.ladder.stop(Instant::now(), eof_grace, term_grace),
                Order::Kill => self.ladder.kill(Instant::now()),
                // There is one child, and it is there already.
                Order::Launch(_) => {}
            }
        }
        if self.control.is_gone() && !self.engine_gone {
            self.engine_gone = true;
            self.ladder.stop(Instant::now(), ORPHAN_GRACE, ORPHAN_GRACE);
        }
    }

    /// Reaps, and reports the leader's end at once: the engine answers clients on it.
    fn reap(&mut self) {
        let ended = self.tree.reap_until_leader();
        self.notice_start(ended.is_some());
        let Some(ending) = ended else { return };
        if self.started {
            self.control.send(&ChildEvent::Exited(ending));
        }
        self.ladder.leader_ended(Instant::now());
    }

    /// Reports whether the program runs, once that is known. A leader that has ended has closed the pipe.
    fn notice_start(&mut self, ended: bool) {
        let Some(status) = self.starting.take_if(|status| ended || is_readable(status.pipe().as_fd())) else {
            return;
        };
        let event = match status.outcome() {
            Ok(()) => {
                self.started = true;
                ChildEvent::Started { pid: self.tree.leader().as_raw().unsigned_abs() }
            }
            Err(failure) => cannot_start(failure),
        };
        self.control.send(&event);
    }

    /// Does what the ladder says is due.
    fn climb(&mut self) {
        match self.ladder.due(Instant::now()) {
            Some(Rung::Term) => self.tree.terminate(),
            Some(Rung::Kill) => {
                let sweep = self.sweep.get_or_insert_with(|| Sweep { until: Instant::now() + SWEEP, rounds: 0 });
                sweep.rounds = sweep.rounds.saturating_add(1);
                self.tree.kill();
            }
            None => {}
        }
    }

    /// Waits for an order, an end, or the next deadline.
    fn wait(&self) {
        let deadline = self.ladder.next().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = match &self.sweep {
            Some(sweep) => Some(PAUSES[usize::from(sweep.rounds > SHORT_PAUSES)]),
            None if self.tree.leader_ended() => Some(deadline.map_or(LOOK_AGAIN, |deadline| deadline.min(LOOK_AGAIN))),
            None => deadline,
        };
        let mut watched = vec![readable(self.child_ended.as_fd())];
        watched.extend((!self.control.is_gone()).then(|| readable(self.control.as_fd())));
        watched.extend(self.starting.as_ref().map(|status| readable(status.pipe().as_fd())));
        // Interrupted by the signal that the pipe tells of as well, or out of memory: either way the loop looks at everything.
        _ = poll(&mut watched, timeout.map_or(PollTimeout::NONE, rounded_up));
        self.drain_ends();
    }

    /// Empties the pipe that said that children have ended; the ends themselves are found by looking.
    fn drain_ends(&self) {
        let mut bytes = [0; 64];
        while nix::unistd::read(&self.child_ended, &mut bytes).is_ok_and(|length| length == bytes.len()) {}
    }

    fn finish(&self, survivors: Vec<u32>) {
        self.control.send(&ChildEvent::Empty { survivors });
    }
}

fn readable(descriptor: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(descriptor, PollFlags::POLLIN)
}

fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    poll(&mut [readable(descriptor)], PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

/// In whole milliseconds and never early, or the loop would turn without a pause just before a deadline. A time that does not
/// fit is asked for in pieces.
fn rounded_up(duration: Duration) -> PollTimeout {
    let milliseconds = duration.as_nanos().div_ceil(1_000_000);
    i32::try_from(milliseconds).ok().and_then(|fits| PollTimeout::try_from(fits).ok()).unwrap_or(PollTimeout::MAX)
}
