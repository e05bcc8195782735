//! A slot as others may see it: an immutable picture, made when something worth seeing has changed.

use std::time::Instant;

use super::Slot;
use crate::config::Start;
use crate::core::catalog::Catalog;
use crate::core::ending::Ending;
use crate::core::lifecycle::{Phase, Reason, State};

/// A slot at one moment. Numbers that change with every message are not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotSnapshot {
    /// The state's name, as lifecycle.md has it.
    pub state: &'static str,
    /// The same in the vocabulary of document 003.
    pub status: &'static str,
    /// Whether the process tree of an intentional end is still going away.
    pub closing: bool,
    /// Whether no operator and no configuration has switched it off.
    pub enabled: bool,
    /// Whether it waits for its first request before it is started.
    pub lazy: bool,
    /// Whether no process is wanted now, and the next request starts one: not started yet, or stopped when it was idle.
    pub standby: bool,
    /// Why its process is to be replaced as soon as nothing is in flight.
    pub replacement_due: Option<&'static str>,
    /// The latest generation; 0 before the first.
    pub generation: u64,
    /// The process that was started as COMMAND, while it runs.
    pub pid: Option<u32>,
    /// When that process was started.
    pub started_at: Option<Instant>,
    /// Since when the client's session is established with this generation.
    pub connected_at: Option<Instant>,
    /// Attempts of the present row.
    pub attempts: u32,
    /// Their limit.
    pub max_attempts: Option<u32>,
    /// When the latest attempt began.
    pub last_attempt: Option<Instant>,
    /// When the next one begins, where a timer runs.
    pub next_attempt: Option<Instant>,
    /// Why the server was lost last, while it is being brought back.
    pub reason: Option<&'static str>,
    /// What went wrong last.
    pub last_error: Option<String>,
    /// How the latest process that ended by itself did so.
    pub last_exit: Option<Ending>,
    /// Health checks that failed in a row.
    pub health_failures: u32,
    /// Whether they reached the threshold.
    pub degraded: bool,
    /// Whether a probe chain runs.
    pub probing: bool,
    /// Process trees that could not be ended in full.
    pub close_failures: u32,
    /// Whether the lists that the client sees are those of an older generation.
    pub catalog_stale: bool,
}

impl Slot {
    /// The picture of this moment.
    #[must_use]
    pub fn snapshot(&self) -> SlotSnapshot {
        let life = &self.life;
        let (attempts, max_attempts) = life.attempts();
        let (_, close_failures) = life.counts();
        let runtime = match life.state() {
            State::Connected(runtime) => *runtime,
            _ => Default::default(),
        };
        let live = life.live().is_some();
        let failure = if self.failure.error.is_some() { &self.failure } else { &self.past_failure };
        let process = self.started.filter(|_| live);
        SlotSnapshot {
            state: life.state_name(),
            status: life.status(),
            closing: matches!(life.state(), State::Disabling(_)),
            enabled: !self.switched_off,
            lazy: self.config.start == Start::Lazy,
            standby: life.is_standby(),
            replacement_due: self.planned.due.map(Reason::name),
            generation: life.generation().0,
            pid: process.map(|process| process.pid),
            started_at: process.map(|process| process.since),
            connected_at: self.connected_at.filter(|_| life.is_connected()),
            attempts,
            max_attempts,
            last_attempt: life.last_attempt(),
            next_attempt: life.next_attempt(),
            reason: match life.state() {
                State::Reconnecting { reason, .. } => Some(reason.name()),
                _ => None,
            },
            last_error: failure.error.clone(),
            last_exit: failure.ending,
            health_failures: runtime.failures,
            degraded: runtime.degraded,
            probing: self.chain.is_some(),
            close_failures,
            catalog_stale: !life.is_connected() && life.connected_once(),
        }
    }

    /// Whether a picture made now may differ from one made before this was last asked.
    pub const fn take_changed(&mut self) -> bool {
        std::mem::replace(&mut self.changed, false)
    }

    /// The lists that the client has seen.
    #[must_use]
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// How many requests wait for a server.
    #[must_use]
    pub fn held(&self) -> usize {
        self.hold.count() + self.overdue.len()
    }
}

impl State {
    /// Whether an attempt runs, for those who want to know what a retry joined.
    #[must_use]
    pub const fn is_attempting(&self) -> bool {
        matches!(
            self,
            Self::Connecting(Phase::Attempting | Phase::Clearing)
                | Self::Reconnecting { phase: Phase::Attempting | Phase::Clearing, .. }
                | Self::PermanentlyFailed { trial: Some(Phase::Attempting | Phase::Clearing) }
        )
    }
}
