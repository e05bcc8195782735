//! What is counted by folding events and probe chains. Pure: the time is an argument.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{Counts, Histogram};
use crate::core::ending::Ending;
use crate::events::EventKind;

/// Why a process follows another one. Those of `core::lifecycle::Reason`, and what makes room for a fresh start.
const REASONS: [&str; 14] = [
    "transport-exit",
    "transport-error",
    "probe-failure",
    "health",
    "force",
    "config",
    "start-failure",
    "max-lifetime",
    "memory-limit",
    "files-changed",
    "idle-stop",
    "enable",
    "next-client",
    "other",
];
const OUTCOMES: [&str; 2] = ["success", "failure"];
const CAUSES: [&str; 5] = ["code", "signal", "out_of_memory", "close", "kill"];
const TIMEOUTS: [&str; 5] = ["tool", "handshake", "health", "probe", "deadline"];
const STALE: [&str; 10] = [
    "server-line",
    "server-answer",
    "client-answer",
    "progress",
    "acknowledgement",
    "exit",
    "start",
    "probe",
    "process",
    "other",
];
/// Those of `probe_api::Verdict`.
const VERDICTS: [&str; 5] = ["pass", "busy", "fail", "unsupported", "inconclusive"];

/// Names of probes that are told apart; a configuration that is reloaded again and again may bring up more.
const MAX_PROBES: usize = 64;

/// The numbers.
#[derive(Debug)]
pub struct Tally {
    /// Processes that were started after the first, by reason.
    pub restarts: Counts<14>,
    /// Attempts to get a connected server, by outcome.
    pub attempts: Counts<2>,
    /// Those that were to end an outage.
    pub reconnects: Counts<2>,
    /// Ends of processes.
    pub exits: Counts<5>,
    /// What took too long.
    pub timeouts: Counts<5>,
    /// What came too late and was dropped.
    pub stale: Counts<10>,
    /// Periodic checks that failed.
    pub health_failures: u64,
    /// Plugins that broke.
    pub plugin_errors: u64,
    /// The generation whose lists the client has seen last; 0 before the first.
    pub catalog_generation: u64,
    /// How long clients stayed that came through a socket.
    pub connections: Histogram,
    probes: BTreeMap<Box<str>, Probing>,
    /// Why the next process will be started.
    reason: &'static str,
    down_since: Option<Instant>,
    down: Duration,
    client_since: Option<Instant>,
}

/// What one link of the chain has found.
#[derive(Debug)]
pub struct Probing {
    /// How often it came to each verdict.
    pub verdicts: Counts<5>,
    /// How long its checks took.
    pub durations: Histogram,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            restarts: Counts::new(&REASONS),
            attempts: Counts::new(&OUTCOMES),
            reconnects: Counts::new(&OUTCOMES),
            exits: Counts::new(&CAUSES),
            timeouts: Counts::new(&TIMEOUTS),
            stale: Counts::new(&STALE),
            health_failures: 0,
            plugin_errors: 0,
            catalog_generation: 0,
            connections: Histogram::default(),
            probes: BTreeMap::new(),
            reason: "start-failure",
            down_since: None,
            down: Duration::ZERO,
            client_since: None,
        }
    }
}

impl Tally {
    /// Takes an event of the slot, which has come as far as this generation.
    pub fn event(&mut self, now: Instant, generation: u64, kind: &EventKind) {
        match kind {
            EventKind::ServerStarting { .. } if generation > 1 => self.restarts.add(self.reason),
            EventKind::ServerConnected { .. } => self.connected(now, generation),
            EventKind::ServerReconnected { .. } => {
                self.reconnects.add("success");
                self.connected(now, generation);
            }
            EventKind::ServerDisconnected { reason, exit, .. } => self.disconnected(now, reason, exit.as_ref()),
            EventKind::McpRestartFailed { .. } => {
                self.attempts.add("failure");
                if self.down_since.is_some() {
                    self.reconnects.add("failure");
                } else {
                    self.reason = "start-failure";
                }
            }
            EventKind::ServerDisabled { .. } => {
                self.end_outage(now);
                self.reason = "enable";
            }
            EventKind::ServerExited { exit: Ending::Code(_), .. } => self.exits.add("code"),
            EventKind::ServerExited { exit: Ending::Signal(_), .. } => self.exits.add("signal"),
            EventKind::ServerExited { exit: Ending::OutOfMemory { .. }, .. } => self.exits.add("out_of_memory"),
            EventKind::ServerKilled { .. } => self.exits.add("kill"),
            EventKind::ToolTimeout { .. } => self.timeouts.add("tool"),
            EventKind::StaleResult { what } => self.stale.add(what),
            _ => {}
        }
    }

    /// Whether the server has been connected, whatever became of it.
    #[must_use]
    pub fn has_connected(&self) -> bool {
        self.attempts.get("success") > 0
    }

    /// Takes an event of a plugin of the slot: these come from tasks of their own, and not through the slot.
    pub fn plugin(&mut self, kind: &EventKind) {
        self.plugin_errors += u64::from(matches!(kind, EventKind::PluginError { .. }));
    }

    fn connected(&mut self, now: Instant, generation: u64) {
        self.attempts.add("success");
        self.catalog_generation = generation;
        self.end_outage(now);
    }

    fn disconnected(&mut self, now: Instant, reason: &str, exit: Option<&Ending>) {
        if reason == "transport-exit" && exit.is_none() {
            self.exits.add("close");
        }
        match reason {
            "disabled" => self.reason = "enable",
            // It is not wanted until somebody asks for something.
            "idle-stop" => self.reason = "idle-stop",
            "shutdown" => self.reason = "next-client",
            _ => {
                self.reason = REASONS.iter().find(|known| **known == reason).copied().unwrap_or("other");
                self.down_since.get_or_insert(now);
            }
        }
    }

    fn end_outage(&mut self, now: Instant) {
        self.down = self.downtime(now);
        self.down_since = None;
    }

    /// How long a server that had been connected was not, though it was wanted: until now, if it still is not.
    #[must_use]
    pub fn downtime(&self, now: Instant) -> Duration {
        self.down + self.down_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// A link of the chain was asked. `silent` if a question of its got no answer in its time.
    pub fn probed(&mut self, name: &str, verdict: &str, silent: bool, elapsed: Duration) {
        if silent {
            self.timeouts.add("probe");
        }
        let known = self.probes.len() < MAX_PROBES || self.probes.contains_key(name);
        let fresh = || Probing { verdicts: Counts::new(&VERDICTS), durations: Histogram::default() };
        let probing = self.probes.entry(if known { name } else { "other" }.into()).or_insert_with(fresh);
        probing.verdicts.add(verdict);
        probing.durations.observe(elapsed);
    }

    /// A periodic check failed; `silent` if because the server said nothing.
    pub fn check_failed(&mut self, silent: bool) {
        self.health_failures += 1;
        if silent {
            self.timeouts.add("health");
        }
    }

    /// The links that were asked so far.
    pub fn probes(&self) -> impl Iterator<Item = (&str, &Probing)> {
        self.probes.iter().map(|(name, probing)| (&**name, probing))
    }

    pub(super) fn client_came(&mut self, now: Instant) {
        self.client_since = Some(now);
    }

    pub(super) fn client_left(&mut self, now: Instant) {
        self.end_outage(now);
        self.reason = "next-client";
        if let Some(since) = self.client_since.take() {
            self.connections.observe(now.saturating_duration_since(since));
        }
    }
}
