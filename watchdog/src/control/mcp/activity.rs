//! Waiting for something to happen.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::model::{Activity, Happened};
use crate::control::model::EventRecord;

/// How long is waited where nothing else was asked for: half of what most clients wait for a call.
pub(super) const USUAL: Duration = Duration::from_secs(30);

/// Events come in bursts: after the first, those that follow within this go along.
const BURST: Duration = Duration::from_millis(50);

/// The most events of one answer. The rest is left for the next call.
const MOST: usize = 100;

/// How far the events of each watchdog were heard: `PID:NUMBER`, with spaces between several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cursor(BTreeMap<u32, u64>);

impl Cursor {
    /// The number of the last event that was heard of a watchdog.
    #[must_use]
    pub fn of(&self, watchdog: u32) -> Option<u64> {
        self.0.get(&watchdog).copied()
    }

    /// Everything up to this number was heard.
    pub fn advance(&mut self, watchdog: u32, sequence: u64) {
        self.0.insert(watchdog, sequence);
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (watchdog, sequence)) in self.0.iter().enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}{watchdog}:{sequence}")?;
        }
        Ok(())
    }
}

impl FromStr for Cursor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let entry = |word: &str| {
            let (watchdog, sequence) = word.split_once(':')?;
            Some((watchdog.parse().ok()?, sequence.parse().ok()?))
        };
        let entries: Option<_> = text.split_whitespace().map(entry).collect();
        let wrong = || format!("\"{text}\" is no cursor: give back what an earlier result has, or leave it out");
        entries.map(Self).ok_or_else(wrong)
    }
}

/// What a watchdog told.
#[derive(Debug)]
pub enum Heard {
    /// An event.
    Event(u32, Box<EventRecord>),
    /// Something happened that it cannot tell any more.
    Missed,
}

/// An ear at one watchdog, or at many.
#[derive(Debug)]
pub struct Listener {
    heard: mpsc::Receiver<Heard>,
    cursor: Cursor,
    _tasks: JoinSet<()>,
}

impl Listener {
    /// Hears what `tasks` send. They begin behind `cursor`, and end with this.
    #[must_use]
    pub fn new(cursor: Cursor, heard: mpsc::Receiver<Heard>, tasks: JoinSet<()>) -> Self {
        Self { heard, cursor, _tasks: tasks }
    }

    /// What happens within `limit`: nothing, or one thing of these types with all that comes along with it.
    pub(super) async fn activity(mut self, limit: Duration, types: Option<&[String]>) -> Activity {
        let mut end = Instant::now() + limit;
        let (mut events, mut missed) = (Vec::new(), false);
        while events.len() < MOST {
            match timeout_at(end, self.heard.recv()).await {
                Ok(Some(Heard::Event(watchdog, event))) => {
                    self.cursor.advance(watchdog, event.seq);
                    if types.is_none_or(|types| types.contains(&event.kind)) {
                        if events.is_empty() {
                            end = Instant::now() + BURST;
                        }
                        events.push(Happened { watchdog, event: *event });
                    }
                }
                Ok(Some(Heard::Missed)) => {
                    missed = true;
                    end = end.min(Instant::now() + BURST);
                }
                // Time is up, or nobody is left to tell anything.
                Ok(None) | Err(_) => break,
            }
        }
        let timed_out = events.is_empty() && !missed;
        Activity { events, cursor: self.cursor.to_string(), timed_out, missed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_given_back_as_they_were_given() {
        for text in ["", "7:0", "7:12 4000000:18446744073709551615"] {
            assert_eq!(text.parse::<Cursor>().map(|cursor| cursor.to_string()), Ok(text.to_owned()));
        }
        for wrong in ["7", "7:", "a:1", "7:-1", "7:1,8:1"] {
            assert!(wrong.parse::<Cursor>().is_err(), "{wrong}");
        }
    }
}
