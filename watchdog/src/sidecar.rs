//! The sidecar form: one server, spoken to on our stdin and stdout.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::config::load::Loaded;
use crate::config::{Config, OnPermanentFailure};
use crate::core::slot::Role;
use crate::engine::Command;
use crate::engine::signals::Signals;
use crate::events::{Bus, Event, EventKind, EventWriter};
use crate::exit::{Exit, chain_text};
use crate::front::{Client, Front};
use crate::probe::Registry;
use crate::probe::plugin;
use crate::slot::{Driver, Parts};
use crate::stream::stdio;
use crate::telemetry::{self, LogHandle};

/// How long the log, and the file of events, may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Serves until the client leaves, a signal comes, or the server has failed for good.
pub(crate) fn run(loaded: Loaded, registry: Registry) -> Exit {
    let Loaded { config, warnings, .. } = loaded;
    let log = telemetry::init(&config.log, &config.only().name);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let exit = serve(&config, registry, log.clone()).unwrap_or_else(|error| {
        tracing::error!("the watchdog failed: {}", chain_text(&error));
        Exit::Internal
    });
    log.flush(LAST_LINES);
    exit
}

fn serve(config: &Config, registry: Registry, log: LogHandle) -> std::io::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything else could print into the protocol.
        let (source, sink) = stdio::take()?;
        let mut signals = Signals::catch()?;
        let mut for_server = Signals::catch_for_server()?;
        let events = Bus::new(EventWriter::new(log.clone(), &config.events), config.events.ring);
        let (driver, slot) = Driver::new(Parts {
            server: Arc::new(config.only().clone()),
            role: Role { exit_on_failure: config.on_permanent_failure == OnPermanentFailure::Exit, served: false },
            registry,
            front: Front::only(Client::new(source, sink, config.only().limits.max_line)),
            log: log.clone(),
            events: events.clone(),
        });
        let started = EventKind::WatchdogStarted { version: env!("CARGO_PKG_VERSION").into(), pid: std::process::id() };
        events.publish(Event::of_watchdog(started), SystemTime::now());
        let refused = tokio::select! {
            admitted = plugin::admit(&config.servers, &log, &events) => admitted.err().map(|why| {
                tracing::error!("{why}");
                Exit::Config
            }),
            number = signals.next() => Some(Exit::Signal(number)),
        };
        let mut serving = pin!(driver.run());
        let exit = loop {
            if let Some(exit) = refused {
                break exit;
            }
            tokio::select! {
                exit = &mut serving => break exit,
                // An error says that it has ended, which the other arm is about to say too.
                number = signals.next() => drop(slot.commands.send(Command::Shutdown(number))),
                number = for_server.next() => drop(slot.commands.send(Command::Signal(number))),
            }
        };
        let stopped = EventKind::WatchdogStopped { reason: "finished".into(), code: exit.code() };
        events.publish(Event::of_watchdog(stopped), SystemTime::now());
        events.flush(LAST_LINES);
        Ok(exit)
    })
}
