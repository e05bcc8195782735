//! The sidecar form: one server, spoken to on our stdin and stdout.

use std::io::{self, IsTerminal};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use crate::config::load::Loaded;
use crate::config::{Config, OnPermanentFailure};
use crate::control::{self, mcp};
use crate::core::slot::Role;
use crate::engine::signals::Signals;
use crate::engine::{Command, Handle, Info, Order, SlotHandle};
use crate::event_loop::{self, DataPath};
use crate::events::{Bus, Event, EventKind, EventWriter};
use crate::exit::{Exit, chain_text};
use crate::front::{Client, Front};
use crate::os;
use crate::probe::Registry;
use crate::probe::plugin;
use crate::service_manager::ServiceManager;
use crate::slot::{Driver, Parts};
use crate::stream::stdio;
use crate::telemetry::{self, LogHandle};

/// How long the log, and the file of events, may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// One client's session depends on what the configuration was when it began.
const NO_RELOAD: &str = "a sidecar reads its configuration once: start it anew, or use `mcp-watchdog serve`";

/// What a container does that is run without `-i`, and a service that nobody gave a socket.
const NO_CLIENT: &str = "stdin is /dev/null: no client is there to be served, and so the end comes at once. In a container, add \
                         `-i` to `docker run`; for clients that come and go, use `mcp-watchdog serve`";

/// Who starts it by hand would otherwise look at a program that says nothing and does not end.
const AT_A_TERMINAL: &str = "stdin is a terminal: each line that is typed there is taken as a client's message, until Ctrl-D. \
                             `mcp-watchdog probe -- COMMAND` tries a server without a client; `docker run` takes `-i` without `-t`";

/// Serves until the client leaves, a signal comes, or the server has failed for good.
pub(crate) fn run(loaded: Loaded, registry: Registry) -> Exit {
    let Loaded { config, file, sha256, warnings, .. } = loaded;
    let log = telemetry::init(&config.log, &config.only().name);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    if let Some(why) = os::blindness() {
        tracing::warn!("{why}");
    }
    let exit = serve(&config, (file, sha256), registry, log.clone()).unwrap_or_else(|error| {
        log.last_word(&format!("the watchdog failed: {}", chain_text(&error)));
        Exit::Internal
    });
    log.flush(LAST_LINES);
    exit
}

/// The file is what the configuration was read from, with its SHA-256.
fn serve(
    config: &Config,
    (file, sha256): (Option<PathBuf>, Option<String>),
    registry: Registry,
    log: LogHandle,
) -> io::Result<Exit> {
    os::room_for_runtime()?;
    let runtime = event_loop::start()?;
    runtime.block_on(async {
        if stdio::has_no_client() {
            tracing::warn!("{NO_CLIENT}");
        } else if io::stdin().is_terminal() {
            tracing::info!("{AT_A_TERMINAL}");
        }
        let data_path = DataPath::new()?;
        let watcher = data_path.watcher();
        // Before anything else could print into the protocol.
        let (source, sink) = stdio::take(&watcher)?;
        let mut signals = Signals::catch()?;
        let mut for_server = Signals::catch_for_server()?;
        let events = Bus::new(EventWriter::new(log.clone(), &config.events), config.events.ring);
        let probes = registry.names().map(str::to_owned).collect();
        let (sender, mut orders) = mpsc::unbounded_channel();
        let handle = Handle::new(Info::of_this_process(file), events.clone(), sender);
        handle.set_config_sha256(sha256);
        let (driver, slot) = Driver::new(Parts {
            server: Arc::new(config.only().clone()),
            role: Role { exit_on_failure: config.on_permanent_failure == OnPermanentFailure::Exit, served: false },
            registry,
            front: Front::only(Client::new(source, sink, config.only().limits.max_line)),
            log: log.clone(),
            events: events.clone(),
            toolbox: mcp::toolbox(&config.mgmt, &handle),
            watcher,
        });
        let manager = ServiceManager::of_environment(&handle);
        handle.set_slots(vec![slot.clone()]);
        let started = EventKind::WatchdogStarted { version: handle.info().version.into(), pid: handle.info().pid };
        events.publish(Event::of_watchdog(started), SystemTime::now());
        let refused = tokio::select! {
            admitted = plugin::admit(&config.servers, &log, &events) => admitted.err().map(|why| {
                tracing::error!("{why}");
                Exit::Config
            }),
            number = signals.next() => Some(Exit::Signal(number)),
        };
        let control = control::start(config, &config.only().name, &handle, probes);
        let mut serving = pin!(async { data_path.run(driver.run())?.await.map_err(io::Error::other) });
        let mut asked_to_end = None;
        let exit = loop {
            if let Some(exit) = refused {
                break exit;
            }
            tokio::select! {
                ended = &mut serving => break ended?.unwrap_or_else(|panic| resume_unwind(panic)),
                number = signals.next() => {
                    asked_to_end = Some(number);
                    end(&handle, &slot, &manager, number);
                }
                number = for_server.next() => tell(&slot, Command::Signal(number)),
                Some(order) = orders.recv() => match order {
                    Order::Shutdown => end(&handle, &slot, &manager, nix::libc::SIGTERM),
                    // Whoever asked may have gone.
                    Order::Reload(answer) => drop(answer.send(Err(NO_RELOAD.to_owned()))),
                    // Whoever starts a sidecar anew starts it by its configuration.
                    Order::Remember { .. } => {}
                },
            }
        };
        // The server's side, on a thread of its own, may have come to its end before it heard of the signal.
        let asked_to_end = if asked_to_end.is_some() { asked_to_end } else { signals.pending().await };
        let exit = asked_to_end.map_or(exit, |number| exit.after_signal(number));
        let stopped = EventKind::WatchdogStopped { reason: "finished".into(), code: exit.code() };
        events.publish(Event::of_watchdog(stopped), SystemTime::now());
        control.end().await;
        manager.end().await;
        events.flush(LAST_LINES);
        Ok(exit)
    })
}

fn end(handle: &Handle, slot: &SlotHandle, manager: &ServiceManager, signal: i32) {
    handle.drain();
    manager.stopping();
    tell(slot, Command::Shutdown(signal));
}

fn tell(slot: &SlotHandle, command: Command) {
    // An error says that it has ended, which the other arm of the loop is about to say too.
    drop(slot.commands.send(command));
}
