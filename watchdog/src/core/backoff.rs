//! When the next attempt may be made: the schedule, its jitter, and the budget of attempts.

use std::time::Duration;

use crate::config::{Delays, Restart};

/// The row of attempts since the server was last known to be stable.
#[derive(Debug, Clone, PartialEq)]
pub struct Backoff {
    delays: Delays,
    jitter: f64,
    max_attempts: Option<u32>,
    /// Attempts of this row; the budget counts them.
    attempts: u32,
    /// Restarts of this row that were given a delay; the schedule counts them.
    scheduled: u32,
}

impl Backoff {
    /// A row in which nothing has been tried.
    #[must_use]
    pub fn new(policy: &Restart) -> Self {
        Self {
            delays: policy.delays.clone(),
            jitter: policy.jitter,
            max_attempts: policy.max_attempts,
            attempts: 0,
            scheduled: 0,
        }
    }

    /// Forgets the row: the server was stable, an operator intervened, or the configuration changed.
    pub const fn reset(&mut self) {
        self.attempts = 0;
        self.scheduled = 0;
    }

    /// Notes that an attempt begins.
    pub const fn attempt(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// The attempt that was noted last does not count: it followed a planned end, and no failure.
    pub const fn give_back(&mut self) {
        self.attempts = self.attempts.saturating_sub(1);
    }

    /// The attempts of this row.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The size of the budget; `None` is unlimited.
    #[must_use]
    pub const fn max_attempts(&self) -> Option<u32> {
        self.max_attempts
    }

    /// Whether the budget is used up.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.max_attempts.is_some_and(|max| self.attempts >= max)
    }

    /// Whether the next delay stays from there on, so that it is that of a row without end.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let next = self.scheduled;
        match &self.delays {
            Delays::Schedule(delays) => usize::try_from(next).map_or(true, |next| next >= delays.len()),
            Delays::Exponential { .. } => next > 0 && self.delay(next) == self.delay(next.saturating_add(1)),
        }
    }

    /// Takes the next delay of the row. `random` is uniform in 0..1.
    pub fn next_delay(&mut self, random: f64) -> Duration {
        let delay = self.delay(self.scheduled);
        self.scheduled = self.scheduled.saturating_add(1);
        spread(delay, self.jitter, random)
    }

    /// The delay before restart number `n` of a row (from 0), without jitter. The last delay of a schedule is held.
    #[must_use]
    pub fn delay(&self, n: u32) -> Duration {
        match &self.delays {
            Delays::Schedule(delays) => {
                let last = delays.len().saturating_sub(1);
                let index = usize::try_from(n).unwrap_or(last).min(last);
                delays.get(index).copied().unwrap_or_default()
            }
            Delays::Exponential { initial, multiplier, max } => {
                let exponent = i32::try_from(n).unwrap_or(i32::MAX);
                let seconds = initial.as_secs_f64() * multiplier.powi(exponent);
                // The comparison is false for NaN and the product may be infinite; both are the maximum.
                if seconds < max.as_secs_f64() { Duration::from_secs_f64(seconds) } else { *max }
            }
        }
    }
}

/// Moves a duration by up to `jitter` of itself, either way. `random` is uniform in 0..1.
#[must_use]
pub fn spread(delay: Duration, jitter: f64, random: f64) -> Duration {
    let factor = 1.0 + jitter * (2.0 * random - 1.0);
    if factor.is_finite() && factor > 0.0 { delay.mul_f64(factor) } else { delay }
}

#[cfg(test)]
mod tests;
