//! How many lines a plugin may have in the log.

use std::time::{Duration, Instant};

/// So many lines at once,
const BURST: u32 = 100;
/// and one more each time that so long has passed.
const EVERY: Duration = Duration::from_millis(100);

/// An allowance of lines that fills up with time. Pure: the time is an argument.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: u32,
    counted: Instant,
    refused: u64,
}

impl Allowance {
    /// A full one.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { left: BURST, counted: now, refused: 0 }
    }

    /// Whether a line may go to the log now: `Some` with the number of those that were refused since the last one.
    pub(crate) fn admit(&mut self, now: Instant) -> Option<u64> {
        let earned = now.saturating_duration_since(self.counted).as_millis() / EVERY.as_millis();
        let earned = u32::try_from(earned).unwrap_or(u32::MAX);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(BURST);
            self.counted = now;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.refused))
            }
            None => {
                self.refused += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_counted() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let admitted = (0..500).filter(|_| allowance.admit(start).is_some()).count();
        assert_eq!(admitted, 100);
        assert_eq!(allowance.admit(start + EVERY), Some(400));
        assert_eq!(allowance.admit(start + EVERY), None);
        assert_eq!(allowance.admit(start + 2 * EVERY), Some(1));
    }

    #[test]
    fn it_is_never_more_than_full() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let later = start + Duration::from_secs(86_400);
        assert_eq!((0..500).filter(|_| allowance.admit(later).is_some()).count(), 100);
    }
}
