//! `mcp-watchdog serve`: several servers in one process, each with a socket of its own for its clients.
//!
//! Every server is one task. None waits for another, and one that fails, or whose task breaks down, changes nothing for the
//! rest. What runs is changed by a reload: only what differs is touched, and a file that is wrong changes nothing.

mod crew;
mod sockets;
mod state;

use std::time::{Duration, SystemTime};

use nix::libc;
use tokio::sync::mpsc;

use crate::config::load::{self, Input, Loaded};
use crate::config::{Change, Config, diff};
use crate::control;
use crate::engine::signals::Signals;
use crate::engine::{Handle, Info, Order};
use crate::event_loop;
use crate::events::{Bus, Event, EventKind, EventWriter};
use crate::exit::{Exit, chain_text};
use crate::os;
use crate::probe::{Registry, plugin};
use crate::service_manager::ServiceManager;
use crate::telemetry::{self, LogHandle};
use crew::{Crew, Ended};
use state::StateFile;

/// The name under which the process speaks of itself in the log.
const NAME: &str = "mcp-watchdog";
/// What the name of its control socket begins with.
const CONTROL_NAME: &str = "serve";
/// How long the log may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Serves until a signal or an order ends it. `input` is what `loaded` was loaded from: a reload reads it again.
pub(crate) fn run(input: Input, loaded: Loaded, registry: Registry) -> Exit {
    let log = telemetry::init(&loaded.config.log, NAME);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    if let Some(why) = os::blindness() {
        tracing::warn!("{why}");
    }
    let exit = serve(input, loaded, registry, log.clone()).unwrap_or_else(|error| {
        log.last_word(&format!("the watchdog failed: {}", chain_text(&error)));
        Exit::Internal
    });
    log.flush(LAST_LINES);
    exit
}

fn serve(input: Input, loaded: Loaded, registry: Registry, log: LogHandle) -> std::io::Result<Exit> {
    os::room_for_runtime()?;
    let runtime = event_loop::start()?;
    runtime.block_on(async {
        let mut signals = Signals::catch()?;
        let for_servers = Signals::catch_for_server()?;
        let events = Bus::new(EventWriter::new(log.clone(), &loaded.config.events), loaded.config.events.ring);
        let (sender, orders) = mpsc::unbounded_channel();
        let handle = Handle::new(Info::of_this_process(loaded.file.clone()), events.clone(), sender);
        handle.set_config_sha256(loaded.sha256);
        let kind = EventKind::WatchdogStarted { version: handle.info().version.into(), pid: handle.info().pid };
        events.publish(Event::of_watchdog(kind), SystemTime::now());
        let manager = ServiceManager::of_environment(&handle);
        let state = StateFile::open(loaded.config.state_file.clone());
        let admitted = tokio::select! {
            admitted = plugin::admit(&loaded.config.servers, &log, &events) => Ok(admitted),
            number = signals.next() => Err(Exit::Signal(number)),
        };
        let probes = registry.names().map(str::to_owned).collect();
        let control = control::start(&loaded.config, CONTROL_NAME, &handle, probes);
        let crew = Crew::new(registry, log, handle.clone(), &loaded.config);
        let mut serve = Serve { input, config: loaded.config, handle, crew, state, manager, ending: None };
        let exit = match admitted.map(|admitted| admitted.and_then(|()| serve.begin())) {
            Ok(Ok(())) => serve.run(signals, for_servers, orders).await,
            Ok(Err(why)) => {
                tracing::error!("{why}");
                Exit::Config
            }
            Err(exit) => exit,
        };
        let kind = EventKind::WatchdogStopped { reason: "finished".into(), code: exit.code() };
        events.publish(Event::of_watchdog(kind), SystemTime::now());
        control.end().await;
        serve.manager.end().await;
        events.flush(LAST_LINES);
        Ok(exit)
    })
}

struct Serve {
    input: Input,
    config: Config,
    handle: Handle,
    crew: Crew,
    state: StateFile,
    manager: ServiceManager,
    /// How the process ends, once that has begun.
    ending: Option<Exit>,
}

