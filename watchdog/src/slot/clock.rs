//! The time of the driver: one look at the clock a turn, one timer, and the gaps in between.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep_until};

use crate::event_loop::{Quiet, Watcher};

/// The longest sleep: a machine that was suspended is noticed within so much time of its own.
const LONGEST: Duration = Duration::from_secs(30);
/// A timer that rings so much too late was held up: we were stopped (SIGSTOP, a frozen container) or starved, and nobody may have
/// had the time that has passed.
const HELD_UP: Duration = Duration::from_secs(1);
/// A stop of this length is worth acting on as on a suspension,
const STOPPED: Duration = Duration::from_secs(5);
/// which is worth it from here on (requirement S36).
const SUSPENDED: Duration = Duration::from_secs(30);

/// Time that did not pass for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// How much of the time that deadlines count was none, at the most. We know when we went on, but when we were stopped only to
    /// the last turn; a server that hangs is found so much later, and one that was stopped with us is not judged for it.
    pub(super) still: Duration,
    /// How long the machine slept, or we were stopped, where that is long enough to look how things are.
    pub(super) jump: Option<Duration>,
}

/// How far clocks that go on while the machine sleeps are ahead of the one that does not. The wall clock is among them because the
/// host of a virtual machine may stop all others; that somebody set it costs an early attempt and one check.
type Ahead = [Duration; 2];

/// The clock and its one timer.
pub(super) struct Clock {
    sleep: Pin<Box<Sleep>>,
    armed: Instant,
    /// The last turn.
    turned: Instant,
    ahead: Ahead,
    read_ahead: Box<dyn Fn() -> Ahead + Send>,
    /// The timer.
    quiet: Quiet,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self::with(ahead)
    }

    fn with(read_ahead: impl Fn() -> Ahead + Send + 'static) -> Self {
        let now = tokio::time::Instant::now();
        let (sleep, now) = (Box::pin(sleep_until(now)), now.into_std());
        Self {
            sleep,
            armed: now,
            turned: now,
            ahead: read_ahead(),
            read_ahead: Box::new(read_ahead),
            quiet: Quiet::default(),
        }
    }

    /// The monotonic time.
    pub(super) fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    /// Whether the timer has rung; the time that did not count, if there was such. A gap is told once.
    pub(super) fn rung(&mut self, now: Instant) -> Option<Option<Gap>> {
        let turned = std::mem::replace(&mut self.turned, now);
        if now < self.armed { None } else { Some(self.gap(now, turned)) }
    }

    /// What went by without counting until a timer rang, the last turn having been then.
    #[cold]
    #[inline(never)]
    fn gap(&mut self, now: Instant, turned: Instant) -> Option<Gap> {
        let late = now.saturating_duration_since(std::mem::replace(&mut self.armed, now));
        let before = std::mem::replace(&mut self.ahead, (self.read_ahead)());
        let slept = self.ahead.into_iter().zip(before).map(|(ahead, before)| ahead.saturating_sub(before)).max();
        let still = if late >= HELD_UP { now.saturating_duration_since(turned) } else { Duration::ZERO };
        let jump = slept.filter(|slept| *slept >= SUSPENDED).max(Some(late).filter(|late| *late >= STOPPED));
        (!still.is_zero() || jump.is_some()).then_some(Gap { still, jump })
    }

    /// Arms the timer for `wake`, and has this task woken by it.
    pub(super) fn arm(&mut self, cx: &mut Context<'_>, now: Instant, wake: Option<Instant>, watcher: &Watcher) {
        // A later time than the armed one is not worth the work: the timer rings early and is armed again.
        if self.armed <= now || wake.is_some_and(|wake| wake < self.armed) {
            self.set(now, wake);
        }
        // Polled each time by a task of a runtime: where it has used up its turn, tokio forgets to take the waker.
        if !self.quiet.lasts(watcher) {
            self.wait(cx, watcher);
        }
    }

    #[cold]
    #[inline(never)]
    fn set(&mut self, now: Instant, wake: Option<Instant>) {
        let longest = now + LONGEST;
        self.armed = wake.map_or(longest, |wake| wake.min(longest));
        self.sleep.as_mut().reset(tokio::time::Instant::from_std(self.armed));
        self.quiet = Quiet::default();
    }

    #[inline(never)]
    fn wait(&mut self, cx: &mut Context<'_>, watcher: &Watcher) {
        match self.sleep.as_mut().poll(cx) {
            Poll::Ready(()) => cx.waker().wake_by_ref(),
            Poll::Pending => self.quiet.begin(watcher),
        }
    }
}

