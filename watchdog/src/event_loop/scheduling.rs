//! How the kernel schedules the thread of a data path.
//!
//! A thread that has slept preempts whoever woke it. With one call on its way nothing is lost by that: who wrote it waits now.
//! With many, the server is stopped behind every answer, and the client behind every call, so that each message costs its
//! switches; on one processor 64 calls in flight may come to a seventh of what is possible, and stay there. A thread of
//! `SCHED_BATCH` (sched(7)) has the same share of the processor, and waits until whoever runs has said what it has to say.
#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "the policy of a thread has no safe form"))]

use super::Watcher;

/// With so many calls in flight it counts how many get through; at least.
const MANY: usize = 8;
/// With so few, how soon each of them does; at most.
const FEW: usize = 2;

/// The scheduling of the thread that asks.
#[derive(Debug)]
pub(crate) struct Scheduling {
    /// Whether it is ours to choose: not that of a runtime, nor what somebody has chosen for the whole program.
    chosen_here: bool,
    /// Whether the thread waits for its turn.
    batch: bool,
}

impl Scheduling {
    /// Of a thread that is scheduled like any other.
    pub(crate) const fn under(watcher: &Watcher) -> Self {
        Self { chosen_here: !matches!(watcher, Watcher::Runtime), batch: false }
    }

    /// Suits it to what is on its way.
    pub(crate) fn suit(&mut self, in_flight: usize) {
        match in_flight {
            MANY.. if !self.batch && self.chosen_here => self.choose(true),
            ..=FEW => self.usual(),
            _ => {}
        }
    }

    /// As any other thread, and what it starts as well: policies are inherited.
    pub(crate) fn usual(&mut self) {
        if self.batch {
            self.choose(false);
        }
    }

    #[cold]
    #[inline(never)]
    fn choose(&mut self, batch: bool) {
        self.chosen_here = policy::change(!batch, batch);
        self.batch = batch && self.chosen_here;
    }
}

#[cfg(target_os = "linux")]
mod policy {
    use nix::libc::{self, SCHED_BATCH, SCHED_OTHER, SYS_sched_getscheduler, SYS_sched_setscheduler};

    /// Changes the policy of the calling thread. Whether it was this one before, and the system has changed it.
    pub(super) fn change(from_batch: bool, to_batch: bool) -> bool {
        let of = |batch| libc::c_long::from(if batch { SCHED_BATCH } else { SCHED_OTHER });
        // `sched_param` as the kernel has it; the functions of musl do nothing.
        let priority: libc::c_int = 0;
        // SAFETY: the calls take numbers, of which 0 is the calling thread, and the address of one that is alive.
        unsafe {
            libc::syscall(SYS_sched_getscheduler, 0) == of(from_batch)
                && libc::syscall(SYS_sched_setscheduler, 0, of(to_batch), &raw const priority) == 0
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod policy {
    /// There are no such policies.
    pub(super) const fn change(_from_batch: bool, _to_batch: bool) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::super::reactor::Reactor;
    use super::*;

    /// The policy of the calling thread, as proc_pid_stat(5) has it.
    fn policy() -> String {
        let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(41 - 3).unwrap().to_owned()
    }

    fn on_a_thread(test: impl FnOnce() + Send + 'static) {
        thread::spawn(test).join().unwrap();
    }

    const OTHER: &str = "0";
    const BATCH: &str = "3";

    #[test]
    fn many_in_flight_wait_for_their_turn_and_few_do_not() {
        on_a_thread(|| {
            let watcher = Watcher::Reactor(Reactor::new().unwrap().registrar());
            let mut scheduling = Scheduling::under(&watcher);
            for (in_flight, expected) in
                [(0, OTHER), (7, OTHER), (8, BATCH), (3, BATCH), (100, BATCH), (2, OTHER), (7, OTHER), (8, BATCH)]
            {
                scheduling.suit(in_flight);
                assert_eq!(policy(), expected, "{in_flight}");
            }
            scheduling.usual();
            assert_eq!(policy(), OTHER);
            thread::scope(|scope| scope.spawn(|| assert_eq!(policy(), OTHER, "what it starts")).join().unwrap());
        });
    }

    #[test]
    fn a_thread_that_is_not_ours_alone_is_left_as_it_is() {
        on_a_thread(|| {
            Scheduling::under(&Watcher::Runtime).suit(100);
            assert_eq!(policy(), OTHER);
        });
    }

    #[test]
    fn a_policy_that_somebody_else_has_chosen_stays() {
        on_a_thread(|| {
            let watcher = Watcher::Reactor(Reactor::new().unwrap().registrar());
            assert!(policy::change(false, true), "for the whole program");
            let mut scheduling = Scheduling::under(&watcher);
            scheduling.suit(100);
            scheduling.suit(0);
            assert_eq!(policy(), BATCH);
        });
    }
}
