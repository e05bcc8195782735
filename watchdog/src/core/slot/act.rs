//! What the lifecycle decided, carried out on the tables.

use std::collections::BTreeMap;
use std::time::Instant;

use probe_api::Trigger;

use super::answer::NOT_HELD;
use super::{Effect, Opening, ProbeReply, RequestOutcome, Slot};
use crate::core::chain::Latches;
use crate::core::hold::{Held, with_these};
use crate::core::ids::Generation;
use crate::core::ledger::Request;
use crate::core::lifecycle::{Action, Admission, Event, Loss, Reason, Rejection};
use crate::core::refusal::Code;
use crate::core::session::Era;
use crate::exit::Exit;
use crate::wire::compose;
use crate::wire::head::Method;

impl Slot {
    pub(super) fn act(&mut self, now: Instant, action: Action, out: &mut Vec<Effect>) {
        match action {
            Action::Spawn(generation) => self.spawn(now, generation, out),
            Action::Tear(generation) => {
                self.failed_at = Some(now);
                self.tear(generation, out);
            }
            Action::Arm(token, at) => self.timers.push((token, at)),
            Action::Disarm(token) => self.timers.retain(|(armed, _)| *armed != token),
            // In a shutdown the last answers may still come; what is left is answered when the tree is gone.
            Action::FailInFlight(Loss::Shutdown) => {}
            Action::FailInFlight(loss) => {
                let waited = self.overdue.len();
                self.fail_in_flight(now, loss, out);
                if self.overdue.len() > waited && !self.life.has_failed() {
                    // Those who wait for the outcome of an attempt are a reason to make one soon.
                    self.event(now, Event::Request, out);
                }
            }
            Action::SettleOverdue(restarted) => self.settle_overdue(restarted, out),
            Action::RejectHeld(rejection) => self.reject_held(now, rejection, out),
            Action::FlushHeld => self.flush_held(now, out),
            Action::Publish => self.refresh_catalog(now, out),
            Action::StartProbe => self.start_chain(now, Trigger::ToolTimeout, false, out),
            Action::CheckNow => self.check_now(now, out),
            Action::StartHealth => {
                self.schedule_health(now);
                self.watch_over(now);
            }
            Action::StopHealth => self.health_at = None,
            Action::RearmOverdue => self.ledger.rearm(now, None),
            Action::Notice(notice) => self.emit_notice(now, notice, out),
            Action::Exhausted => self.exhausted(now, out),
            Action::Gone => self.gone(now, out),
        }
    }

    fn spawn(&mut self, now: Instant, generation: Generation, out: &mut Vec<Effect>) {
        self.hearing = Some(generation);
        self.planned.due = None;
        self.started = None;
        self.early.clear();
        self.stray_told = false;
        self.last_byte = None;
        self.latches = Latches::default();
        out.push(Effect::Spawn(generation));
        self.open(now, out);
    }

    /// Everything that ends with a generation.
    fn tear(&mut self, generation: Generation, out: &mut Vec<Effect>) {
        let hear = self.closing.is_some_and(|closing| !closing.client_gone);
        if !hear {
            self.hearing = None;
        }
        self.opening = Opening::None;
        self.opening_deadline = None;
        self.connect_on_start = false;
        self.early.clear();
        self.alone_until = None;
        self.catalog.abandon_refresh();
        self.planned.forget();
        self.end_chain(out);
        for call in self.own.lost() {
            out.push(Effect::ProbeReply(call, ProbeReply::Gone));
        }
        self.lose_listens(out);
        for id in self.asks.lost(generation) {
            self.deliver(compose::cancelled(&id, "the server process that asked has ended"), out);
        }
        out.push(Effect::Tear { generation, hear });
        self.tearing = Some(generation);
    }

    /// Streams go on with the next process, unless nothing is replayed to it.
    fn lose_listens(&mut self, out: &mut Vec<Effect>) {
        self.listens.lost();
        if self.config.handshake.replay || self.closing.is_some() {
            return;
        }
        for id in self.listens.take_acknowledged() {
            Self::listen_ended(RequestOutcome::Refused, out);
            self.deliver(compose::cancelled(&id, "the server process that served it has ended"), out);
        }
        for id in self.listens.take_unacknowledged() {
            Self::listen_ended(RequestOutcome::Refused, out);
            self.refuse_id(&id, Code::ServerDisconnected, "transport-exit", true, out);
        }
    }

    /// Decides about every request that the lost generation owes an answer.
    pub(super) fn fail_in_flight(&mut self, now: Instant, loss: Loss, out: &mut Vec<Effect>) {
        let mut unsent = std::mem::take(&mut self.unsent);
        let mut unread: BTreeMap<u64, Vec<Request>> = BTreeMap::new();
        for request in self.ledger.drain() {
            let never_given = unsent.contains_key(&request.tag);
            // Not a byte of such a one was written, unless it was being repeated.
            let request = Request { sent: request.sent && (!never_given || request.repeated), ..request };
            if never_given && self.closing.is_none() {
                unread.entry(request.tag).or_default().push(request);
            } else {
                self.fail(now, loss, request, out);
            }
        }
        for (tag, requests) in unread {
            if let Some(line) = unsent.remove(&tag) {
                // What the client has cancelled meanwhile is not sent after all, and what it answered or told was for this process.
                let line = with_these(&line, &requests);
                self.hold_again(now, requests, line);
            }
        }
        self.resume_parked(now, out);
    }

