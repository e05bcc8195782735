//! What the client says.

use std::time::Instant;

use bytes::Bytes;

use super::act::refusal_of;
use super::answer::CANNOT_START;
use super::passing::{Outgoing, Passing};
use super::{Effect, Opening, RequestOutcome, Slot};
use crate::core::asks::Answer;
use crate::core::hold::Held;
use crate::core::ledger::Request;
use crate::core::lifecycle::{Admission, Event, Rejection};
use crate::core::refusal::Code;
use crate::wire::framed::Framed;
use crate::wire::head::{self, Head, Kind, Method, Scan};
use crate::wire::id::IdKey;
use crate::wire::{Span, splice};

/// What is said of a request that nobody can answer.
const UNFIT_ID: &str = "Invalid Request: the id is neither a string nor a number";

/// Whether a message without an id that counts has one all the same: its sender waits for an answer. `null` is none.
fn has_unfit_id(line: &[u8], head: &Head) -> bool {
    head.id.clone().and_then(|span| line.get(span)).is_some_and(|id| id != b"null")
}

impl Slot {
    /// One line of the client. What comes of it may be this line ([`Outgoing::Given`]).
    pub fn client_line(&mut self, now: Instant, line: &Framed<'_>, out: &mut Vec<Effect>) {
        self.used(now);
        self.client_says(now, Passing::Given(line), out);
        self.look_again(now);
    }

    pub(super) fn client_says(&mut self, now: Instant, line: Passing<'_>, out: &mut Vec<Effect>) {
        self.clock = Some(now);
        let mut scan = Scan::unread();
        line.scan_into(&mut self.client_shapes, &mut scan);
        let is_utf8 = line.is_utf8();
        match &scan {
            _ if !is_utf8 => self.protest(None, -32700, "Parse error: the line is not UTF-8", out),
            Scan::Message(head) => match head.kind {
                Kind::Request => self.client_request(now, line, head, out),
                Kind::Notification if has_unfit_id(&line, head) => self.protest(None, -32600, UNFIT_ID, out),
                Kind::Notification => {
                    let line = self.client_notification(now, line, head, out).filter(|_| self.is_open());
                    out.extend(line.map(Effect::pass));
                    self.check_drain(now, out);
                }
                Kind::Result | Kind::Error => {
                    let line = self.client_answer(line, head, out);
                    out.extend(line.map(Effect::pass));
                }
            },
            Scan::Batch if self.session.batches() => self.client_batch(now, line.to_bytes(), out),
            Scan::Batch => self.protest(None, -32600, "Invalid Request: this protocol version has no batches", out),
            Scan::NotAMessage(id) => {
                let id = head::id_at(&line, id.as_ref());
                self.protest(id.as_ref(), -32600, "Invalid Request: neither method nor result nor error", out);
            }
            Scan::NotJson => self.protest(None, -32700, "Parse error: the line is not a JSON object", out),
        }
    }

    fn client_request(&mut self, now: Instant, line: Passing<'_>, head: &Head, out: &mut Vec<Effect>) {
        self.session.observe(&line, head);
        let Some(request) = self.request(now, &line, head) else {
            return self.protest(None, -32600, UNFIT_ID, out);
        };
        if self.first_word.is_some() {
            return self.tell_why(&[*request], out);
        }
        let Some(request) = self.manage(&line, head, request, out) else { return };
        self.own.avoid(&request.id.key);
        if self.own.contains(&request.id.key) {
            return self.park(now, line.to_bytes());
        }
        // A list that is known is no reason to start a server that nobody else needs.
        if self.life.is_standby() && !self.planned.outdated && self.serve_stale(&request, out) {
            return;
        }
        match self.admit(now, &request, out) {
            Admission::Forward => self.forward(now, line, request, out),
            Admission::Hold => self.hold_or_refuse(now, line, *request, None, out),
            Admission::Reject(rejection) => self.hold_or_refuse(now, line, *request, Some(rejection), out),
        }
    }

