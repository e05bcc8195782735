//! Suspicion, probe chains, and the periodic check.
//!
//! A slow call never condemns a server by itself: when it is overdue the probe chain is asked, and only its verdict, in
//! the light of other signs of life, replaces the server.

use std::time::{Duration, Instant};

use probe_api::{ProcessFacts, Snapshot, Trigger};

use super::answer::DEADLINE;
use super::{Effect, Opening, ProbeReply, Slot};
use crate::core::backoff::spread;
use crate::core::chain::{Chain, Evidence, Latches, LinkIndex, Outcome};
use crate::core::ids::{CallId, Generation};
use crate::core::lifecycle::Event;
use crate::core::own::{OwnRequest, Purpose};
use crate::core::refusal::Code;
use crate::core::session::Era;
use crate::wire::compose;
use crate::wire::head::Method;

/// An answer to a probe that comes so soon after the answer to a call came because of it.
const RIGHT_BEHIND: Duration = Duration::from_millis(100);
/// A probe that waited for less than this was not kept waiting by a call.
const NOTICEABLE: Duration = Duration::from_millis(150);

/// A probe chain that runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainRun {
    pub(super) trigger: Trigger,
    pub(super) since: Instant,
    /// Whether the server owed no answer when it began.
    pub(super) was_idle: bool,
    pub(super) for_overdue: bool,
    pub(super) for_health: bool,
    /// Its result may only warn.
    pub(super) warn_only: bool,
    pub(super) progress: bool,
    pub(super) heard: bool,
}

impl Slot {
    /// Deadlines and overdue calls.
    pub(super) fn check_ledger(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let (expired, overdue) = self.ledger.due(now);
        for request in expired {
            self.ledger.gave_up(&request, now);
            let line = compose::cancelled(&request.id, "its deadline has passed");
            if self.life.live().is_some() {
                out.push(Effect::pass(line));
            }
            self.refuse(&request, Code::RequestTimeout, DEADLINE, out);
        }
        if overdue {
            if let Some(generation) = self.life.live().filter(|_| self.may_probe()) {
                self.emit_tool_timeout(now, out);
                self.event(now, Event::ToolTimeout(generation), out);
            } else {
                self.ledger.rearm(now, None);
            }
        }
    }

    /// Whether probes may speak: the server is connected and the client's opening has fixed the era.
    fn may_probe(&self) -> bool {
        self.life.is_connected() && self.session.is_open() && self.closing.is_none()
    }

    /// Starts the chain, or has the one that runs answer for this purpose too.
    pub(super) fn start_chain(&mut self, now: Instant, trigger: Trigger, warn_only: bool, out: &mut Vec<Effect>) {
        let for_overdue = trigger == Trigger::ToolTimeout;
        if let Some(chain) = &mut self.chain {
            chain.for_overdue |= for_overdue;
            return;
        }
        let Some(generation) = self.life.live() else { return };
        let limit = match trigger {
            Trigger::Periodic => self.config.health.timeout,
            _ => self.config.probe.total_timeout,
        };
        self.changed = true;
        self.chain = Some(ChainRun {
            trigger,
            since: now,
            was_idle: !self.owes_answers(),
            for_overdue,
            for_health: trigger == Trigger::Periodic,
            warn_only,
            progress: false,
            heard: false,
        });
        self.emit_probe_started(trigger, out);
        out.push(Effect::StartChain { generation, trigger, limit });
    }

    /// An operator wants to know. Whether a chain runs now; where none can, the server is not connected, or its client has not
    /// opened the session.
    pub fn probe_now(&mut self, now: Instant, out: &mut Vec<Effect>) -> bool {
        if self.may_probe() {
            self.start_chain(now, Trigger::Manual, true, out);
        }
        self.chain.is_some()
    }

    pub(super) fn end_chain(&mut self, out: &mut Vec<Effect>) {
        if self.chain.take().is_some() {
            out.push(Effect::EndChain);
        }
    }

