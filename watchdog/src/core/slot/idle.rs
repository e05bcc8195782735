//! A server that nobody needs is stopped, and started again by the next request. The client's session is kept meanwhile, and
//! replayed to the new process.
//!
//! What the client says without asking for an answer starts nothing: the replay has what a new process has to know of it,
//! and the rest would be news for a process that is gone. A server whose news somebody has asked for
//! (`resources/subscribe`, `subscriptions/listen`) is needed all the time.

use std::time::Instant;

use probe_api::Trigger;

use super::{Effect, Slot};
use crate::core::lifecycle::Event;
use crate::events::EventKind;

impl Slot {
    /// Somebody uses the server: the client has spoken, or got its answer. Probes do not count.
    pub(super) const fn used(&mut self, now: Instant) {
        self.planned.used_at = Some(now);
    }

    pub(super) fn check_idle(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.planned.idle_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        let Some(limit) = self.config.idle_stop else { return };
        let used_at = self.planned.used_at.unwrap_or(now);
        if now < used_at + limit {
            self.planned.idle_at = Some(used_at + limit);
            return;
        }
        let needed = !self.listens.is_empty() || self.session.has_subscriptions() || self.manage.is_busy();
        // An operator waits for what a probe finds; a periodic check is not worth a process.
        let asked = self.chain.is_some_and(|chain| chain.trigger == Trigger::Manual);
        if needed || asked || !self.life.is_connected() || !self.is_quiet(now) {
            self.planned.idle_at = Some(now + limit);
            return;
        }
        let idle_ms = u64::try_from(now.saturating_duration_since(used_at).as_millis()).unwrap_or(u64::MAX);
        out.push(Effect::emit(EventKind::ServerIdle { idle_ms }));
        self.event(now, Event::Idle, out);
    }
}
