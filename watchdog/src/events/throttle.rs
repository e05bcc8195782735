//! Fewer events from a server that stays dead (events.md, section 3).
//!
//! A server that is tried every minute for a day makes 10 and about 96 events instead of 1,440. Counters and status stay
//! exact; edge events (disconnected, reconnected, failed, degraded, restored) never go through here.

use std::time::{Duration, Instant};

use crate::config::EventThrottle;

/// The throttle of `server_reconnecting` of one server. Pure: the time is an argument.
#[derive(Debug, Clone)]
pub struct Throttle {
    burst: u32,
    every: Duration,
    admitted: u32,
    last: Option<Last>,
    suppressed: u64,
}

#[derive(Debug, Clone)]
struct Last {
    at: Instant,
    error: String,
    at_longest: bool,
}

/// What is known about one attempt that is to come.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The kind of the last error: an attempt that fails in another way is news.
    pub error: &'a str,
    /// The delay has reached its longest: reaching it is news.
    pub at_longest: bool,
}

impl Throttle {
    /// For events, by `events.throttle`.
    #[must_use]
    pub const fn for_events(throttle: EventThrottle) -> Self {
        Self::new(throttle.burst, throttle.every)
    }

    /// Admits everything.
    #[must_use]
    pub const fn off() -> Self {
        Self::new(u32::MAX, Duration::ZERO)
    }

    /// One that has admitted nothing yet, of the same kind.
    #[must_use]
    pub const fn afresh(&self) -> Self {
        Self::new(self.burst, self.every)
    }

    /// For log lines with the same text: each of the first 10, then one in 5 minutes.
    #[must_use]
    pub const fn for_log() -> Self {
        Self::new(10, Duration::from_secs(5 * 60))
    }

    /// Admits the first `burst`, and after that one in `every` and each that is news.
    #[must_use]
    pub const fn new(burst: u32, every: Duration) -> Self {
        Self { burst, every, admitted: 0, last: None, suppressed: 0 }
    }

    /// Says whether this attempt's event is emitted: `Some` with the number of those left out since the last one.
    pub fn admit(&mut self, now: Instant, attempt: Attempt<'_>) -> Option<u64> {
        let admitted = match &self.last {
            None => true,
            Some(_) if self.admitted < self.burst => true,
            Some(last) => {
                attempt.error != last.error
                    || (attempt.at_longest && !last.at_longest)
                    || now.saturating_duration_since(last.at) >= self.every
            }
        };
        if !admitted {
            self.suppressed += 1;
            return None;
        }
        self.admitted = self.admitted.saturating_add(1);
        self.last = Some(Last { at: now, error: attempt.error.to_owned(), at_longest: attempt.at_longest });
        Some(std::mem::take(&mut self.suppressed))
    }

    /// The server is connected: the next outage starts anew.
    pub fn reset(&mut self) {
        *self = self.afresh();
    }
}

#[cfg(test)]
mod tests;
