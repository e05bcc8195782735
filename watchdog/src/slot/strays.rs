//! Lines of the server's stdout that are no messages, on their way to the log. A server that prints without end would fill the
//! disk with them: what is more than an allowance is left out and counted.

use std::time::Instant;

use crate::telemetry::LogHandle;
use crate::telemetry::allowance::Allowance;

/// The log, with what the stdout of one server may have of it, whatever the number of its processes.
pub(super) struct Strays {
    log: LogHandle,
    allowance: Allowance,
}

impl Strays {
    pub(super) const fn new(log: LogHandle, now: Instant) -> Self {
        Self { log, allowance: Allowance::new(now) }
    }

    /// Passes a line on, or counts it.
    pub(super) fn tell(&mut self, now: Instant, line: &[u8]) {
        let Some(left_out) = self.allowance.admit_line(now, line.len()) else { return };
        self.say(left_out);
        self.log.stray(line);
    }

    /// When [`Self::tell_left_out`] is to be called, where no line comes before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.allowance.due()
    }

    /// Says how many were left out.
    pub(super) fn tell_left_out(&mut self) {
        let left_out = self.allowance.take_refused();
        self.say(left_out);
    }

    fn say(&self, lines: u64) {
        self.log.left_out("of stdout that are no messages", lines);
    }
}

impl Drop for Strays {
    fn drop(&mut self) {
        self.tell_left_out();
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::*;
    use crate::config::{Log, LogFormat, LogLevel};

    #[test]
    fn a_flood_costs_a_bounded_log_and_every_line_is_shown_or_counted() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let (mut read, write) = std::io::pipe().unwrap();
            let log = Log { level: LogLevel::Error, format };
            let handle = LogHandle::start(write.into(), &log, "memory").unwrap();
            let start = Instant::now();
            let mut strays = Strays::new(handle.clone(), start);
            for line in 0..100_000_u64 {
                strays.tell(start + Duration::from_micros(50 * line), b"junk");
            }
            assert!(strays.due().is_some());
            drop(strays);
            assert!(handle.flush(Duration::from_secs(20)));
            drop(handle);
            let mut text = String::new();
            read.read_to_string(&mut text).unwrap();
            let shown = text.lines().filter(|line| line.contains("junk")).count();
            // A hundred at once, and one more in each tenth of the five seconds.
            assert_eq!(shown, 100 + 49, "{format:?}");
            let counted =
                text.lines().filter_map(|line| line.split_once(" lines of stdout")?.0.rsplit([' ', '"']).next());
            let left_out: usize = counted.map(|count| count.parse::<usize>().unwrap()).sum();
            assert_eq!(shown + left_out, 100_000);
            assert!(text.len() < 64 * 1024, "{} bytes", text.len());
        }
    }

    #[test]
    fn long_lines_fill_the_log_no_faster_than_short_ones() {
        let (mut read, write) = std::io::pipe().unwrap();
        let log = Log { level: LogLevel::Error, format: LogFormat::Text };
        let handle = LogHandle::start(write.into(), &log, "memory").unwrap();
        let start = Instant::now();
        let mut strays = Strays::new(handle.clone(), start);
        let junk = [b'x'; 100_000];
        for tenth in 0..150 {
            strays.tell(start + Duration::from_millis(100 * tenth), &junk);
        }
        drop(strays);
        assert!(handle.flush(Duration::from_secs(20)));
        drop(handle);
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        // 24 KiB at once, and 2.5 KiB a second.
        assert_eq!(text.lines().filter(|line| line.contains("xxx")).count(), 3 + 4);
        assert!(text.len() < 60 * 1024, "{} bytes", text.len());
    }
}
