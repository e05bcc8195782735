//! The control plane: how a running watchdog is found, asked and told (control-plane.md).
//!
//! One router serves a unix socket in the runtime folder, or a TCP address that was asked for; a second, of probes and metrics only,
//! may be open to other machines. Nothing here is on the data path: requests are answered from what the slots publish, commands
//! go to their tasks, and what cannot be opened is a warning.

mod access;
mod body;
mod connection;
mod events;
mod health;
mod limit;
mod listen;
pub mod mcp;
pub mod metrics;
pub mod model;
mod openapi;
mod problem;
mod process;
mod query;
mod route;
mod router;
pub mod runtime_dir;
mod seats;
mod servers;
mod socket_file;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::config::{Config, ControlListen, Ready};
use crate::engine::Handle;
use access::Access;
pub use openapi::document;
pub use problem::Problem;
pub use router::router;

/// How long those who listen to events, and answers that are on their way, may hold up the end of the program.
const FAREWELL: Duration = Duration::from_millis(200);

/// Listeners to events at the same time. Each holds a connection, and some have to be left for commands.
const LISTENERS: usize = 32;

/// What requests are answered from. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Plane {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    handle: Handle,
    ready: Ready,
    /// The names of the probes that links may have.
    probes: Vec<String>,
    listeners: Arc<Semaphore>,
    /// Whether the tools for models switch servers on and off.
    allow_disable: bool,
    /// Turns true when the program ends.
    closing: watch::Receiver<bool>,
}

impl Plane {
    /// What the router serves. With `allow_disable` models may switch servers off. `closing` ends streams when it turns true.
    #[must_use]
    pub fn new(
        handle: Handle,
        ready: Ready,
        allow_disable: bool,
        probes: Vec<String>,
        closing: watch::Receiver<bool>,
    ) -> Self {
        let listeners = Arc::new(Semaphore::new(LISTENERS));
        Self { shared: Arc::new(Shared { handle, ready, probes, listeners, allow_disable, closing }) }
    }

    /// The tools for models, over the servers of this process.
    #[must_use]
    fn manager(&self) -> mcp::Manager {
        let Shared { handle, listeners, allow_disable, closing, .. } = &*self.shared;
        let backend = mcp::Local::new(handle.clone(), listeners.clone());
        mcp::Manager::new(Arc::new(backend), *allow_disable, closing.clone())
    }

    /// The way to the slots.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.shared.handle
    }
}

/// The listeners of a process.
#[derive(Debug)]
pub struct Control {
    closing: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// Opens what the configuration wants, in tasks of its own: nothing waits for it. `name` begins the name of the socket.
#[must_use]
pub fn start(config: &Config, name: &str, handle: &Handle, probes: Vec<String>) -> Control {
    let (closing, closed) = watch::channel(false);
    let plane = Plane::new(handle.clone(), config.ready, config.mgmt.allow_disable, probes, closed.clone());
    let mut tasks = JoinSet::new();
    let wanted = &config.control;
    let access = match &wanted.listen {
        ControlListen::Off => None,
        ControlListen::Auto | ControlListen::Unix(_) => Some(Access::Unix),
        ControlListen::Tcp(address) => Some(Access::tcp(&address.host, wanted.token.clone())),
    };
    if let Some(access) = access {
        let (listen, name) = (wanted.listen.clone(), name.to_owned());
        let (plane, closed) = (plane.clone(), closed.clone());
        tasks.spawn(async move {
            match listen::open(&listen, &name).await {
                Ok(listener) => listener.serve(router(&plane, access), closed).await,
                Err(error) => tracing::warn!("no control socket, and so no status, retry or metrics: {error}"),
            }
        });
    }
    if let Some(address) = wanted.health_listen.clone() {
        tasks.spawn(async move {
            match listen::open_tcp(&address).await {
                Ok(listener) => listener.serve(router::open(&plane), closed).await,
                Err(error) => tracing::warn!("`control.health_listen` cannot be opened: {error}"),
            }
        });
    }
    Control { closing, tasks }
}

/// The end of the program has come.
async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error says that whoever would have told it has gone.
    _ = closing.wait_for(|closing| *closing).await;
}

impl Control {
    /// Ends streams, gives answers a moment, and removes the socket.
    pub async fn end(mut self) {
        self.closing.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // What is left after that is dropped with the tasks.
        _ = tokio::time::timeout(FAREWELL, all).await;
        self.tasks.shutdown().await;
    }
}

#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(not(test), expect(dead_code, reason = "fuzzing needs a part of it"))]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
