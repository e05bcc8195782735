//! What operators, configuration and the end of everything do to a slot: the other rows of the state table.

use std::time::Instant;

use super::{Action, Lifecycle, Loss, Notice, Phase, Reason, Rejection, State, Target};

impl Lifecycle {
    /// E1.
    pub(super) fn start(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.state {
            State::Disabled => {
                out.push(Action::Notice(Notice::Enabled));
                self.begin(now, out);
            }
            State::Disconnected { removed: false } if (self.policy.lazy || self.ended_standby) && !self.attempted => {
                self.standby = true;
            }
            State::Disconnected { removed: false } if self.follows && !self.attempted => self.follow(now, out),
            State::PermanentlyFailed { trial: None } if self.follows && !self.attempted => {}
            State::Disconnected { removed: false } | State::PermanentlyFailed { trial: None } => self.begin(now, out),
            State::PermanentlyFailed { trial: Some(phase) } => {
                self.backoff.reset();
                self.state = State::Connecting(phase);
            }
            State::Disabling(Target::Disabled | Target::Standby) => self.restart_when_gone(),
            _ => {}
        }
    }

    /// A fresh process for the next client. Clients that come and go in a row cause no more attempts than requests may, and
    /// forgive none that failed.
    fn follow(&mut self, now: Instant, out: &mut Vec<Action>) {
        let at = self.earliest(now);
        let phase = if at > now { self.wait_until(at, out) } else { self.attempt(now, out) };
        self.state = State::Connecting(phase);
    }

