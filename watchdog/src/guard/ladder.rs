//! The stop ladder as data: when SIGTERM is due, and when SIGKILL. Pure; the time is an argument.

use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// What processes that a leader left behind have from SIGTERM to SIGKILL when nobody had asked for a stop. The engine
/// waits for them before it starts the next generation, so it is short.
pub(crate) const LEFTOVER_GRACE: Duration = Duration::from_millis(200);

/// What the tree has for each rung when the engine has gone, which is also when the child's stdin ends.
pub(crate) const ORPHAN_GRACE: Duration = Duration::from_millis(500);

/// No deadline is further away: far more than anyone waits, and safe to add to any clock.
const FAR: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A rung that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rung {
    /// SIGTERM, then SIGCONT, to the whole tree.
    Term,
    /// SIGKILL until nothing is left.
    Kill,
}

/// Deadlines only ever move closer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ladder {
    deadlines: Option<Deadlines>,
    termed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Deadlines {
    term: Instant,
    kill: Instant,
}

impl Ladder {
    /// Begins the ladder, or takes the earlier deadline at every rung of one that has begun.
    pub(crate) fn stop(&mut self, now: Instant, eof_grace: Duration, term_grace: Duration) {
        let term = now + eof_grace.min(FAR);
        let asked = Deadlines { term, kill: term + term_grace.min(FAR) };
        self.deadlines = Some(match self.deadlines {
            Some(old) => Deadlines { term: old.term.min(asked.term), kill: old.kill.min(asked.kill) },
            None => asked,
        });
    }

    /// Goes to the last rung.
    pub(crate) fn kill(&mut self, now: Instant) {
        self.stop(now, Duration::ZERO, Duration::ZERO);
    }

    /// The leader has ended, and the rest is to have SIGTERM now, where it has not had it yet. A stop in progress leaves the
    /// rest the grace that was asked for: a launcher ends on SIGTERM at once, the server behind it may have to save.
    pub(super) fn leader_ended(&mut self, now: Instant) {
        let grace = match self.deadlines {
            Some(deadlines) if self.termed => deadlines.kill.saturating_duration_since(now),
            Some(deadlines) => deadlines.kill.saturating_duration_since(deadlines.term),
            None => LEFTOVER_GRACE,
        };
        self.stop(now, Duration::ZERO, grace);
        self.termed = false;
    }

    /// The next rung if its time has come. `Term` comes once, and once more when the leader ends; `Kill` as often as asked.
    pub(super) fn due(&mut self, now: Instant) -> Option<Rung> {
        let deadlines = self.deadlines?;
        if deadlines.kill <= now {
            self.termed = true;
            return Some(Rung::Kill);
        }
        if self.termed || deadlines.term > now {
            return None;
        }
        self.termed = true;
        Some(Rung::Term)
    }

    /// When to ask again.
    pub(super) fn next(&self) -> Option<Instant> {
        let deadlines = self.deadlines?;
        Some(if self.termed { deadlines.kill } else { deadlines.term.min(deadlines.kill) })
    }
}
