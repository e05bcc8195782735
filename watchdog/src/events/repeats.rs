//! What the log has told often enough. Errors (events.md, section 3): a server that fails in the same way again and again is told
//! ten times, and then once in five minutes with the number of lines that were left out. Anything else that a client or a server
//! makes happen as often as it likes, such as requests that are refused, has an allowance.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::throttle::{Attempt, Throttle};
use super::{Event, EventKind, Level};
use crate::telemetry::allowance::Allowance;

/// A server, and the name of an event.
type Key = (Option<Arc<str>>, &'static str);

/// Remembers, for each server, what was said last under each name. Pure: the time is an argument.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// `events.throttle: off` is for those who want every line.
    active: bool,
    said: HashMap<Key, Throttle>,
    allowances: HashMap<Key, Allowance>,
}

impl Repeats {
    pub(super) fn new(active: bool) -> Self {
        Self { active, ..Self::default() }
    }

    /// Whether this event's line is written: `Some` with the number of those left out since the last one.
    pub(super) fn admit(&mut self, now: Instant, event: &Event) -> Option<u64> {
        if !self.active {
            return Some(0);
        }
        let key = (event.server.clone(), event.name());
        match event.kind {
            EventKind::ServerRemoved => {
                self.said.retain(|(server, _), _| *server != event.server);
                self.allowances.retain(|(server, _), _| *server != event.server);
                return Some(0);
            }
            // What restarts are about is never thinned out (events.md): their own delays bound it.
            EventKind::ServerConnected { .. } | EventKind::ServerReconnected { .. } => {
                self.said.retain(|(server, _), _| *server != event.server);
                return Some(0);
            }
            // Those of reconnecting are thinned out already, before they are made.
            EventKind::ServerReconnecting { .. } => {}
            _ if event.level() < Level::Error => {}
            _ => {
                let throttle = self.said.entry(key).or_insert_with(Throttle::for_log);
                return throttle.admit(now, Attempt { error: &gist(&event.kind), at_longest: false });
            }
        }
        self.allowances.entry(key).or_insert_with(|| Allowance::new(now)).admit(now)
    }
}

/// What has to be the same for a line to be a repetition: everything but the number of the attempt.
fn gist(kind: &EventKind) -> String {
    match kind {
        EventKind::McpRestartFailed { reason, last_error, .. } => format!("{reason}: {last_error}"),
        EventKind::ServerFailed { last_error, .. } => last_error.clone().unwrap_or_default(),
        other => other.text(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn failed(server: &str, attempt: u32, error: &str) -> Event {
        let kind = EventKind::McpRestartFailed {
            attempt,
            reason: "start-failure".into(),
            last_error: error.into(),
            is_error: true,
        };
        Event::of_server(kind, server.into(), Some(u64::from(attempt)))
    }

    fn connected(server: &str) -> Event {
        let kind = EventKind::ServerConnected { pid: None, protocol_version: None, attempts_taken: 1, start_ms: 1 };
        Event::of_server(kind, server.into(), None)
    }

    #[test]
    fn ten_lines_and_then_one_in_five_minutes_with_the_count() {
        let start = Instant::now();
        let mut repeats = Repeats::new(true);
        let told: Vec<_> = (0..30 * 6)
            .filter_map(|n| {
                let at = start + Duration::from_secs(10 * u64::from(n));
                repeats.admit(at, &failed("a", n, "exit code 3")).map(|repeated| (n, repeated))
            })
            .collect();
        assert_eq!(told[..10], (0..10).map(|n| (n, 0)).collect::<Vec<_>>()[..]);
        assert_eq!(told[10..], [(39, 29), (69, 29), (99, 29), (129, 29), (159, 29)]);
    }

    #[test]
    fn another_error_another_server_and_another_outage_are_news() {
        let now = Instant::now();
        let mut repeats = Repeats::new(true);
        for n in 0..10 {
            assert_eq!(repeats.admit(now, &failed("a", n, "exit code 3")), Some(0));
        }
        assert_eq!(repeats.admit(now, &failed("a", 10, "exit code 3")), None);
        assert_eq!(repeats.admit(now, &failed("b", 1, "exit code 3")), Some(0));
        assert_eq!(repeats.admit(now, &failed("a", 11, "signal SIGSEGV")), Some(1));
        assert_eq!(repeats.admit(now, &failed("a", 12, "signal SIGSEGV")), None);
        assert_eq!(repeats.admit(now, &connected("b")), Some(0));
        assert_eq!(repeats.admit(now, &failed("a", 13, "signal SIGSEGV")), None, "b's connection is b's");
        assert_eq!(repeats.admit(now, &connected("a")), Some(0));
        assert_eq!(repeats.admit(now, &failed("a", 1, "signal SIGSEGV")), Some(0));
    }

    #[test]
    fn off_is_never_thinned_out_and_lesser_levels_not_at_a_common_rate() {
        let now = Instant::now();
        let mut off = Repeats::new(false);
        assert!((0..100).all(|n| off.admit(now, &failed("a", n, "x")) == Some(0)));
        let mut on = Repeats::new(true);
        let mild = Event::of_server(EventKind::ServerStarting { attempt: 1 }, "a".into(), None);
        assert!((0..100).all(|_| on.admit(now, &mild) == Some(0)));
    }

    /// A client that asks a server that is down, as fast as it can: each answer is an event.
    #[test]
    fn a_flood_of_any_event_is_cut_and_counted_for_each_server() {
        let refused = |server: &str, id: usize| {
            let kind = EventKind::RequestFailed {
                request_id: id.to_string(),
                method: "tools/call".into(),
                error: "server_disabled".into(),
                code: -31004,
                sent: false,
            };
            Event::of_server(kind, server.into(), None)
        };
        let now = Instant::now();
        let mut repeats = Repeats::new(true);
        let told = (0..10_000).filter(|id| repeats.admit(now, &refused("a", *id)).is_some()).count();
        assert_eq!(told, 100);
        assert_eq!(repeats.admit(now, &refused("b", 1)), Some(0), "another server");
        assert!((0..1000).all(|_| repeats.admit(now, &connected("a")) == Some(0)), "a restart is news");
        assert_eq!(repeats.admit(now + Duration::from_secs(1), &refused("a", 1)), Some(9_900));
        let removed = Event::of_server(EventKind::ServerRemoved, "a".into(), None);
        assert_eq!(repeats.admit(now, &removed), Some(0));
        assert_eq!(repeats.allowances.len(), 1, "what is gone is forgotten");
    }
}