impl Serve {
    /// Starts every server.
    ///
    /// # Errors
    /// When a socket cannot be opened: a server that no client can reach is not what was configured.
    fn begin(&mut self) -> Result<(), String> {
        let servers: Vec<_> = self.config.servers.iter().cloned().map(|server| self.state.apply(server)).collect();
        // All sockets before the first server: nothing has to be stopped again if one of them is taken.
        let doors = servers.iter().map(|server| self.crew.door(server)).collect::<Result<Vec<_>, _>>()?;
        for (server, door) in servers.into_iter().zip(doors) {
            self.emit_of(&server.name, EventKind::ServerAdded);
            self.crew.start(server, door);
        }
        self.crew.publish();
        Ok(())
    }

    async fn run(
        &mut self,
        mut signals: Signals,
        mut for_servers: Signals,
        mut orders: mpsc::UnboundedReceiver<Order>,
    ) -> Exit {
        loop {
            tokio::select! {
                Some(ended) = self.crew.next_end() => self.ended(ended),
                number = signals.next() => match number {
                    // Once the end has begun there is nothing to reload, and no hurry either.
                    libc::SIGHUP if self.ending.is_some() => {}
                    libc::SIGHUP => self.reload_and_tell().await,
                    number => self.end(Exit::Signal(number), number),
                },
                number = for_servers.next() => self.crew.signal(number),
                Some(order) = orders.recv() => self.obey(order).await,
            }
            if let Some(exit) = self.ending.filter(|_| self.crew.is_empty()) {
                return exit;
            }
        }
    }

