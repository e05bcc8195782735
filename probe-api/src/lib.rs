//! The contract between `mcp-watchdog` and a health probe.
//!
//! A probe answers one question: is this MCP server alive? It is asked when a call is overdue, periodically, or by an
//! operator, and it may send requests to the supervised server through its [`Context`]. The same [`Probe`] trait is
//! implemented by the built-in probes and by everything that users add: [`declare_probe!`] makes a plugin of one.

use std::time::Duration;

pub use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
// A plugin needs no other crate: `#[derive(probe_api::serde::Deserialize)] #[serde(crate = "probe_api::serde")]`.
pub use {serde, serde_json};

pub mod abi;
pub mod options;
pub mod plugin;
pub mod testing;

/// Is the server alive? Implemented by built-in probes and by plugins alike.
///
/// A check is raced against its deadline and dropped when that passes, so it must hold nothing across an await that
/// needs an orderly end.
#[async_trait]
pub trait Probe: Send + 'static {
    /// Examines the server once. One instance is never asked twice at the same time.
    async fn check(&mut self, cx: &dyn Context) -> Verdict;
}

/// What the registry needs to make a probe from a line of configuration.
pub trait ProbeKind: Probe + Sized {
    /// The word that stands behind `type:` in a chain.
    const NAME: &'static str;
    /// The link's options; use `deny_unknown_fields`, so that a typo is an error.
    type Config: DeserializeOwned;
    /// A JSON Schema of [`Config`](Self::Config), which `mcp-watchdog plugins check` shows; empty where there is none.
    const CONFIG_SCHEMA: &'static str = "";
    /// Makes a probe.
    ///
    /// # Errors
    /// When the options are well formed but cannot work.
    fn new(config: Self::Config) -> Result<Self, ConfigError>;
}

/// What a probe may ask of the watchdog while it runs.
#[async_trait]
pub trait Context: Send + Sync {
    /// The server as it was when the check began.
    fn snapshot(&self) -> &Snapshot;
    /// How long this check may still take.
    fn remaining(&self) -> Duration;
    /// Sends one JSON-RPC request to the supervised server under an id that no client uses, and waits for its answer
    /// for at most `limit`, or until the check's own deadline. `params` of `Value::Null` are left out.
    ///
    /// # Errors
    /// When no answer came; see [`CallError`].
    async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Reply, CallError>;
    /// The server's processes as they are now. Where the host cannot look again, as a plugin's cannot, they are those of the
    /// [snapshot](Self::snapshot).
    fn process(&self) -> ProcessFacts {
        self.snapshot().process.clone()
    }
}

/// The server's answer to a [`Context::call`]. Both forms prove that it is alive.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The `result` member.
    Result(Value),
    /// The `error` member, with its `code` and `message`.
    Error(Value),
}

impl Reply {
    /// The JSON-RPC error code, where the server answered with an error that has one.
    #[must_use]
    pub fn error_code(&self) -> Option<i64> {
        match self {
            Self::Result(_) => None,
            Self::Error(error) => error.get("code").and_then(Value::as_i64),
        }
    }
}

/// Why a [`Context::call`] has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The server did not answer in time.
    Timeout,
    /// The check itself was ended.
    Cancelled,
    /// The server is gone.
    Gone,
    /// The method may not be called by a probe, or not in the session's present phase.
    Invalid,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no answer in time",
            Self::Cancelled => "the check was ended",
            Self::Gone => "the server is gone",
            Self::Invalid => "not allowed for a probe here",
        })
    }
}

impl std::error::Error for CallError {}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Verdict {
    /// The server is well.
    Pass,
    /// The server is alive but occupied; the reason says with what.
    Busy(String),
    /// The server is not well.
    Fail(String),
    /// The probe could not tell; this never counts against the server.
    Inconclusive(String),
    /// This server or session does not have what the probe asks for.
    Unsupported,
}

/// The two families of MCP revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: a session begins with `initialize`.
    Handshake,
    /// 2026-07-28 and later: every request carries its own `_meta`.
    Stateless,
}

/// Why a probe runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trigger {
    /// A call of the client is overdue.
    ToolTimeout,
    /// The health interval has passed.
    Periodic,
    /// An operator asked.
    Manual,
    /// A reason that only newer watchdogs have.
    #[default]
    #[serde(other)]
    Other,
}

/// The server as it was when a check began.
///
/// A plugin reads it as its own version of this crate knows it: what a newer watchdog adds is passed over, and what it does not
/// tell is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The server's name.
    pub server: String,
    /// Counts the server processes of this slot, from 1.
    pub generation: u64,
    /// The process that was started as COMMAND.
    pub pid: Option<u32>,
    /// How the client opened the session.
    #[serde(deserialize_with = "if_known")]
    pub era: Option<Era>,
    /// The protocol version that the client used last.
    pub protocol_version: Option<String>,
    /// Why the check runs.
    pub trigger: Trigger,
    /// Requests of the client that the server has not answered yet.
    pub in_flight: usize,
    /// Milliseconds since the server wrote its last byte.
    pub last_byte_ms_ago: Option<u64>,
    /// Milliseconds since the server was started.
    pub since_start_ms: u64,
    /// The server's processes.
    pub process: ProcessFacts,
}

impl Snapshot {
    /// A snapshot with nothing known but the name; for tests and for hosts that fill in the rest.
    #[must_use]
    pub fn new(server: impl Into<String>, generation: u64, trigger: Trigger) -> Self {
        Self { server: server.into(), generation, trigger, ..Self::default() }
    }
}

/// A value of an enumeration that may have grown since this crate was built: what it does not know is `None`.
fn if_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(deserializer).map(|value| serde_json::from_value(value).ok())
}

/// What the operating system tells of a server's processes at one moment. What it does not tell is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ProcessFacts {
    /// What the process that was started as COMMAND is doing.
    #[serde(deserialize_with = "if_known")]
    pub state: Option<ProcessState>,
    /// Everything alive in its process tree, itself included.
    pub pids: Vec<u32>,
    /// Processor time that the tree has used since it was started, in milliseconds.
    pub cpu_ms: Option<u64>,
    /// Resident memory of the tree, in bytes; what its processes share counts once for each.
    pub resident_bytes: Option<u64>,
}

/// What a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ProcessState {
    /// It computes, or could.
    Running,
    /// It waits for something.
    Sleeping,
    /// It waits for a device and cannot be interrupted.
    Blocked,
    /// It was stopped by a signal or a debugger, and does nothing until it is continued.
    Stopped,
    /// It has ended.
    Dead,
}

/// A probe's options cannot work; the text says which, and what would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub String);

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
