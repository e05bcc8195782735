//! What a probe sees of the watchdog in a plugin.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::border::Border;
use crate::abi::call;
use crate::{CallError, Context, Reply, Snapshot};

/// One check. Its calls block the thread of the plugin and are ready when they return.
#[derive(Debug)]
pub(super) struct PluginContext {
    border: Border,
    snapshot: Snapshot,
}

impl PluginContext {
    /// `context_json` is that of `check`.
    pub(super) fn new(border: Border, context_json: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { border, snapshot: serde_json::from_str(context_json)? })
    }
}

#[async_trait]
impl Context for PluginContext {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn remaining(&self) -> Duration {
        let left = self.border.remaining_ms().unwrap_or_default();
        Duration::from_millis(u64::try_from(left).unwrap_or_default())
    }

    async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Reply, CallError> {
        let params = if params.is_null() { String::new() } else { params.to_string() };
        let (code, reply) = self.border.call(method, &params, milliseconds(limit)).ok_or(CallError::Invalid)?;
        match code {
            call::TIMEOUT => Err(CallError::Timeout),
            call::GONE => Err(CallError::Gone),
            call::INVALID => Err(CallError::Invalid),
            // What a newer host calls by a number of its own ends the call as well.
            ..=-1 => Err(CallError::Cancelled),
            call::ERROR => Ok(Reply::Error(value(&reply))),
            // Any other code is an answer.
            _ => Ok(Reply::Result(value(&reply))),
        }
    }
}

/// Rounded up, so that a short limit is not none.
pub(super) fn milliseconds(limit: Duration) -> u32 {
    u32::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

/// That the server has answered counts even where the host hands over what is no JSON.
fn value(reply: &str) -> Value {
    serde_json::from_str(reply).unwrap_or_default()
}
