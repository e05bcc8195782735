//! The families of samples of a slot, and where their numbers come from. docs/metrics.md lists them; a test compares.

use prometheus_client::metrics::MetricType::{Counter, Gauge, Histogram};
use prometheus_client::registry::Unit::Seconds;

use super::Sample::{self, Count};
use super::{Family, Labels, View};
use crate::engine::meter::Counts;

/// `core::lifecycle::State`, by name.
const STATES: [&str; 7] =
    ["Disabled", "Connecting", "Connected", "Reconnecting", "Disabling", "Disconnected", "PermanentlyFailed"];

/// In the order in which they are shown.
pub(super) const ALL: &[Family] = &[
    Family {
        name: "server_up",
        help: "Whether the client's session is established with a server process.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], flag(view.slot.status == "connected")),
    },
    Family {
        name: "server_state",
        help: "1 for the state that the server is in, 0 for the others.",
        unit: None,
        kind: Gauge,
        samples: |view, put| {
            for state in STATES {
                put(&[("state", state)], flag(view.slot.state == state));
            }
        },
    },
    Family {
        name: "server_generation",
        help: "Processes that were started for the server so far.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], Count(view.slot.generation)),
    },
    Family {
        name: "restarts",
        help: "Processes that were started after the first, by the reason for which their predecessor went.",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().restarts, "reason", put),
    },
    Family {
        name: "connect_attempts",
        help: "Attempts to get a connected server that have come to an end.",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().attempts, "outcome", put),
    },
    Family {
        name: "reconnects",
        help: "The same for those that were to end an outage.",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().reconnects, "outcome", put),
    },
    Family {
        name: "exits",
        help: "Ends of server processes: by themselves (code, signal), by the kernel at a limit (out_of_memory), by closing stdout (close), by the watchdog (kill).",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().exits, "cause", put),
    },
    Family {
        name: "timeouts",
        help: "What took too long: a call (tool), the opening of a session, a check, a probe's question, a call's deadline.",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().timeouts, "kind", put),
    },
    Family {
        name: "probes",
        help: "Checks of the links of the probe chain, by what they found.",
        unit: None,
        kind: Counter,
        samples: |view, put| {
            for (probe, probing) in view.meter().tally().probes() {
                for (verdict, count) in probing.verdicts.iter() {
                    put(&[("probe", probe), ("verdict", verdict)], Count(count));
                }
            }
        },
    },
    Family {
        name: "probe_duration",
        help: "How long the checks of the links took.",
        unit: Some(Seconds),
        kind: Histogram,
        samples: |view, put| {
            for (probe, probing) in view.meter().tally().probes() {
                put(&[("probe", probe)], Sample::Histogram(&probing.durations));
            }
        },
    },
    Family {
        name: "health_failures",
        help: "Periodic checks that failed.",
        unit: None,
        kind: Counter,
        samples: |view, put| put(&[], Count(view.meter().tally().health_failures)),
    },
    Family {
        name: "health_degraded",
        help: "Whether so many periodic checks failed in a row that the server counts as unhealthy.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], flag(view.slot.degraded)),
    },
    Family {
        name: "requests",
        help: "Requests of clients that have come to an end, by how they did.",
        unit: None,
        kind: Counter,
        samples: |view, put| {
            for asked in view.meter().requests.asked() {
                for (outcome, count) in asked.outcomes() {
                    put(&[("method", asked.name), ("outcome", outcome)], Count(count));
                }
            }
        },
    },
    Family {
        name: "request_duration",
        help: "From a client's request to its end, waiting for a restart included.",
        unit: Some(Seconds),
        kind: Histogram,
        samples: |view, put| {
            for asked in view.meter().requests.asked() {
                put(&[("method", asked.name)], Sample::Histogram(asked.durations()));
            }
        },
    },
    Family {
        name: "in_flight_requests",
        help: "Requests that the server owes an answer.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], Count(view.meter().in_flight.get())),
    },
    Family {
        name: "held_requests",
        help: "Requests that wait for a server.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], Count(view.meter().held.get())),
    },
    Family {
        name: "messages",
        help: "Lines from clients (in) and to clients (out).",
        unit: None,
        kind: Counter,
        samples: |view, put| {
            put(&[("direction", "in")], Count(view.meter().messages_in.get()));
            put(&[("direction", "out")], Count(view.meter().messages_out.get()));
        },
    },
    Family {
        name: "bytes",
        help: "Bytes of those lines, without their ends.",
        unit: None,
        kind: Counter,
        samples: |view, put| {
            put(&[("direction", "in")], Count(view.meter().bytes_in.get()));
            put(&[("direction", "out")], Count(view.meter().bytes_out.get()));
        },
    },
    Family {
        name: "stale_results",
        help: "What came too late, mostly from an earlier process, and was dropped.",
        unit: None,
        kind: Counter,
        samples: |view, put| each(&view.meter().tally().stale, "kind", put),
    },
    Family {
        name: "close_failures",
        help: "Process trees that could not be ended in full.",
        unit: None,
        kind: Counter,
        samples: |view, put| put(&[], Count(view.slot.close_failures.into())),
    },
    Family {
        name: "downtime",
        help: "How long the server was gone though it was wanted, after it had been connected.",
        unit: Some(Seconds),
        kind: Counter,
        samples: |view, put| {
            let downtime = view.meter().tally().downtime(view.now);
            put(&[], Sample::Seconds(downtime.as_secs_f64()));
        },
    },
    Family {
        name: "backoff",
        help: "Until the next attempt; 0 where none is scheduled.",
        unit: Some(Seconds),
        kind: Gauge,
        samples: |view, put| {
            let left = view.slot.next_attempt.map_or(0.0, |at| at.saturating_duration_since(view.now).as_secs_f64());
            put(&[], Sample::Seconds(left));
        },
    },
    Family {
        name: "catalog_generation",
        help: "The process whose lists the client has seen last.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], Count(view.meter().tally().catalog_generation)),
    },
    Family {
        name: "catalog_stale",
        help: "Whether that process is gone, and no other one has taken its place yet.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[], flag(view.slot.catalog_stale)),
    },
    Family {
        name: "connections",
        help: "Clients that are there.",
        unit: None,
        kind: Gauge,
        samples: |view, put| put(&[frontend(view)], Count(view.meter().clients.get())),
    },
    Family {
        name: "connection_duration",
        help: "How long clients stayed that have left.",
        unit: Some(Seconds),
        kind: Histogram,
        samples: |view, put| {
            // The client on our stdin leaves with the whole program.
            if view.meter().socket {
                put(&[frontend(view)], Sample::Histogram(&view.meter().tally().connections));
            }
        },
    },
    Family {
        name: "plugin_errors",
        help: "Probe plugins that broke, by panic, crash, or a violation of the contract.",
        unit: None,
        kind: Counter,
        samples: |view, put| put(&[], Count(view.meter().tally().plugin_errors)),
    },
];

fn flag(is_set: bool) -> Sample<'static> {
    Count(is_set.into())
}

fn each<const N: usize>(counts: &Counts<N>, label: &'static str, put: &mut dyn FnMut(Labels<'_>, Sample<'_>)) {
    for (name, count) in counts.iter() {
        put(&[(label, name)], Count(count));
    }
}

fn frontend(view: &View) -> (&'static str, &'static str) {
    ("frontend", if view.meter().socket { "unix" } else { "stdio" })
}
