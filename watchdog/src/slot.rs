//! The driver of a slot: the only interpreter of [`Effect`]s, and the one task that touches a server's streams.
//!
//! It polls the client, the runtime, probes, commands and the time, tells the core what happened, and carries out what the
//! core decides. Everything that the core may not have is here: the clock, the processes, the log.

mod chain;
mod clock;
mod commands;
mod drive;
mod last_words;
mod manage;
mod passing;
mod reports;
mod strays;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probe_api::Trigger;
use tokio::sync::{mpsc, watch};

use crate::back::runtime::{Back, Runtime};
use crate::back::stdio::Stdio;
use crate::back::{Fence, NotStarted};
use crate::config::Server;
use crate::core::ids::{CallId, Generation};
use crate::core::slot::{Effect, Outgoing, ProbeReply, Role, Slot};
use crate::engine::handle::Published;
use crate::engine::{Command, Meter, ProbeReport, SlotHandle};
use crate::event_loop::{Quiet, Watcher};
use crate::events::{Bus, Event, EventKind};
use crate::exit::Exit;
use crate::front::Front;
use crate::probe::tell::Tell;
use crate::probe::{Registry, Subject};
use crate::stream::past_lines::PastLines;
use crate::telemetry::LogHandle;
use crate::watch::Watch;
use crate::wire::framed::Framed;
use chain::Chains;
use clock::Clock;
use commands::ProbeWaiter;
use last_words::LastWords;
pub(crate) use last_words::PATIENCE_BEHIND_A_DOOR;
use manage::Managed;
pub use manage::Toolbox;
use strays::Strays;

/// A side that has so many bytes waiting holds the other side back.
const FULL: usize = 256 * 1024;

/// What a driver is made of.
pub struct Parts {
    /// The server.
    pub server: Arc<Server>,
    /// How its life and that of the program hang together.
    pub role: Role,
    /// The probes that there are.
    pub registry: Registry,
    /// Its client, or where clients come in.
    pub front: Front,
    /// Where its stderr goes.
    pub log: LogHandle,
    /// Where its events go.
    pub events: Bus,
    /// The tools that are added to its own, where that is wanted.
    pub toolbox: Option<Arc<dyn Toolbox>>,
    /// What watches its streams. A reactor has to be the one that runs the driver: it is what tells whether anything has rung.
    pub watcher: Watcher,
}

/// Everything that one server and its client need while they are served.
pub struct Driver {
    core: Slot,
    server: Arc<Server>,
    name: Arc<str>,
    front: Front,
    back: Box<dyn Back>,
    runtime: Option<(Generation, Box<dyn Runtime>)>,
    chains: Chains,
    managed: Managed,
    watch: Option<Watch>,
    clock: Clock,
    watcher: Watcher,
    /// What is not looked at for each message.
    quiet: Quiet,
    effects: Vec<Effect>,
    /// Whether something has changed that others than the two sides may have to be asked about again in this poll.
    stirred: bool,
    /// Whether a turn has left lines that were read for the next one.
    server_lines_left: bool,
    client_lines_left: bool,
    exit: Option<Exit>,
    /// What the client is still given then.
    last_words: LastWords,
    /// Whether that is not to be waited for.
    hurried: bool,
    /// Whether the client that is there has said anything.
    client_spoke: bool,
    /// Whether the whole program ends.
    ending: bool,
    log: LogHandle,
    strays: Strays,
    events: Bus,
    commands: mpsc::UnboundedReceiver<Command>,
    published: watch::Sender<Published>,
    meter: Arc<Meter>,
    last_probe: Option<ProbeReport>,
    /// Of the latest generation.
    fence: Option<Fence>,
    probe_waiters: Vec<ProbeWaiter>,
    /// Of the processes that have ended.
    past_stderr: PastLines,
}

impl Driver {
    /// A driver for a server, and the way to it; nothing is started yet.
    #[must_use]
    pub fn new(parts: Parts) -> (Self, SlotHandle) {
        Self::over(Box::new(Stdio::under(parts.watcher.clone())), parts)
    }

