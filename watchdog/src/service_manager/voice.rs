//! What is said to the service manager, and when. Pure: the time is an argument, and messages are returned.

use std::time::{Duration, Instant};

use super::picture::{self, Server};

/// The least time between two lines for people: a server that dies again and again must not keep the manager busy.
const PAUSE: Duration = Duration::from_secs(1);
/// How often more time is asked for while the end goes on,
pub(super) const STOP_BEAT: Duration = Duration::from_secs(5);
/// and how much: an engine that has stopped working gets no more.
const MORE_TIME: Duration = Duration::from_secs(15);

/// What has been said so far.
#[derive(Debug, Default)]
pub(super) struct Voice {
    ready: bool,
    stopping: bool,
    /// Whether the latest reload changed nothing because it was refused.
    rejected: bool,
    status: String,
    status_at: Option<Instant>,
}

impl Voice {
    /// What to say when the servers are so, and when to look again although nothing changes.
    pub(super) fn look(&mut self, servers: &[Server], now: Instant) -> (Option<String>, Option<Instant>) {
        if self.stopping {
            return (None, None);
        }
        let mut message = String::new();
        let up = !self.ready && picture::is_up(servers);
        if up {
            self.ready = true;
            message.push_str("READY=1\n");
        }
        let status = self.words(servers);
        if status != self.status {
            let again = self.status_at.map(|at| at + PAUSE).filter(|again| *again > now && !up);
            if again.is_some() {
                return (None, again);
            }
            self.say(status, now, &mut message);
        }
        ((!message.is_empty()).then_some(message), None)
    }

    /// A reload begins at this time of CLOCK_MONOTONIC. Before the start is over the manager does not count it as one.
    pub(super) fn reloading(&self, monotonic: Duration) -> Option<String> {
        let speaks = self.ready && !self.stopping;
        speaks.then(|| {
            format!("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=reading the configuration\n", monotonic.as_micros())
        })
    }

    /// A reload is over.
    pub(super) fn reloaded(&mut self, taken: bool, servers: &[Server], now: Instant) -> Option<String> {
        self.rejected = !taken;
        if !self.ready || self.stopping {
            return None;
        }
        let mut message = "READY=1\n".to_owned();
        self.say(self.words(servers), now, &mut message);
        Some(message)
    }

    /// The end has begun.
    pub(super) fn stopping(&mut self) -> Option<String> {
        let first = !std::mem::replace(&mut self.stopping, true);
        first.then(|| format!("STOPPING=1\nSTATUS=stopping the servers\n{}", Self::more_time()))
    }

    /// Whether that was said.
    pub(super) const fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Whether the start is over.
    pub(super) const fn is_ready(&self) -> bool {
        self.ready
    }

    /// The end goes on.
    pub(super) fn more_time() -> String {
        format!("EXTEND_TIMEOUT_USEC={}\n", MORE_TIME.as_micros())
    }

    fn words(&self, servers: &[Server]) -> String {
        let status = picture::status(servers);
        if self.rejected { format!("{status}; the last reload was refused, see the log") } else { status }
    }

    fn say(&mut self, status: String, now: Instant, message: &mut String) {
        message.push_str("STATUS=");
        message.push_str(&status);
        message.push('\n');
        self.status = status;
        self.status_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_manager::picture::testing::{starting, up};

    const NOTHING: (Option<String>, Option<Instant>) = (None, None);

    fn said(text: &str) -> (Option<String>, Option<Instant>) {
        (Some(text.to_owned()), None)
    }

    #[test]
    fn it_is_ready_once_and_repeats_nothing() {
        let (mut voice, now) = (Voice::default(), Instant::now());
        assert_eq!(voice.look(&[starting()], now), said("STATUS=1 server: 1 connecting\n"));
        assert_eq!(voice.look(&[starting()], now + PAUSE), NOTHING);
        assert_eq!(voice.look(&[up()], now), said("READY=1\nSTATUS=1 server: 1 connected\n"), "ready does not wait");
        assert_eq!(voice.look(&[up()], now + PAUSE), NOTHING);
        assert_eq!(
            voice.look(&[starting()], now + PAUSE),
            said("STATUS=1 server: 1 connecting\n"),
            "and is not undone"
        );
    }

    #[test]
    fn a_state_that_flaps_is_told_once_in_a_while() {
        let (mut voice, now) = (Voice::default(), Instant::now());
        let _ = voice.look(&[up()], now);
        let soon = now + PAUSE / 2;
        assert_eq!(voice.look(&[starting()], soon), (None, Some(now + PAUSE)));
        assert_eq!(voice.look(&[up()], soon), NOTHING, "it is as it was told");
        assert_eq!(voice.look(&[starting()], now + PAUSE), said("STATUS=1 server: 1 connecting\n"));
    }

    #[test]
    fn a_reload_has_a_beginning_with_its_time_and_an_end_with_its_outcome() {
        let (mut voice, now) = (Voice::default(), Instant::now());
        assert_eq!(voice.reloading(PAUSE), None, "the start is not over");
        assert_eq!(voice.reloaded(true, &[starting()], now), None);
        let _ = voice.look(&[up()], now);
        let begin = voice.reloading(Duration::new(12, 345_678_900)).unwrap();
        assert_eq!(begin, "RELOADING=1\nMONOTONIC_USEC=12345678\nSTATUS=reading the configuration\n");
        let refused = "READY=1\nSTATUS=1 server: 1 connected; the last reload was refused, see the log\n";
        assert_eq!(voice.reloaded(false, &[up()], now).unwrap(), refused);
        assert_eq!(voice.reloaded(true, &[up()], now).unwrap(), "READY=1\nSTATUS=1 server: 1 connected\n");
    }

    #[test]
    fn the_end_is_the_last_that_is_said() {
        let (mut voice, now) = (Voice::default(), Instant::now());
        let _ = voice.look(&[up()], now);
        let message = voice.stopping().unwrap();
        assert_eq!(message, "STOPPING=1\nSTATUS=stopping the servers\nEXTEND_TIMEOUT_USEC=15000000\n");
        assert_eq!((voice.stopping(), voice.look(&[starting()], now + PAUSE)), (None, NOTHING));
        assert_eq!((voice.reloading(PAUSE), voice.reloaded(true, &[up()], now)), (None, None));
    }
}
