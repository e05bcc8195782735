//! What is due, and when.

use std::time::{Duration, Instant};

use super::{Effect, Slot};
use crate::core::lifecycle::Event;
use crate::core::soonest::Soonest;

impl Slot {
    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        let timers = self.timers.iter().map(|(_, at)| Some(*at));
        let frequent = Soonest::of(self.ledger.wake()).and(self.health_at).and_all(timers);
        // Looked for after each message, when most sessions have no other time: not one after the other, which is more code.
        let has_others = self.opening_deadline.is_some()
            | self.alone_until.is_some()
            | self.parked_until.is_some()
            | self.first_word.is_some()
            | self.closing.is_some()
            | !self.overdue.is_empty()
            | !self.hold.is_empty()
            | !self.life.connected_once()
            | self.planned.has_times();
        debug_assert!(has_others || self.with_others(frequent).get() == frequent.get(), "there is another one");
        if has_others { self.with_others(frequent).get() } else { frequent.get() }
    }

    #[inline(never)]
    fn with_others(&self, frequent: Soonest) -> Soonest {
        frequent
            .and(self.opening_deadline)
            .and(self.alone_until)
            .and(self.parked_until)
            .and(self.first_word.map(|first_word| first_word.until))
            .and(self.closing.and_then(|closing| closing.drain_until))
            .and_all(self.overdue.iter().map(|request| request.deadline_at))
            .and(self.hold.wake())
            .and(self.first_answer_at())
            .and(self.planned.wake(self.clock))
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.clock = Some(now);
        while let Some(at) = self.timers.iter().position(|(_, at)| *at <= now) {
            let (token, _) = self.timers.swap_remove(at);
            self.event(now, Event::Timer(token), out);
        }
        self.check_opening(now, out);
        self.check_alone(now, out);
        self.check_first_answer(now, out);
        self.check_hold(now, out);
        self.check_ledger(now, out);
        self.check_parked(now, out);
        self.check_health(now, out);
        self.check_drain(now, out);
        self.check_first_word(now, out);
        self.check_planned(now, out);
    }

    /// This process was stopped, or starved, for so long: nobody is judged by a deadline that came nearer meanwhile.
    pub fn stood_still(&mut self, gap: Duration) {
        self.ledger.postpone(gap);
        self.hold.postpone(gap);
        self.asks.postpone(gap);
        for request in &mut self.overdue {
            request.deadline_at = request.deadline_at.map(|at| at + gap);
        }
        if let Some(closing) = &mut self.closing {
            closing.drain_until = closing.drain_until.map(|at| at + gap);
        }
        self.opening_deadline = self.opening_deadline.map(|at| at + gap);
        self.parked_until = self.parked_until.map(|at| at + gap);
        self.planned.used_at = self.planned.used_at.map(|at| at + gap);
    }
}
