//! What a probe sees of the server: a snapshot, its time, and a channel to the slot that owns the pipes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use probe_api::{CallError, Context, Reply, Snapshot};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::core::chain::{Heard, LinkIndex};

/// The JSON-RPC code for a method that the server does not know.
const METHOD_NOT_FOUND: i64 = -32601;

/// A probe's request, on its way to the slot's driver.
///
/// The driver writes it to the server and answers through `reply`; dropping `reply` says that the server is gone. When
/// [`is_closed`](oneshot::Sender::is_closed) holds, nobody waits any more: an answer that still comes is late, belongs
/// to no client, and is worth [`Latches::heard_late`](crate::core::chain::Latches::heard_late).
#[derive(Debug)]
pub struct CallRequest {
    /// The link that asks.
    pub link: LinkIndex,
    /// A method that only reads.
    pub method: String,
    /// `Value::Null` where the request has no `params`.
    pub params: Value,
    /// Where the outcome goes.
    pub reply: oneshot::Sender<Result<Reply, CallError>>,
}

/// The context of one link's check.
#[derive(Debug)]
pub struct ChannelContext<'a> {
    snapshot: &'a Snapshot,
    calls: &'a mpsc::Sender<CallRequest>,
    link: LinkIndex,
    deadline: Instant,
    heard: Mutex<Heard>,
}

impl<'a> ChannelContext<'a> {
    /// A context for the check of `link`, which ends at `deadline`.
    #[must_use]
    pub fn new(
        snapshot: &'a Snapshot,
        calls: &'a mpsc::Sender<CallRequest>,
        link: LinkIndex,
        deadline: Instant,
    ) -> Self {
        Self { snapshot, calls, link, deadline, heard: Mutex::default() }
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
        self.snapshot
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Reply, CallError> {
        if !is_permitted(method) {
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

/// A probe must not act behind the user's back: it may only ask what is read-only by definition and costs little.
fn is_permitted(method: &str) -> bool {
    matches!(method, "ping" | "server/discover") || method.ends_with("/list")
}

#[cfg(test)]
mod tests;
