//! The cells of the state table, one function an event (a row of lifecycle.md section 3): what happens to servers and
//! what the client does. `operator` has the other rows.

use std::time::Instant;

use super::{Action, Admission, Lifecycle, Loss, Notice, Phase, Reason, Rejection, Runtime, State, Target};
use crate::config::{OnCall, OnProbeFailure, OnUnhealthy};
use crate::core::ids::{Generation, Token};

impl Lifecycle {
    /// E2.
    pub(super) fn attempt_ok(&mut self, now: Instant, _: Generation, out: &mut Vec<Action>) {
        let first = matches!(self.state, State::Connecting(_));
        // An operator's word may have begun a new row in the middle of an attempt.
        let attempts = self.backoff.attempts().max(1);
        self.forgive_planned();
        // Reaching the first connection is not a restart: its attempts do not count against the row that follows.
        let stable_at_once = first || self.min_uptime().is_zero();
        if stable_at_once {
            self.backoff.reset();
        }
        let mut runtime = Runtime::default();
        if !stable_at_once {
            let token = self.token();
            out.push(Action::Arm(token, now + self.min_uptime()));
            runtime.uptime = Some(token);
        }
        self.connected_once = true;
        self.state = State::Connected(runtime);
        out.push(Action::Notice(if first { Notice::Connected { attempts } } else { Notice::Reconnected { attempts } }));
        out.push(Action::SettleOverdue(true));
        out.push(Action::FlushHeld);
        out.push(Action::Publish);
        out.push(Action::StartHealth);
    }

    /// E3.
    pub(super) fn attempt_failed(&mut self, now: Instant, _: Generation, out: &mut Vec<Action>) {
        self.tear(out);
        out.push(Action::Notice(Notice::AttemptFailed));
        self.forgive_planned();
        out.push(Action::FailInFlight(Loss::Disconnected(Reason::StartFailure)));
        out.push(Action::SettleOverdue(false));
        self.state = match self.state {
            State::PermanentlyFailed { .. } => {
                out.push(Action::RejectHeld(Rejection::PermanentlyFailed));
                State::PermanentlyFailed { trial: None }
            }
            _ if self.backoff.exhausted() => {
                out.push(Action::Notice(Notice::Failed));
                out.push(Action::RejectHeld(Rejection::PermanentlyFailed));
                out.push(Action::Exhausted);
                State::PermanentlyFailed { trial: None }
            }
            State::Connecting(_) => {
                out.push(Action::RejectHeld(Rejection::Reconnecting));
                State::Connecting(self.wait(now, Reason::StartFailure, out))
            }
            State::Reconnecting { reason, .. } => {
                out.push(Action::RejectHeld(Rejection::Reconnecting));
                // What was planned has been done; from here on it is an outage as any other.
                let reason = if reason.is_planned() { Reason::StartFailure } else { reason };
                State::Reconnecting { reason, phase: self.wait(now, reason, out) }
            }
            // The stale guard leaves no other state.
            ref other => other.clone(),
        };
    }

    /// The attempt that follows a planned end costs nothing of the budget.
    const fn forgive_planned(&mut self) {
        if let State::Reconnecting { reason, .. } = self.state
            && reason.is_planned()
        {
            self.backoff.give_back();
        }
    }

    /// E4 and E15.
    pub(super) fn lost(&mut self, now: Instant, generation: Generation, reason: Reason, out: &mut Vec<Action>) {
        if self.is_connected() {
            self.replace(now, reason, false, out);
        } else {
            self.attempt_failed(now, generation, out);
        }
    }

    /// Leaves `Connected`: what is in flight is answered, the runtime goes, the next attempt is scheduled.
    pub(super) fn replace(&mut self, now: Instant, reason: Reason, intentional: bool, out: &mut Vec<Action>) {
        self.disarm(out);
        out.push(Action::StopHealth);
        self.tear(out);
        // The state comes first: what is answered now tells the client where the slot is.
        self.state = if !intentional && self.backoff.exhausted() {
            State::PermanentlyFailed { trial: None }
        } else {
            State::Reconnecting { reason, phase: Phase::Clearing }
        };
        out.push(Action::FailInFlight(Loss::Disconnected(reason)));
        out.push(Action::Notice(Notice::Disconnected { intentional, reason }));
        if self.has_failed() {
            // Who waits has had no attempt yet: it is theirs to cause.
            out.push(Action::Notice(Notice::Failed));
            out.push(Action::Exhausted);
        } else {
            // What somebody wanted happens now; what nobody wanted takes its delay.
            let phase = if intentional { self.attempt(now, out) } else { self.wait(now, reason, out) };
            self.state = State::Reconnecting { reason, phase };
        }
    }

    /// E5.
    pub(super) fn tool_timeout(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.policy.on_probe_failure == OnProbeFailure::Close {
            return self.replace(now, Reason::ProbeFailure, false, out);
        }
        if let State::Connected(runtime) = &mut self.state {
            runtime.probing = true;
            out.push(Action::StartProbe);
        }
    }

    /// E6.
    pub(super) fn probe_passed(&mut self, out: &mut Vec<Action>) {
        if let State::Connected(runtime) = &mut self.state {
            runtime.probing = false;
            out.push(Action::RearmOverdue);
            restored(runtime, out);
        }
    }