    fn fail(&mut self, now: Instant, loss: Loss, mut request: Request, out: &mut Vec<Effect>) {
        let Loss::Disconnected(reason) = loss else {
            let code = if loss == Loss::Disabled { Code::ServerDisabled } else { Code::ServerDisconnected };
            let reason = if loss == Loss::Disabled { "disabled" } else { "shutdown" };
            return self.refuse(&request, code, reason, out);
        };
        let overdue = request.suspect_at.is_some_and(|at| at <= now);
        let line = request.line().cloned().filter(|_| self.closing.is_none());
        match (request.method, line) {
            (Method::Initialize, Some(line)) => {
                // A process has had it, whatever becomes of it at the next one.
                request.repeated = true;
                self.hold_again(now, vec![request], line);
            }
            // A server that dies on the question for its era would die again: the client asks in the other era, or has done so.
            (Method::Discover, _) if self.session.era() == Era::Probing || self.is_left_behind(&request) => {
                self.refuse(&request, Code::ServerDisconnected, reason.name(), out);
            }
            (_, Some(line)) if request.repeatable && !request.repeated => {
                request.repeated = true;
                self.hold_again(now, vec![request], line);
            }
            _ if overdue && reason.is_hang() => {
                // They learn how the next attempt ends, but wait no longer for that than others wait for a server.
                let hold = now + self.config.restart.hold;
                request.deadline_at = Some(request.deadline_at.map_or(hold, |at| at.min(hold)));
                self.overdue.push(request);
            }
            _ => self.refuse(&request, Code::ServerDisconnected, reason.name(), out),
        }
    }

    fn hold_again(&mut self, now: Instant, mut requests: Vec<Request>, line: bytes::Bytes) {
        for request in &mut requests {
            request.suspect_at = None;
        }
        let expires = self.hold_expires(now, &requests);
        self.hold.push_unbounded(Held { line, requests, expires });
    }

    /// The budget is used up, and no attempt follows by itself. Who waits causes one, as any request does, and learns how that
    /// ends (lifecycle.md, E9). Where there is none they are told now.
    fn exhausted(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let exits = self.role.exit_on_failure;
        // What one process after the other was never given comes back each time, and is no reason for attempts without end.
        let (attempts, max_attempts) = self.life.attempts();
        let held = !self.hold.is_empty() && max_attempts.is_none_or(|max| attempts <= max);
        let wanted = !exits && (held || !self.overdue.is_empty());
        if !wanted || self.event(now, Event::Request, out) != Some(Admission::Hold) {
            for request in std::mem::take(&mut self.overdue) {
                self.refuse(&request, Code::ServerDisconnected, Reason::ProbeFailure.name(), out);
            }
            self.reject_held(now, Rejection::PermanentlyFailed, out);
        }
        if exits {
            self.close_for_want_of_server(now, Exit::PermanentFailure, out);
        }
    }

    /// The first attempt after a failed probe has ended: the overdue callers learn how.
    fn settle_overdue(&mut self, restarted: bool, out: &mut Vec<Effect>) {
        let code = if restarted { Code::RequestTimeout } else { Code::RestartFailed };
        for request in std::mem::take(&mut self.overdue) {
            self.refuse(&request, code, Reason::ProbeFailure.name(), out);
        }
    }

    fn reject_held(&mut self, now: Instant, rejection: Rejection, out: &mut Vec<Effect>) {
        // Before the first connection ever, the client's opening waits through failed attempts.
        let first = !self.life.connected_once() && rejection == Rejection::Reconnecting && self.closing.is_none();
        if first && self.first_answer_at().is_none_or(|at| at > now) {
            return;
        }
        let (code, reason) = refusal_of(rejection);
        for held in self.hold.take_all() {
            for request in &held.requests {
                self.refuse(request, code, reason, out);
            }
        }
        if rejection != Rejection::Reconnecting {
            for request in std::mem::take(&mut self.overdue) {
                self.refuse(&request, code, reason, out);
            }
            for id in self.listens.take_unacknowledged() {
                Self::listen_ended(RequestOutcome::Refused, out);
                self.refuse_id(&id, code, reason, true, out);
            }
        }
    }
}

/// The error for a refusal of the lifecycle, and its reason.
pub(super) const fn refusal_of(rejection: Rejection) -> (Code, &'static str) {
    match rejection {
        Rejection::Reconnecting => (Code::Reconnecting, "attempt-failed"),
        Rejection::Down => (Code::Reconnecting, NOT_HELD),
        Rejection::PermanentlyFailed => (Code::PermanentlyFailed, "budget-used-up"),
        Rejection::Disabled => (Code::ServerDisabled, "disabled"),
        Rejection::Closing => (Code::ServerDisconnected, "shutdown"),
        Rejection::NotFound => (Code::ServerNotFound, "removed"),
    }
}