    /// A new enable-period.
    pub(super) fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.standby = false;
        self.disarm(out);
        self.backoff.reset();
        let phase = self.attempt(now, out);
        self.state = State::Connecting(phase);
    }

    /// The process tree that goes away is followed by another one after all.
    pub(super) const fn restart_when_gone(&mut self) {
        self.standby = false;
        self.state = State::Disabling(Target::Restart);
    }

    /// E10. The answer is the reason of a refusal.
    pub(super) fn force_retry(&mut self, now: Instant, out: &mut Vec<Action>) -> Option<Rejection> {
        match self.state {
            State::Disabled | State::Disabling(Target::Disabled) => return Some(Rejection::Disabled),
            State::Disconnected { removed: true } | State::Disabling(Target::Removed) => {
                return Some(Rejection::NotFound);
            }
            State::Disabling(Target::Restart | Target::Standby) => self.restart_when_gone(),
            State::Disconnected { removed: false } => self.begin(now, out),
            State::Connected(_) => {
                self.backoff.reset();
                self.replace(now, Reason::Force, true, out);
            }
            State::Connecting(_) | State::Reconnecting { .. } => {
                self.backoff.reset();
                self.attempt_now(now, out);
            }
            State::PermanentlyFailed { trial } => {
                self.backoff.reset();
                self.resume(now, trial, Reason::Force, out);
            }
        }
        None
    }

    /// Leaves `PermanentlyFailed` with an attempt, or with the trial that runs.
    fn resume(&mut self, now: Instant, trial: Option<Phase>, reason: Reason, out: &mut Vec<Action>) {
        self.state = State::Reconnecting { reason, phase: trial.unwrap_or(Phase::Clearing) };
        if trial.is_none_or(|phase| matches!(phase, Phase::Waiting { .. })) {
            self.disarm(out);
            let phase = self.attempt(now, out);
            self.set_phase(phase);
        }
    }

    /// Ends a waiting phase with an attempt; joins one that runs.
    pub(super) fn attempt_now(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(Phase::Waiting { .. }) = self.phase() {
            self.disarm(out);
            let phase = self.attempt(now, out);
            self.set_phase(phase);
        }
    }

    /// E11.
    pub(super) fn disable(&mut self, out: &mut Vec<Action>) {
        match self.state {
            State::Disabled | State::Disconnected { removed: true } | State::Disabling(Target::Removed) => return,
            State::Disabling(_) => {
                self.state = State::Disabling(Target::Disabled);
                out.push(Action::RejectHeld(Rejection::Disabled));
                if std::mem::take(&mut self.standby) {
                    out.push(Action::Notice(Notice::Disabled));
                }
                return;
            }
            _ => {}
        }
        self.wind_down(Target::Disabled, Loss::Disabled, Rejection::Disabled, out);
        out.push(Action::Notice(Notice::Disabled));
    }

    /// E12.
    pub(super) fn remove(&mut self, out: &mut Vec<Action>) {
        match self.state {
            State::Disconnected { removed: true } | State::Disabling(Target::Removed) => return,
            State::Disabling(_) => {
                self.ended_standby = std::mem::take(&mut self.standby);
                self.state = State::Disabling(Target::Removed);
                out.push(Action::RejectHeld(Rejection::Closing));
                return;
            }
            _ => {}
        }
        self.ended_failed = self.has_failed();
        self.ended_standby = self.standby;
        self.wind_down(Target::Removed, Loss::Shutdown, Rejection::Closing, out);
    }

    /// Detaches whatever runs and goes to `target` when nothing of it is left.
    fn wind_down(&mut self, target: Target, loss: Loss, rejection: Rejection, out: &mut Vec<Action>) {
        let was_connected = self.is_connected();
        self.standby = false;
        self.disarm(out);
        out.push(Action::StopHealth);
        self.tear(out);
        self.state = State::Disabling(target);
        out.push(Action::FailInFlight(loss));
        out.push(Action::RejectHeld(rejection));
        if was_connected {
            let reason = if target == Target::Removed { Reason::Shutdown } else { Reason::Disabled };
            out.push(Action::Notice(Notice::Disconnected { intentional: true, reason }));
        }
        if self.dying.is_none() {
            self.settle(target, out);
        }
    }

    pub(super) fn settle(&mut self, target: Target, out: &mut Vec<Action>) {
        self.state = match target {
            Target::Disabled | Target::Restart => State::Disabled,
            Target::Standby => State::Disconnected { removed: false },
            Target::Removed => {
                out.push(Action::Gone);
                State::Disconnected { removed: true }
            }
        };
    }

    /// E17.
    pub(super) fn configured(&mut self, now: Instant, replace: bool, out: &mut Vec<Action>) {
        match self.state {
            State::Connected(_) if replace => self.replace(now, Reason::Config, true, out),
            State::Connecting(Phase::Attempting) | State::Reconnecting { phase: Phase::Attempting, .. } if replace => {
                self.replace_attempt(Reason::Config, out);
            }
            State::Reconnecting { .. } => self.attempt_now(now, out),
            State::PermanentlyFailed { trial } => self.resume_anew(now, trial, Reason::Config, replace, out),
            _ => {}
        }
    }

    /// Leaves `PermanentlyFailed` for a reason to hope; with `replace` a trial that runs has come too early for it.
    fn resume_anew(
        &mut self,
        now: Instant,
        trial: Option<Phase>,
        reason: Reason,
        replace: bool,
        out: &mut Vec<Action>,
    ) {
        self.resume(now, trial, reason, out);
        if replace && trial == Some(Phase::Attempting) {
            self.replace_attempt(reason, out);
        }
    }

    /// An attempt that runs with what is old by now makes room for another one.
    fn replace_attempt(&mut self, reason: Reason, out: &mut Vec<Action>) {
        self.tear(out);
        self.set_phase(Phase::Clearing);
        out.push(Action::FailInFlight(Loss::Disconnected(reason)));
    }

    /// E19. Where no server is connected only other files are news: what failed with the old ones may work with the new.
    pub(super) fn replace_as_planned(&mut self, now: Instant, reason: Reason, out: &mut Vec<Action>) {
        let files = reason == Reason::FilesChanged;
        if files {
            self.backoff.reset();
        }
        match self.state {
            State::Connected(_) => self.replace(now, reason, true, out),
            State::Connecting(Phase::Attempting) | State::Reconnecting { phase: Phase::Attempting, .. } if files => {
                self.replace_attempt(reason, out);
            }
            State::Connecting(_) | State::Reconnecting { .. } if files => self.attempt_now(now, out),
            State::PermanentlyFailed { trial } if files => self.resume_anew(now, trial, reason, true, out),
            _ => {}
        }
    }

    /// Whether a process is on its way that somebody chose to start, and the attempt for it has not failed: after an end between
    /// two calls, a stop for being idle, or an operator's word. That is no outage.
    #[must_use]
    pub const fn starts_on_purpose(&self) -> bool {
        match self.state {
            State::Disabling(Target::Restart | Target::Standby) => true,
            State::Connecting(Phase::Clearing | Phase::Attempting) => {
                self.connected_once && self.backoff.attempts() <= 1
            }
            State::Reconnecting { reason, .. } => reason.is_planned(),
            _ => false,
        }
    }

    /// Whether the first attempt of a session is still to be made: the process of the session before has to go first, or that was
    /// started so shortly ago that attempts would follow each other too closely.
    #[must_use]
    pub const fn awaits_first_attempt(&self) -> bool {
        self.follows && !self.attempted && matches!(self.state, State::Connecting(_))
    }

    /// E20. The session is kept, and the next request starts a process for it.
    pub(super) fn stand_by(&mut self, out: &mut Vec<Action>) {
        if !self.is_connected() {
            return;
        }
        self.disarm(out);
        out.push(Action::StopHealth);
        self.tear(out);
        self.standby = true;
        self.state = State::Disabling(Target::Standby);
        out.push(Action::FailInFlight(Loss::Disconnected(Reason::IdleStop)));
        out.push(Action::Notice(Notice::Disconnected { intentional: true, reason: Reason::IdleStop }));
    }
}
