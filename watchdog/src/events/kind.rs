//! What can happen.

use serde_json::Value;

use super::{Level, Text};
use crate::config::hint;
use crate::core::ending::Ending;

/// What happened. The names of the variants are those of events.md in another spelling ([`EventKind::name`]); the
/// fields are those of its `data`. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields are the documented names of events.md; those that need words have them")]
pub enum EventKind {
    /// The program runs.
    WatchdogStarted { version: Text, pid: u32 },
    /// The program ends, with this exit code.
    WatchdogStopped { reason: Text, code: u8 },
    /// A client speaks: its `clientInfo`, and the protocol version it asked for.
    ClientConnected { client: Option<String>, client_version: Option<String>, protocol_version: Option<String> },
    /// The client closed its end.
    ClientDisconnected { reason: Text },
    /// The configuration was read again; the keys that changed.
    ConfigReloaded { changed: Vec<String> },
    /// The configuration on disk is wrong; the one in use stays.
    ConfigRejected { error: String },

    /// A server was added.
    ServerAdded,
    /// A server was removed.
    ServerRemoved,
    /// An attempt begins, the first is 1.
    ServerStarting { attempt: u32 },
    /// The first connection.
    ServerConnected { pid: Option<u32>, protocol_version: Option<String>, attempts_taken: u32, start_ms: u64 },
    /// A connection ended. `intentional`: the watchdog or an operator wanted it.
    ServerDisconnected { intentional: bool, reason: Text, exit: Option<Ending> },
    /// The next attempt is `next_retry_ms` away.
    ServerReconnecting {
        attempt: u32,
        next_retry_ms: u64,
        reason: Text,
        last_error: Option<String>,
        /// Events of this kind that were not emitted since the last one ([`super::Throttle`]).
        suppressed: u64,
        /// `restart.attempts_are_errors`: the level, and not part of the data.
        is_error: bool,
    },
    /// Connected again.
    ServerReconnected {
        capabilities: Value,
        capabilities_changed: bool,
        /// Of the handshake's result, before and now.
        old_hash: Option<String>,
        new_hash: Option<String>,
        attempts_taken: u32,
        down_ms: u64,
        /// What of the session did not come over: open requests, subscriptions that were refused.
        lost: Vec<Text>,
        /// What did: handshake, log level, subscriptions.
        preserved: Vec<Text>,
    },
    /// The budget of attempts is used up.
    ServerFailed { attempts: u32, last_error: Option<String>, exit: Option<Ending> },
    /// Who enabled it.
    ServerEnabled { by: Text },
    /// Who disabled it.
    ServerDisabled { by: Text },
    /// The process ended. The tail of its stderr goes along.
    ServerExited { pid: u32, exit: Ending, uptime_ms: u64, stderr_tail: Vec<String> },
    /// The watchdog killed it.
    ServerKilled {
        pid: Option<u32>,
        reason: Text,
        /// Whether nobody wanted that: the level, and not part of the data.
        is_warning: bool,
    },
    /// The watchdog is going to replace it between two calls, and the figures that made it decide so.
    ServerReplacementDue { reason: Text, detail: String },
    /// Nobody has needed it for so long: it is stopped until the next request.
    ServerIdle { idle_ms: u64 },
    /// The end of a server's process tree did not go well.
    CloseFailed { error: String, survivors: Vec<u32> },
    /// The probe failed, and the first attempt after it too; or an attempt failed.
    McpRestartFailed { attempt: u32, reason: Text, last_error: String, is_error: bool },
    /// Requests wait for a restart.
    McpRestartInProgress { held: u64 },
    /// The health check has failed so many times in a row.
    ServerHealthDegraded { consecutive_failures: u32, last_error: String },
    /// It passes again.
    ServerHealthRestored,

    /// A call is overdue: a suspicion.
    ToolTimeout { request_id: String, method: Text, tool: Option<String>, elapsed_ms: u64 },
    /// A probe chain starts, and why.
    ProbeStarted { reason: Text },
    /// A link found life.
    ProbePassed { probe: Text, elapsed_ms: u64 },
    /// A link found none.
    ProbeFailed { probe: Text, elapsed_ms: u64, error: String },
    /// No answer, but evidence of life.
    ProbeBusy { probe: Text, elapsed_ms: u64, evidence: Text },
    /// No link could tell: nothing is done.
    ProbeUndecided { reason: Text },
    /// The watchdog answered a request with its own error: the code's name and number.
    RequestFailed { request_id: String, method: Text, error: Text, code: i32, sent: bool },
    /// A list differs after a restart.
    CatalogChanged { list: Text, announced: bool },
    /// The new process does not speak what the session was opened with.
    HandshakeIncompatible { expected: String, found: String },
    /// The new process did not take over a part of the session: the method that was replayed.
    ReplayRefused { what: Text },
    /// Something of an older generation came late and was dropped.
    StaleResult { what: Text },
    /// The wall clock and the monotonic clock went apart: the machine slept.
    ClockJump { jump_ms: u64 },
    /// Lines on the server's stdout that are no messages.
    StrayStdout { lines: u64, bytes: u64 },

