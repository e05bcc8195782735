//! The driver of a slot: the only interpreter of [`Effect`]s, and the one task that touches a server's streams.
//!
//! It polls the client, the runtime, probes, signals and the time, tells the core what happened, and carries out what the
//! core decides. Everything that the core may not have is here: the clock, the processes, the log.

mod chain;
mod clock;
mod drive;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use crate::back::runtime::Runtime;
use crate::back::stdio::StdioRuntime;
use crate::config::{Config, OnPermanentFailure, Server};
use crate::core::ids::Generation;
use crate::core::slot::{Effect, Slot};
use crate::events::{Event, EventKind, EventWriter};
use crate::exit::Exit;
use crate::front::stdio::StdioFront;
use crate::probe::{Registry, Subject};
use crate::telemetry::LogHandle;
use chain::Chains;
use clock::Clock;
use drive::Signals;

/// How long a client may take nothing of what is left to be written at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// A side that has so many bytes waiting holds the other side back.
const FULL: usize = 256 * 1024;

/// Everything that one server and its client need while they are served.
pub struct Driver {
    core: Slot,
    server: Arc<Server>,
    name: Arc<str>,
    front: StdioFront,
    runtime: Option<(Generation, Box<dyn Runtime>)>,
    chains: Chains,
    signals: Signals,
    clock: Clock,
    effects: Vec<Effect>,
    exit: Option<Exit>,
    log: LogHandle,
    events: EventWriter,
}

impl Driver {
    /// A driver for this server; nothing is started yet.
    ///
    /// # Errors
    /// When signals cannot be caught.
    pub fn new(config: &Config, registry: Registry, front: StdioFront, log: LogHandle) -> std::io::Result<Self> {
        let server = Arc::new(config.only().clone());
        let exit_on_failure = config.on_permanent_failure == OnPermanentFailure::Exit;
        Ok(Self {
            core: Slot::new(server.clone(), exit_on_failure, fastrand::u64(..)),
            name: server.name.as_str().into(),
            chains: Chains::new(registry, server.probe.clone()),
            server,
            front,
            runtime: None,
            signals: Signals::new()?,
            clock: Clock::new(),
            effects: Vec::new(),
            exit: None,
            events: EventWriter::new(log.clone(), &config.events),
            log,
        })
    }

    /// Serves until the end.
    pub async fn run(mut self) -> Exit {
        let now = self.clock.now();
        self.emit(EventKind::WatchdogStarted { version: env!("CARGO_PKG_VERSION").into(), pid: std::process::id() });
        self.core.start(now, &mut self.effects);
        self.carry_out(now);
        let exit = std::future::poll_fn(|cx| self.poll_end(cx)).await;
        self.last_words().await;
        self.emit(EventKind::WatchdogStopped { reason: "finished".into(), code: exit.code() });
        exit
    }

    /// Writes what is left for as long as the client takes some of it, and no signal comes.
    async fn last_words(&mut self) {
        loop {
            let before = self.front.backlog();
            let written = std::future::poll_fn(|cx| match self.signals.poll(cx) {
                Poll::Ready(_) => Poll::Ready(false),
                Poll::Pending => self.front.flush(cx).map(|()| true),
            });
            match tokio::time::timeout(LAST_WORDS, written).await {
                Err(_) if self.front.backlog() < before => {}
                Ok(true) => return,
                _ => {
                    return tracing::warn!(bytes = self.front.backlog(), "the client did not take all that was for it");
                }
            }
        }
    }

    fn emit(&mut self, kind: EventKind) {
        let generation = Some(self.core.lifecycle().generation().0).filter(|generation| *generation > 0);
        self.events.write(&Event::of_server(kind, self.name.clone(), generation), SystemTime::now());
    }

    /// Carries out what the core decided, in order. What an effect causes comes before the effects that follow it. `now` is
    /// the time of the turn.
    fn carry_out(&mut self, now: std::time::Instant) {
        let mut effects = VecDeque::from(std::mem::take(&mut self.effects));
        while let Some(effect) = effects.pop_front() {
            self.effect(now, effect);
            while let Some(caused) = self.effects.pop() {
                effects.push_front(caused);
            }
        }
        // The buffer is used again.
        self.effects = effects.into();
    }

    fn effect(&mut self, now: std::time::Instant, effect: Effect) {
        match effect {
            Effect::Deliver(line) => self.front.send(line),
            Effect::Forward { line, tag, urgent } => {
                if let Some((_, runtime)) = &mut self.runtime {
                    runtime.send(line, tag, urgent);
                }
            }
            Effect::Spawn(generation) => self.spawn(now, generation),
            Effect::Tear { generation, hear } => {
                let ladder = self.server.shutdown;
                let unsent = match &mut self.runtime {
                    Some((live, runtime)) if *live == generation => {
                        runtime.stop(hear, ladder.eof_grace, ladder.term_grace)
                    }
                    _ => HashMap::new(),
                };
                self.core.torn(now, generation, unsent, &mut self.effects);
            }
            Effect::Kill => {
                if let Some((_, runtime)) = &mut self.runtime {
                    runtime.kill();
                }
            }
            Effect::StartChain { generation, trigger, limit } => {
                let processes = self.runtime.as_ref().and_then(|(_, runtime)| runtime.processes());
                let facts = processes.map(|processes| processes.look()).unwrap_or_default();
                let snapshot = self.core.probe_snapshot(now, trigger, facts);
                self.chains.start(generation, Subject { snapshot, processes }, limit, self.core.latches());
            }
            Effect::EndChain => self.chains.end(),
            Effect::ProbeReply(call, reply) => {
                if let Some(late) = self.chains.reply(call, reply) {
                    self.core.probe_heard_late(late);
                }
            }
            Effect::Emit(kind) => self.emit(kind),
            Effect::Stray(line) => self.log.stray(&line),
            Effect::Exit(exit) => self.exit = Some(exit),
        }
    }

    /// Starts a process. Its predecessor's tree is gone, or there was none.
    fn spawn(&mut self, now: std::time::Instant, generation: Generation) {
        match StdioRuntime::start(&self.server.command, self.server.limits.max_line, self.log.clone()) {
            Ok(runtime) => self.runtime = Some((generation, Box::new(runtime))),
            Err(error) => {
                self.runtime = None;
                let why = crate::exit::chain_text(&error);
                self.core.cannot_start(now, generation, why, Exit::Internal, &mut self.effects);
                self.core.torn_down(now, generation, &[], &mut self.effects);
            }
        }
    }
}