    /// A request that does not go to the server now. A list that is known is given at once.
    #[cold]
    #[inline(never)]
    fn hold_or_refuse(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        request: Request,
        rejection: Option<Rejection>,
        out: &mut Vec<Effect>,
    ) {
        let may_be_stale = match rejection {
            None => !self.planned.outdated,
            Some(rejection) => matches!(rejection, Rejection::Down | Rejection::PermanentlyFailed),
        };
        if may_be_stale && self.serve_stale(&request, out) {
            return;
        }
        if let Some(rejection) = rejection {
            let (code, reason) = refusal_of(rejection);
            return self.refuse(&request, code, reason, out);
        }
        self.keep(now, Held { line: line.to_bytes(), requests: vec![request], expires: None }, out);
        self.flush_held(now, out);
    }

    /// There is no server and will be none: the client's first words are answered with the reason, and the program ends.
    #[cold]
    pub(super) fn tell_why(&mut self, requests: &[Request], out: &mut Vec<Effect>) {
        for request in requests {
            self.refuse(request, Code::PermanentlyFailed, CANNOT_START, out);
        }
        self.first_word_spoken(out);
    }

    /// Whether a request goes to the server, waits, or is refused.
    pub(super) fn admit(&mut self, now: Instant, request: &Request, out: &mut Vec<Effect>) -> Admission {
        match self.opening {
            Opening::Done => return Admission::Forward,
            Opening::Transparent => {
                let handshake = matches!(request.method, Method::Initialize | Method::Discover);
                if !handshake && !self.session.awaits_handshake() && !self.life.is_connected() {
                    // There is no opening whose answer could be awaited: the session is there with the process.
                    self.connect_on_start = true;
                    self.connect_if_started(now, out);
                }
                return Admission::Forward;
            }
            Opening::None | Opening::Replaying | Opening::Repeating => {}
        }
        if self.closing.is_some() && self.life.live().is_none() {
            return Admission::Reject(Rejection::Closing);
        }
        self.event(now, Event::Request, out).unwrap_or(Admission::Hold)
    }

    /// Hands a request to the server.
    pub(super) fn forward(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        mut request: Box<Request>,
        out: &mut Vec<Effect>,
    ) {
        if request.method == Method::SubscriptionsListen {
            return self.forward_listen(line, *request, out);
        }
        if request.method == Method::Initialize {
            self.opening_deadline = Some(now + self.config.handshake.timeout);
        }
        let tag = request.seq;
        request.tag = tag;
        request.suspect_at = request.patience.map(|patience| now + patience);
        self.ledger.insert(request);
        self.hand(line, tag, out);
    }

    #[cold]
    #[inline(never)]
    fn forward_listen(&mut self, line: Passing<'_>, request: Request, out: &mut Vec<Effect>) {
        self.listens.opened(request.seq, request.id, Bytes::copy_from_slice(&line));
        out.push(Effect::pass(line));
    }

    /// Hands a line with requests to the server.
    pub(super) fn hand(&mut self, line: Passing<'_>, tag: u64, out: &mut Vec<Effect>) {
        if self.started.is_none() {
            self.early.insert(tag, line.to_bytes());
        }
        out.push(Effect::Forward { line: line.into(), tag, urgent: false });
    }

    pub(super) fn keep(&mut self, now: Instant, mut held: Held, out: &mut Vec<Effect>) {
        // What waits must not hold on to the buffer of a long line, of which it may be a part.
        held.line = Bytes::copy_from_slice(&held.line);
        held.expires = self.hold_expires(now, &held.requests);
        if let Err(refused) = self.hold.push(held) {
            for request in &refused.requests {
                self.refuse(request, Code::Overloaded, "hold-queue-full", out);
            }
        }
    }

    /// How long these requests may wait. The client's opening waits through failed attempts before the first connection;
    /// its limit is that of the first answer. A start that was chosen between two calls may take as long as a start may, so
    /// that the choice costs no call.
    pub(super) fn hold_expires(&self, now: Instant, requests: &[Request]) -> Option<Instant> {
        let opening = requests.iter().any(|request| request.method == Method::Initialize);
        let (hold, start) = (self.config.restart.hold, self.config.handshake.timeout);
        let hold = if self.life.starts_on_purpose() { hold.max(start) } else { hold };
        let hold = (!opening || self.life.connected_once()).then(|| now + hold);
        requests.iter().filter_map(|request| request.deadline_at).chain(hold).min()
    }

