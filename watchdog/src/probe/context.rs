//! What a probe sees of the server: a snapshot, its time, and a channel to the slot that owns the pipes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use probe_api::{CallError, Context, ProcessFacts, Reply, Snapshot};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::back::facts::Processes;
use crate::core::chain::{Heard, LinkIndex};

/// The JSON-RPC code for a method that the server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// What a chain examines.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The server as it was when the chain began.
    pub snapshot: Snapshot,
    /// Its processes, where it has any here.
    pub processes: Option<Processes>,
}

/// A probe's request, on its way to the slot's driver.
///
/// The driver writes it to the server and answers through `reply`; dropping `reply` says that the server is gone. When
/// [`is_closed`](oneshot::Sender::is_closed) holds, nobody waits any more: an answer that still comes is late, belongs
/// to no client, and is worth [`Latches::heard_late`](crate::core::chain::Latches::heard_late).
#[derive(Debug)]
pub struct CallRequest {
    /// The link that asks.
    pub link: LinkIndex,
    /// A method that its link may call.
    pub method: String,
    /// `Value::Null` where the request has no `params`.
    pub params: Value,
    /// Where the outcome goes.
    pub reply: oneshot::Sender<Result<Reply, CallError>>,
}

/// The context of one link's check.
#[derive(Debug)]
pub struct ChannelContext<'a> {
    subject: &'a Subject,
    calls: &'a mpsc::Sender<CallRequest>,
    link: LinkIndex,
    methods: &'a [String],
    deadline: Instant,
    heard: Mutex<Heard>,
}

impl<'a> ChannelContext<'a> {
    /// A context for the check of `link`, which ends at `deadline`. `methods` are those that it may call besides the ones
    /// that every probe may.
    #[must_use]
    pub fn new(
        subject: &'a Subject,
        calls: &'a mpsc::Sender<CallRequest>,
        link: LinkIndex,
        methods: &'a [String],
        deadline: Instant,
    ) -> Self {
        Self { subject, calls, link, methods, deadline, heard: Mutex::default() }
    }

    fn is_permitted(&self, method: &str) -> bool {
        is_harmless(method) || self.methods.iter().any(|permitted| permitted == method)
    }

    /// What the requests that were made so far have met.
    #[must_use]
    pub fn heard(&self) -> Heard {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, outcome: &Result<Reply, CallError>) {
        let heard = match outcome {
            Ok(reply) if reply.error_code() == Some(METHOD_NOT_FOUND) => Heard::Unknown,
            Ok(_) => Heard::Answer,
            Err(CallError::Timeout) => Heard::Silence,
            Err(_) => Heard::Nothing,
        };
        let mut best = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        *best = heard.max(*best);
    }
}

#[async_trait]
impl Context for ChannelContext<'_> {
    fn snapshot(&self) -> &Snapshot {
        &self.subject.snapshot
    }

    fn process(&self) -> ProcessFacts {
        let now = self.subject.processes.map(|processes| processes.look());
        now.unwrap_or_else(|| self.subject.snapshot.process.clone())
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Reply, CallError> {
        if !self.is_permitted(method) {
            return Err(CallError::Invalid);
        }
        let limit = limit.min(self.remaining());
        // Nothing is sent that nobody would wait for, and that is no silence of the server.
        if limit.is_zero() {
            return Err(CallError::Cancelled);
        }
        let outcome = timeout(limit, self.exchange(method, params)).await.unwrap_or(Err(CallError::Timeout));
        self.note(&outcome);
        outcome
    }
}

impl ChannelContext<'_> {
    async fn exchange(&self, method: &str, params: Value) -> Result<Reply, CallError> {
        let (reply, outcome) = oneshot::channel();
        let request = CallRequest { link: self.link, method: method.to_owned(), params, reply };
        self.calls.send(request).await.map_err(|_| CallError::Gone)?;
        outcome.await.unwrap_or(Err(CallError::Gone))
    }
}

/// A probe must not act behind the user's back: unless its link says otherwise, it may only ask what is read-only by definition
/// and costs little.
fn is_harmless(method: &str) -> bool {
    matches!(method, "ping" | "server/discover") || method.ends_with("/list")
}

#[cfg(test)]
mod tests;
