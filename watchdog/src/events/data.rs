//! `data` of each event, with the field names of events.md.

use serde_json::{Map, Value, json};

use super::EventKind;
use crate::core::ending::{Ending, signal_name};

impl EventKind {
    /// The event's own fields: always an object. Made when it is written, never where it happens.
    #[must_use]
    pub fn data(&self) -> Value {
        match self {
            Self::WatchdogStarted { version, pid } => json!({ "version": version, "pid": pid }),
            Self::WatchdogStopped { reason, code } => json!({ "reason": reason, "code": code }),
            Self::ClientConnected { client, client_version, protocol_version } => {
                json!({ "client": client, "clientVersion": client_version, "protocolVersion": protocol_version })
            }
            Self::ClientDisconnected { reason } | Self::ProbeStarted { reason } | Self::ProbeUndecided { reason } => {
                json!({ "reason": reason })
            }
            Self::ConfigReloaded { changed } => json!({ "changed": changed }),
            Self::ConfigRejected { error } => json!({ "error": error }),
            Self::ServerAdded | Self::ServerRemoved | Self::ServerHealthRestored => Value::Object(Map::new()),
            Self::ServerStarting { attempt } => json!({ "attempt": attempt }),
            Self::ServerConnected { pid, protocol_version, attempts_taken, start_ms } => json!({
                "pid": pid, "protocolVersion": protocol_version, "attemptsTaken": attempts_taken, "startMs": start_ms,
            }),
            Self::ServerDisconnected { intentional, reason, exit } => {
                json!({ "wasIntentional": intentional, "reason": reason, "exit": exit_json(exit.as_ref()) })
            }
            Self::ServerReconnecting { attempt, next_retry_ms, reason, last_error, suppressed, is_error: _ } => json!({
                "attempt": attempt, "nextRetryMs": next_retry_ms, "reason": reason, "lastError": last_error,
                "suppressed": suppressed,
            }),
            Self::ServerReconnected {
                capabilities,
                capabilities_changed,
                old_hash,
                new_hash,
                attempts_taken,
                down_ms,
                lost,
                preserved,
            } => json!({
                "capabilities": capabilities, "capabilitiesChanged": capabilities_changed, "oldHash": old_hash,
                "newHash": new_hash, "attemptsTaken": attempts_taken, "downMs": down_ms, "lost": lost,
                "preserved": preserved,
            }),
            Self::ServerFailed { attempts, last_error, exit } => {
                json!({ "attempts": attempts, "lastError": last_error, "exit": exit_json(exit.as_ref()) })
            }
            Self::ServerEnabled { by } | Self::ServerDisabled { by } => json!({ "by": by }),
            Self::ServerExited { pid, exit, uptime_ms, stderr_tail } => {
                let (code, signal) = match exit {
                    Ending::Code(code) => (Some(*code), None),
                    Ending::Signal(number) => (None, Some(signal_name(*number))),
                    Ending::OutOfMemory { .. } => (None, Some(signal_name(nix::libc::SIGKILL))),
                };
                json!({
                    "pid": pid, "code": code, "signal": signal, "uptimeMs": uptime_ms, "stderrTail": stderr_tail,
                    "outOfMemory": matches!(exit, Ending::OutOfMemory { .. }),
                })
            }
            Self::ServerKilled { pid, reason, is_warning: _ } => json!({ "pid": pid, "reason": reason }),
            Self::ServerReplacementDue { reason, detail } => json!({ "reason": reason, "detail": detail }),
            Self::ServerIdle { idle_ms } => json!({ "idleMs": idle_ms }),
            Self::CloseFailed { error, survivors } => json!({ "error": error, "survivors": survivors }),
            Self::McpRestartFailed { attempt, reason, last_error, is_error: _ } => {
                json!({ "attempt": attempt, "reason": reason, "lastError": last_error })
            }
            Self::McpRestartInProgress { held } => json!({ "held": held }),
            Self::ServerHealthDegraded { consecutive_failures, last_error } => {
                json!({ "consecutiveFailures": consecutive_failures, "lastError": last_error })
            }
            Self::ToolTimeout { request_id, method, tool, elapsed_ms } => {
                json!({ "requestId": request_id, "method": method, "tool": tool, "elapsedMs": elapsed_ms })
            }
            Self::ProbePassed { probe, elapsed_ms } => json!({ "probe": probe, "elapsedMs": elapsed_ms }),
            Self::ProbeFailed { probe, elapsed_ms, error } => {
                json!({ "probe": probe, "elapsedMs": elapsed_ms, "error": error })
            }
            Self::ProbeBusy { probe, elapsed_ms, evidence } => {
                json!({ "probe": probe, "elapsedMs": elapsed_ms, "evidence": evidence })
            }
            Self::RequestFailed { request_id, method, error, code, sent } => json!({
                "requestId": request_id, "method": method, "error": error, "code": code, "sent": sent,
            }),
            Self::CatalogChanged { list, announced } => json!({ "list": list, "announced": announced }),
            Self::HandshakeIncompatible { expected, found } => json!({ "expected": expected, "found": found }),
            Self::ReplayRefused { what } | Self::StaleResult { what } => json!({ "what": what }),
            Self::ClockJump { jump_ms } => json!({ "jumpMs": jump_ms }),
            Self::StrayStdout { lines, bytes } => json!({ "lines": lines, "bytes": bytes }),
            Self::PluginLoaded { plugin } => json!({ "plugin": plugin }),
            Self::PluginError { plugin, error } => json!({ "plugin": plugin, "error": error }),
            Self::InjectRefused { tool, reason } => json!({ "tool": tool, "reason": reason }),
            Self::EventsSuppressed { dropped } => json!({ "dropped": dropped }),
        }
    }
}

fn exit_json(exit: Option<&Ending>) -> Value {
    exit.map_or(Value::Null, |ending| ending.to_json())
}
