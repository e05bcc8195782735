//! Calls of the watchdog's own tools, as tasks beside the driver.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::task::{AbortHandle, JoinSet};

use crate::core::inject::{Injected, failure};

/// Tools that can be added to a server's own.
#[async_trait]
pub trait Toolbox: Send + Sync + 'static {
    /// All of them.
    fn tools(&self) -> Vec<Injected>;

    /// Calls one by its name without the prefix. The result is that of a `tools/call`, also where the call failed.
    async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Value;
}

/// The tools, and calls of them that run. How many do is bounded by the core.
pub(super) struct Managed {
    toolbox: Option<Arc<dyn Toolbox>>,
    tasks: JoinSet<Value>,
    calls: Vec<(u64, AbortHandle)>,
}

impl Managed {
    pub(super) fn new(toolbox: Option<Arc<dyn Toolbox>>) -> Self {
        Self { toolbox, tasks: JoinSet::new(), calls: Vec::new() }
    }

    pub(super) fn tools(&self) -> Vec<Injected> {
        self.toolbox.as_ref().map(|toolbox| toolbox.tools()).unwrap_or_default()
    }

    pub(super) fn start(&mut self, call: u64, tool: Box<str>, arguments: Map<String, Value>) {
        let Some(toolbox) = self.toolbox.clone() else { return };
        let task = self.tasks.spawn(async move { toolbox.call(&tool, arguments).await });
        self.calls.push((call, task));
    }

    /// Nobody wants the answer any more. What the call has begun goes on.
    pub(super) fn end(&mut self, call: u64) {
        self.calls.extract_if(.., |(running, _)| *running == call).for_each(|(_, task)| task.abort());
    }

    /// Nobody wants any answer any more.
    pub(super) fn end_all(&mut self) {
        self.calls.clear();
        // Those that are dropped are aborted.
        self.tasks = JoinSet::new();
    }

    /// The next call that has ended, and its result.
    pub(super) fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<(u64, Value)> {
        loop {
            let Some(ended) = ready!(self.tasks.poll_join_next_with_id(cx)) else { return Poll::Pending };
            let (id, result) = match ended {
                Ok((id, result)) => (id, result),
                Err(error) => (error.id(), failure("internal: the call broke down; the log of the watchdog says why")),
            };
            // One that was ended is not among them.
            if let Some(at) = self.calls.iter().position(|(_, task)| task.id() == id) {
                return Poll::Ready((self.calls.swap_remove(at).0, result));
            }
        }
    }
}
