//! Events as lines for people.

use std::fmt::Display;
use std::time::Duration;

use super::EventKind;

impl EventKind {
    /// What happened in words, without the server's name.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::WatchdogStarted { version, pid } => format!("mcp-watchdog {version} started, pid {pid}"),
            Self::WatchdogStopped { reason, code } => format!("stopped with exit code {code}: {reason}"),
            Self::ClientConnected { client, client_version, protocol_version } => {
                let name = client.as_deref().unwrap_or("a client");
                let version = client_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
                format!("{name}{version} connected{}", after(", protocol ", protocol_version.as_ref()))
            }
            Self::ClientDisconnected { reason } => format!("client disconnected: {reason}"),
            Self::ConfigReloaded { changed } if changed.is_empty() => "configuration reloaded, nothing changed".into(),
            Self::ConfigReloaded { changed } => format!("configuration reloaded, changed: {}", changed.join(", ")),
            Self::ConfigRejected { error } => format!("configuration rejected, the old one stays: {error}"),
            Self::ServerAdded => "added".into(),
            Self::ServerRemoved => "removed".into(),
            Self::ServerStarting { attempt: 1 } => "starting".into(),
            Self::ServerStarting { attempt } => format!("starting, attempt {attempt}"),
            Self::ServerConnected { pid, start_ms, .. } => {
                format!("connected after {}{}", time(*start_ms), after(", pid ", pid.as_ref()))
            }
            Self::ServerDisconnected { intentional, reason, exit } => {
                let how = if *intentional { "disconnected" } else { "disconnected unexpectedly" };
                format!("{how}: {reason}{}", bracketed(exit.as_ref()))
            }
            Self::ServerReconnecting { attempt, next_retry_ms, reason, last_error, suppressed, .. } => {
                let when = if *next_retry_ms == 0 { "now".into() } else { format!("in {}", time(*next_retry_ms)) };
                let more =
                    if *suppressed == 0 { String::new() } else { format!(" ({suppressed} such events left out)") };
                format!("reconnecting, attempt {attempt} {when}: {reason}{}{more}", after("; ", last_error.as_ref()))
            }
            Self::ServerReconnected { attempts_taken, down_ms, capabilities_changed, lost, .. } => {
                let changed = if *capabilities_changed { ", with other capabilities" } else { "" };
                let lost = if lost.is_empty() { String::new() } else { format!(", lost: {}", lost.join(", ")) };
                let attempts = count(u64::from(*attempts_taken), "attempt", "attempts");
                format!("reconnected after {attempts}, down for {}{changed}{lost}", time(*down_ms))
            }
            Self::ServerFailed { attempts, last_error, exit } => {
                let attempts = count(u64::from(*attempts), "attempt", "attempts");
                // Most last errors are the exit, or tell of it.
                let told = |exit: &str| last_error.as_ref().is_some_and(|error| error.contains(exit));
                let exit = exit.map(|exit| exit.to_string()).filter(|exit| !told(exit));
                format!(
                    "failed for good after {attempts}{}{}",
                    after(": ", last_error.as_ref()),
                    bracketed(exit.as_ref())
                )
            }
            Self::ServerEnabled { by } => format!("enabled by {by}"),
            Self::ServerDisabled { by } => format!("disabled by {by}"),
            Self::ServerExited { pid, exit, uptime_ms, .. } => {
                format!("process {pid} ended after {}: {exit}", time(*uptime_ms))
            }
            Self::ServerReplacementDue { reason, detail } => {
                format!("to be replaced between calls: {reason}; {detail}")
            }
            Self::ServerIdle { idle_ms } => {
                format!("nobody has needed it for {}: stopping until the next request", time(*idle_ms))
            }
            Self::ServerKilled { pid, reason, .. } => format!("stopping{}: {reason}", after(" process ", pid.as_ref())),
            Self::CloseFailed { error, survivors } if survivors.is_empty() => format!("closing failed: {error}"),
            Self::CloseFailed { error, survivors } => {
                let pids: Vec<_> = survivors.iter().map(u32::to_string).collect();
                format!("closing failed: {error}; still alive: {}", pids.join(", "))
            }
            Self::McpRestartFailed { attempt, last_error, reason, .. } => {
                format!("attempt {attempt} failed: {last_error} (restart because of {reason})")
            }
            Self::McpRestartInProgress { held } => {
                format!("{} for the restart", count(*held, "request waits", "requests wait"))
            }
            Self::ServerHealthDegraded { consecutive_failures, last_error } => {
                format!(
                    "unhealthy, {} in a row: {last_error}",
                    count(u64::from(*consecutive_failures), "failed check", "failed checks")
                )
            }
            Self::ServerHealthRestored => "healthy again".into(),
            _ => self.call_text(),
        }
    }

    /// The same for what is about calls, probes and plugins.
    fn call_text(&self) -> String {
        match self {
            Self::ToolTimeout { method, tool, elapsed_ms, .. } => {
                format!("{method}{} has no answer after {}", after(" ", tool.as_ref()), time(*elapsed_ms))
            }
            Self::ProbeStarted { reason } => format!("probing: {reason}"),
            Self::ProbePassed { probe, elapsed_ms } => format!("alive: {probe} answered in {}", time(*elapsed_ms)),
            Self::ProbeFailed { probe, error, elapsed_ms } => {
                format!("probe {probe} failed after {}: {error}", time(*elapsed_ms))
            }
            Self::ProbeBusy { probe, evidence, .. } => format!("busy, not dead: {evidence} ({probe})"),
            Self::ProbeUndecided { reason } => format!("probing could not tell, nothing is done: {reason}"),
            Self::RequestFailed { method, error, code, sent, .. } => {
                let sent = if *sent { "sent" } else { "not sent" };
                format!("{method} answered with {error} ({code}, {sent} to a server)")
            }
            Self::CatalogChanged { list, announced: true } => format!("{list} changed, the client was told"),
            Self::CatalogChanged { list, announced: false } => format!("{list} changed"),
            Self::HandshakeIncompatible { expected, found } => {
                format!("the new process speaks {found}, the session was opened with {expected}")
            }
            Self::ReplayRefused { what } => {
                format!("the new process refused the replayed {what}: the session goes on without it")
            }
            Self::StaleResult { what } => format!("dropped something of an older process: {what}"),
            Self::ClockJump { jump_ms } => format!("the clock jumped by {}: the machine slept", time(*jump_ms)),
            Self::StrayStdout { lines, bytes } => {
                format!("{} on stdout, {bytes} bytes, not a message", count(*lines, "line", "lines"))
            }
            Self::PluginLoaded { plugin } => format!("plugin {plugin} loaded"),
            Self::PluginError { plugin, error } => format!("plugin {plugin}: {error}"),
            Self::InjectRefused { tool, reason } => format!("tool {tool} is not offered to the client: {reason}"),
            Self::EventsSuppressed { dropped } => {
                format!("{} dropped for a slow reader", count(*dropped, "event", "events"))
            }
            _ => self.name().replace('_', " "),
        }
    }
}

/// Milliseconds for people: `120ms`, `5s`, `1m 30s`; fractions of long times are left out.
fn time(milliseconds: u64) -> impl Display {
    let precise = if milliseconds < 10_000 { milliseconds } else { milliseconds / 1000 * 1000 };
    humantime::format_duration(Duration::from_millis(precise))
}

/// `prefix` and the value, or nothing.
fn after(prefix: &str, value: Option<impl Display>) -> String {
    value.map(|value| format!("{prefix}{value}")).unwrap_or_default()
}

/// ` (value)`, or nothing.
fn bracketed(value: Option<impl Display>) -> String {
    value.map(|value| format!(" ({value})")).unwrap_or_default()
}

/// `1 attempt`, `2 attempts`.
fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
