//! Answers, and what the watchdog's own errors have to look like (contract.md, "Errors").

use std::time::Instant;

use serde_json::Value;

/// `data.code`, the JSON-RPC code, and whether the request may be sent again; for `server_disconnected` the method
/// decides that.
const CODES: [(&str, i64, Option<bool>); 10] = [
    ("server_disconnected", -31000, None),
    ("request_timeout", -31001, Some(false)),
    ("mcp_restart_in_progress", -31002, Some(true)),
    ("mcp_restart_failed", -31003, Some(true)),
    ("server_disabled", -31004, Some(false)),
    ("server_permanently_failed", -31005, Some(true)),
    ("server_reconnecting", -31006, Some(true)),
    ("overloaded", -31007, Some(true)),
    ("message_too_large", -31008, Some(false)),
    ("server_not_found", -31009, Some(false)),
];

/// What `data` always holds.
const DATA: [&str; 9] = ["source", "code", "server", "state", "status", "generation", "sent", "retryable", "reason"];

/// Words in a message that some client acts upon.
const FORBIDDEN: [&str; 6] = ["onnection closed", "ession not found", "ECONN", "EPIPE", "ETIMEDOUT", "timed out after"];

/// The methods that may be sent twice, besides every list.
pub const READ_ONLY: [&str; 5] = ["ping", "server/discover", "resources/read", "prompts/get", "completion/complete"];

/// Whether a method only reads by definition.
#[must_use]
pub fn is_read_only(method: &str) -> bool {
    READ_ONLY.contains(&method) || method.ends_with("/list")
}

/// A response that the client got.
#[derive(Debug, Clone)]
pub struct Answer {
    /// When its line was read.
    pub at: Instant,
    /// The method of the request.
    pub method: String,
    /// All of it.
    pub value: Value,
}

impl Answer {
    /// Its `result`.
    ///
    /// # Panics
    /// When it is an error.
    #[must_use]
    #[track_caller]
    pub fn result(&self) -> &Value {
        self.value.get("result").unwrap_or_else(|| panic!("expected a result, got {}", self.value))
    }

    /// The text of a tool's result.
    ///
    /// # Panics
    /// When it is an error, or not a tool's result.
    #[must_use]
    #[track_caller]
    pub fn text(&self) -> &str {
        let text = self.result()["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("expected a tool's text, got {}", self.value))
    }

    /// Its `error`.
    ///
    /// # Panics
    /// When it is a result.
    #[must_use]
    #[track_caller]
    pub fn error(&self) -> &Value {
        self.value.get("error").unwrap_or_else(|| panic!("expected an error, got {}", self.value))
    }

    /// The `data` of an error of the watchdog's own, of this `data.code`.
    ///
    /// # Panics
    /// When it is something else, or not as the contract says.
    #[track_caller]
    pub fn own_error(&self, code: &str) -> Value {
        let data = self.error()["data"].clone();
        assert_eq!(data["code"], code, "another error than expected: {}", self.value);
        if let Err(why) = self.check_own_error() {
            panic!("{why}: {}", self.value);
        }
        data
    }

    /// Whether the error, which is not the server's, is as the contract says.
    pub(crate) fn check_own_error(&self) -> Result<(), String> {
        check_own_error(&self.method, &self.value["error"])
    }
}

/// Whether the `error` of an answer to this method, which no server wrote, is as the contract says.
///
/// # Errors
/// What is wrong with it.
pub fn check_own_error(method: &str, error: &Value) -> Result<(), String> {
    let data = &error["data"];
    let code = data["code"].as_str().unwrap_or_default();
    let Some((_, number, retryable)) = CODES.iter().find(|(name, ..)| *name == code) else {
        return Err(format!("data.code {} is not in the contract", data["code"]));
    };
    let message = error["message"].as_str().unwrap_or_default();
    let retryable = retryable.unwrap_or_else(|| is_read_only(method));
    let faults = [
        (error["code"] != *number, "the number is not that of data.code"),
        (data["source"] != "mcp-watchdog", "data.source is not mcp-watchdog"),
        (DATA.iter().any(|key| data.get(key).is_none()), "data lacks a key"),
        (message.is_empty(), "there is no message"),
        (FORBIDDEN.iter().any(|words| message.contains(words)), "some client acts upon the message"),
        (!data["sent"].is_boolean(), "data.sent is not a boolean"),
        (data["retryable"] != retryable, "data.retryable is wrong"),
        (data["stderrTail"].as_array().is_some_and(|tail| tail.len() > 10), "data.stderrTail is too long"),
    ];
    match faults.iter().find(|(broken, _)| *broken) {
        Some((_, why)) => Err((*why).to_owned()),
        None => Ok(()),
    }
}
