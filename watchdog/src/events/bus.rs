//! The one bus of events of a process: everything that happens gets a number, a place in a ring, and goes to the log and to
//! whoever listens.
//!
//! Publishing never waits. A listener that does not keep up loses events and is told how many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::broadcast;

use super::write::{Envelope, EventWriter, to_json};
use super::{Event, EventKind};
use crate::config::EventThrottle;

/// An event that was published.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Counts the events of this process, from 1.
    pub sequence: u64,
    /// The event.
    pub event: Event,
    /// When it happened.
    pub time: SystemTime,
    /// The JSON object of events.md, section 2, without a line end.
    pub json: Box<str>,
}

/// The bus. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bus {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    live: broadcast::Sender<Arc<Record>>,
}

#[derive(Debug)]
struct State {
    writer: EventWriter,
    ring: VecDeque<Arc<Record>>,
    capacity: usize,
    sequence: u64,
}

/// What a listener that joins is given.
#[derive(Debug)]
pub struct Subscription {
    /// What it has missed and the ring still holds, oldest first.
    pub backlog: Vec<Arc<Record>>,
    /// Whether some of what it has missed is not in the ring any more.
    pub gap: bool,
    /// What happens from now on.
    pub live: broadcast::Receiver<Arc<Record>>,
}

impl Bus {
    /// A bus that keeps the last `ring` events (at least one).
    #[must_use]
    pub fn new(writer: EventWriter, ring: usize) -> Self {
        let capacity = ring.max(1);
        let state = State { writer, ring: VecDeque::new(), capacity, sequence: 0 };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), live: broadcast::channel(capacity).0 }) }
    }

    /// Takes an event that happened at `time`.
    pub fn publish(&self, event: Event, time: SystemTime) {
        let mut state = self.state();
        if let Some(dropped) = state.writer.take_dropped() {
            self.append(&mut state, Event::of_watchdog(EventKind::EventsSuppressed { dropped }), time);
        }
        self.append(&mut state, event, time);
    }

    fn append(&self, state: &mut State, event: Event, time: SystemTime) {
        state.sequence += 1;
        let sequence = state.sequence;
        let object = state.compose(&event, sequence, time);
        let json = object.to_string().into_boxed_str();
        let record = Arc::new(Record { sequence, event, time, json });
        state.writer.write(&record, object);
        if state.ring.len() == state.capacity {
            state.ring.pop_front();
        }
        state.ring.push_back(record.clone());
        // Nobody listening is no error. Sent under the lock, so that a subscription misses nothing and gets nothing twice.
        let _ = self.shared.live.send(record);
    }

    /// The JSON of something that one listener alone is told, such as that it was too slow.
    #[must_use]
    pub fn compose(&self, event: &Event, sequence: u64, time: SystemTime) -> Box<str> {
        self.state().compose(event, sequence, time).to_string().into_boxed_str()
    }

    /// Listens. With `since`, everything after that number is made up for, as far as the ring holds it.
    #[must_use]
    pub fn subscribe(&self, since: Option<u64>) -> Subscription {
        let state = self.state();
        let backlog: Vec<_> = match since {
            Some(since) => state.ring.iter().filter(|record| record.sequence > since).cloned().collect(),
            None => Vec::new(),
        };
        let oldest = state.ring.front().map_or(state.sequence + 1, |record| record.sequence);
        let gap = since.is_some_and(|since| since.saturating_add(1) < oldest || since > state.sequence);
        Subscription { backlog, gap, live: self.shared.live.subscribe() }
    }

    /// The latest events that `wanted` takes, oldest first, at most `most`.
    #[must_use]
    pub fn recent(&self, most: usize, wanted: impl Fn(&Event) -> bool) -> Vec<Arc<Record>> {
        let state = self.state();
        let mut found: Vec<_> =
            state.ring.iter().rev().filter(|record| wanted(&record.event)).take(most).cloned().collect();
        found.reverse();
        found
    }

    /// `events.throttle`, for those who make such events.
    #[must_use]
    pub fn throttle(&self) -> Option<EventThrottle> {
        self.state().writer.throttle()
    }

    /// How many events the file has not got, because its disk was too slow or did not take them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.state().writer.dropped()
    }

    /// Waits, at most for `limit`, until the file has all of them, for the exit. It blocks its thread.
    pub fn flush(&self, limit: Duration) {
        let flush = self.state().writer.flush();
        flush.wait(limit);
    }

    /// The number of the latest event; 0 before the first.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.state().sequence
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics halfway through a change.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn compose(&mut self, event: &Event, sequence: u64, time: SystemTime) -> Value {
        let envelope = Envelope { id: self.writer.id(time), sequence, time, source: self.writer.source() };
        to_json(event, &envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{EventForm, EventFormat, Events};
    use crate::events::EventKind;
    use crate::telemetry::LogHandle;

    fn bus(ring: usize) -> Bus {
        let events = Events { stderr: EventForm::Off, format: EventFormat::Jsonl, file: None, ring, throttle: None };
        Bus::new(EventWriter::new(LogHandle::discard(), &events), ring)
    }

    fn happen(bus: &Bus, times: usize) {
        for _ in 0..times {
            bus.publish(Event::of_watchdog(EventKind::ServerAdded), SystemTime::UNIX_EPOCH);
        }
    }

    fn numbers(records: &[Arc<Record>]) -> Vec<u64> {
        records.iter().map(|record| record.sequence).collect()
    }

    #[test]
    fn a_listener_makes_up_for_what_it_missed_and_goes_on_without_a_gap_or_a_repeat() {
        let bus = bus(8);
        happen(&bus, 3);
        let mut joined = bus.subscribe(Some(1));
        happen(&bus, 2);
        assert_eq!((numbers(&joined.backlog), joined.gap), (vec![2, 3], false));
        let live: Vec<_> = std::iter::from_fn(|| joined.live.try_recv().ok()).collect();
        assert_eq!(numbers(&live), [4, 5]);
        let fresh = bus.subscribe(None);
        assert_eq!((fresh.backlog.len(), fresh.gap), (0, false));
    }

    #[test]
    fn what_the_ring_has_dropped_is_a_gap() {
        let bus = bus(4);
        happen(&bus, 10);
        let joined = bus.subscribe(Some(2));
        assert_eq!((numbers(&joined.backlog), joined.gap), (vec![7, 8, 9, 10], true));
        assert!(!bus.subscribe(Some(6)).gap);
        assert!(bus.subscribe(Some(11)).gap, "a number of another process");
        assert_eq!(numbers(&bus.recent(2, |_| true)), [9, 10]);
    }

    #[test]
    fn a_listener_that_sleeps_is_told_how_much_it_lost() {
        let bus = bus(4);
        let mut joined = bus.subscribe(None);
        happen(&bus, 10);
        assert!(matches!(joined.live.try_recv(), Err(broadcast::error::TryRecvError::Lagged(6))));
    }

    #[test]
    fn the_json_carries_the_number() {
        let bus = bus(1);
        happen(&bus, 2);
        let json: Value = serde_json::from_str(&bus.recent(1, |_| true)[0].json).unwrap();
        assert_eq!((json["seq"].as_u64(), json["type"].as_str()), (Some(2), Some("server_added")));
    }
}
