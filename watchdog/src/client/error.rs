//! What can go wrong between an operator and a watchdog, in words that name the remedy.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use probe_api::options::Span;
use thiserror::Error;

use super::Endpoint;
use crate::config::hint;
use crate::exit::Exit;

/// Why an operator's command came to nothing.
#[derive(Debug, Error)]
pub enum ClientError {
    /// There is nobody in the runtime folders.
    #[error("{}", none_found(.looked, .problems))]
    NoneFound {
        /// The folders.
        looked: Vec<PathBuf>,
        /// What could not be looked at, and why.
        problems: Vec<String>,
    },
    /// Watchdogs run, but none has this server.
    #[error("no running watchdog has a server \"{name}\"{}{}", hint::among(.name, .known), Below(.problems))]
    NoServer {
        /// The name that was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
        /// Who did not answer, and may have it.
        problems: Vec<String>,
    },
    /// More than one is meant.
    #[error("{question}; there are:\n  {}", .found.join("\n  "))]
    Several {
        /// What has to be said.
        question: String,
        /// Those that there are, a line each.
        found: Vec<String>,
    },
    /// No connection.
    #[error("{}", unreachable_text(.endpoint, .source))]
    Unreachable {
        /// Where to.
        endpoint: Endpoint,
        /// What the system said.
        source: io::Error,
    },
    /// A connection, and no answer.
    #[error("the watchdog at {endpoint} did not answer within {}; is it stopped, or overloaded?", Span(*.limit))]
    Silent {
        /// Who.
        endpoint: Endpoint,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The connection broke.
    #[error("the connection to the watchdog at {endpoint} broke: {source}")]
    Broken {
        /// Who.
        endpoint: Endpoint,
        /// What was wrong.
        source: hyper::Error,
    },
    /// Something answered that is no watchdog, or one of a version that cannot be understood.
    #[error("what listens at {endpoint} does not answer as a watchdog of this version does: {what}")]
    Strange {
        /// Who.
        endpoint: Endpoint,
        /// What it did.
        what: String,
    },
    /// The watchdog said no.
    #[error("{}", refused(.endpoint, *.status, .detail))]
    Refused {
        /// Who.
        endpoint: Endpoint,
        /// The HTTP status.
        status: u16,
        /// Its reason.
        detail: String,
    },
}

impl ClientError {
    /// The exit code that says the same.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NoneFound { .. } | Self::NoServer { .. } | Self::Unreachable { .. } => Exit::NoneFound,
            Self::Several { .. } => Exit::Config,
            Self::Silent { .. } | Self::Broken { .. } | Self::Strange { .. } | Self::Refused { .. } => Exit::Failed,
        }
    }
}

fn none_found(looked: &[PathBuf], problems: &[String]) -> String {
    let looked: Vec<_> = looked.iter().map(|path| path.display().to_string()).collect();
    format!(
        "no running watchdog found in {}: none runs, or it is another user's, or has --no-control; \
         --socket names one that listens elsewhere{}",
        looked.join(" or "),
        Below(problems)
    )
}

/// What else went wrong, a line each.
struct Below<'a>(&'a [String]);

impl fmt::Display for Below<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

fn unreachable_text(endpoint: &Endpoint, error: &io::Error) -> String {
    let why = match (error.kind(), endpoint) {
        (ErrorKind::NotFound, Endpoint::Unix(_)) => {
            "there is no such socket: the watchdog does not run, or listens elsewhere"
        }
        (ErrorKind::ConnectionRefused, Endpoint::Unix(_)) => "nobody listens there any more: its watchdog has ended",
        (ErrorKind::ConnectionRefused, Endpoint::Tcp(_)) => {
            "nobody listens there: the watchdog does not run, or `control.listen` is another address"
        }
        (ErrorKind::WouldBlock, Endpoint::Unix(_)) => {
            "it takes no more connections; is its watchdog stopped, or overloaded?"
        }
        (ErrorKind::PermissionDenied, _) => "it is another user's: run this as that user",
        _ => return format!("cannot connect to {endpoint}: {error}"),
    };
    format!("cannot connect to {endpoint}: {why}")
}

fn refused(endpoint: &Endpoint, status: u16, detail: &str) -> String {
    let remedy = match status {
        401 | 403 => ": give its token in MCP_WATCHDOG_TOKEN or --token-file",
        _ => return detail.to_owned(),
    };
    format!("the watchdog at {endpoint} lets nobody in without permission ({detail}){remedy}")
}
