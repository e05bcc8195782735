//! How many lines a stranger may have in the log.

use std::time::{Duration, Instant};

use crate::stream::stderr_tail::LONGEST_LINE;

/// So many lines at once,
const BURST: u32 = 100;
/// and one more each time that so long has passed.
const EVERY: Duration = Duration::from_millis(100);

/// A line counts as one for each so many bytes that the log takes of it: ten lines a second of [`LONGEST_LINE`] would be 7 GB a day.
const COUNTED_AS_ONE: usize = 256;

/// When nothing has come for so long, the lines that were left out are told without another one.
const SILENCE: Duration = Duration::from_secs(1);

/// An allowance of lines that fills up with time. Pure: the time is an argument.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: u32,
    burst: u32,
    every: Duration,
    counted: Instant,
    refused: u64,
}

impl Allowance {
    /// A full one.
    pub(crate) const fn new(now: Instant) -> Self {
        Self::with(BURST, EVERY, now)
    }

    /// What nobody exceeds who keeps to an allowance at the other end of a socket: with each line may come one about those that
    /// were left out, and all that the socket holds may come at once.
    #[cfg(any(test, feature = "plugins"))]
    pub(crate) fn of_a_sender(now: Instant) -> Self {
        Self::with(BURST * 10, EVERY / 2, now)
    }

    const fn with(burst: u32, every: Duration, now: Instant) -> Self {
        Self { left: burst, burst, every, counted: now, refused: 0 }
    }

    /// Whether a short line may go to the log now: `Some` with the number of those that were refused since the last one.
    pub(crate) fn admit(&mut self, now: Instant) -> Option<u64> {
        self.admit_lines(now, 1)
    }

    /// The same for a line of so many bytes, of which the log takes [`LONGEST_LINE`] at most.
    pub(crate) fn admit_line(&mut self, now: Instant, bytes: usize) -> Option<u64> {
        let counted = bytes.min(LONGEST_LINE).div_ceil(COUNTED_AS_ONE).max(1);
        self.admit_lines(now, u32::try_from(counted).unwrap_or(u32::MAX))
    }

    fn admit_lines(&mut self, now: Instant, counted: u32) -> Option<u64> {
        let earned = now.saturating_duration_since(self.counted).as_nanos() / self.every.as_nanos();
        let earned = u32::try_from(earned).unwrap_or(u32::MAX);
        if earned > 0 {
            self.left = self.left.saturating_add(earned).min(self.burst);
            // A part of a line is kept, where nothing overflows.
            self.counted = self.counted.checked_add(self.every * earned).unwrap_or(now);
        }
        match self.left.checked_sub(counted) {
            Some(left) => {
                self.left = left;
                Some(self.take_refused())
            }
            None => {
                self.refused += 1;
                None
            }
        }
    }

    /// When those that were refused are to be told of, where no line comes before: not while a flood goes on, since that has lines
    /// that are admitted.
    pub(crate) fn due(&self) -> Option<Instant> {
        if self.refused > 0 { self.counted.checked_add(SILENCE) } else { None }
    }

    /// How many were refused since the last one that was admitted; they count as told.
    pub(crate) const fn take_refused(&mut self) -> u64 {
        std::mem::replace(&mut self.refused, 0)
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
        assert_eq!(allowance.admit(start + EVERY * 19 / 10), None);
        assert_eq!(allowance.admit(start + 2 * EVERY), Some(2));
        assert_eq!(allowance.admit(start + 2 * EVERY), None);
        assert_eq!((allowance.take_refused(), allowance.take_refused()), (1, 0));
    }

    /// A day of the longest lines is as much as a day of short ones, in bytes.
    #[test]
    fn long_lines_count_as_several() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let mut at_once = 0;
        while allowance.admit_line(start, usize::MAX).is_some() {
            at_once += 1;
        }
        assert_eq!(at_once, 3);
        assert_eq!(
            (0..500).filter(|_| allowance.admit_line(start, 257).is_some()).count(),
            2,
            "what is left is for shorter ones"
        );
        let seconds = 1000;
        let times = (1..=seconds * 100).map(|hundredth| start + Duration::from_millis(10 * hundredth));
        let bytes: usize = times.filter_map(|now| allowance.admit_line(now, LONGEST_LINE).map(|_| LONGEST_LINE)).sum();
        let second = bytes / usize::try_from(seconds).unwrap();
        assert!((2400..=2560).contains(&second), "{second} bytes a second");
        assert!(allowance.admit_line(start + Duration::from_hours(1), 0).is_some_and(|refused| refused > 0));
    }

    #[test]
    fn what_was_left_out_is_due_a_second_after_the_flood() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let mut now = start;
        for millisecond in 0..10_000 {
            now = start + Duration::from_millis(millisecond);
            assert!(allowance.due().is_none_or(|due| due > now), "not while it goes on: {millisecond}");
            _ = allowance.admit(now);
        }
        let due = allowance.due().unwrap();
        assert!((now + SILENCE - EVERY..=now + SILENCE).contains(&due), "{:?}", due - now);
        assert!(allowance.take_refused() > 0);
        assert_eq!(allowance.due(), None, "told is told");
    }

    #[test]
    fn it_is_never_more_than_full() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let later = start + Duration::from_secs(86_400);
        assert_eq!((0..500).filter(|_| allowance.admit(later).is_some()).count(), 100);
    }

    /// Each admitted line may bring one about lost ones, and the reader may come late: what waits for it is in the socket.
    #[test]
    fn who_keeps_to_an_allowance_is_within_that_of_a_sender() {
        let start = Instant::now();
        let (mut sender, mut reader) = (Allowance::new(start), Allowance::of_a_sender(start));
        let mut waiting = 0;
        for millisecond in 0..60_000 {
            let now = start + Duration::from_millis(millisecond);
            for _ in 0..10 {
                let told = sender.admit(now);
                waiting += told.map_or(0, |lost| 1 + u32::from(lost > 0));
            }
            if millisecond % 3000 == 2999 {
                assert!((0..std::mem::take(&mut waiting)).all(|_| reader.admit(now).is_some()), "{millisecond}");
            }
        }
        assert!((0..2000).any(|_| reader.admit(start + Duration::from_mins(1)).is_none()), "there is an end");
    }
}
