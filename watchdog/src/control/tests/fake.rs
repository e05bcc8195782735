//! Slots that are only channels, behind a real handle and the real router.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tower::ServiceExt;

use super::super::access::Access;
use super::super::{Plane, router};
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
pub(in crate::control) struct FakeSlot {
    pub(in crate::control) handle: SlotHandle,
    pub(in crate::control) picture: watch::Sender<Published>,
    pub(in crate::control) retries: Arc<AtomicU32>,
}

impl FakeSlot {
    pub(in crate::control) fn new(name: &str) -> Self {
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

    pub(in crate::control) fn connected(name: &str) -> Self {
        let slot = Self::new(name);
        slot.paint(connect);
        count_connection(&slot.handle.meter);
        slot
    }

    pub(in crate::control) fn failed(name: &str) -> Self {
        let slot = Self::new(name);
        slot.paint(|slot| (slot.state, slot.status) = ("PermanentlyFailed", "failed"));
        slot
    }

    pub(in crate::control) fn paint(&self, change: impl FnOnce(&mut SlotSnapshot)) {
        self.picture.send_modify(|published| change(&mut published.slot));
    }
}

/// What a slot's task counts when it is connected for the first time.
pub(in crate::control) fn count_connection(meter: &Meter) {
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
                _ = answer.send(Err(CommandError::NotConnected { server: name.clone(), state: now.state.to_owned() }));
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
pub(in crate::control) struct Fake {
    pub(in crate::control) plane: Plane,
    pub(in crate::control) events: Bus,
    pub(in crate::control) orders: mpsc::UnboundedReceiver<Order>,
    pub(in crate::control) closing: watch::Sender<bool>,
    router: Router,
}

/// An answer, read to its end.
pub(in crate::control) struct Answer {
    pub(in crate::control) status: StatusCode,
    pub(in crate::control) headers: HeaderMap,
    pub(in crate::control) body: String,
}

impl Answer {
    pub(in crate::control) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(in crate::control) fn media_type(&self) -> &str {
        self.headers[header::CONTENT_TYPE].to_str().unwrap().split(';').next().unwrap()
    }

    #[track_caller]
    pub(in crate::control) fn is_problem(&self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status.as_u16(), self.media_type()), (status, "application/problem+json"), "{problem}");
        assert_eq!((problem["status"].as_u64(), problem["code"].as_str()), (Some(status.into()), Some(code)));
        problem
    }
}

impl Fake {
    pub(in crate::control) fn new(slots: &[&FakeSlot]) -> Self {
        Self::that_requires(Require::Any, slots)
    }

    pub(in crate::control) fn that_requires(require: Require, slots: &[&FakeSlot]) -> Self {
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

    pub(in crate::control) async fn ask(&self, request: Request<Body>) -> axum::response::Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(in crate::control) async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.ask(request).await.into_parts();
        let body = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(in crate::control) async fn request(&self, method: Method, uri: &str) -> Answer {
        self.send(Request::builder().method(method).uri(uri).body(Body::empty()).unwrap()).await
    }

    pub(in crate::control) async fn get(&self, uri: &str) -> Answer {
        self.request(Method::GET, uri).await
    }

    pub(in crate::control) async fn post(&self, uri: &str) -> Answer {
        self.request(Method::POST, uri).await
    }

    /// With a body of this type.
    pub(in crate::control) async fn carry(&self, uri: &str, media_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(uri).header(header::CONTENT_TYPE, media_type);
        self.send(request.body(body.into()).unwrap()).await
    }
}
