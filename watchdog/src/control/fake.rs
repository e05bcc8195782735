//! Slots that are only channels, behind a real handle and the real router: for tests and fuzzing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use axum::Router;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::access::Access;
use super::connection::{self, Either};
use super::seats::Seats;
use super::{Plane, router};
use crate::config::{EventForm, EventFormat, Events, Ready, Require};
use crate::core::catalog::ListKind;
use crate::core::slot::{Role, Slot, SlotSnapshot};
use crate::core::testing::server;
use crate::engine::command::Lists;
use crate::engine::handle::Published;
use crate::engine::{Accepted, Command, CommandError, Handle, Info, Meter, Order, ProbeReport, SlotHandle};
use crate::events::{Bus, EventKind, EventWriter};
use crate::telemetry::LogHandle;

/// A slot that does what it is told at once, as far as its picture goes.
pub(crate) struct FakeSlot {
    pub(crate) handle: SlotHandle,
    pub(crate) picture: watch::Sender<Published>,
    pub(crate) retries: Arc<AtomicU32>,
}

impl FakeSlot {
    pub(crate) fn new(name: &str) -> Self {
        let slot = Slot::new(Arc::new(server()), Role::default(), 1).snapshot();
        let (picture, published) = watch::channel(Published { slot, last_probe: None, fence: None });
        let (commands, orders) = mpsc::unbounded_channel();
        let meter = Arc::new(Meter::default());
        let handle =
            SlotHandle { name: name.into(), command: "server".into(), commands, published, meter: meter.clone() };
        let retries = Arc::new(AtomicU32::new(0));
        tokio::spawn(obey(name.to_owned(), picture.clone(), orders, retries.clone(), meter));
        Self { handle, picture, retries }
    }

    pub(crate) fn connected(name: &str) -> Self {
        let slot = Self::new(name);
        slot.paint(connect);
        count_connection(&slot.handle.meter);
        slot
    }

    pub(crate) fn failed(name: &str) -> Self {
        let slot = Self::new(name);
        slot.paint(|slot| (slot.state, slot.status) = ("PermanentlyFailed", "failed"));
        slot
    }

    pub(crate) fn paint(&self, change: impl FnOnce(&mut SlotSnapshot)) {
        self.picture.send_modify(|published| change(&mut published.slot));
    }
}

/// What a slot's task counts when it is connected for the first time.
pub(crate) fn count_connection(meter: &Meter) {
    let kind = EventKind::ServerConnected { pid: None, protocol_version: None, attempts_taken: 1, start_ms: 1 };
    meter.tally().event(Instant::now(), 1, &kind);
}

fn connect(slot: &mut SlotSnapshot) {
    (slot.state, slot.status) = ("Connected", "connected");
    slot.generation += 1;
}

async fn obey(
    name: String,
    picture: watch::Sender<Published>,
    mut orders: mpsc::UnboundedReceiver<Command>,
    retries: Arc<AtomicU32>,
    meter: Arc<Meter>,
) {
    while let Some(command) = orders.recv().await {
        let now = picture.borrow().slot.clone();
        let paint = |change: fn(&mut SlotSnapshot)| picture.send_modify(|published| change(&mut published.slot));
        // The tests take what they ask for.
        match command {
            Command::Retry(answer) if !now.enabled => _ = answer.send(Err(CommandError::Disabled(name.clone()))),
            Command::Retry(answer) => {
                retries.fetch_add(1, Ordering::Relaxed);
                let state = now.state.to_owned();
                let (server, generation) = (name.clone(), now.generation + 1);
                _ = answer.send(Ok(Accepted { accepted: true, server, state, generation, attempt: 1 }));
                // One of this name never comes back.
                if name != "stubborn" {
                    count_connection(&meter);
                    paint(connect);
                }
            }
            Command::Enable(answer) => {
                paint(|slot| slot.enabled = true);
                _ = answer.send(());
            }
            Command::Disable(answer) => {
                paint(|slot| (slot.enabled, slot.state, slot.status) = (false, "Disabled", "disconnected"));
                _ = answer.send(());
            }
            Command::Probe(answer) if now.status == "connected" => _ = answer.send(Ok(alive())),
            Command::Probe(answer) => {
                _ = answer.send(Err(CommandError::not_connected(&name, &now, true)));
            }
            Command::Logs(lines, answer) => _ = answer.send((0..lines).map(|line| line.to_string()).collect()),
            Command::Catalog(answer) => {
                let page = br#"{"tools":[{"name":"echo","inputSchema":{}}]}"#.to_vec().into();
                let lists = vec![(ListKind::Tools, 1, vec![page])];
                _ = answer.send(Lists { generation: now.generation, stale: false, lists });
            }
            // One of this name has stopped.
            Command::Tick(answer) if name == "stopped" => {
                tokio::spawn(async move {
                    std::future::pending::<()>().await;
                    drop(answer);
                });
            }
            Command::Tick(answer) => _ = answer.send(()),
            Command::Configure(..) | Command::Signal(_) | Command::Shutdown(_) => {}
        }
    }
}

fn alive() -> ProbeReport {
    let at = "2026-11-28T00:00:00.000Z".to_owned();
    let (trigger, verdict) = ("manual".to_owned(), "alive".to_owned());
    ProbeReport { at, trigger, verdict, reason: None, elapsed_ms: 1, links: Vec::new() }
}

/// A process with these slots.
pub(crate) struct Fake {
    pub(crate) plane: Plane,
    pub(crate) events: Bus,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) router: Router,
}

impl Fake {
    pub(crate) fn new(slots: &[&FakeSlot]) -> Self {
        Self::that_requires(Require::Any, slots)
    }

    pub(crate) fn that_requires(require: Require, slots: &[&FakeSlot]) -> Self {
        let events = Events { stderr: EventForm::Off, format: EventFormat::Jsonl, file: None, ring: 4, throttle: None };
        let events = Bus::new(EventWriter::new(LogHandle::discard(), &events), events.ring);
        let (sender, orders) = mpsc::unbounded_channel();
        let handle = Handle::new(Info::of_this_process(Some("/etc/x.yaml".into())), events.clone(), sender);
        handle.set_slots(slots.iter().map(|slot| slot.handle.clone()).collect());
        let (closing, closed) = watch::channel(false);
        let plane = Plane::new(handle, Ready { require }, false, vec!["ping".to_owned()], closed);
        let router = router(&plane, Access::Unix);
        Self { plane, events, orders, closing, router }
    }

    /// Serves what comes over this stream, until it ends or `closing` does.
    pub(crate) async fn serve(&self, stream: UnixStream) {
        let seat = Seats::new().take().await;
        connection::serve(Either::Unix(stream), self.router.clone(), seat, self.closing.subscribe()).await;
    }
}
