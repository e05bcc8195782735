//! What becomes of a plugin that fails: it is asked less often, and called broken in the end. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// Failures in a row that make a plugin broken.
const BROKEN: u32 = 3;
/// The longest pause after a failure (collectd's rule for plugins that fail: the interval doubles each time, up to a day).
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How a plugin does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Checks in a row that gave no verdict.
    pub failures: u32,
    /// Why the last of them gave none.
    pub last_error: Option<String>,
}

impl Status {
    /// Whether there were so many failures that the plugin counts as broken.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.failures >= BROKEN
    }
}

/// A row of failures.
#[derive(Debug)]
pub(super) struct Trouble {
    interval: Duration,
    status: Status,
    not_before: Option<Instant>,
}

impl Trouble {
    /// None yet. `interval` is the usual one between two checks.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, status: Status::default(), not_before: None }
    }

    pub(super) const fn status(&self) -> &Status {
        &self.status
    }

    /// How long the plugin is not to be asked, and why. `None`: it may be asked now.
    pub(super) fn pause(&self, now: Instant) -> Option<(Duration, &str)> {
        let left = self.not_before?.saturating_duration_since(now);
        let why = self.status.last_error.as_deref().unwrap_or_default();
        (!left.is_zero()).then_some((left, why))
    }

    /// A check gave no verdict. Whether this is what makes the plugin broken.
    pub(super) fn failed(&mut self, now: Instant, why: &str) -> bool {
        let failures = self.status.failures.saturating_add(1);
        self.status = Status { failures, last_error: Some(why.to_owned()) };
        self.not_before = now.checked_add(pause(self.interval, failures));
        failures == BROKEN
    }

    /// The plugin is another one than before: it may be asked at once. The row ends only with a verdict.
    pub(super) fn renewed(&mut self) {
        self.not_before = None;
    }

    /// A check gave a verdict.
    pub(super) fn recovered(&mut self) {
        *self = Self::new(self.interval);
    }
}

/// The pause after so many failures in a row.
fn pause(interval: Duration, failures: u32) -> Duration {
    let factor = 2_u32.checked_pow(failures).unwrap_or(u32::MAX);
    interval.saturating_mul(factor).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_pause_doubles_up_to_a_day() {
        let minutes = |failures| pause(2 * MINUTE, failures).as_secs() / 60;
        assert_eq!([1, 2, 3, 9, 10, 31, 32, u32::MAX].map(minutes), [4, 8, 16, 1024, 1440, 1440, 1440, 1440]);
        assert_eq!(pause(Duration::MAX, 1), LONGEST);
    }

    #[test]
    fn it_is_asked_again_when_the_pause_is_over() {
        let start = Instant::now();
        let mut trouble = Trouble::new(MINUTE);
        assert_eq!(trouble.pause(start), None);
        trouble.failed(start, "it crashed");
        assert_eq!(trouble.pause(start), Some((2 * MINUTE, "it crashed")));
        assert_eq!(trouble.pause(start + MINUTE), Some((MINUTE, "it crashed")));
        assert_eq!(trouble.pause(start + 2 * MINUTE), None);
        trouble.failed(start + 2 * MINUTE, "it hung");
        assert_eq!(trouble.pause(start + 2 * MINUTE), Some((4 * MINUTE, "it hung")));
    }

    #[test]
    fn another_plugin_is_asked_at_once_and_has_the_pauses_of_the_row() {
        let now = Instant::now();
        let mut trouble = Trouble::new(MINUTE);
        trouble.failed(now, "no");
        trouble.renewed();
        assert_eq!(trouble.pause(now), None);
        trouble.failed(now, "nor this");
        assert_eq!(trouble.pause(now), Some((4 * MINUTE, "nor this")));
    }

    #[test]
    fn it_breaks_once_and_recovers_by_a_verdict() {
        let now = Instant::now();
        let mut trouble = Trouble::new(MINUTE);
        let edges: Vec<bool> = (0..5).map(|_| trouble.failed(now, "no")).collect();
        assert_eq!(edges, [false, false, true, false, false]);
        let broken = Status { failures: 5, last_error: Some("no".to_owned()) };
        assert_eq!(trouble.status(), &broken);
        assert!(trouble.status().is_broken());
        trouble.recovered();
        assert_eq!((trouble.status(), trouble.pause(now)), (&Status::default(), None));
        assert!(!trouble.failed(now, "no"));
    }
}
