//! What operators and the configuration ask of a slot.

use std::sync::Arc;
use std::time::Instant;

use super::{Effect, Slot};
use crate::config::Server;
use crate::core::lifecycle::{Admission, Event, Policy, Rejection};

impl Slot {
    /// An operator switches the server off.
    pub fn disable(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.switched_off = true;
        self.event(now, Event::Disable, out);
    }

    /// An operator switches it on.
    pub fn enable(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.switched_off = false;
        self.event(now, Event::Start, out);
    }

    /// An operator wants an attempt now.
    ///
    /// # Errors
    /// When the slot is disabled or removed.
    pub fn retry(&mut self, now: Instant, out: &mut Vec<Effect>) -> Result<(), Rejection> {
        match self.event(now, Event::ForceRetry, out) {
            Some(Admission::Reject(rejection)) => Err(rejection),
            _ => Ok(()),
        }
    }

    /// The configuration changed; `replace` if the process has to be replaced for it. Switching on or off by the configuration
    /// is [`Self::enable`] and [`Self::disable`].
    pub fn configure(&mut self, now: Instant, config: Arc<Server>, replace: bool, out: &mut Vec<Effect>) {
        self.life.set_policy(Policy::new(&config));
        self.hold.set_limits(config.restart.hold_max_requests, config.restart.hold_max_bytes);
        if config.probe.chain != self.config.probe.chain {
            self.forget_chain(now, out);
        }
        self.config = config;
        self.event(now, Event::Configure(replace), out);
        if self.life.is_connected() {
            self.schedule_health(now);
            self.watch_over(now);
        }
    }
}
