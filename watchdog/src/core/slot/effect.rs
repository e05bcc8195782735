//! What the core wants done.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value};

#[cfg(doc)]
use super::Slot;
use super::passing::Outgoing;
use crate::core::ids::{CallId, Generation};
#[cfg(doc)]
use crate::core::ledger::Request;
use crate::events::EventKind;
use crate::exit::Exit;
use crate::wire::head::Method;

/// What the driver has to do, in order.
#[derive(Debug)]
pub enum Effect {
    /// Write a line to the client.
    Deliver(Outgoing),
    /// Write a line to the live server.
    Forward {
        /// The line.
        line: Outgoing,
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
    /// Look how much memory this process's tree uses, and tell [`Slot::weighed`].
    Weigh(Generation),
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
    /// Call a tool of the watchdog's own, and tell [`Slot::managed`] its result.
    Manage {
        /// Which call, as [`Request::seq`].
        call: u64,
        /// The tool's name, without the prefix.
        tool: Box<str>,
        /// What it is given.
        arguments: Map<String, Value>,
    },
    /// Nobody waits for the result of this call any more.
    EndManage(u64),
    /// Tell the operator. In a box, since what is passed on is moved as far as the largest effect would have to be.
    Emit(Box<EventKind>),
    /// Something that is counted, and too frequent or too small for an event.
    Count(Count),
    /// A line of the server that is no message: for the log.
    Stray(Bytes),
    /// End the program, after what was delivered has been written.
    Exit(Exit),
}

impl Effect {
    /// Tells the operator.
    pub(super) fn emit(kind: EventKind) -> Self {
        Self::Emit(Box::new(kind))
    }

    /// Forwards a line that is not worth keeping, in its turn.
    pub(super) fn pass(line: impl Into<Outgoing>) -> Self {
        Self::Forward { line: line.into(), tag: 0, urgent: false }
    }

    /// Whether it changes nothing but what waits to be written, or is told.
    #[must_use]
    pub const fn only_passes_on(&self) -> bool {
        matches!(self, Self::Deliver(_) | Self::Forward { .. } | Self::Count(_) | Self::Emit(_) | Self::Stray(_))
    }
}

/// What is counted beside the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// A request of the client has come to an end.
    Request {
        /// Its method.
        method: Method,
        /// How it ended.
        outcome: RequestOutcome,
        /// Since it came; `None` where that says nothing, as for a stream.
        elapsed: Option<Duration>,
    },
    /// The session with a new process was not opened in its time.
    HandshakeTimeout,
    /// A request was answered because its deadline had passed.
    DeadlinePassed,
}

/// How a request ended, as its client saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The server answered with a result.
    Ok,
    /// It answered with an error.
    Error,
    /// The watchdog answered with an error of its own.
    Refused,
    /// The client did not want the answer any more.
    Cancelled,
    /// The watchdog answered from the lists of an earlier process.
    Cached,
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
