//! What operators may ask of a slot, and what they are told.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::config::{Server, hint};
use crate::core::catalog::ListKind;
use crate::core::refusal::Code;
use crate::core::slot::SlotSnapshot;
use crate::telemetry::plain;

/// How much of a server's last error is repeated in an answer, in characters.
const LONGEST_ERROR: usize = 200;

/// A command on its way to a slot's task. An answer whose asker has gone is dropped.
#[derive(Debug)]
pub enum Command {
    /// An attempt now, whatever the state: it resets the budget and joins an attempt that runs.
    Retry(oneshot::Sender<Result<Accepted, CommandError>>),
    /// Switch it on. Answered when that is decided.
    Enable(oneshot::Sender<()>),
    /// Switch it off. Answered when that is decided; its processes are gone when the state is `Disabled`.
    Disable(oneshot::Sender<()>),
    /// Run the probe chain once, or join the one that runs. Never restarts anything.
    Probe(oneshot::Sender<Result<ProbeReport, CommandError>>),
    /// The last lines of the stderr of its processes, oldest first.
    Logs(usize, oneshot::Sender<Vec<String>>),
    /// The lists of its server that the client has seen.
    Catalog(oneshot::Sender<Lists>),
    /// Nothing: an answer says that its task runs.
    Tick(oneshot::Sender<()>),
    /// Another configuration; `true` if its process has to be replaced for it.
    Configure(Arc<Server>, bool),
    /// A signal for the main process of its server, if that runs.
    Signal(i32),
    /// End it, as a signal of this number would.
    Shutdown(i32),
}

/// The lists that a client has seen, as they were said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lists {
    /// The server's generation at this moment.
    pub generation: u64,
    /// Whether the client is shown them although their process is gone.
    pub stale: bool,
    /// Each with the generation that said it, and its pages.
    pub lists: Vec<(ListKind, u64, Vec<Bytes>)>,
}

/// A retry that was taken up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Always true.
    pub accepted: bool,
    /// The server.
    pub server: String,
    /// Its state after the command; with `wait`, after that.
    pub state: String,
    /// The generation of the attempt, or of the process that makes room for it; with `wait`, the one that is connected.
    pub generation: u64,
    /// The attempt's place in its row, from 1.
    pub attempt: u32,
}

/// What a probe chain found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// When it ended, as RFC 3339.
    pub at: String,
    /// Why it ran: `tool_timeout`, `periodic` or `manual`.
    pub trigger: String,
    /// `alive`, `busy`, `dead` or `undecided`.
    pub verdict: String,
    /// What led to it, where it is not `alive`.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Its links, in the order in which they ran.
    pub links: Vec<LinkVerdict>,
}

/// What one link found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkVerdict {
    /// The link's name.
    pub name: String,
    /// `pass`, `busy`, `fail`, `inconclusive` or `unsupported`.
    pub verdict: String,
    /// The probe's reason, where it gave one.
    pub reason: Option<String>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether its probe counts as broken: it has failed to tell anything too often in a row, and is asked less often.
    pub broken: bool,
}

impl ProbeReport {
    /// Whether the server was found alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        matches!(self.verdict.as_str(), "alive" | "busy")
    }

    /// The form in which a moment is written.
    #[must_use]
    pub fn moment(time: SystemTime) -> String {
        crate::telemetry::timestamp(time)
    }
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is no such server.
    #[error("Server '{name}' not found{}", hint::among(.name, .known))]
    NotFound {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// It is switched off.
    #[error("server \"{0}\" is disabled: enable it first")]
    Disabled(String),
    /// It has to be connected for this.
    #[error("server \"{server}\" has no session to probe (state {state}): {remedy}")]
    NotConnected {
        /// The server.
        server: String,
        /// Its state.
        state: String,
        /// What helps.
        remedy: String,
    },
    /// What was waited for did not happen in time. The command itself was carried out.
    #[error("server \"{server}\" is still {state}{}", told(.last_error))]
    Timeout {
        /// The server.
        server: String,
        /// Its state.
        state: String,
        /// What went wrong last.
        last_error: Option<String>,
    },
    /// The slot ends.
    #[error("server \"{0}\" is shutting down")]
    Closing(String),
}

impl CommandError {
    /// Nothing can be asked of a server that looks like this, whose client has opened a session or not.
    #[must_use]
    pub fn not_connected(server: &str, now: &SlotSnapshot, opened: bool) -> Self {
        let state = if now.standby { "standby" } else { now.state };
        let remedy = match state {
            "Disabled" | "Disabling" => format!("`mcp-watchdog enable {server}` switches it on"),
            "standby" | "Connected" if !opened => {
                "no client has opened one yet; `mcp-watchdog probe -- COMMAND` is a client itself".to_owned()
            }
            "standby" => format!("`mcp-watchdog retry {server}` starts it, as the next request does"),
            "Connecting" if now.pid.is_some() => {
                format!("`mcp-watchdog status {server} --wait connected` waits until its client has opened one")
            }
            // It is lost, or was while it was asked.
            _ => format!("`mcp-watchdog retry {server} --wait 30s` brings it back, or says why it does not start"),
        };
        Self::NotConnected { server: server.to_owned(), state: state.to_owned(), remedy }
    }

    /// The code of the contract that says the same to a client.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::ServerNotFound,
            Self::Disabled(_) => Code::ServerDisabled,
            Self::NotConnected { .. } | Self::Closing(_) => Code::ServerDisconnected,
            Self::Timeout { .. } => Code::Reconnecting,
        }
    }
}

fn told(last_error: &Option<String>) -> String {
    last_error
        .as_ref()
        .map_or_else(String::new, |error| format!(" (last error: {})", plain::text(error, LONGEST_ERROR)))
}

#[cfg(test)]
mod tests;