    /// What a probe is told at its beginning.
    #[must_use]
    pub fn probe_snapshot(&self, now: Instant, trigger: Trigger, process: ProcessFacts) -> Snapshot {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut snapshot = Snapshot::new(self.config.name.clone(), self.life.generation().0, trigger);
        snapshot.pid = self.started.map(|process| process.pid);
        snapshot.era = match self.session.era() {
            _ if self.session.is_stateless() => Some(probe_api::Era::Stateless),
            Era::Handshake => Some(probe_api::Era::Handshake),
            _ => None,
        };
        snapshot.protocol_version = self.session.version().map(str::to_owned);
        snapshot.in_flight = self.ledger.len();
        snapshot.last_byte_ms_ago = self.last_byte.map(|at| millis(now.saturating_duration_since(at)));
        snapshot.since_start_ms =
            self.started.map_or(0, |process| millis(now.saturating_duration_since(process.since)));
        snapshot.process = process;
        snapshot
    }

    /// A probe sends a request to the server.
    pub fn probe_call(
        &mut self,
        now: Instant,
        generation: Generation,
        call: CallId,
        method: &str,
        params: Option<&[u8]>,
        out: &mut Vec<Effect>,
    ) {
        if self.life.live() != Some(generation) {
            return out.push(Effect::ProbeReply(call, ProbeReply::Gone));
        }
        let method_sent = Method::from_name(method.as_bytes());
        let too_early = match self.session.era() {
            // Before the handshake is complete only `ping` may be sent.
            Era::Handshake => !self.session.is_settled() && method_sent != Method::Ping,
            Era::Probing => method_sent != Method::Discover,
            Era::Unknown | Era::Stateless => false,
        };
        if self.opening != Opening::Done || !self.session.is_open() || too_early {
            return out.push(Effect::ProbeReply(call, ProbeReply::Invalid));
        }
        self.send_own(now, method, params, Purpose::Probe(call), out);
    }

    /// The request of this call has passed lines that waited to be written.
    pub fn probe_passed(&mut self, call: CallId) {
        self.own.has_passed(call);
    }

    /// A chain has ended. `cpu_used` is the processor time of the process tree meanwhile. The answer is why it ran and what it
    /// means, unless it is stale.
    pub fn chain_done(
        &mut self,
        now: Instant,
        generation: Generation,
        chain: &Chain,
        cpu_used: Duration,
        out: &mut Vec<Effect>,
    ) -> Option<(Trigger, Outcome)> {
        let Some(run) = self.chain.take_if(|_| self.life.live() == Some(generation)) else {
            self.emit_stale("probe", out);
            return None;
        };
        self.changed = true;
        self.latches.learn(chain);
        let evidence = Evidence {
            bytes_seen: run.heard,
            progress: run.progress,
            cpu_used,
            window: now.saturating_duration_since(run.since),
            serial_call_in_flight: self.is_at_a_call(now),
            may_be_in_line: !run.for_overdue && self.ledger.may_be_in_line(),
            waits_for_client: self.owed_until(now).is_some(),
        };
        let mut outcome = chain.finish(&evidence);
        let excused_too_long = self.ledger.busy_too_long(now, self.config.probe.busy_max);
        if let Outcome::Busy(reason) = &outcome
            && excused_too_long
            && run.for_overdue
            && !chain.any_reply()
            && !self.answers_in_order()
        {
            outcome = Outcome::Dead(format!("busy for longer than probe.busy_max: {reason}"));
        }
        if let Outcome::Dead(reason) = &outcome
            && !run.for_overdue
            && !chain.met_silence_alone()
            && run.was_idle
            && self.owes_answers()
        {
            // It was judged while it had nothing to do, which it has now.
            outcome = Outcome::Undecided(format!("a request came during the check ({reason})"));
        }
        self.emit_probe_outcome(&outcome, now.saturating_duration_since(run.since), out);
        self.judge(now, generation, run, outcome.clone(), out);
        if !self.parked.is_empty() {
            self.resume_parked(now, out);
        }
        Some((run.trigger, outcome))
    }

    /// The chain broke down: nothing is known.
    pub fn chain_broken(&mut self, now: Instant, generation: Generation, out: &mut Vec<Effect>) {
        let Some(run) = self.chain.take_if(|_| self.life.live() == Some(generation)) else { return };
        self.changed = true;
        self.judge(now, generation, run, Outcome::Undecided("the chain broke down".to_owned()), out);
        self.resume_parked(now, out);
    }

