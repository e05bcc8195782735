//! What the server says.

use std::time::Instant;

use bytes::Bytes;

use super::client::key;
use super::passing::{Outgoing, Passing};
use super::{Effect, ProbeReply, RequestOutcome, Slot};
use crate::config::StrayStdout;
use crate::core::ids::Generation;
use crate::core::ledger::Request;
use crate::core::lifecycle::Event;
use crate::core::listens::{Acknowledgement, End};
use crate::core::own::{OwnRequest, Purpose};
use crate::core::refusal::Code;
use crate::core::session::Era;
use crate::wire::framed::Framed;
use crate::wire::head::{self, Head, Kind, Method, Scan};
use crate::wire::id::{Id, IdKey};
use crate::wire::{Span, compose, splice};

/// The reason of a refusal whose answer came, but not in UTF-8.
pub(super) const UNREADABLE: &str = "unreadable-answer";

impl Slot {
    /// One line of a server process. What comes of it may be this line ([`Outgoing::Given`]).
    pub fn server_line(&mut self, now: Instant, from: Generation, line: &Framed<'_>, out: &mut Vec<Effect>) {
        if self.hearing != Some(from) {
            return self.emit_stale("server-line", out);
        }
        self.last_byte = Some(now);
        self.server_says(now, Passing::Given(line), out);
        self.check_due(now, out);
    }

    fn server_says(&mut self, now: Instant, line: Passing<'_>, out: &mut Vec<Effect>) {
        let mut scan = Scan::unread();
        line.scan_into(&mut self.server_shapes, &mut scan);
        match &scan {
            Scan::Message(head) if self.is_stray(&line, head) => {
                self.sign_of_life();
                self.stray(line, out);
            }
            Scan::Message(head) => {
                self.message_of_life(&line, head);
                if !line.is_utf8() {
                    return self.unreadable(now, line, head, out);
                }
                if let Some(line) = self.server_message(now, line, head, out) {
                    self.deliver(line, out);
                }
            }
            Scan::Batch if self.session.batches() && !line.is_utf8() => {
                self.sign_of_life();
                let line = line.to_bytes();
                for span in head::elements(&line).unwrap_or_default() {
                    let element = line.slice(span);
                    if let Scan::Message(head) = head::scan(&element) {
                        self.unreadable(now, Passing::Kept(&element), &head, out);
                    }
                }
            }
            Scan::Batch if self.session.batches() => self.server_batch(now, &line.to_bytes(), out),
            Scan::Batch | Scan::NotAMessage(_) | Scan::NotJson => {
                self.sign_of_life();
                self.stray(line, out);
            }
        }
    }

    #[cold]
    fn stray(&mut self, line: Passing<'_>, out: &mut Vec<Effect>) {
        if self.config.limits.stray_stdout == StrayStdout::Log {
            self.emit_stray(line, out);
        }
    }

    /// A log line in JSON can look like a message. One that does not say that it is JSON-RPC is a message only if it
    /// answers something.
    fn is_stray(&self, line: &[u8], head: &Head) -> bool {
        let asked = || {
            let id = key(line, head.id.as_ref())?;
            let asked = self.ledger.contains(&id) || self.own.contains(&id) || self.listens.contains(&id);
            (head.method == Method::None).then_some(asked)
        };
        !head.jsonrpc && asked() != Some(true)
    }

    /// A message that is not UTF-8, which MCP demands: clients that decode strictly would break on it. Whoever waits for
    /// it as an answer is told.
    #[cold]
    fn unreadable(&mut self, now: Instant, line: Passing<'_>, head: &Head, out: &mut Vec<Effect>) {
        self.stray(line, out);
        if let Some(id) = head::id_at(&line, head.id.as_ref()).filter(|_| head.method == Method::None) {
            self.answer_dropped(now, &id, Code::ServerDisconnected, UNREADABLE, out);
        }
    }

    /// An answer came that is of no use: whoever waits for it is told.
    pub(super) fn answer_dropped(
        &mut self,
        now: Instant,
        id: &Id,
        code: Code,
        reason: &'static str,
        out: &mut Vec<Effect>,
    ) {
        if let Some(request) = self.request_answered(&id.key) {
            self.first_answer(now, out);
            self.refuse(&request, code, reason, out);
            self.check_drain(now, out);
        } else if let Some(own) = self.own_answered(&id.key) {
            self.own_answer(now, own, false, b"{}", out);
        } else if self.listens.closed(&id.key) {
            Self::listen_ended(RequestOutcome::Refused, out);
            self.refuse_id(id, code, reason, true, out);
        } else {
            self.ledger.answered_late(&id.key);
        }
    }

