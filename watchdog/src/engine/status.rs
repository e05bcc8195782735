//! A server as the control plane shows it: `ServerStatus` of control-plane.md, section 2.
//!
//! Documents 000 and 003 name some things twice. Primary are `state`, `status`, `retryCount`, `maxRetries`, `lastError`,
//! `nextRetryMs`; `id`, `reconnectAttempt` and `errorMessage` repeat `name`, `retryCount` and `lastError`.

use std::time::{Instant, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::ProbeReport;
use super::handle::Published;
use super::meter::Meter;
use crate::core::ending::{Ending, signal_name};
use crate::telemetry::timestamp;

/// One server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names of control-plane.md; those that need words have them")]
pub struct ServerStatus {
    pub id: String,
    pub name: String,
    /// `Disabled`, `Connecting`, `Connected`, `Reconnecting`, `Disabling`, `Disconnected` or `PermanentlyFailed`.
    pub state: String,
    /// `connected`, `connecting`, `retrying`, `disconnected` or `failed`.
    pub status: String,
    /// Whether its processes are still going away after an intentional end.
    pub closing: bool,
    pub connected: bool,
    pub enabled: bool,
    /// Whether no process is wanted now and the next request starts one: not started yet, or stopped when it was idle.
    pub standby: bool,
    /// `stdio`.
    pub transport: String,
    /// The program, without its arguments: those may hold secrets.
    pub command: String,
    /// Counts its processes; 0 before the first.
    pub generation: u64,
    pub pid: Option<u32>,
    /// RFC 3339.
    pub connected_at: Option<String>,
    /// Since `connectedAt`.
    pub uptime_ms: Option<u64>,
    /// Attempts of the present row.
    pub retry_count: u32,
    /// `null` is unlimited.
    pub max_retries: Option<u32>,
    /// RFC 3339.
    pub last_retry_time: Option<String>,
    /// RFC 3339.
    pub next_retry_time: Option<String>,
    pub next_retry_ms: Option<u64>,
    pub reconnect_attempt: Option<u32>,
    /// Why it is being brought back.
    pub reason: Option<String>,
    /// Why it will be replaced as soon as nothing is in flight.
    pub replacement_due: Option<String>,
    pub error_message: Option<String>,
    /// What went wrong last; kept after a reconnection.
    pub last_error: Option<String>,
    pub last_exit: Option<LastExit>,
    /// `healthy` or `degraded`; `null` while not connected.
    pub health_status: Option<String>,
    pub consecutive_health_failures: u32,
    /// Whether a probe chain runs now.
    pub probing: bool,
    pub last_probe: Option<ProbeReport>,
    /// Process trees that could not be ended in full.
    pub close_failures: u32,
    /// What holds its processes together: `guard` or `cgroup`; `null` before the first start.
    pub isolation: Option<String>,
    /// What of `isolation` and `limits` was asked for and is not in force here, why, and what would help.
    pub isolation_shortfall: Option<String>,
    /// The generation whose lists the client has seen last; `null` before the first.
    pub published_generation: Option<u64>,
    /// Whether the client is shown the lists of an older generation.
    pub catalog_stale: bool,
    pub in_flight: u64,
    pub held: u64,
    pub clients: u64,
    pub stats: Stats,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "as in the contract")]
pub struct LastExit {
    pub code: Option<i32>,
    /// Its name, such as `SIGKILL`.
    pub signal: Option<String>,
    /// Whether the kernel killed it for want of memory.
    #[serde(default, rename = "outOfMemory")]
    pub out_of_memory: bool,
}

/// Totals since the watchdog began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names of control-plane.md")]
pub struct Stats {
    pub restarts: u64,
    pub timeouts: u64,
    pub stale: u64,
}

/// What does not change with the state.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// Its name.
    pub name: &'a str,
    /// The program.
    pub command: &'a str,
}

impl ServerStatus {
    /// Renders a picture at a moment, given by both clocks.
    #[must_use]
    pub fn render(
        identity: Identity<'_>,
        published: &Published,
        meter: &Meter,
        now: Instant,
        wall: SystemTime,
    ) -> Self {
        let Published { slot, last_probe, fence } = published;
        let past = |at: Instant| timestamp(wall - now.saturating_duration_since(at));
        let future = |at: Instant| timestamp(wall + at.saturating_duration_since(now));
        let connected = slot.status == "connected";
        let health = if slot.degraded { "degraded" } else { "healthy" };
        // Let go at once: the totals look at the tally too.
        let published_generation = Some(meter.tally().catalog_generation).filter(|generation| *generation > 0);
        Self {
            id: identity.name.to_owned(),
            name: identity.name.to_owned(),
            state: slot.state.to_owned(),
            status: slot.status.to_owned(),
            closing: slot.closing,
            connected,
            enabled: slot.enabled,
            standby: slot.standby,
            transport: "stdio".to_owned(),
            command: identity.command.to_owned(),
            generation: slot.generation,
            pid: slot.pid,
            connected_at: slot.connected_at.map(past),
            uptime_ms: slot.connected_at.map(|at| millis(now.saturating_duration_since(at))),
            retry_count: slot.attempts,
            max_retries: slot.max_attempts,
            last_retry_time: slot.last_attempt.map(past),
            next_retry_time: slot.next_attempt.map(future),
            next_retry_ms: slot.next_attempt.map(|at| millis(at.saturating_duration_since(now))),
            reconnect_attempt: (!connected && slot.attempts > 0).then_some(slot.attempts),
            reason: slot.reason.map(str::to_owned),
            replacement_due: slot.replacement_due.map(str::to_owned),
            error_message: slot.last_error.clone(),
            last_error: slot.last_error.clone(),
            last_exit: slot.last_exit.map(LastExit::of),
            health_status: connected.then(|| health.to_owned()),
            consecutive_health_failures: slot.health_failures,
            probing: slot.probing,
            last_probe: last_probe.clone(),
            close_failures: slot.close_failures,
            isolation: fence.as_ref().map(|fence| fence.isolation.name().to_owned()),
            isolation_shortfall: fence.as_ref().and_then(|fence| fence.shortfall.clone()),
            published_generation,
            catalog_stale: slot.catalog_stale,
            in_flight: meter.in_flight.get(),
            held: meter.held.get(),
            clients: meter.clients.get(),
            stats: Stats::of(meter),
        }
    }
}

impl Stats {
    fn of(meter: &Meter) -> Self {
        let tally = meter.tally();
        Self { restarts: tally.restarts.total(), timeouts: tally.timeouts.get("tool"), stale: tally.stale.total() }
    }
}

impl LastExit {
    fn of(ending: Ending) -> Self {
        match ending {
            Ending::Code(code) => Self { code: Some(code), signal: None, out_of_memory: false },
            Ending::Signal(number) => Self { code: None, signal: Some(signal_name(number)), out_of_memory: false },
            Ending::OutOfMemory { .. } => {
                Self { code: None, signal: Some(signal_name(nix::libc::SIGKILL)), out_of_memory: true }
            }
        }
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::EventKind;

    #[test]
    fn what_came_too_late_is_counted_whoever_noticed_it() {
        let meter = Meter::default();
        for what in ["server-answer", "progress", "exit", "process"] {
            meter.tally().event(Instant::now(), 1, &EventKind::StaleResult { what: what.into() });
        }
        assert_eq!(Stats::of(&meter), Stats { restarts: 0, timeouts: 0, stale: 4 });
    }
}
