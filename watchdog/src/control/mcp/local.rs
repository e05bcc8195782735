//! The servers of this process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::activity::{Cursor, Heard, Listener};
use super::backend::{Backend, Failure, Found, RetriedMany, Target};
use super::model::Server;
use crate::engine::{Accepted, Handle, ServerStatus, Which};
use crate::events::bus::{Record, Subscription};

/// More is not held for a listener: it is asked for again with its cursor.
const BACKLOG: usize = 64;

/// The servers of this process.
#[derive(Debug, Clone)]
pub struct Local {
    handle: Handle,
    /// Those who may listen at the same time.
    seats: Arc<Semaphore>,
}

impl Local {
    /// Over the way to the slots.
    #[must_use]
    pub const fn new(handle: Handle, seats: Arc<Semaphore>) -> Self {
        Self { handle, seats }
    }

    fn pid(&self) -> u32 {
        self.handle.info().pid
    }

    fn own(&self, status: ServerStatus) -> Server {
        Server { watchdog: self.pid(), status }
    }

    /// The name, if this watchdog is meant.
    fn name<'a>(&self, target: &'a Target) -> Result<&'a str, Failure> {
        match target.watchdog {
            Some(other) if other != self.pid() => {
                let message = format!("this is watchdog {}, not {other}: leave `watchdog` out", self.pid());
                Err(Failure::invalid(message))
            }
            _ => Ok(&target.name),
        }
    }
}

#[async_trait]
impl Backend for Local {
    async fn servers(&self) -> Result<Found, Failure> {
        let servers = self.handle.statuses().into_iter().map(|status| self.own(status)).collect();
        Ok(Found { servers, problems: Vec::new() })
    }

    async fn server(&self, target: &Target) -> Result<Server, Failure> {
        Ok(self.own(self.handle.slot(self.name(target)?)?.status()))
    }

    async fn retry(&self, target: &Target, wait: Option<Duration>) -> Result<(u32, Accepted), Failure> {
        Ok((self.pid(), self.handle.retry(self.name(target)?, wait).await?))
    }

    async fn retry_all(&self, which: Which) -> Result<RetriedMany, Failure> {
        Ok(RetriedMany { each: vec![(self.pid(), self.handle.retry_all(which).await)], problems: Vec::new() })
    }

    async fn switch(&self, target: &Target, on: bool) -> Result<Server, Failure> {
        let name = self.name(target)?;
        let status = if on { self.handle.enable(name).await? } else { self.handle.disable(name).await? };
        Ok(self.own(status))
    }

    async fn listen(&self, cursor: &Cursor) -> Result<Listener, Failure> {
        let seat = self.seats.clone().try_acquire_owned().map_err(|_| {
            Failure::new("overloaded", "too many listen to events at the same time: end other calls of await_activity")
        })?;
        let bus = self.handle.events();
        let since = cursor.of(self.pid());
        let subscription = bus.subscribe(since);
        let mut begun = Cursor::default();
        begun.advance(self.pid(), since.unwrap_or_else(|| bus.sequence()));
        let (sender, heard) = mpsc::channel(BACKLOG);
        let mut tasks = JoinSet::new();
        tasks.spawn(tell(self.pid(), subscription, sender, seat));
        Ok(Listener::new(begun, heard, tasks))
    }
}

/// Tells everything, until nobody listens.
async fn tell(pid: u32, joined: Subscription, to: mpsc::Sender<Heard>, _seat: OwnedSemaphorePermit) {
    let Subscription { backlog, gap, mut live } = joined;
    let first = gap.then_some(Heard::Missed);
    for heard in first.into_iter().chain(backlog.iter().filter_map(|record| event(pid, record))) {
        if to.send(heard).await.is_err() {
            return;
        }
    }
    loop {
        let heard = match live.recv().await {
            Ok(record) => event(pid, &record),
            Err(RecvError::Lagged(_)) => Some(Heard::Missed),
            Err(RecvError::Closed) => return,
        };
        if let Some(heard) = heard
            && to.send(heard).await.is_err()
        {
            return;
        }
    }
}

/// An event that we wrote can be read.
fn event(pid: u32, record: &Record) -> Option<Heard> {
    serde_json::from_str(&record.json).ok().map(|event| Heard::Event(pid, Box::new(event)))
}
