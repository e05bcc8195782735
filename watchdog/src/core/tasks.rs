//! Tasks that the server has promised to work on: they outlive the request that made them, and end with the process.
//!
//! The core knows of them what goes by: the answer that made one, answers to `tasks/get` and `tasks/cancel`, and the
//! server's own news (MCP 2025-11-25 `basic/utilities/tasks`, and the extension for 2026-07-28).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde::Deserialize;

use super::ledger::Request;
use crate::wire::head::Method;

/// A task without a time to live, of which nothing was heard for so long, counts as forgotten.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// How long the result of a completed task is kept for a client that has not asked for it. Clients poll every few seconds.
const UNCLAIMED: Duration = Duration::from_secs(60);
/// How many are remembered.
const MAX_TASKS: usize = 1024;

/// What a message says about a task. Members that are not there are none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Said {
    task: Option<Box<Self>>,
    task_id: Option<Box<str>>,
    status: Option<Box<str>>,
    /// Of 2025-11-25, in milliseconds.
    ttl: Option<f64>,
    /// Of the extension.
    ttl_ms: Option<f64>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Debug, Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/related-task")]
    related: Option<Box<Said>>,
}

/// The table: until when each task counts.
#[derive(Debug, Default)]
pub struct Tasks {
    open: HashMap<Box<str>, Instant>,
}

/// Whether a result may be about a task.
#[inline(never)]
fn names_a_task(result: &[u8]) -> bool {
    memmem::find(result, br#""taskId""#).is_some()
}

impl Tasks {
    /// Learns from the result of a request.
    #[inline]
    pub fn answered(&mut self, now: Instant, request: &Request, result: &[u8]) {
        match request.method {
            Method::TasksResult => self.fetched(result),
            Method::TasksGet | Method::TasksCancel | Method::TasksUpdate => self.told(now, result),
            // In the stateless era the server decides whether a call becomes a task; most results are worth no closer look.
            _ if request.task || request.stateless && names_a_task(result) => self.told(now, result),
            _ => {}
        }
    }

    /// Learns from what is said about a task: a result, or the `params` of a notification.
    pub fn told(&mut self, now: Instant, body: &[u8]) {
        let Ok(said) = serde_json::from_slice::<Said>(body) else { return };
        let said = match said {
            Said { task: Some(task), .. } => *task,
            flat => flat,
        };
        let Some(id) = said.task_id else { return };
        match said.status.as_deref() {
            Some("failed" | "cancelled") => _ = self.open.remove(&id),
            Some("completed") => {
                if let Some(until) = self.open.get_mut(&id) {
                    *until = (*until).min(now + UNCLAIMED);
                }
            }
            _ => {
                let ttl = said.ttl.or(said.ttl_ms).and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok());
                let until = now.checked_add(ttl.unwrap_or(FORGOTTEN)).unwrap_or(now + FORGOTTEN);
                self.make_room(now);
                self.open.insert(id, until);
            }
        }
    }

    /// The result of a task was fetched: it is over.
    fn fetched(&mut self, body: &[u8]) {
        let said = serde_json::from_slice::<Said>(body).unwrap_or_default();
        let id = said.meta.and_then(|meta| meta.related).and_then(|related| related.task_id);
        if let Some(id) = id {
            self.open.remove(&id);
        }
    }

    /// Whether the server works on one, or keeps its result for the client.
    #[must_use]
    pub fn is_any_open(&self, now: Instant) -> bool {
        self.open.values().any(|until| *until > now)
    }

    /// When the next one counts no more.
    #[must_use]
    pub fn wake(&self, now: Instant) -> Option<Instant> {
        self.open.values().copied().filter(|until| *until > now).min()
    }

    /// The process is gone, and they with it.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    fn make_room(&mut self, now: Instant) {
        if self.open.len() < MAX_TASKS {
            return;
        }
        self.open.retain(|_, until| *until > now);
        if self.open.len() >= MAX_TASKS {
            // So many are a flood, and no reason to wait.
            self.open.clear();
        }
    }
}

#[cfg(test)]
mod tests;
