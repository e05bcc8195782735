//! What the tools take and give. Names of arguments are those of control-plane.md; results are in the spelling of the HTTP API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::backend::Target;
use crate::control::model::EventRecord;
use crate::engine::{ServerStatus, Skipped, Which};

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// A server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    /// The server's name, as list_servers shows it.
    name: String,
    /// `watchdog` of list_servers; needed only where several watchdogs have a server of this name.
    #[serde(default)]
    watchdog: Option<u32>,
}

/// A server that is to be tried again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Retry {
    /// The server's name, as list_servers shows it.
    name: String,
    /// `watchdog` of list_servers; needed only where several watchdogs have a server of this name.
    #[serde(default)]
    watchdog: Option<u32>,
    /// Wait so many milliseconds for the server to be connected. Keep it below your own limit for a call.
    #[serde(default)]
    #[schemars(range(max = 600_000))]
    pub(super) wait_ms: Option<u64>,
}

/// All servers that are to be tried again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryAll {
    /// `failed`: those that have failed for good. `any`: every one that is enabled; those that are connected are replaced.
    #[serde(default)]
    pub(super) state: Which,
}

/// What is waited for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Await {
    /// How many milliseconds to wait; 30000 where it is left out. Keep it below your own limit for a call.
    #[serde(default)]
    #[schemars(range(max = 600_000))]
    pub(super) timeout_ms: Option<u64>,
    /// Only events of these types, such as server_connected, server_disconnected, server_reconnecting, server_reconnected,
    /// server_failed, server_health_degraded or tool_timeout. All where it is left out or empty.
    #[serde(default)]
    pub(super) types: Option<Vec<String>>,
    /// `cursor` of an earlier result: nothing that happened since then is missed.
    #[serde(default)]
    pub(super) cursor: Option<String>,
}

impl From<Named> for Target {
    fn from(named: Named) -> Self {
        Self { name: named.name, watchdog: named.watchdog }
    }
}

impl Retry {
    pub(super) fn target(&self) -> Target {
        Target { name: self.name.clone(), watchdog: self.watchdog }
    }
}

/// A server, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Server {
    /// The process of its watchdog.
    pub watchdog: u32,
    /// The rest.
    #[serde(flatten)]
    pub status: ServerStatus,
}

/// All servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Servers {
    /// In every state; none is left out.
    pub(super) servers: Vec<Server>,
    /// Watchdogs that run and did not answer.
    pub(super) problems: Vec<String>,
}

/// A retry that was taken up.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Retried {
    /// Always true: what went wrong is an error.
    pub(super) success: bool,
    /// The server.
    pub(super) server: String,
    /// The process of its watchdog.
    pub(super) watchdog: u32,
    /// `connected`, `connecting`, `retrying`, `disconnected` or `failed`: as it is now.
    pub(super) status: String,
    /// The same in the watchdog's own words.
    pub(super) state: String,
    /// Counts its processes.
    pub(super) generation: u64,
    /// The attempt's place in its row, from 1.
    pub(super) attempt: u32,
}

/// What became of a retry of several servers.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RetriedServers {
    /// Those that are tried now.
    pub(super) accepted: Vec<Tried>,
    /// Those that are not.
    pub(super) skipped: Vec<Left>,
    /// Watchdogs that run and did not answer.
    pub(super) problems: Vec<String>,
}

/// A server that is tried now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Tried {
    /// The process of its watchdog.
    pub(super) watchdog: u32,
    /// The server.
    pub(super) server: String,
    /// Its state after the command.
    pub(super) state: String,
    /// Counts its processes.
    pub(super) generation: u64,
    /// The attempt's place in its row, from 1.
    pub(super) attempt: u32,
}

/// A server that was left alone.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Left {
    /// The process of its watchdog.
    pub(super) watchdog: u32,
    /// Which, and why.
    #[serde(flatten)]
    pub(super) skipped: Skipped,
}

/// What has happened.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Activity {
    /// Oldest first; empty where nothing happened in time.
    pub(super) events: Vec<Happened>,
    /// For the next call.
    pub(super) cursor: String,
    /// Whether the time ran out before anything that was waited for.
    pub(super) timed_out: bool,
    /// Whether something happened that cannot be told any more: list_servers shows how things are.
    pub(super) missed: bool,
}

/// An event, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Happened {
    /// The process of its watchdog.
    pub(super) watchdog: u32,
    /// The rest.
    #[serde(flatten)]
    pub(super) event: EventRecord,
}
