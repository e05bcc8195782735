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
        let now = tokio::time::Instant::now();
        Self { sleep: Box::pin(sleep_until(now)), armed: now.into_std(), asleep: time_asleep() }
    }

    /// The monotonic time.
    pub(super) fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// Whether the timer has rung; the time that did not count, if there was such. A gap is told once.
    pub(super) fn rung(&mut self, now: Instant) -> Option<Option<Gap>> {
        if now < self.armed {
            return None;
        }
        let late = now.saturating_duration_since(std::mem::replace(&mut self.armed, now));
        let asleep = time_asleep();
        let suspended = asleep.saturating_sub(self.asleep);
        self.asleep = asleep;
        Some((late >= STOPPED || suspended >= SUSPENDED).then_some(Gap { late, suspended }))
    }

    /// Arms the timer for `wake`, and has this task woken by it.
    pub(super) fn arm(&mut self, cx: &mut Context<'_>, now: Instant, wake: Option<Instant>) {
        let longest = now + LONGEST;
        let at = wake.map_or(longest, |wake| wake.min(longest));
        // A later time than the armed one is not worth the work: the timer rings early and is armed again.
        if at < self.armed || self.armed <= now {
            self.armed = at;
            self.sleep.as_mut().reset(tokio::time::Instant::from_std(at));
        }
        // Polled each time: where the task has used up its turn, tokio forgets to take the waker.
        if self.sleep.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    /// Drives a clock as the driver does, until something is due; how long that took.
    async fn ring(clock: &mut Clock, after: Duration) -> Duration {
        let start = clock.now();
        let due = start + after;
        poll_fn(|cx| {
            let now = clock.now();
            clock.rung(now);
            if now >= due {
                return Poll::Ready(now - start);
            }
            clock.arm(cx, now, Some(due));
            Poll::Pending
        })
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn a_time_beyond_the_longest_sleep_is_kept() {
        let mut clock = Clock::new();
        for seconds in [40, 1, 95, 30] {
            let after = Duration::from_secs(seconds);
            assert_eq!(tokio::time::timeout(after * 2, ring(&mut clock, after)).await, Ok(after));
        }
    }

    /// In real time: a task that has used up its turn is woken at once, so that paused time would never move.
    #[tokio::test]
    async fn the_timer_rings_though_it_was_armed_when_the_turn_was_used_up() {
        let mut clock = Clock::new();
        let due = clock.now() + Duration::from_millis(100);
        let mut used_up = false;
        let rung = poll_fn(|cx| {
            let now = clock.now();
            if now >= due {
                return Poll::Ready(());
            }
            // The first turn is used up; the wake-up that this causes is followed by a turn that only arms.
            while !std::mem::replace(&mut used_up, !tokio::task::coop::has_budget_remaining()) {
                let _ = std::pin::pin!(tokio::task::coop::consume_budget()).as_mut().poll(cx);
            }
            clock.arm(cx, now, Some(due));
            Poll::Pending
        });
        assert!(tokio::time::timeout(Duration::from_secs(10), rung).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_is_told_once() {
        let mut clock = Clock::new();
        poll_fn(|cx| {
            clock.arm(cx, clock.now(), None);
            Poll::Ready(())
        })
        .await;
        tokio::time::advance(LONGEST + Duration::from_secs(60)).await;
        let now = clock.now();
        let gap = clock.rung(now).flatten().map(|gap| gap.late);
        assert_eq!(gap, Some(Duration::from_secs(60)));
        assert_eq!(clock.rung(now), Some(None));
    }
}