    /// Sends what waits, as far as the session with the live process allows.
    pub(super) fn flush_held(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match self.opening {
            Opening::None | Opening::Replaying => {}
            Opening::Repeating => {
                let is_opening = |held: &Held| held.requests.iter().any(|request| request.method == Method::Initialize);
                if let Some(held) = self.hold.take_first(is_opening) {
                    self.send_held(now, held, out);
                }
            }
            Opening::Transparent | Opening::Done => {
                for held in self.hold.take_all() {
                    self.send_held(now, held, out);
                }
            }
        }
    }

    fn send_held(&mut self, now: Instant, held: Held, out: &mut Vec<Effect>) {
        let mut requests = held.requests.into_iter();
        match (requests.next(), requests.len()) {
            (Some(request), 0) if head_is_object(&held.line) => {
                self.forward(now, Passing::Kept(&held.line), Box::new(request), out);
            }
            (first, _) => self.forward_batch(now, held.line, first.into_iter().chain(requests).collect(), out),
        }
    }

    /// Whether what the client says now goes straight to the live process.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.opening, Opening::Transparent | Opening::Done)
    }

    /// What of a notification goes on to the server, if anything.
    pub(super) fn client_notification(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        match head.method {
            Method::Initialized => self.session.initialized(&line),
            Method::Cancelled => return self.client_cancels(now, line, head, out),
            Method::Progress => {
                let token = key(&line, head.progress_token.as_ref());
                if token.is_some_and(|token| self.asks.token_is_dead(&token, self.life.live())) {
                    return None;
                }
            }
            _ => {}
        }
        Some(line.into())
    }

    /// A cancelled request gets no answer. The server is told if it has the request; a new generation never hears of it.
    fn client_cancels(
        &mut self,
        now: Instant,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Option<Outgoing> {
        let id = key(&line, head.request_id.as_ref())?;
        if self.cancel_managed(&id, out) {
            return None;
        }
        let in_flight = self.ledger.remove(&id);
        if let Some(request) = &in_flight {
            self.ledger.gave_up(request, now);
        }
        let stream = in_flight.is_none() && self.listens.closed(&id);
        if stream {
            Self::listen_ended(RequestOutcome::Cancelled, out);
        }
        let known = in_flight.is_some() || stream;
        let cancelled = in_flight.or_else(|| self.hold.cancel(&id)).or_else(|| {
            let at = self.overdue.iter().position(|request| request.id.key == id)?;
            Some(self.overdue.remove(at))
        });
        if let Some(request) = cancelled {
            self.ended(self.clock, &request, RequestOutcome::Cancelled, out);
            if request.method == Method::Initialize {
                self.session.refused();
                self.opened_by_whoever_speaks(now, out);
            }
        }
        if known {
            return Some(line.into());
        }
        self.cancel_parked(&id);
        None
    }

    /// The client's answer to a question of a server, as the server that asked gets it; nobody else does.
    pub(super) fn client_answer(&mut self, line: Passing<'_>, head: &Head, out: &mut Vec<Effect>) -> Option<Outgoing> {
        let id = head::id_at(&line, head.id.as_ref())?;
        match self.asks.answered(&id.key, self.life.live()) {
            Answer::Pass(original) if original.key == id.key => Some(line.into()),
            Answer::Pass(original) => Some(splice::rewrite_id(&line, head, &original).into()),
            Answer::Swallow | Answer::Unknown => {
                self.emit_stale("client-answer", out);
                None
            }
        }
    }
}

fn head_is_object(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// The value of an id or token at this place.
pub(super) fn key(line: &[u8], span: Option<&Span>) -> Option<IdKey> {
    Some(head::id_at(line, span)?.key)
}