    /// The same for a server that is reached in this way.
    #[must_use]
    pub fn over(back: Box<dyn Back>, parts: Parts) -> (Self, SlotHandle) {
        let Parts { server, role, registry, front, log, events, toolbox, watcher } = parts;
        let managed = Managed::new(toolbox);
        let mut core = Slot::new(server.clone(), role, fastrand::u64(..));
        core.throttle_events(events.throttle());
        core.inject(managed.tools());
        let name: Arc<str> = server.name.as_str().into();
        let (sender, commands) = mpsc::unbounded_channel();
        let (published, pictures) = watch::channel(Published { slot: core.snapshot(), last_probe: None, fence: None });
        let meter = Arc::new(Meter::new(front.is_open()));
        let handle = SlotHandle {
            name: name.clone(),
            command: server.command.program.to_string_lossy().into(),
            commands: sender,
            published: pictures,
            meter: meter.clone(),
        };
        let tell = {
            let (meter, bus) = (meter.clone(), Tell::bus(events.clone(), name.clone()));
            Tell::new(move |kind| {
                meter.tally().plugin(&kind);
                bus.tell(kind);
            })
        };
        let registry = registry.telling(tell);
        let clock = Clock::new();
        let driver = Self {
            core,
            chains: Chains::new(registry, server.clone(), log.clone()),
            managed,
            server,
            front,
            back,
            runtime: None,
            watch: None,
            strays: Strays::new(log.clone(), clock.now()),
            clock,
            name,
            watcher,
            quiet: Quiet::default(),
            effects: Vec::new(),
            stirred: true,
            server_lines_left: false,
            client_lines_left: false,
            exit: None,
            last_words: LastWords::default(),
            hurried: false,
            client_spoke: false,
            ending: false,
            log,
            events,
            commands,
            published,
            meter,
            last_probe: None,
            fence: None,
            probe_waiters: Vec::new(),
            past_stderr: PastLines::default(),
        };
        (driver, handle)
    }

    /// Serves until the end.
    pub async fn run(mut self) -> Exit {
        let now = self.clock.now();
        self.watch_files();
        self.core.start(now, &mut self.effects);
        self.carry_out(now);
        let exit = std::future::poll_fn(|cx| self.poll_end(cx)).await;
        self.publish();
        exit
    }

    /// Watches the files of the configuration. Where that is not possible the server is served all the same.
    fn watch_files(&mut self) {
        self.watch = Watch::start(&self.server.watch).unwrap_or_else(|error| {
            tracing::error!(target: "mcp", server = %self.name, "`watch` has no effect: {error}");
            None
        });
    }

    /// Whether the slot stays when its session has ended so: a client that came through a door has left.
    fn goes_on_after(&self, exit: Exit) -> bool {
        self.front.is_open() && !self.ending && exit == Exit::Done
    }

    /// Makes room for the next client.
    fn next_session(&mut self, now: std::time::Instant) {
        self.exit = None;
        self.last_words = LastWords::default();
        self.stirred = true;
        self.meter.client_left(now);
        self.front.forget_client();
        self.chains.end_session();
        self.managed.end_all();
        self.report(None);
        self.core = self.core.successor(fastrand::u64(..));
        self.core.start(now, &mut self.effects);
        self.carry_out(now);
    }

    #[cold]
    fn emit(&self, now: std::time::Instant, kind: EventKind) {
        let generation = self.core.lifecycle().generation().0;
        self.meter.tally().event(now, generation, &kind);
        let generation = Some(generation).filter(|generation| *generation > 0);
        self.events.publish(Event::of_server(kind, self.name.clone(), generation), SystemTime::now());
    }

    /// Carries out what the core decided, in order. What an effect causes comes before the effects that follow it. `now` is
    /// the time of the turn.
    fn carry_out(&mut self, now: std::time::Instant) {
        if self.effects.is_empty() {
            return;
        }
        // The next one is the last.
        let mut effects = std::mem::take(&mut self.effects);
        effects.reverse();
        while let Some(effect) = effects.pop() {
            self.effect(now, effect);
            if !self.effects.is_empty() {
                effects.extend(self.effects.drain(..).rev());
            }
        }
        // The buffer is used again.
        self.effects = effects;
    }

