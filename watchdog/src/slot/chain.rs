//! Probe chains as tasks beside the driver, and their calls to the server.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use probe_api::{CallError, Reply};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::config;
use crate::core::chain::{ChainPolicy, Latches, LinkIndex};
use crate::core::ids::{CallId, Generation};
use crate::core::slot::ProbeReply;
use crate::probe::{self, CallRequest, LoadedLink, Registry, Report, Subject};
use crate::telemetry::LogHandle;

/// Calls of probes that wait for the driver; a probe makes one at a time.
const CALLS: usize = 16;

/// A chain's end, or a request that a probe wants sent.
pub(super) enum ChainNews {
    /// It has ended.
    Done { generation: Generation, report: Box<Report>, cpu_before: Option<Duration> },
    /// It broke down.
    Broken(Generation),
    /// A probe calls.
    Call { generation: Generation, call: CallId, method: String, params: Option<Vec<u8>> },
}

/// The chain that runs, if one does.
pub(super) struct Chains {
    registry: Registry,
    server: Arc<config::Server>,
    log: LogHandle,
    /// Probes may remember things between checks, so they are kept; by whoever runs, and lent for one chain at a time.
    links: Option<Links>,
    running: Option<Running>,
    /// A chain that could not be started: its end is news too.
    broken: Option<Generation>,
    calls: HashMap<CallId, (LinkIndex, oneshot::Sender<Result<Reply, CallError>>)>,
    next_call: u64,
}

type Links = Arc<Mutex<Vec<LoadedLink>>>;

struct Running {
    generation: Generation,
    cpu_before: Option<Duration>,
    requests: mpsc::Receiver<CallRequest>,
    task: JoinHandle<Report>,
}

impl Chains {
    pub(super) fn new(registry: Registry, server: Arc<config::Server>, log: LogHandle) -> Self {
        let calls = HashMap::new();
        Self { registry, server, log, links: None, running: None, broken: None, calls, next_call: 0 }
    }

    /// Runs the chain against this generation.
    pub(super) fn start(&mut self, generation: Generation, subject: Subject, limit: Duration, latches: &Latches) {
        self.end();
        let links = match self.links() {
            Ok(links) => links,
            // Rare, since the links were made once when the configuration was checked.
            Err(error) => {
                tracing::error!(target: "mcp", %error, "a probe cannot be made");
                self.broken = Some(generation);
                return;
            }
        };
        let config::Probe { mode, confirmations, .. } = self.server.probe;
        let policy = ChainPolicy { mode, confirmations };
        let latches = latches.clone();
        let (sender, requests) = mpsc::channel(CALLS);
        let cpu_before = subject.snapshot.process.cpu_ms.map(Duration::from_millis);
        let task = tokio::spawn(async move {
            // Free at once, or as soon as a chain that was ended has been dropped.
            let mut links = links.lock_owned().await;
            let chain = probe::chain(&links, policy, &latches);
            probe::run(&mut links, chain, &subject, &sender, limit).await
        });
        self.running = Some(Running { generation, cpu_before, requests, task });
    }

    fn links(&mut self) -> Result<Links, String> {
        if let Some(links) = &self.links {
            return Ok(links.clone());
        }
        let links = Arc::new(Mutex::new(self.registry.load(&self.server, &self.log)?));
        self.links = Some(links.clone());
        Ok(links)
    }

    /// Another configuration: the probes are made anew for the next chain.
    pub(super) fn configure(&mut self, server: Arc<config::Server>) {
        self.server = server;
        self.links = None;
    }

    /// A session has ended: nobody waits for an answer any more.
    pub(super) fn end_session(&mut self) {
        self.end();
        self.calls.clear();
    }

    /// Drops the chain that runs.
    pub(super) fn end(&mut self) {
        self.broken = None;
        if let Some(running) = self.running.take() {
            running.task.abort();
        }
    }

    /// Gives a probe the answer to its call. `Some` if it does not wait for it any more: the link whose call it was.
    pub(super) fn reply(&mut self, call: CallId, reply: ProbeReply) -> Option<LinkIndex> {
        let (link, sender) = self.calls.remove(&call)?;
        let answered = matches!(reply, ProbeReply::Result(_) | ProbeReply::Error(_));
        let reply = match reply {
            ProbeReply::Result(body) => Ok(Reply::Result(value(&body))),
            ProbeReply::Error(body) => Ok(Reply::Error(value(&body))),
            ProbeReply::Gone => Err(CallError::Gone),
            ProbeReply::Invalid => Err(CallError::Invalid),
        };
        (sender.send(reply).is_err() && answered).then_some(link)
    }

    /// What the chain wants or has found. With `wanted` unset no request is taken, which holds its probes back.
    pub(super) fn poll_news(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<ChainNews> {
        if let Some(generation) = self.broken.take() {
            return Poll::Ready(ChainNews::Broken(generation));
        }
        let Some(running) = &mut self.running else { return Poll::Pending };
        let generation = running.generation;
        if wanted && let Poll::Ready(Some(request)) = running.requests.poll_recv(cx) {
            self.next_call += 1;
            let call = CallId(self.next_call);
            let params = (!request.params.is_null()).then(|| request.params.to_string().into_bytes());
            self.calls.insert(call, (request.link, request.reply));
            return Poll::Ready(ChainNews::Call { generation, call, method: request.method, params });
        }
        let Poll::Ready(ended) = Pin::new(&mut running.task).poll(cx) else { return Poll::Pending };
        let cpu_before = running.cpu_before;
        self.running = None;
        Poll::Ready(match ended {
            Ok(report) => ChainNews::Done { generation, report: Box::new(report), cpu_before },
            Err(error) => {
                tracing::error!(target: "mcp", %error, "a probe chain broke down");
                ChainNews::Broken(generation)
            }
        })
    }
}

/// A probe sees values; what is not JSON was refused by the scan.
fn value(body: &Bytes) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
}