    /// The process wrote something that is no whole line yet.
    pub fn heard(&mut self, now: Instant, generation: Generation) {
        if self.hearing == Some(generation) {
            self.last_byte = Some(now);
            self.sign_of_life();
        }
    }

    /// A message counts, unless it answers a probe.
    #[inline]
    pub(super) fn message_of_life(&mut self, line: &[u8], head: &Head) {
        // Only a chain that runs makes it worth to know whose answer this is.
        if self.chain.is_some() {
            self.message_to_chain(line, head);
        }
    }

    #[cold]
    #[inline(never)]
    fn message_to_chain(&mut self, line: &[u8], head: &Head) {
        if !key(line, head.id.as_ref()).is_some_and(|id| self.own.is_probe(&id)) {
            self.sign_of_life();
        }
    }

    /// Something that counts for a probe chain beside the answers to its own calls, which the probes themselves judge.
    pub(super) const fn sign_of_life(&mut self) {
        if let Some(chain) = &mut self.chain {
            chain.heard = true;
        }
    }

    /// What of a message goes on to the client, if anything.
    pub(super) fn server_message(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        match head.kind {
            Kind::Result | Kind::Error => self.server_answer(now, line, head, out),
            Kind::Request => Some(self.server_asks(now, line, head)),
            Kind::Notification => self.server_notification(now, line, head, out),
        }
    }

    /// Takes the client's request that an answer under this id belongs to. An id of ours counts as it was sent: a client's text
    /// that spells the same number is another one.
    pub(super) fn request_answered(&mut self, id: &IdKey) -> Option<Box<Request>> {
        if self.own.contains(id) {
            return None;
        }
        self.ledger.answered(id).or_else(|| self.ledger.answered(&self.session.meant_by(id)?))
    }

    /// Takes our own request that an answer under this id belongs to.
    pub(super) fn own_answered(&mut self, id: &IdKey) -> Option<OwnRequest> {
        self.own.answered(id).or_else(|| self.own.answered(&self.session.meant_by(id)?))
    }

    fn server_answer(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        let Some(id) = head::id_at(&line, head.id.as_ref()) else {
            // The server could not read a request, and says so without its id: the client may want to know.
            return (head.kind == Kind::Error).then(|| line.into());
        };
        let ok = head.kind == Kind::Result;
        if let Some(request) = self.request_answered(&id.key) {
            self.last_client_answer = Some(now);
            self.learn(now, &request, ok, body_of(&line, head.body.clone()));
            let line = self.with_tools(request.method, line, head, out);
            self.deliver(line, out);
            self.ended(Some(now), &request, outcome(ok), out);
            self.after_answer(now, &request, ok, out);
            self.ledger.over(request);
            return None;
        }
        self.other_answer(now, &id, line, ok, head.body.clone(), out)
    }

    /// What goes on of an answer to no request of the client's own, if anything.
    #[inline(never)]
    fn other_answer(
        &mut self,
        now: Instant,
        id: &Id,
        line: Passing<'_>,
        ok: bool,
        body: Option<Span>,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        if let Some(own) = self.own_answered(&id.key) {
            self.own_answer(now, own, ok, body_of(&line, body), out);
            return None;
        }
        match self.listens.answered(&id.key, !ok) {
            Some(End::Deliver) => {
                Self::listen_ended(outcome(ok), out);
                Some(line.into())
            }
            Some(End::Withdraw(id)) => {
                Self::listen_ended(RequestOutcome::Refused, out);
                Some(compose::cancelled(&id, "the new server process refused the subscription").into())
            }
            None => {
                self.ledger.answered_late(&id.key);
                self.emit_stale("server-answer", out);
                None
            }
        }
    }

    pub(super) fn after_answer(&mut self, now: Instant, request: &Request, ok: bool, out: &mut Vec<Effect>) {
        if request.method == Method::Initialize {
            self.opening_deadline = None;
        }
        self.first_answer(now, out);
        if ok {
            self.well(now, out);
        }
        if self.closing.is_some() {
            self.check_drain(now, out);
        }
    }