    fn effect(&mut self, now: std::time::Instant, effect: Effect) {
        self.stirred |= !effect.only_passes_on();
        match effect {
            Effect::Deliver(Outgoing::Made(line)) => {
                passing::deliver(&mut self.front, &self.meter, &Framed::from(&line))
            }
            Effect::Forward { line: Outgoing::Made(line), tag, urgent } => {
                if let Some((_, runtime)) = &mut self.runtime {
                    runtime.send(&Framed::from(&line), tag, urgent);
                }
            }
            Effect::Deliver(Outgoing::Given) | Effect::Forward { line: Outgoing::Given, .. } => {
                debug_assert!(false, "a line that was given is passed on, or kept, while it is lent");
                tracing::error!(server = &*self.name, "a line was lost, which is a fault of mcp-watchdog");
            }
            Effect::Spawn(generation) => self.spawn(generation),
            Effect::Tear { generation, hear } => self.tear(now, generation, hear),
            Effect::Kill => {
                if let Some((_, runtime)) = &mut self.runtime {
                    runtime.kill();
                }
            }
            Effect::Weigh(generation) => self.weigh(now, generation),
            Effect::StartChain { generation, trigger, limit } => self.start_chain(now, generation, trigger, limit),
            Effect::EndChain => self.end_chain(),
            Effect::ProbeReply(call, reply) => self.reply_to_probe(call, reply),
            Effect::Manage { call, tool, arguments } => self.managed.start(call, tool, arguments),
            Effect::EndManage(call) => self.managed.end(call),
            Effect::Emit(kind) => self.emit(now, *kind),
            Effect::Count(count) => self.meter.count(count),
            Effect::Stray(line) => self.strays.tell(now, &line),
            Effect::Exit(exit) => self.exit = Some(exit),
        }
    }

    #[cold]
    fn tear(&mut self, now: std::time::Instant, generation: Generation, hear: bool) {
        let ladder = self.server.shutdown;
        let unsent = match &mut self.runtime {
            Some((live, runtime)) if *live == generation => runtime.stop(hear, ladder.eof_grace, ladder.term_grace),
            _ => HashMap::new(),
        };
        self.core.torn(now, generation, unsent, &mut self.effects);
    }

    #[cold]
    fn weigh(&mut self, now: std::time::Instant, generation: Generation) {
        let live = self.runtime.as_ref().filter(|(live, _)| *live == generation);
        let processes = live.and_then(|(_, runtime)| runtime.processes());
        let resident = processes.and_then(|processes| processes.look().resident_bytes);
        self.core.weighed(now, generation, resident, &mut self.effects);
    }

    #[cold]
    fn start_chain(&mut self, now: std::time::Instant, generation: Generation, trigger: Trigger, limit: Duration) {
        let processes = self.runtime.as_ref().and_then(|(_, runtime)| runtime.processes());
        let facts = processes.map(|processes| processes.look()).unwrap_or_default();
        let snapshot = self.core.probe_snapshot(now, trigger, facts);
        self.chains.start(generation, Subject { snapshot, processes }, limit, self.core.latches());
    }

    #[cold]
    fn end_chain(&mut self) {
        self.chains.end();
        self.report(None);
    }

    #[cold]
    fn reply_to_probe(&mut self, call: CallId, reply: ProbeReply) {
        if let Some(late) = self.chains.reply(call, reply) {
            self.core.probe_heard_late(late);
        }
    }

    /// Remembers what holds the new processes, and tells once what is missing there.
    fn fenced(&mut self, fence: Option<Fence>) {
        if self.fence == fence {
            return;
        }
        if let Some(shortfall) = fence.as_ref().and_then(|fence| fence.shortfall.as_deref()) {
            tracing::warn!(server = &*self.name, "{shortfall}");
        }
        self.fence = fence;
    }

    /// Starts a process. Its predecessor's tree is gone, or there was none.
    #[cold]
    fn spawn(&mut self, generation: Generation) {
        let runtime = match self.back.start(&self.server, &self.log) {
            Ok(runtime) => {
                self.fenced(runtime.fence().cloned());
                runtime
            }
            // What it is to be given comes right behind, and is not for the next one.
            Err(error) => Box::new(NotStarted::because(crate::exit::chain_text(&error))),
        };
        self.runtime = Some((generation, runtime));
    }
}

#[cfg(test)]
mod tests;
