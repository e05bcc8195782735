//! The errors that the watchdog itself answers with (contract.md). Their codes lie outside the range that MCP reserves,
//! and their texts avoid the phrases that clients act on.

use serde_json::{Map, Value, json};

use super::ending::Ending;

/// The errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Written to a server that then died; the outcome is unknown.
    ServerDisconnected,
    /// The deadline passed, or the call hung and the server was replaced.
    RequestTimeout,
    /// Held for too long while the server restarts.
    RestartInProgress,
    /// The probe failed, and the first restart attempt failed too.
    RestartFailed,
    /// Switched off.
    ServerDisabled,
    /// The budget is used up, and the attempt that this request caused failed.
    PermanentlyFailed,
    /// The attempt that this request caused or waited for failed; more are scheduled.
    Reconnecting,
    /// The hold queue is full.
    Overloaded,
    /// A line longer than the limit.
    MessageTooLarge,
    /// No such server.
    ServerNotFound,
}

impl Code {
    /// The JSON-RPC error code.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::ServerDisconnected => -31000,
            Self::RequestTimeout => -31001,
            Self::RestartInProgress => -31002,
            Self::RestartFailed => -31003,
            Self::ServerDisabled => -31004,
            Self::PermanentlyFailed => -31005,
            Self::Reconnecting => -31006,
            Self::Overloaded => -31007,
            Self::MessageTooLarge => -31008,
            Self::ServerNotFound => -31009,
        }
    }

    /// `data.code`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerDisconnected => "server_disconnected",
            Self::RequestTimeout => "request_timeout",
            Self::RestartInProgress => "mcp_restart_in_progress",
            Self::RestartFailed => "mcp_restart_failed",
            Self::ServerDisabled => "server_disabled",
            Self::PermanentlyFailed => "server_permanently_failed",
            Self::Reconnecting => "server_reconnecting",
            Self::Overloaded => "overloaded",
            Self::MessageTooLarge => "message_too_large",
            Self::ServerNotFound => "server_not_found",
        }
    }

    /// Whether asking again can help. A lost request may be asked again only if it changes nothing.
    #[must_use]
    pub const fn retryable(self, read_only: bool) -> bool {
        match self {
            Self::ServerDisconnected => read_only,
            Self::RestartInProgress
            | Self::RestartFailed
            | Self::PermanentlyFailed
            | Self::Reconnecting
            | Self::Overloaded => true,
            Self::RequestTimeout | Self::ServerDisabled | Self::MessageTooLarge | Self::ServerNotFound => false,
        }
    }
}

/// The slot as an error describes it.
#[derive(Debug, Clone, Default)]
pub struct Circumstances<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The slot's state.
    pub state: &'static str,
    /// The same in the vocabulary of document 003.
    pub status: &'static str,
    /// The generation.
    pub generation: u64,
    /// Attempts of the present row.
    pub last_attempt: u32,
    /// Their limit.
    pub max_attempts: Option<u32>,
    /// Until the next attempt.
    pub next_retry_ms: Option<u64>,
    /// What went wrong last.
    pub last_error: Option<&'a str>,
    /// How the last process ended.
    pub ending: Option<Ending>,
    /// The last lines of its stderr, which may be left out.
    pub stderr_tail: &'a [String],
}

/// One refusal.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Which error.
    pub code: Code,
    /// `data.reason`: why, as one of the words of the lifecycle.
    pub reason: &'static str,
    /// One sentence for whoever asked.
    pub message: String,
    /// Whether the request's bytes were written to a server.
    pub sent: bool,
    /// Whether its method is read-only by definition.
    pub read_only: bool,
    /// Whether the server was replaced meanwhile and serves again.
    pub restarted: Option<bool>,
}

impl Refusal {
    /// The `data` member.
    #[must_use]
    pub fn data(&self, slot: &Circumstances<'_>) -> Value {
        let mut data = Map::new();
        let mut put = |key: &str, value: Value| {
            data.insert(key.to_owned(), value);
        };
        put("source", json!("mcp-watchdog"));
        put("code", json!(self.code.name()));
        put("server", json!(slot.server));
        put("state", json!(slot.state));
        put("status", json!(slot.status));
        put("generation", json!(slot.generation));
        put("sent", json!(self.sent));
        put("retryable", json!(self.code.retryable(self.read_only)));
        put("reason", json!(self.reason));
        if slot.last_attempt > 0 {
            put("lastAttempt", json!(slot.last_attempt));
        }
        if let Some(max) = slot.max_attempts {
            put("maxAttempts", json!(max));
        }
        if let Some(ms) = slot.next_retry_ms {
            put("nextRetryMs", json!(ms));
        }
        if let Some(error) = slot.last_error {
            put("lastError", json!(error));
        }
        if let Some(ending) = slot.ending {
            put("exit", ending.to_json());
        }
        if !slot.stderr_tail.is_empty() {
            put("stderrTail", json!(slot.stderr_tail));
        }
        if let Some(restarted) = self.restarted {
            put("restarted", json!(restarted));
        }
        Value::Object(data)
    }

    /// The whole as a tool result with `isError`, which hosts show to the model.
    #[must_use]
    pub fn tool_result(&self, slot: &Circumstances<'_>, stateless: bool) -> Value {
        let text = json!({
            "error": self.message,
            "status": slot.status,
            "lastAttempt": slot.last_attempt,
            "nextRetryMs": slot.next_retry_ms,
            "lastError": slot.last_error,
        });
        let mut result = json!({
            "content": [{"type": "text", "text": text.to_string()}],
            "isError": true,
            "_meta": {"mcp-watchdog/error": {"code": self.code.number(), "data": self.data(slot)}},
        });
        if stateless {
            result["resultType"] = json!("complete");
        }
        result
    }
}

#[cfg(test)]
mod tests;