    pub(super) fn own_answer(&mut self, now: Instant, own: OwnRequest, ok: bool, body: &[u8], out: &mut Vec<Effect>) {
        self.learn_order(now, &own);
        match own.purpose {
            Purpose::Handshake => self.handshake_answered(now, ok, body, out),
            Purpose::Readiness => self.ready(now, out),
            Purpose::Replay(what) => {
                if !ok {
                    self.emit_replay_refused(what, out);
                }
            }
            Purpose::Refresh(kind) => self.list_refreshed(now, kind, ok, body, out),
            Purpose::Probe(call) => {
                let body = Bytes::copy_from_slice(body);
                out.push(Effect::ProbeReply(call, if ok { ProbeReply::Result(body) } else { ProbeReply::Error(body) }));
            }
        }
        if !self.parked.is_empty() {
            self.resume_parked(now, out);
        }
    }

    /// A question of the server. Under an id that the client has still to answer it goes out under another one.
    #[inline(never)]
    fn server_asks(&mut self, now: Instant, line: Passing<'_>, head: &Head) -> Outgoing {
        let Some(id) = head::id_at(&line, head.id.as_ref()) else { return line.into() };
        let token = key(&line, head.meta_progress_token.as_ref());
        let Some(generation) = self.hearing else { return line.into() };
        match self.asks.asked(now, generation, &id, token) {
            Some(replacement) => splice::rewrite_id(&line, head, &replacement).into(),
            None => line.into(),
        }
    }

    #[inline(never)]
    fn server_notification(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        match head.method {
            Method::Progress => {
                let token = key(&line, head.progress_token.as_ref());
                if !token.is_some_and(|token| self.ledger.progress(&token, now)) {
                    self.emit_stale("progress", out);
                    return None;
                }
                if let Some(chain) = &mut self.chain {
                    chain.progress = true;
                }
                Some(line.into())
            }
            Method::Cancelled => self.server_cancels(line, head, out),
            Method::SubscriptionsAcknowledged => {
                let id = key(&line, head.meta_subscription_id.as_ref());
                let filter = || notifications_of(head.params.clone().and_then(|span| line.get(span)));
                match id.and_then(|id| self.listens.acknowledged(&id, filter())) {
                    Some(Acknowledgement::Deliver) => Some(line.into()),
                    Some(Acknowledgement::Swallow) => None,
                    // The client has closed it.
                    None => {
                        self.emit_stale("acknowledgement", out);
                        None
                    }
                }
            }
            Method::TasksStatus => {
                let params = head.params.clone().and_then(|span| line.get(span));
                self.planned.tasks.told(now, params.unwrap_or_default());
                Some(line.into())
            }
            // In the stateless era log messages belong to a request in flight.
            Method::Message if self.session.era() == Era::Stateless && self.ledger.is_empty() => None,
            _ => match key(&line, head.meta_subscription_id.as_ref()) {
                // A notification for a stream that is closed would be a protocol violation.
                Some(id) if !self.listens.contains(&id) => None,
                _ => Some(line.into()),
            },
        }
    }

    /// The server withdraws a question, or ends a listen stream. Nothing else is its to cancel.
    fn server_cancels(&mut self, line: Passing<'_>, head: &Head, out: &mut Vec<Effect>) -> Option<Outgoing> {
        let span = head.request_id.clone()?;
        let id = head::id_at(&line, Some(&span))?;
        let generation = self.hearing?;
        if let Some(known) = self.asks.withdrawn(generation, &id.key) {
            let same = known.key == id.key;
            return Some(if same { line.into() } else { splice::replace(&line, span, &known.raw()).into() });
        }
        let ended = self.listens.closed(&id.key);
        if ended {
            Self::listen_ended(RequestOutcome::Cancelled, out);
        }
        ended.then(|| line.into())
    }

    /// A good answer: whatever was wrong with its health is over.
    fn well(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if let crate::core::lifecycle::State::Connected(runtime) = self.life.state()
            && runtime.failures > 0
            && !runtime.probing
            && let Some(generation) = self.life.live()
        {
            self.event(now, Event::Health(generation, true), out);
        }
    }
}

/// The result or the error in an answer.
pub(super) fn body_of(line: &[u8], body: Option<Span>) -> &[u8] {
    body.and_then(|span| line.get(span)).unwrap_or(b"null")
}

/// How a request ended that the server has answered.
pub(super) const fn outcome(ok: bool) -> RequestOutcome {
    if ok { RequestOutcome::Ok } else { RequestOutcome::Error }
}

/// The filter in an acknowledgement.
fn notifications_of(params: Option<&[u8]>) -> serde_json::Value {
    params
        .and_then(|raw| serde_json::from_slice::<serde_json::Value>(raw).ok())
        .and_then(|mut params| params.get_mut("notifications").map(serde_json::Value::take))
        .unwrap_or_default()
}
