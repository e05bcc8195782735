//! What the core wants done.

use std::time::Duration;

use bytes::Bytes;

#[cfg(doc)]
use super::Slot;
use crate::core::ids::{CallId, Generation};
#[cfg(doc)]
use crate::core::ledger::Request;
use crate::events::EventKind;
use crate::exit::Exit;

/// What the driver has to do, in order.
#[derive(Debug)]
pub enum Effect {
    /// Write a line to the client.
    Deliver(Bytes),
    /// Write a line to the live server.
    Forward {
        /// The line.
        line: Bytes,
        /// The first request in it, as [`Request::seq`]; 0 for a line that is not worth keeping.
        tag: u64,
        /// Whether it may pass lines that wait already.
        urgent: bool,
    },
    /// Start a process.
    Spawn(Generation),
    /// Close the process's stdin and end its tree by the ladder; then tell [`Slot::torn`], before anything else.
    Tear {
        /// Which process.
        generation: Generation,
        /// Whether its output still counts.
        hear: bool,
    },
    /// End the tree now.
    Kill,
    /// Run the probe chain.
    StartChain {
        /// Against which process.
        generation: Generation,
        /// Why.
        trigger: probe_api::Trigger,
        /// The limit of the whole chain.
        limit: Duration,
    },
    /// Drop the chain that runs.
    EndChain,
    /// A probe's call has ended.
    ProbeReply(CallId, ProbeReply),
    /// Tell the operator.
    Emit(EventKind),
    /// A line of the server that is no message: for the log.
    Stray(Bytes),
    /// End the program, after what was delivered has been written.
    Exit(Exit),
}

impl Effect {
    /// Forwards a line that is not worth keeping, in its turn.
    pub(super) const fn pass(line: Bytes) -> Self {
        Self::Forward { line, tag: 0, urgent: false }
    }
}

/// The end of a probe's call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeReply {
    /// A `result`, as JSON text.
    Result(Bytes),
    /// An `error`, as JSON text.
    Error(Bytes),
    /// The server is gone.
    Gone,
    /// The call is not possible now.
    Invalid,
}