    /// Another chain takes the place of this one: what was learned of its links says nothing of others in their places.
    pub(super) fn forget_chain(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.latches = Latches::default();
        if let (Some(_), Some(generation)) = (self.chain, self.life.live()) {
            out.push(Effect::EndChain);
            self.chain_broken(now, generation, out);
        }
    }

    /// A call of this link was answered after its probe had given up.
    pub fn probe_heard_late(&mut self, link: LinkIndex) {
        self.latches.heard_late(link);
        self.sign_of_life();
    }

    fn judge(&mut self, now: Instant, generation: Generation, run: ChainRun, outcome: Outcome, out: &mut Vec<Effect>) {
        match outcome {
            Outcome::Alive => {
                if run.for_overdue {
                    self.event(now, Event::ProbePassed(generation), out);
                }
                if run.for_health {
                    self.event(now, Event::Health(generation, true), out);
                }
            }
            Outcome::Busy(_) => {
                self.ledger.rearm(now, Some(self.config.probe.busy_grace));
                if run.for_overdue {
                    self.event(now, Event::ProbePassed(generation), out);
                }
            }
            // Nothing is known: the calls get their time again, and nothing is counted.
            Outcome::Undecided(_) => {
                if run.for_overdue {
                    self.event(now, Event::ProbePassed(generation), out);
                }
            }
            Outcome::Dead(reason) => {
                let error = Some(if run.for_health && !run.for_overdue {
                    format!("Health check timeout: {reason}")
                } else {
                    reason
                });
                let before = (self.failure.clone(), self.failed_at);
                self.failure = super::Failure { error, ..super::Failure::default() };
                self.failed_at = Some(now);
                if run.for_overdue {
                    self.event(now, Event::ProbeFailed(generation), out);
                } else if run.for_health && !run.warn_only {
                    self.event(now, Event::Health(generation, false), out);
                }
                if self.life.is_connected() {
                    // The server is kept: this is no failure to tell of later.
                    (self.failure, self.failed_at) = before;
                }
            }
        }
        if self.life.is_connected() && self.health_at.is_none() {
            self.schedule_health(now);
        }
    }

    /// Learns from the answer to a probe's request whether the server answers in order. Nothing else of ours tells: what a
    /// process is asked right after its start, along with what the client was waiting for, it answers in one go once it is warm.
    pub(super) fn learn_order(&mut self, now: Instant, own: &OwnRequest) {
        if own.passed {
            return;
        }
        self.ledger.own_answered(own.seq);
        if !matches!(own.purpose, Purpose::Probe(_)) {
            return;
        }
        let waited = now.saturating_duration_since(own.since);
        let behind_an_answer = self
            .last_client_answer
            .is_some_and(|at| at > own.since && now.saturating_duration_since(at) <= RIGHT_BEHIND);
        // One probe that comes behind an answer may do so by chance; one that overtakes a request does not.
        if self.ledger.iter().any(|request| request.seq < own.seq) {
            self.serial = Some(false);
        } else if own.behind > 0 && behind_an_answer && waited >= NOTICEABLE {
            self.serial.get_or_insert(true);
        }
    }

    fn answers_in_order(&self) -> bool {
        self.serial == Some(true)
    }

    /// Whether the server cannot be asked, as it answers in order and may be at a call; at one that was cancelled for as long as
    /// being busy is an excuse.
    fn is_at_a_call(&self, now: Instant) -> bool {
        let at_given_up = || self.ledger.may_be_at_given_up(now, self.config.probe.busy_max);
        self.answers_in_order() && (self.ledger.has_timed() || at_given_up())
    }

    /// Sets the time of the next periodic check.
    pub(super) fn schedule_health(&mut self, now: Instant) {
        let health = self.config.health;
        self.health_at = health.interval.map(|interval| now + spread(interval, health.jitter, self.random.f64()));
    }

    pub(super) fn check_health(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.health_at.is_none_or(|at| at > now) {
            return;
        }
        self.schedule_health(now);
        // The call has a timer of its own.
        if self.may_probe() && self.chain.is_none() && !self.is_at_a_call(now) {
            self.start_chain(now, Trigger::Periodic, false, out);
        }
    }

    /// Looks once, after the machine slept.
    pub(super) fn check_now(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.may_probe() && self.chain.is_none() && self.config.health.interval.is_some() {
            self.start_chain(now, Trigger::Periodic, true, out);
        }
    }
}