    fn end(&mut self, exit: Exit, signal: i32) {
        self.ending.get_or_insert(exit);
        self.handle.drain();
        self.manager.stopping();
        self.crew.shut_down(signal);
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Reload(answer) if self.ending.is_some() => {
                _ = answer.send(Err("the watchdog is shutting down".to_owned()));
            }
            Order::Reload(answer) => {
                // Whoever asked may have gone.
                _ = answer.send(self.reload().await);
            }
            Order::Remember { server, enabled } => self.state.remember(&server, enabled),
            Order::Shutdown => self.end(Exit::Done, libc::SIGTERM),
        }
    }

    fn ended(&mut self, ended: Ended) {
        match ended {
            Ended::Slot { name, exit } if exit == Exit::PermanentFailure && self.ending.is_none() => {
                tracing::error!("server \"{name}\" has failed for good, and on_permanent_failure is exit");
                self.end(exit, libc::SIGTERM);
            }
            Ended::Slot { .. } => {}
            Ended::Broken { name } if self.ending.is_none() => {
                tracing::error!("the task of server \"{name}\" broke down; it is started anew");
                if let Some(server) = self.config.servers.iter().find(|server| *server.name == *name).cloned() {
                    self.replace(server);
                }
            }
            Ended::Broken { .. } => {}
        }
        self.crew.publish();
    }

    fn replace(&mut self, server: crate::config::Server) {
        match self.crew.door(&server) {
            Ok(door) => self.crew.start(self.state.apply(server), door),
            Err(why) => tracing::error!("{why}"),
        }
    }

    async fn reload_and_tell(&mut self) {
        match self.reload().await {
            Ok(changed) if changed.is_empty() => tracing::info!("the configuration was read again: nothing changed"),
            // Told as events.
            Ok(_) | Err(_) => {}
        }
    }

    /// Reads the configuration again and applies what differs. The answer names what changed.
    async fn reload(&mut self) -> Result<Vec<String>, String> {
        self.manager.reloading();
        let outcome = self.read_and_apply().await;
        self.manager.reloaded(outcome.is_ok());
        outcome
    }

    async fn read_and_apply(&mut self) -> Result<Vec<String>, String> {
        let registry = self.crew.registry().clone();
        let loaded = match load::load_all(&self.input, &|link, command| registry.check(link, command)) {
            Ok(loaded) => loaded,
            Err(errors) => {
                let error = errors.errors().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                self.emit(EventKind::ConfigRejected { error: error.clone() });
                return Err(error);
            }
        };
        let difference = diff(&self.config, &loaded.config);
        self.admit_plugins(&loaded.config, &difference.servers).await.inspect_err(|error| {
            self.emit(EventKind::ConfigRejected { error: error.clone() });
        })?;
        let changed = self.apply(&loaded.config, &difference.servers).inspect_err(|error| {
            self.emit(EventKind::ConfigRejected { error: error.clone() });
        })?;
        let mut told = changed;
        told.extend(difference.restart.iter().map(|key| format!("{key} (takes a restart of the watchdog)")));
        // What only a new process takes is told of again, until there is one.
        self.config.servers = loaded.config.servers;
        self.handle.set_config_sha256(loaded.sha256);
        if !told.is_empty() {
            self.emit(EventKind::ConfigReloaded { changed: told.clone() });
        }
        Ok(told)
    }

    /// Tries the plugins of every server whose chain is new: one that does not load keeps the old configuration.
    async fn admit_plugins(&self, config: &Config, changes: &[Change]) -> Result<(), String> {
        let fresh = |name: &str| {
            changes.iter().any(|change| match change {
                Change::Added(added) => added == name,
                Change::Changed { name: changed, keys, .. } => changed == name && keys.contains(&"probe.chain"),
                Change::Removed(_) => false,
            })
        };
        let servers: Vec<_> = config.servers.iter().filter(|server| fresh(&server.name)).cloned().collect();
        plugin::admit(&servers, self.crew.log(), self.handle.events()).await
    }

    /// Applies the differences of servers.
    fn apply(&mut self, config: &Config, changes: &[Change]) -> Result<Vec<String>, String> {
        let wanted = |name: &str| config.servers.iter().find(|server| server.name == name).cloned();
        // A socket that is taken, or a name whose last server is still ending, changes nothing: the doors come first.
        let mut doors = Vec::new();
        for change in changes {
            let Change::Added(name) = change else { continue };
            if self.crew.is_leaving(name) {
                return Err(format!("server \"{name}\" was removed and is still ending; reload again in a moment"));
            }
            if let Some(server) = wanted(name) {
                doors.push((name, self.crew.door(&server)?));
            }
        }
        let mut told = Vec::new();
        for change in changes {
            match change {
                Change::Removed(name) => {
                    self.crew.stop(name);
                    self.state.forget(name);
                    told.push(format!("{name}: removed"));
                    self.emit_of(name, EventKind::ServerRemoved);
                }
                Change::Added(name) => {
                    let door = doors.iter().position(|(of, _)| *of == name).map(|at| doors.swap_remove(at).1);
                    let (Some(server), Some(door)) = (wanted(name), door) else { continue };
                    told.push(format!("{name}: started"));
                    self.emit_of(name, EventKind::ServerAdded);
                    self.crew.start(self.state.apply(server), door);
                }
                Change::Changed { name, keys, spawn_relevant } => {
                    let Some(server) = wanted(name) else { continue };
                    let switch = keys.contains(&"enabled");
                    if switch {
                        // What the file says now is newer than what an operator said.
                        self.state.forget(name);
                    }
                    let keys = keys.iter().map(|key| match *key {
                        "listen" => "listen (takes a restart of the watchdog)",
                        key => key,
                    });
                    told.push(format!("{name}: {}", keys.collect::<Vec<_>>().join(", ")));
                    self.crew.configure(self.state.apply(server), *spawn_relevant, switch);
                }
            }
        }
        let order: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
        self.crew.arrange(&order);
        self.crew.publish();
        Ok(told)
    }

    fn emit_of(&self, server: &str, kind: EventKind) {
        let event = Event::of_server(kind, server.into(), None);
        self.handle.events().publish(event, SystemTime::now());
    }

    fn emit(&self, kind: EventKind) {
        self.handle.events().publish(Event::of_watchdog(kind), SystemTime::now());
    }
}
