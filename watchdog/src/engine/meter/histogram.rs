//! How long things take.

use std::time::Duration;

use super::Cell;

/// The upper bounds of the buckets, in seconds: those that OpenTelemetry's MCP conventions advise for operations.
pub const BOUNDS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// The first of them: most durations are not longer.
const FIRST: Duration = Duration::from_millis(10);

/// A histogram of durations with one writer.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Each counts what is in it and not in one before it.
    buckets: [Cell; BOUNDS.len()],
    count: Cell,
    nanos: Cell,
}

impl Histogram {
    /// Takes a duration.
    pub fn observe(&self, duration: Duration) {
        if duration <= FIRST {
            self.buckets[0].add(1);
        } else {
            self.fill(duration.as_secs_f64());
        }
        self.count.add(1);
        self.nanos.add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    #[inline(never)]
    fn fill(&self, seconds: f64) {
        if let Some(place) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[place].add(1);
        }
    }

    /// How many durations it has taken.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Their sum, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        Duration::from_nanos(self.nanos.get()).as_secs_f64()
    }

    /// Each bound with the number of durations between it and the bound before it; the last one is infinity.
    #[must_use]
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut beyond = self.count();
        let mut all: Vec<_> = BOUNDS.iter().zip(&self.buckets).map(|(bound, cell)| (*bound, cell.get())).collect();
        for (_, count) in &all {
            beyond = beyond.saturating_sub(*count);
        }
        all.push((f64::INFINITY, beyond));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_that_is_a_bound_is_in_the_bucket_that_ends_there() {
        let histogram = Histogram::default();
        for (place, bound) in BOUNDS.into_iter().enumerate() {
            let duration = Duration::from_secs_f64(bound);
            histogram.observe(duration);
            assert_eq!(histogram.buckets[place].get(), 1 + u64::from(place > 0), "{bound}");
            histogram.observe(duration + Duration::from_nanos(1));
        }
        let buckets = histogram.buckets();
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, 1)));
        assert_eq!(histogram.count(), 2 * BOUNDS.len() as u64);
        assert_eq!(FIRST, Duration::from_secs_f64(BOUNDS[0]));
    }
}
