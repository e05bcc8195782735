//! The way to the slots.

mod all;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::catalog::CatalogReport;
use super::command::{Accepted, Command, CommandError, ProbeReport};
use super::meter::Meter;
use super::status::{Identity, ServerStatus};
use crate::back::Fence;
use crate::core::slot::SlotSnapshot;
use crate::events::Bus;
pub use all::{RetriedAll, Skipped, Which};

/// How long a disabled server's processes may take to go away before the answer comes without that: longer than any ladder with
/// its sweep that is not configured to be slow.
const TEARDOWN: Duration = Duration::from_secs(10);

/// What a slot's task publishes.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The slot.
    pub slot: SlotSnapshot,
    /// What the latest probe chain found.
    pub last_probe: Option<ProbeReport>,
    /// What holds the processes of the latest generation; nothing before the first.
    pub fence: Option<Fence>,
}

/// One slot, to those who watch and steer it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SlotHandle {
    /// Its name.
    pub name: Arc<str>,
    /// The program, without its arguments.
    pub command: Arc<str>,
    /// Its commands.
    pub commands: mpsc::UnboundedSender<Command>,
    /// Its pictures.
    pub published: watch::Receiver<Published>,
    /// Its numbers.
    pub meter: Arc<Meter>,
}

/// What does not change while the process lives.
#[derive(Debug, Clone)]
pub struct Info {
    /// Of this program.
    pub version: &'static str,
    /// Of this process.
    pub pid: u32,
    /// When it began.
    pub started: SystemTime,
    /// The same by the clock that never jumps.
    pub started_at: Instant,
    /// The configuration file, if there is one.
    pub config_file: Option<PathBuf>,
}

/// What is asked of the whole process.
#[derive(Debug)]
pub enum Order {
    /// Read the configuration again; the answer names what changed, or why nothing did.
    Reload(oneshot::Sender<Result<Vec<String>, String>>),
    /// An operator has switched a server on or off, and wants that to survive a restart.
    Remember {
        /// The server.
        server: String,
        /// Whether it is on.
        enabled: bool,
    },
    /// End everything.
    Shutdown,
}

/// The way to everything. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    info: Info,
    events: Bus,
    orders: mpsc::UnboundedSender<Order>,
    /// Whether the end has begun.
    draining: AtomicBool,
    /// Of the configuration in use.
    config_sha256: Mutex<Option<String>>,
    /// In the order of the configuration. Replaced as a whole.
    slots: watch::Sender<Arc<[SlotHandle]>>,
}

impl Info {
    /// Of this process, which begins now.
    #[must_use]
    pub fn of_this_process(config_file: Option<PathBuf>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started: SystemTime::now(),
            started_at: Instant::now(),
            config_file,
        }
    }
}

impl SlotHandle {
    /// The server as it is at this moment.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let published = self.published.borrow();
        let identity = Identity { name: &self.name, command: &self.command };
        ServerStatus::render(identity, &published, &self.meter, Instant::now(), SystemTime::now())
    }

    /// Sends a command that is answered.
    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, CommandError> {
        let (sender, answer) = oneshot::channel();
        let closing = || CommandError::Closing(self.name.to_string());
        self.commands.send(command(sender)).map_err(|_| closing())?;
        answer.await.map_err(|_| closing())
    }

    /// Waits until a picture satisfies `wanted`.
    ///
    /// # Errors
    /// [`CommandError::Timeout`] when that took longer than `limit`.
    pub async fn wait_for(
        &self,
        limit: Duration,
        mut wanted: impl FnMut(&SlotSnapshot) -> bool,
    ) -> Result<(), CommandError> {
        let mut published = self.published.clone();
        let seen = timeout(limit, published.wait_for(|published| wanted(&published.slot))).await;
        match seen {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(CommandError::Closing(self.name.to_string())),
            Err(_) => {
                let now = self.published.borrow().slot.clone();
                let (server, state) = (self.name.to_string(), now.state.to_owned());
                Err(CommandError::Timeout { server, state, last_error: now.last_error })
            }
        }
    }
}

impl Handle {
    /// A way to no slots yet.
    #[must_use]
    pub fn new(info: Info, events: Bus, orders: mpsc::UnboundedSender<Order>) -> Self {
        let (draining, slots) = (AtomicBool::new(false), watch::Sender::new(Arc::from([])));
        let config_sha256 = Mutex::default();
        Self { shared: Arc::new(Shared { info, events, orders, draining, config_sha256, slots }) }
    }

    /// A configuration file with this SHA-256 is in use from now on.
    pub fn set_config_sha256(&self, sha256: Option<String>) {
        *self.shared.config_sha256.lock().unwrap_or_else(PoisonError::into_inner) = sha256;
    }

    /// The SHA-256 of the configuration file that is in use, in lower-case hexadecimal digits; `None` where there is no file.
    #[must_use]
    pub fn config_sha256(&self) -> Option<String> {
        self.shared.config_sha256.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the list of slots.
    pub fn set_slots(&self, slots: Vec<SlotHandle>) {
        self.shared.slots.send_replace(slots.into());
    }

    /// What does not change.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.shared.info
    }

