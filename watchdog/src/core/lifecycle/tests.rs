//! The state table, the rules that no single cell shows, and random walks over both.

mod random;
mod rules;
mod table;

use super::*;
use crate::config::{Delays, OnCall, OnProbeFailure, OnUnhealthy, Server, Start};
use crate::core::testing::{base, secs, server};

/// A machine with its own time, whose actions are looked at.
struct Machine {
    life: Lifecycle,
    now: Instant,
    actions: Vec<Action>,
}

impl Machine {
    /// A machine with short delays, so that a test names all of them.
    fn new(change: impl FnOnce(&mut Server)) -> Self {
        let mut server = server();
        server.restart.delays = Delays::Schedule([0, 4, 8].map(secs).to_vec());
        change(&mut server);
        Self { life: Lifecycle::new(Policy::new(&server), server.enabled, 7), now: base(), actions: Vec::new() }
    }

    /// One that has been told to start.
    fn started(change: impl FnOnce(&mut Server)) -> Self {
        let mut machine = Self::new(change);
        machine.on(Event::Start);
        machine
    }

    /// One that is connected.
    fn connected(change: impl FnOnce(&mut Server)) -> Self {
        let mut machine = Self::started(change);
        machine.ok();
        machine
    }

    fn on(&mut self, event: Event) -> Option<Admission> {
        self.actions.clear();
        self.life.on(self.now, event, &mut self.actions)
    }

    fn wait(&mut self, seconds: u64) {
        self.now += secs(seconds);
    }

    fn generation(&self) -> Generation {
        self.life.generation()
    }

    fn ok(&mut self) {
        self.on(Event::AttemptOk(self.generation()));
        assert!(self.life.is_connected());
    }

    /// The live process ends, and its tree with it.
    fn dies(&mut self) {
        let generation = self.generation();
        self.on(Event::Lost(generation));
        self.gone();
    }

    fn attempt_fails(&mut self) {
        let generation = self.generation();
        self.on(Event::AttemptFailed(generation));
        self.gone();
    }

    /// The dying process tree is gone. The actions of the event before stay in sight.
    fn gone(&mut self) {
        let dying = self.life.dying().expect("something is dying");
        self.life.on(self.now, Event::TornDown(dying, true), &mut self.actions);
    }

    /// Rings the timer that is armed, at its time, and clears away what is dying first.
    fn ring(&mut self) {
        let at = self.life.next_attempt().expect("an attempt is scheduled");
        self.now = self.now.max(at);
        let Some(Phase::Waiting { token, .. }) = self.life.phase() else { panic!("no timer: {:?}", self.life.state()) };
        self.on(Event::Timer(token));
    }

    fn did(&self, action: Action) -> bool {
        self.actions.contains(&action)
    }

    fn told(&self, notice: Notice) -> bool {
        self.did(Action::Notice(notice))
    }

    fn spawned(&self) -> bool {
        self.actions.iter().any(|action| matches!(action, Action::Spawn(_)))
    }

    fn failed_for_good(&self) -> bool {
        matches!(self.life.state(), State::PermanentlyFailed { .. })
    }
}