    /// A plugin was loaded.
    PluginLoaded { plugin: String },
    /// A plugin misbehaved.
    PluginError { plugin: String, error: String },
    /// Management tools were not shown to the client.
    InjectRefused { tool: String, reason: Text },
    /// A reader of events was too slow.
    EventsSuppressed { dropped: u64 },
}

/// The variants with their names in JSON, each once.
macro_rules! names {
    ($($variant:ident => $name:literal,)*) => {
        impl EventKind {
            /// The names of all kinds.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its name in JSON.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)*
                }
            }
        }
    };
}

names! {
    WatchdogStarted => "watchdog_started",
    WatchdogStopped => "watchdog_stopped",
    ClientConnected => "client_connected",
    ClientDisconnected => "client_disconnected",
    ConfigReloaded => "config_reloaded",
    ConfigRejected => "config_rejected",
    ServerAdded => "server_added",
    ServerRemoved => "server_removed",
    ServerStarting => "server_starting",
    ServerConnected => "server_connected",
    ServerDisconnected => "server_disconnected",
    ServerReconnecting => "server_reconnecting",
    ServerReconnected => "server_reconnected",
    ServerFailed => "server_failed",
    ServerEnabled => "server_enabled",
    ServerDisabled => "server_disabled",
    ServerExited => "server_exited",
    ServerKilled => "server_killed",
    ServerReplacementDue => "server_replacement_due",
    ServerIdle => "server_idle",
    CloseFailed => "close_failed",
    McpRestartFailed => "mcp_restart_failed",
    McpRestartInProgress => "mcp_restart_in_progress",
    ServerHealthDegraded => "server_health_degraded",
    ServerHealthRestored => "server_health_restored",
    ToolTimeout => "tool_timeout",
    ProbeStarted => "probe_started",
    ProbePassed => "probe_passed",
    ProbeFailed => "probe_failed",
    ProbeBusy => "probe_busy",
    ProbeUndecided => "probe_undecided",
    RequestFailed => "request_failed",
    CatalogChanged => "catalog_changed",
    HandshakeIncompatible => "handshake_incompatible",
    ReplayRefused => "replay_refused",
    StaleResult => "stale_result",
    ClockJump => "clock_jump",
    StrayStdout => "stray_stdout",
    PluginLoaded => "plugin_loaded",
    PluginError => "plugin_error",
    InjectRefused => "inject_refused",
    EventsSuppressed => "events_suppressed",
}

impl EventKind {
    /// How much it matters. The decision to restart and each failed attempt are errors (events.md, section 2) unless
    /// `restart.attempts_are_errors` is off.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::ConfigRejected { .. }
            | Self::ServerDisconnected { intentional: false, .. }
            | Self::ServerReconnecting { is_error: true, .. }
            | Self::McpRestartFailed { is_error: true, .. }
            | Self::ServerFailed { .. }
            | Self::HandshakeIncompatible { .. }
            | Self::PluginError { .. } => Level::Error,
            Self::ServerReconnecting { .. }
            | Self::McpRestartFailed { .. }
            | Self::ServerKilled { is_warning: true, .. }
            | Self::CloseFailed { .. }
            | Self::ServerHealthDegraded { .. }
            | Self::ToolTimeout { .. }
            | Self::ProbeFailed { .. }
            | Self::ProbeUndecided { .. }
            | Self::RequestFailed { .. }
            | Self::ReplayRefused { .. }
            | Self::StrayStdout { .. }
            | Self::InjectRefused { .. }
            | Self::EventsSuppressed { .. } => Level::Warn,
            Self::ProbeStarted { .. }
            | Self::ProbePassed { .. }
            | Self::StaleResult { .. }
            | Self::McpRestartInProgress { .. } => Level::Debug,
            _ => Level::Info,
        }
    }

    /// That each of these is the name of a kind: one that is not would be waited for in vain.
    ///
    /// # Errors
    /// With the first that is not, the nearest that is, and all of them.
    pub(crate) fn check_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
        let Some(wrong) = names.into_iter().find(|name| !Self::NAMES.contains(name)) else { return Ok(()) };
        Err(format!("there is no type of event {wrong:?}{}", hint::among(wrong, Self::NAMES)))
    }

    /// Whether the requirements want the generation in `data` too (S25, S27).
    pub(super) const fn carries_generation(&self) -> bool {
        matches!(self, Self::ServerDisconnected { .. } | Self::ServerReconnected { .. })
    }
}
