//! What the tools are carried out on.

use std::time::Duration;

use async_trait::async_trait;

use super::activity::{Cursor, Listener};
use super::model::Server;
use crate::core::refusal::Code;
use crate::engine::{Accepted, CommandError, RetriedAll, Which};

/// A server, as a caller names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The process of its watchdog, which is needed only where several have a server of this name.
    pub watchdog: Option<u32>,
}

/// Every server that there is.
#[derive(Debug, Default)]
pub struct Found {
    /// In a stable order.
    pub servers: Vec<Server>,
    /// Watchdogs that run and did not answer.
    pub problems: Vec<String>,
}

/// What became of a retry of several.
#[derive(Debug, Default)]
pub struct RetriedMany {
    /// What each watchdog did, with its process.
    pub each: Vec<(u32, RetriedAll)>,
    /// Watchdogs that run and did not answer.
    pub problems: Vec<String>,
}

/// Servers that can be looked at and steered: those of this process, or those of all watchdogs that run.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// All servers.
    async fn servers(&self) -> Result<Found, Failure>;

    /// One server.
    async fn server(&self, target: &Target) -> Result<Server, Failure>;

    /// An attempt now; with `wait`, until the server is connected. Names the process of its watchdog.
    async fn retry(&self, target: &Target, wait: Option<Duration>) -> Result<(u32, Accepted), Failure>;

    /// An attempt now of all that are meant.
    async fn retry_all(&self, which: Which) -> Result<RetriedMany, Failure>;

    /// Switches a server on or off.
    async fn switch(&self, target: &Target, on: bool) -> Result<Server, Failure>;

    /// Events from now on, or those after `cursor` where it says how far a watchdog's were heard.
    async fn listen(&self, cursor: &Cursor) -> Result<Listener, Failure>;
}

/// Why a tool did not do what it should, for the model that called it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// For programs: a code of the contract where one fits.
    pub code: &'static str,
    /// What is wrong with what, and what helps.
    pub message: String,
}

impl Failure {
    /// A failure.
    #[must_use]
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// One of the codes of the contract, with the tool that helps.
    #[must_use]
    pub fn of(code: Code, message: &str) -> Self {
        let remedy = match code {
            Code::ServerNotFound => "list_servers shows where they run",
            Code::ServerDisabled => {
                "an operator does that with `mcp-watchdog enable`, or enable_server where it is offered"
            }
            Code::Reconnecting => "the attempts go on; get_server_status tells what is wrong (lastError, lastExit)",
            _ => return Self::new(code.name(), message),
        };
        Self::new(code.name(), format!("{message}; {remedy}"))
    }

    /// What was asked makes no sense.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_arguments", message)
    }

    pub(super) fn cancelled() -> Self {
        Self::new("cancelled", "the call was cancelled; what it had begun goes on")
    }

    pub(super) fn closing() -> Self {
        Self::new("closing", "the watchdog is shutting down")
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self::of(error.code(), &error.to_string())
    }
}