#[cfg(target_os = "linux")]
fn ahead() -> Ahead {
    use nix::time::{ClockId, clock_gettime};
    let read = |clock| clock_gettime(clock).map(Duration::from).unwrap_or_default();
    let monotonic = read(ClockId::CLOCK_MONOTONIC);
    [ClockId::CLOCK_BOOTTIME, ClockId::CLOCK_REALTIME].map(|clock| read(clock).saturating_sub(monotonic))
}

#[cfg(not(target_os = "linux"))]
const fn ahead() -> Ahead {
    [Duration::ZERO; 2]
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

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
            clock.arm(cx, now, Some(due), &Watcher::Runtime);
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
            clock.arm(cx, now, Some(due), &Watcher::Runtime);
            Poll::Pending
        });
        assert!(tokio::time::timeout(Duration::from_secs(10), rung).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_gap_is_told_once() {
        let mut clock = Clock::new();
        poll_fn(|cx| {
            clock.arm(cx, clock.now(), None, &Watcher::Runtime);
            Poll::Ready(())
        })
        .await;
        tokio::time::advance(LONGEST + Duration::from_secs(60)).await;
        let now = clock.now();
        let gap = Gap { still: LONGEST + Duration::from_secs(60), jump: Some(Duration::from_secs(60)) };
        assert_eq!(clock.rung(now), Some(Some(gap)));
        assert_eq!(clock.rung(now), Some(None));
    }

    /// What a timer that rings `late` says when the last turn was so long ago.
    async fn gap(turned: Duration, late: Duration) -> Option<Gap> {
        let mut clock = Clock::with(|| [Duration::ZERO; 2]);
        let due = clock.now() + turned;
        poll_fn(|cx| {
            clock.arm(cx, clock.now(), Some(due), &Watcher::Runtime);
            Poll::Ready(())
        })
        .await;
        tokio::time::advance(turned + late).await;
        let now = clock.now();
        clock.rung(now).expect("its time has come")
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_is_late_gives_back_the_time_since_the_last_turn() {
        let secs = Duration::from_secs;
        assert_eq!(gap(secs(10), Duration::from_millis(900)).await, None, "a busy machine");
        assert_eq!(gap(secs(10), secs(2)).await, Some(Gap { still: secs(12), jump: None }));
        assert_eq!(gap(secs(10), secs(5)).await, Some(Gap { still: secs(15), jump: Some(secs(5)) }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_of_the_machine_is_what_another_clock_has_counted() {
        use std::sync::Mutex;
        static AHEAD: Mutex<Ahead> = Mutex::new([Duration::ZERO; 2]);
        let mut clock = Clock::with(|| *AHEAD.lock().unwrap());
        let mut slept = |boot: u64, wall: u64| {
            *AHEAD.lock().unwrap() = [boot, wall].map(Duration::from_secs);
            let now = clock.now();
            clock.rung(now).expect("it is always due").map(|gap| (gap.still, gap.jump))
        };
        let jump = |seconds| Some((Duration::ZERO, Some(Duration::from_secs(seconds))));
        assert_eq!(slept(29, 1000), jump(1000), "the wall clock alone: a virtual machine, or somebody set it");
        assert_eq!(slept(29 + 29, 1000 + 29), None, "a nap");
        assert_eq!(slept(3658, 4629), jump(3600));
        assert_eq!(slept(3658, 0), None, "somebody set the wall clock back");
        assert_eq!(slept(3658, 29), None);
    }
}
