//! What is asked of all slots at once.

use std::time::Duration;

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{Handle, SlotHandle};
use crate::engine::{Accepted, Command, CommandError};

/// Which servers a retry of all of them means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// Those that have failed for good.
    #[default]
    Failed,
    /// Every one that is enabled, those that are connected too.
    Any,
}

impl Which {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Any => "any",
        }
    }
}

/// What became of a retry of several servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetriedAll {
    /// Those that are tried now.
    pub accepted: Vec<Accepted>,
    /// Those that are not.
    pub skipped: Vec<Skipped>,
}

/// A server that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The server.
    pub id: String,
    /// Its status where that is the reason, else a code of the contract such as `server_disabled`.
    pub reason: String,
}

impl Handle {
    /// An attempt now of all servers that are meant. None waits for another.
    pub async fn retry_all(&self, which: Which) -> RetriedAll {
        let slots = self.slots();
        let outcomes = join_all(slots.iter().map(|slot| retry(slot, which))).await;
        let mut all = RetriedAll { accepted: Vec::new(), skipped: Vec::new() };
        for outcome in outcomes {
            match outcome {
                Ok(accepted) => all.accepted.push(accepted),
                Err(skipped) => all.skipped.push(skipped),
            }
        }
        all
    }

    /// Whether each slot's task has answered within `limit`. One that ends counts: it has done its work.
    pub async fn answering(&self, limit: Duration) -> Vec<(String, bool)> {
        let slots = self.slots();
        join_all(slots.iter().map(|slot| async move {
            let answer = timeout(limit, slot.ask(Command::Tick)).await;
            (slot.name.to_string(), answer.is_ok())
        }))
        .await
    }
}

async fn retry(slot: &SlotHandle, which: Which) -> Result<Accepted, Skipped> {
    let skipped = |reason: &str| Skipped { id: slot.name.to_string(), reason: reason.to_owned() };
    let (status, enabled) = {
        let published = slot.published.borrow();
        (published.slot.status, published.slot.enabled)
    };
    let code = |error: CommandError| skipped(error.code().name());
    if !enabled {
        return Err(code(CommandError::Disabled(String::new())));
    }
    if which == Which::Failed && status != "failed" {
        return Err(skipped(status));
    }
    slot.ask(Command::Retry).await.and_then(|answer| answer).map_err(code)
}
