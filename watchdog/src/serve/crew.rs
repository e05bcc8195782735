//! The slots of a process and their tasks.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};

use super::sockets;
use crate::config::{Config, OnPermanentFailure, Server};
use crate::control::mcp;
use crate::core::slot::Role;
use crate::engine::{Command, Handle, SlotHandle};
use crate::event_loop::Watcher;
use crate::exit::Exit;
use crate::front::Front;
use crate::front::socket::Door;
use crate::probe::Registry;
use crate::slot::{Driver, Parts, Toolbox};
use crate::telemetry::LogHandle;

/// How a slot's task ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// As it should.
    Slot {
        /// Whose it was.
        name: Arc<str>,
        /// How.
        exit: Exit,
    },
    /// By a panic.
    Broken {
        /// Whose it was.
        name: Arc<str>,
    },
}

/// Everybody who works here.
pub(super) struct Crew {
    registry: Registry,
    log: LogHandle,
    handle: Handle,
    role: Role,
    toolbox: Option<Arc<dyn Toolbox>>,
    /// In the order of the configuration. One that is being stopped is in `tasks` only.
    slots: Vec<SlotHandle>,
    tasks: JoinSet<Exit>,
    /// By task: a server that was removed and added again has two for a moment.
    names: HashMap<Id, Arc<str>>,
    /// Those that end on order.
    leaving: Vec<SlotHandle>,
}

impl Crew {
    pub(super) fn new(registry: Registry, log: LogHandle, handle: Handle, config: &Config) -> Self {
        let role = Role { exit_on_failure: config.on_permanent_failure == OnPermanentFailure::Exit, served: true };
        let (slots, tasks, names, leaving) = (Vec::new(), JoinSet::new(), HashMap::new(), Vec::new());
        let toolbox = mcp::toolbox(&config.mgmt, &handle);
        Self { registry, log, handle, role, toolbox, slots, tasks, names, leaving }
    }

    pub(super) const fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) const fn log(&self) -> &LogHandle {
        &self.log
    }

    /// Whether a server of this name was stopped and has not ended.
    pub(super) fn is_leaving(&self, name: &str) -> bool {
        self.leaving.iter().any(|slot| &*slot.name == name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Opens the sockets of a server.
    ///
    /// # Errors
    /// When one cannot be opened, in words that name it.
    pub(super) fn door(&self, server: &Server) -> Result<Door, String> {
        Ok(Door::new(sockets::open(server)?, server.limits.max_line))
    }

    /// Starts a server behind a door.
    pub(super) fn start(&mut self, server: Server, door: Door) {
        let (driver, slot) = Driver::new(Parts {
            log: self.log.named(&server.name),
            server: Arc::new(server),
            role: self.role,
            registry: self.registry.clone(),
            front: Front::open(door),
            events: self.handle.events().clone(),
            toolbox: self.toolbox.clone(),
            watcher: Watcher::Runtime,
        });
        let task = self.tasks.spawn(driver.run());
        self.names.insert(task.id(), slot.name.clone());
        self.slots.retain(|other| other.name != slot.name);
        self.slots.push(slot);
    }

    /// Ends a server that is not wanted any more. It is not listed from here on.
    pub(super) fn stop(&mut self, name: &str) {
        while let Some(at) = self.slots.iter().position(|slot| &*slot.name == name) {
            let slot = self.slots.swap_remove(at);
            send(&slot, Command::Shutdown(nix::libc::SIGTERM));
            self.leaving.push(slot);
        }
    }

    /// Gives a server another configuration.
    pub(super) fn configure(&self, server: Server, replace: bool, switch: bool) {
        let Some(slot) = self.slots.iter().find(|slot| *slot.name == *server.name) else { return };
        let enabled = server.enabled;
        // Switched off first, so that no process is started for what will not run.
        if switch && !enabled {
            send(slot, Command::Disable(tokio::sync::oneshot::channel().0));
        }
        send(slot, Command::Configure(Arc::new(server), replace));
        if switch && enabled {
            send(slot, Command::Enable(tokio::sync::oneshot::channel().0));
        }
    }

    /// Ends everything, as a signal would; repeated, faster.
    pub(super) fn shut_down(&self, signal: i32) {
        for slot in self.slots.iter().chain(&self.leaving) {
            send(slot, Command::Shutdown(signal));
        }
    }

    /// Sends a signal to every server.
    pub(super) fn signal(&self, signal: i32) {
        for slot in &self.slots {
            send(slot, Command::Signal(signal));
        }
    }

    /// Puts the slots into this order.
    pub(super) fn arrange(&mut self, names: &[&str]) {
        self.slots.sort_by_key(|slot| names.iter().position(|name| *name == &*slot.name));
    }

    /// Lets everybody see which slots there are.
    pub(super) fn publish(&self) {
        self.handle.set_slots(self.slots.clone());
    }

    /// The next end of a task; `None` where there is none.
    pub(super) async fn next_end(&mut self) -> Option<Ended> {
        let ended = poll_fn(|cx| self.tasks.poll_join_next_with_id(cx)).await?;
        let (id, exit) = match ended {
            Ok((id, exit)) => (id, Some(exit)),
            Err(error) => (error.id(), None),
        };
        let name = self.names.remove(&id)?;
        self.leaving.retain(|slot| slot.name != name || !slot.commands.is_closed());
        Some(match exit {
            Some(exit) => Ended::Slot { name, exit },
            None => Ended::Broken { name },
        })
    }
}

/// A slot whose task has ended needs no command.
fn send(slot: &SlotHandle, command: Command) {
    _ = slot.commands.send(command);
}
