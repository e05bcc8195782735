//! The life of a guard: one loop over the control socket, ends of children, and deadlines.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::libc::SIGKILL;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::control::{Control, Stdio};
use super::keeper::Keeper;
use super::ladder::ORPHAN_GRACE;
use super::message::{ChildEvent, Launch, Order};
use super::spawn::{self, ExecStatus, Failure};
use crate::cgroup::group::Held;
use crate::core::ending::Ending;

/// Executes the launch and stays until its tree is gone.
pub(super) fn run(control: Control, child_ended: OwnedFd, launch: &Launch, stdio: Stdio) {
    let fence = match launch.placement.as_ref().map(Held::make).transpose() {
        Ok(fence) => fence,
        Err(unmade) => return refuse(&control, Failure::of_group(unmade)),
    };
    match spawn::spawn(launch, stdio, fence.as_ref()) {
        Ok(spawned) => {
            let mut guard = Guard {
                control,
                child_ended,
                keeper: Keeper::new(spawned.pid, fence.as_ref().map(|held| held.group.clone())),
                fence,
                starting: Some(spawned.status),
                started: false,
                engine_gone: false,
            };
            while !guard.turn() {}
        }
        Err(failure) => {
            if let Some(fence) = fence {
                fence.remove(control.is_gone());
            }
            refuse(&control, failure);
        }
    }
}

fn refuse(control: &Control, failure: Failure) {
    control.send(&cannot_start(failure));
    control.send(&ChildEvent::Empty { survivors: Vec::new() });
}

const fn cannot_start(Failure { step, errno }: Failure) -> ChildEvent {
    ChildEvent::CannotStart { errno, step }
}

struct Guard {
    control: Control,
    child_ended: OwnedFd,
    keeper: Keeper,
    /// The cgroup of the tree, where it has one.
    fence: Option<Held>,
    /// Until it is known whether the program runs.
    starting: Option<ExecStatus>,
    /// Whether it was reported as running, so that its end is reported too.
    started: bool,
    engine_gone: bool,
}

impl Guard {
    /// One turn of the loop. Gives whether that was the last one.
    fn turn(&mut self) -> bool {
        // Before orders: a signal for a program that runs must not be lost because that was not looked at yet.
        self.notice_start(false);
        self.obey();
        self.reap();
        if let Some(survivors) = self.keeper.advance() {
            let mut survivors: Vec<u32> = survivors.into_iter().map(|pid| pid.as_raw().unsigned_abs()).collect();
            if let Some(fence) = self.fence.take() {
                survivors.extend(fence.remove(self.control.is_gone()));
                survivors.sort_unstable();
                survivors.dedup();
            }
            self.control.send(&ChildEvent::Empty { survivors });
            return true;
        }
        self.wait();
        false
    }

    /// Takes the orders that have arrived.
    fn obey(&mut self) {
        while let Some(order) = self.control.poll() {
            match order {
                Order::Stop { eof_grace, term_grace } => {
                    self.keeper.ladder.stop(Instant::now(), eof_grace, term_grace);
                }
                Order::Kill => self.keeper.ladder.kill(Instant::now()),
                // Before its program runs, nobody is there whom it could be meant for.
                Order::Signal(number) if self.started => {
                    if let Ok(signal) = Signal::try_from(number) {
                        self.keeper.tree.signal_leader(signal);
                    }
                }
                // There is one child, and it is there already.
                Order::Signal(_) | Order::Launch(_) => {}
            }
        }
        if self.control.is_gone() && !self.engine_gone {
            self.engine_gone = true;
            self.keeper.ladder.stop(Instant::now(), ORPHAN_GRACE, ORPHAN_GRACE);
        }
    }

    /// Reaps, and reports the leader's end at once: the engine answers clients on it.
    fn reap(&mut self) {
        let ended = self.keeper.tree.reap_until_leader();
        self.notice_start(ended.is_some());
        let Some(ending) = ended else { return };
        if self.started {
            self.control.send(&ChildEvent::Exited(self.explained(ending)));
        }
        self.keeper.ladder.leader_ended(Instant::now());
    }

    /// A SIGKILL may have been the kernel's own.
    fn explained(&self, ending: Ending) -> Ending {
        let killed = ending == Ending::Signal(SIGKILL);
        self.fence.as_ref().filter(|_| killed).and_then(Held::out_of_memory).unwrap_or(ending)
    }

    /// Reports whether the program runs, once that is known. A leader that has ended has closed the pipe.
    fn notice_start(&mut self, ended: bool) {
        let Some(status) = self.starting.take_if(|status| ended || is_readable(status.pipe().as_fd())) else {
            return;
        };
        let event = match status.outcome() {
            Ok(()) => {
                self.started = true;
                ChildEvent::Started { pid: self.keeper.tree.leader().as_raw().unsigned_abs() }
            }
            Err(failure) => cannot_start(failure),
        };
        self.control.send(&event);
    }

    /// Waits for an order, an end, or the next deadline.
    fn wait(&self) {
        let mut watched = vec![readable(self.child_ended.as_fd())];
        watched.extend((!self.control.is_gone()).then(|| readable(self.control.as_fd())));
        watched.extend(self.starting.as_ref().map(|status| readable(status.pipe().as_fd())));
        // Interrupted by the signal that the pipe tells of as well, or out of memory: either way the loop looks at everything.
        _ = poll(&mut watched, self.keeper.pause());
        self.drain_ends();
    }

    /// Empties the pipe that said that children have ended; the ends themselves are found by looking.
    fn drain_ends(&self) {
        let mut bytes = [0; 64];
        while nix::unistd::read(&self.child_ended, &mut bytes).is_ok_and(|length| length == bytes.len()) {}
    }
}

fn readable(descriptor: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(descriptor, PollFlags::POLLIN)
}

fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    poll(&mut [readable(descriptor)], PollTimeout::ZERO).is_ok_and(|count| count > 0)
}