    /// E7.
    pub(super) fn probe_failed(&mut self, now: Instant, out: &mut Vec<Action>) {
        let State::Connected(runtime) = &mut self.state else { return };
        runtime.probing = false;
        match self.policy.on_probe_failure {
            OnProbeFailure::Restart | OnProbeFailure::Close => self.replace(now, Reason::ProbeFailure, false, out),
            OnProbeFailure::Warn => {
                failed(runtime, self.policy.threshold, out);
                out.push(Action::RearmOverdue);
            }
            OnProbeFailure::Count => {
                self.health(now, false, out);
                // Where that was one too many, those who are overdue learn how the restart ends.
                if self.is_connected() {
                    out.push(Action::RearmOverdue);
                }
            }
        }
    }

    /// E8.
    pub(super) fn timer(&mut self, now: Instant, _: Token, out: &mut Vec<Action>) {
        match &mut self.state {
            State::Connected(runtime) => {
                runtime.uptime = None;
                self.backoff.reset();
            }
            State::Connecting(_) => self.state = State::Connecting(self.attempt(now, out)),
            State::Reconnecting { reason, .. } => {
                let reason = *reason;
                self.state = State::Reconnecting { reason, phase: self.attempt(now, out) };
            }
            State::PermanentlyFailed { .. } => {
                self.state = State::PermanentlyFailed { trial: Some(self.attempt(now, out)) };
            }
            _ => {}
        }
    }

    /// E9.
    pub(super) fn request(&mut self, now: Instant, out: &mut Vec<Action>) -> Admission {
        match self.state {
            State::Connected(_) => return Admission::Forward,
            State::Disabled | State::Disabling(Target::Disabled) => return Admission::Reject(Rejection::Disabled),
            State::Disabling(Target::Removed) => return Admission::Reject(Rejection::Closing),
            State::Disabling(Target::Restart | Target::Standby) => {
                self.restart_when_gone();
                return Admission::Hold;
            }
            State::Disconnected { removed: true } => return Admission::Reject(Rejection::NotFound),
            State::Disconnected { removed: false } => {
                self.begin(now, out);
                return Admission::Hold;
            }
            State::Connecting(_) | State::Reconnecting { .. } | State::PermanentlyFailed { .. } => {}
        }
        let failed = self.has_failed();
        match self.policy.restart.on_call {
            OnCall::Error if failed => Admission::Reject(Rejection::PermanentlyFailed),
            OnCall::Error if self.connected_once && !self.starts_on_purpose() => Admission::Reject(Rejection::Down),
            OnCall::Wait if failed => Admission::Reject(Rejection::PermanentlyFailed),
            OnCall::Error | OnCall::Wait => Admission::Hold,
            OnCall::Attempt => {
                self.pull_forward(now, out);
                Admission::Hold
            }
        }
    }

    /// A request wants the server: a scheduled attempt is made as early as attempts may follow each other.
    fn pull_forward(&mut self, now: Instant, out: &mut Vec<Action>) {
        let earliest = self.earliest(now);
        let scheduled = match self.phase() {
            Some(Phase::Clearing | Phase::Attempting) => return,
            Some(Phase::Waiting { at, .. }) => Some(at),
            None => None,
        };
        if scheduled.is_some_and(|at| at <= earliest) {
            return;
        }
        self.disarm(out);
        let phase = if earliest <= now { self.attempt(now, out) } else { self.wait_until(earliest, out) };
        self.set_phase(phase);
    }

    pub(super) fn set_phase(&mut self, new: Phase) {
        match &mut self.state {
            State::Connecting(phase) | State::Reconnecting { phase, .. } => *phase = new,
            State::PermanentlyFailed { trial } => *trial = Some(new),
            _ => {}
        }
    }

    /// E13.
    pub(super) fn torn_down(&mut self, now: Instant, _: Generation, clean: bool, out: &mut Vec<Action>) {
        self.dying = None;
        if !clean {
            self.close_failures = self.close_failures.saturating_add(1);
            out.push(Action::Notice(Notice::CloseFailed));
        }
        match self.state {
            State::Disabling(Target::Restart) => self.begin(now, out),
            State::Disabling(target) => self.settle(target, out),
            _ if self.phase() == Some(Phase::Clearing) => {
                let phase = self.attempt(now, out);
                self.set_phase(phase);
            }
            _ => {}
        }
    }

    /// E14.
    pub(super) fn health(&mut self, now: Instant, ok: bool, out: &mut Vec<Action>) {
        let State::Connected(runtime) = &mut self.state else { return };
        if ok {
            return restored(runtime, out);
        }
        failed(runtime, self.policy.threshold, out);
        if runtime.failures >= self.policy.threshold && self.policy.on_unhealthy == OnUnhealthy::Restart {
            self.replace(now, Reason::Health, false, out);
        }
    }

    /// E18.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Vec<Action>) {
        match self.state {
            State::Connecting(_) | State::Reconnecting { .. } => {
                self.backoff.reset();
                self.attempt_now(now, out);
            }
            State::Connected(_) => {
                out.push(Action::RearmOverdue);
                out.push(Action::CheckNow);
            }
            _ => {}
        }
    }
}

/// A sign of health.
fn restored(runtime: &mut Runtime, out: &mut Vec<Action>) {
    runtime.failures = 0;
    if std::mem::take(&mut runtime.degraded) {
        out.push(Action::Notice(Notice::Restored));
    }
}

/// A failed check; crossing the threshold is told once per episode.
fn failed(runtime: &mut Runtime, threshold: u32, out: &mut Vec<Action>) {
    runtime.failures = runtime.failures.saturating_add(1);
    if runtime.failures >= threshold && !std::mem::replace(&mut runtime.degraded, true) {
        out.push(Action::Notice(Notice::Degraded { failures: runtime.failures }));
    }
}
