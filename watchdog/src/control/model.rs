//! The bodies of answers. Servers, probes and catalogs have theirs in [`crate::engine`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::ServerStatus;

/// All servers, in every state, in the order of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// None is left out.
    pub servers: Vec<ServerStatus>,
}

/// One server with what happened to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDetail {
    /// As in the list.
    #[serde(flatten)]
    pub status: ServerStatus,
    /// Its latest events, oldest first.
    pub history: Vec<EventRecord>,
}

/// An event, in the form of events.md, section 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// The version of this form: 1.
    pub v: u32,
    /// Unique; sorts by time.
    pub id: String,
    /// Counts the events of a process, from 1.
    pub seq: u64,
    /// RFC 3339.
    pub time: String,
    /// `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// What happened, such as `server_connected`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The process, as a URN.
    pub source: String,
    /// The server's name, as CloudEvents calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The server it is about; absent where it is about the watchdog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The server process it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Its own fields.
    pub data: Value,
}

/// The last lines of a server's stderr.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Logs {
    /// The server.
    pub server: String,
    /// Oldest first, made fit for a terminal.
    pub lines: Vec<String>,
}

/// The watchdog itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// `mcp-watchdog`.
    pub name: String,
    /// Of the program.
    pub version: String,
    /// Of the process.
    pub pid: u32,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How long ago that is.
    pub uptime_ms: u64,
    /// The configuration file, if there is one.
    pub config_file: Option<String>,
    /// The SHA-256 of that file as it is in use, as `sha256sum` prints it. A reload that was rejected leaves it as it was.
    pub config_sha256: Option<String>,
    /// The number of the latest event.
    pub sequence: u64,
    /// The types that links of a probe chain may have.
    pub probes: Vec<String>,
    /// What this build can do that not every build can: `plugins`.
    pub features: Vec<String>,
}

/// What a reload changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// In words; empty where nothing differs.
    pub changed: Vec<String>,
}

/// An order that is being carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Taken {
    /// Always true.
    pub accepted: bool,
}

/// Readiness in the words of document 001.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// `ready` or `degraded`.
    pub status: String,
    /// Clients that are there.
    pub active_connections: u64,
    /// Of the watchdog.
    pub uptime_secs: u64,
}
