//! The task that tells the service manager what happens.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;
use nix::time::{ClockId, clock_gettime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::beat::beat;
use super::picture::Server;
use super::socket::Socket;
use super::voice::{STOP_BEAT, Voice};
use crate::engine::handle::Published;
use crate::engine::{Handle, SlotHandle};

/// What cannot be seen from the servers.
#[derive(Debug)]
pub(super) enum News {
    /// A reload begins.
    Reloading,
    /// It is over.
    Reloaded {
        /// Whether the new configuration holds.
        taken: bool,
    },
    /// The end has begun.
    Stopping,
}

/// Who tells it.
pub(super) struct Reporter {
    socket: Arc<Socket>,
    /// How often a sign of life is wanted.
    beat: Option<Duration>,
    handle: Handle,
    news: mpsc::UnboundedReceiver<News>,
    voice: Voice,
    slots: watch::Receiver<Arc<[SlotHandle]>>,
    pictures: Vec<watch::Receiver<Published>>,
    /// Ends with this task.
    beating: JoinSet<()>,
}

impl Reporter {
    pub(super) fn new(
        socket: Arc<Socket>,
        beat: Option<Duration>,
        handle: Handle,
        news: mpsc::UnboundedReceiver<News>,
    ) -> Self {
        let (voice, slots, beating) = (Voice::default(), handle.watch_slots(), JoinSet::new());
        Self { socket, beat, handle, news, voice, slots, pictures: Vec::new(), beating }
    }

    /// Tells, until nobody has news any more.
    pub(super) async fn run(mut self) {
        let mut again = None;
        loop {
            tokio::select! {
                // News first: what was told before the end of the program is said before it.
                biased;
                news = self.news.recv() => match news {
                    Some(news) => self.tell(news).await,
                    None => return,
                },
                () = changed(&mut self.slots, &mut self.pictures) => again = self.look().await,
                () = at(again) => again = self.look().await,
            }
            if self.voice.is_stopping() {
                again = Some(Instant::now() + STOP_BEAT);
            }
        }
    }

    async fn look(&mut self) -> Option<Instant> {
        if self.voice.is_stopping() {
            self.socket.send(&Voice::more_time()).await;
            return None;
        }
        let (message, again) = self.voice.look(&self.servers(), Instant::now().into_std());
        if let Some(message) = message {
            self.socket.send(&message).await;
        }
        if let Some(every) = self.beat.take_if(|_| self.voice.is_ready()) {
            self.beating.spawn(beat(self.handle.clone(), every, self.socket.clone()));
        }
        again.map(Instant::from_std)
    }

    async fn tell(&mut self, news: News) {
        let message = match news {
            News::Reloading => self.voice.reloading(monotonic()),
            News::Reloaded { taken } => self.voice.reloaded(taken, &self.servers(), Instant::now().into_std()),
            News::Stopping => self.voice.stopping(),
        };
        if let Some(message) = message {
            self.socket.send(&message).await;
        }
    }

    fn servers(&self) -> Vec<Server> {
        let of = |slot: &SlotHandle| {
            let connected_once = slot.meter.tally().has_connected();
            Server::of(&slot.published.borrow().slot, connected_once, slot.meter.socket)
        };
        self.slots.borrow().iter().map(of).collect()
    }
}

/// The next change of a server, or of which servers there are.
async fn changed(slots: &mut watch::Receiver<Arc<[SlotHandle]>>, pictures: &mut Vec<watch::Receiver<Published>>) {
    let one = async {
        if pictures.is_empty() {
            return pending().await;
        }
        let (changed, at, _) = select_all(pictures.iter_mut().map(|picture| Box::pin(picture.changed()))).await;
        changed.map_err(|_| at)
    };
    tokio::select! {
        // There is an error only where the handle has gone, and this task has one.
        _ = slots.changed() => {
            *pictures = slots.borrow_and_update().iter().map(|slot| slot.published.clone()).collect();
        }
        changed = one => if let Err(ended) = changed {
            pictures.swap_remove(ended);
        },
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// CLOCK_MONOTONIC, by which a manager tells whether a reload began after its request for one.
fn monotonic() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}
