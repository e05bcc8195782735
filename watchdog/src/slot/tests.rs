//! The driver with everything behind it but processes.

mod blind;
mod fake;
mod last_words;
mod not_started;
mod passing;
mod pictures;
mod simulation;

use std::os::unix::net::UnixStream as BlockingStream;
use std::sync::Arc;

use tokio::net::UnixStream;

use super::{Driver, Parts};
use crate::back::runtime::Back;
use crate::config::{EventForm, EventFormat, Events, Server};
use crate::core::slot::Role;
use crate::engine::SlotHandle;
use crate::event_loop::Watcher;
use crate::events::{Bus, EventWriter};
use crate::front::{Client, Front};
use crate::probe::Registry;
use crate::stream::{Sink, Source};
use crate::telemetry::LogHandle;

/// A driver that has not been polled, and all that is around it.
struct Stage {
    driver: Driver,
    handle: SlotHandle,
    /// The client's end of its socket.
    client: UnixStream,
    events: Bus,
}

fn stage(back: Box<dyn Back>, server: Server, watcher: Watcher) -> Stage {
    stage_of(back, server, Role::default(), watcher)
}

fn stage_of(back: Box<dyn Back>, server: Server, role: Role, watcher: Watcher) -> Stage {
    let events =
        Events { stderr: EventForm::Off, format: EventFormat::Jsonl, file: None, ring: 1 << 20, throttle: None };
    let events = Bus::new(EventWriter::new(LogHandle::discard(), &events), events.ring);
    let (near, far) = BlockingStream::pair().unwrap();
    far.set_nonblocking(true).unwrap();
    let source = Source::own_pipe(near.try_clone().unwrap().into(), &watcher).unwrap();
    let sink = Sink::own_pipe(near.into(), &watcher).unwrap();
    let parts = Parts {
        front: Front::only(Client::new(source, sink, server.limits.max_line)),
        server: Arc::new(server),
        role,
        registry: Registry::with_builtins(),
        log: LogHandle::discard(),
        events: events.clone(),
        toolbox: None,
        watcher,
    };
    let (driver, handle) = Driver::over(back, parts);
    Stage { driver, handle, client: UnixStream::from_std(far).unwrap(), events }
}
