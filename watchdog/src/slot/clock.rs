//! The time of the driver: one look at the clock a turn, one timer, and the gaps in between.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

/// The longest sleep: a machine that was suspended is noticed within so much time of its own.
const LONGEST: Duration = Duration::from_secs(30);
/// A timer that rings so much too late says that we were stopped (SIGSTOP, a frozen container), not that time passed.
const STOPPED: Duration = Duration::from_secs(5);
/// A suspension is worth acting on from here on (requirement S36).
const SUSPENDED: Duration = Duration::from_secs(30);

/// Time that did not pass for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// By how much timers of ours were delayed.
    pub(super) late: Duration,
    /// How long the machine slept, which the timers do not count.
    pub(super) suspended: Duration,
}

/// The clock and its one timer.
#[derive(Debug)]
pub(super) struct Clock {
    sleep: Pin<Box<Sleep>>,
    armed: Instant,
    asleep: Duration,
}

impl Clock {
    pub(super) fn new() -> Self {
        let at = tokio::time::Instant::now() + LONGEST;
        Self { sleep: Box::pin(sleep_until(at)), armed: at.into_std(), asleep: time_asleep() }
    }

    /// The monotonic time.
    pub(super) fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// Whether the timer has rung; the time that did not count, if there was such.
    pub(super) fn rung(&mut self, now: Instant) -> Option<Option<Gap>> {
        if now < self.armed {
            return None;
        }
        let late = now.saturating_duration_since(self.armed);
        let asleep = time_asleep();
        let suspended = asleep.saturating_sub(self.asleep);
        self.asleep = asleep;
        Some((late >= STOPPED || suspended >= SUSPENDED).then_some(Gap { late, suspended }))
    }

    /// Arms the timer for `wake`, and has this task woken by it.
    pub(super) fn arm(&mut self, cx: &mut Context<'_>, now: Instant, wake: Option<Instant>) {
        let longest = now + LONGEST;
        let at = wake.map_or(longest, |wake| wake.min(longest));
        // A later time than the armed one is not worth a system call: the timer rings early and is armed again.
        if at < self.armed || self.armed <= now {
            self.armed = at;
            self.sleep.as_mut().reset(tokio::time::Instant::from_std(at));
            if self.sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
    }
}

/// How long the machine has been suspended since it was booted: what one clock counts and the other one does not.
#[cfg(target_os = "linux")]
fn time_asleep() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    let read = |clock| clock_gettime(clock).map(Duration::from).unwrap_or_default();
    read(ClockId::CLOCK_BOOTTIME).saturating_sub(read(ClockId::CLOCK_MONOTONIC))
}

#[cfg(not(target_os = "linux"))]
fn time_asleep() -> Duration {
    Duration::ZERO
}