    /// The events of this process.
    #[must_use]
    pub fn events(&self) -> &Bus {
        &self.shared.events
    }

    /// All slots, in every state, in the order of the configuration.
    #[must_use]
    pub fn slots(&self) -> Arc<[SlotHandle]> {
        self.shared.slots.borrow().clone()
    }

    /// The same, for those who want to know when there are others.
    #[must_use]
    pub fn watch_slots(&self) -> watch::Receiver<Arc<[SlotHandle]>> {
        self.shared.slots.subscribe()
    }

    /// One slot.
    ///
    /// # Errors
    /// [`CommandError::NotFound`].
    pub fn slot(&self, name: &str) -> Result<SlotHandle, CommandError> {
        let slots = self.slots();
        slots.iter().find(|slot| &*slot.name == name).cloned().ok_or_else(|| {
            let known = slots.iter().map(|slot| slot.name.to_string()).collect();
            CommandError::NotFound { name: name.to_owned(), known }
        })
    }

    /// All servers as they are at this moment.
    #[must_use]
    pub fn statuses(&self) -> Vec<ServerStatus> {
        self.slots().iter().map(SlotHandle::status).collect()
    }

    /// An attempt now. With `wait`, comes back when the server is connected.
    ///
    /// # Errors
    /// [`CommandError::Disabled`]; [`CommandError::Timeout`] when it is not connected after `wait`.
    pub async fn retry(&self, name: &str, wait: Option<Duration>) -> Result<Accepted, CommandError> {
        let slot = self.slot(name)?;
        let before = slot.published.borrow().slot.clone();
        let mut accepted = slot.ask(Command::Retry).await??;
        if let Some(limit) = wait {
            let replaced = before.status == "connected";
            let fresh = |now: &SlotSnapshot| now.generation > before.generation || !replaced;
            slot.wait_for(limit, |now| now.status == "connected" && fresh(now)).await?;
            let now = slot.published.borrow();
            (accepted.state, accepted.generation) = (now.slot.state.to_owned(), now.slot.generation);
        }
        Ok(accepted)
    }

    /// Switches a server on.
    ///
    /// # Errors
    /// [`CommandError::NotFound`].
    pub async fn enable(&self, name: &str) -> Result<ServerStatus, CommandError> {
        let slot = self.slot(name)?;
        slot.ask(Command::Enable).await?;
        self.remember(name, true);
        Ok(slot.status())
    }

    /// Switches a server off, and waits for its processes to go away.
    ///
    /// # Errors
    /// [`CommandError::NotFound`].
    pub async fn disable(&self, name: &str) -> Result<ServerStatus, CommandError> {
        let slot = self.slot(name)?;
        slot.ask(Command::Disable).await?;
        self.remember(name, false);
        // What takes longer than this goes on; the answer says so by its state.
        _ = slot.wait_for(TEARDOWN, |now| now.state != "Disabling").await;
        Ok(slot.status())
    }

    /// Runs a server's probe chain once.
    ///
    /// # Errors
    /// [`CommandError::NotConnected`].
    pub async fn probe(&self, name: &str) -> Result<ProbeReport, CommandError> {
        self.slot(name)?.ask(Command::Probe).await?
    }

    /// The last lines of a server's stderr, oldest first.
    ///
    /// # Errors
    /// [`CommandError::NotFound`].
    pub async fn logs(&self, name: &str, lines: usize) -> Result<Vec<String>, CommandError> {
        self.slot(name)?.ask(|answer| Command::Logs(lines, answer)).await
    }

    /// Reads the configuration again. The answer names what changed.
    ///
    /// # Errors
    /// Why nothing did.
    pub async fn reload(&self) -> Result<Vec<String>, String> {
        let (sender, answer) = oneshot::channel();
        let closing = || "the watchdog is shutting down".to_owned();
        self.shared.orders.send(Order::Reload(sender)).map_err(|_| closing())?;
        answer.await.map_err(|_| closing())?
    }

    fn remember(&self, name: &str, enabled: bool) {
        // An error says that everything has ended.
        _ = self.shared.orders.send(Order::Remember { server: name.to_owned(), enabled });
    }

    /// The lists of a server that its client has seen; with `full`, as they were said.
    ///
    /// # Errors
    /// [`CommandError::NotFound`].
    pub async fn catalog(&self, name: &str, full: bool) -> Result<CatalogReport, CommandError> {
        let lists = self.slot(name)?.ask(Command::Catalog).await?;
        Ok(CatalogReport::render(name, &lists, full))
    }

    /// The end has begun: nobody counts as ready any more.
    pub fn drain(&self) {
        self.shared.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the end has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::Relaxed)
    }

    /// Ends everything.
    pub fn shutdown(&self) {
        self.drain();
        // An error says that it has ended.
        _ = self.shared.orders.send(Order::Shutdown);
    }
}
