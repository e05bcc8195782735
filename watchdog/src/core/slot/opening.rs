//! The session with a new process: the client's own opening the first time, a replay of it afterwards.
//!
//! A fresh process hears nothing of ours before the opening has fixed its era (wire.md, "Which era?").

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::notices::cut;
use super::{Count, Effect, Opening, Slot};
use crate::core::catalog::ListKind;
use crate::core::ids::Generation;
use crate::core::lifecycle::{Event, Rejection};
use crate::core::own::{OwnRequest, Purpose};
use crate::core::session::{Compatibility, Era};
use crate::wire::head::{self, Method, Scan};
use crate::wire::id::{Id, IdKey};
use crate::wire::{compose, splice};

/// How long the client's opening waits through failed attempts before it is answered with the reason (contract.md).
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// How long a process that has no client yet has to live to count as connected: one that ends at once is a failed attempt.
const ALONE: Duration = Duration::from_secs(1);

impl Slot {
    /// Begins with a process that was just started.
    pub(super) fn open(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let replay = self.config.handshake.replay;
        self.refused_replays.clear();
        if let Some(line) = self.session.replay_opening().filter(|_| replay).cloned() {
            self.opening = Opening::Replaying;
            self.send_own_line(now, &line, Purpose::Handshake, out);
            self.opening_deadline = Some(now + self.config.handshake.timeout);
        } else if self.session.awaits_handshake() && self.hold.requests().any(|r| r.method == Method::Initialize) {
            self.opening = Opening::Repeating;
            self.flush_held(now, out);
        } else if self.session.is_stateless() && self.life.generation().0 > 1 && replay {
            self.opening = Opening::Replaying;
            let params = self.stateless_params();
            self.send_own(now, "server/discover", Some(params.as_bytes()), Purpose::Readiness, out);
            self.opening_deadline = Some(now + self.config.handshake.timeout);
        } else {
            self.opening = Opening::Transparent;
            self.connect_on_start = !replay && self.session.era() != Era::Unknown;
            self.flush_held(now, out);
        }
    }

    /// The program was executed.
    #[cold]
    pub fn started(&mut self, now: Instant, generation: Generation, pid: u32, out: &mut Vec<Effect>) {
        if self.hearing == Some(generation) {
            self.started = Some(super::StartedProcess { pid, since: now });
            self.early = HashMap::new();
            self.changed = true;
            self.alone_until = self.role.served.then(|| now + ALONE);
            self.connect_if_started(now, out);
            self.check_drain(now, out);
        }
    }

    /// A server of `serve` is there without a client, which opens its session when it comes.
    pub(super) fn check_alone(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.alone_until.take_if(|at| *at <= now).is_some()
            && self.opening == Opening::Transparent
            && self.session.era() == Era::Unknown
        {
            self.connected(now, out);
        }
    }

    /// Where no opening is awaited, the session is there with the process.
    pub(super) fn connect_if_started(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.connect_on_start && self.started.is_some() {
            self.connect_on_start = false;
            self.connected(now, out);
        }
    }

    /// The client's request was answered: if that was its opening, the slot is connected.
    pub(super) fn first_answer(&mut self, now: Instant, out: &mut Vec<Effect>) {
        match self.opening {
            Opening::Transparent => self.connected(now, out),
            Opening::Repeating => {
                if let Some(line) = self.session.replay_initialized().cloned() {
                    out.push(Effect::pass(line));
                }
                self.connected(now, out);
            }
            Opening::None | Opening::Replaying | Opening::Done => {}
        }
    }

    #[cold]
    #[inline(never)]
    fn connected(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.opening = Opening::Done;
        // A ping may be answered before the handshake, whose limit stays.
        self.opening_deadline = self.opening_deadline.filter(|_| self.session.awaits_handshake());
        if let Some(generation) = self.life.live() {
            self.event(now, Event::AttemptOk(generation), out);
            // What went wrong before says nothing about what goes wrong from here on.
            self.past_failure = std::mem::take(&mut self.failure);
            // Callers who waited for the outcome have been told.
            self.check_drain(now, out);
        }
    }

    /// The replayed `initialize` was answered.
    pub(super) fn handshake_answered(&mut self, now: Instant, ok: bool, result: &[u8], out: &mut Vec<Effect>) {
        if !ok {
            return self.fail_opening(now, "the server refused the replayed initialize".to_owned(), out);
        }
        match self.session.compare(result) {
            Compatibility::Same { capabilities_changed, now: latest } => {
                self.capabilities_changed = capabilities_changed;
                self.latest = Some(latest);
                if let Some(line) = self.session.replay_initialized().cloned() {
                    out.push(Effect::pass(line));
                }
                self.ready(now, out);
            }
            Compatibility::OtherVersion { told, now: said } => {
                let said = cut(&said);
                self.emit_incompatible(&told, &said, out);
                let why = format!("handshake_incompatible: the client was told {told}, the new server says {said}");
                self.fail_opening(now, why, out);
            }
            Compatibility::Unreadable => {
                self.fail_opening(now, "the answer to the replayed initialize cannot be read".to_owned(), out);
            }
        }
    }

    /// The process answered its opening: it gets the state of the session, then what waits.
    pub(super) fn ready(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let state: Vec<Bytes> = self.session.replay_state().cloned().collect();
        for line in state {
            let what = match head::scan(&line) {
                Scan::Message(head) => head.method.name().unwrap_or("request"),
                _ => "request",
            };
            self.send_own_line(now, &line, Purpose::Replay(what.into()), out);
        }
        for line in self.listens.replay() {
            out.push(Effect::pass(line));
        }
        self.connected(now, out);
    }

    /// An opening whose time is over.
    pub(super) fn check_opening(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.opening_deadline.take_if(|at| *at <= now).is_none() {
            return;
        }
        // The client may have cancelled its own, or its answer could not be read.
        let is_asked = self.ledger.iter().any(|request| request.method == Method::Initialize);
        if is_asked || !self.is_open() {
            out.push(Effect::Count(Count::HandshakeTimeout));
            let limit = humantime::format_duration(self.config.handshake.timeout);
            let why = format!("no answer to the opening of the session within {limit} (handshake.timeout)");
            self.fail_opening(now, why, out);
        }
    }

    /// This process will not do: it is torn down, and the attempt has failed.
    fn fail_opening(&mut self, now: Instant, why: String, out: &mut Vec<Effect>) {
        self.opening_deadline = None;
        let Some(generation) = self.life.live() else { return };
        self.failure.error = Some(why);
        self.failure.ending = None;
        self.failed_at = Some(now);
        let event =
            if self.life.is_connected() { Event::TransportError(generation) } else { Event::AttemptFailed(generation) };
        self.event(now, event, out);
    }

    /// When those who wait for the first connection ever are told why there is none.
    pub(super) fn first_answer_at(&self) -> Option<Instant> {
        if self.life.connected_once() || self.failure.error.is_none() {
            return None;
        }
        // A failure from before a request came says nothing about the attempt that this one waits for.
        let failed_at = self.failed_at?;
        let openings = self.ledger.iter().filter(|request| request.method == Method::Initialize);
        let waiting = self.hold.requests().chain(openings);
        waiting.map(|request| request.since).filter(|since| *since <= failed_at).min().map(|since| since + FIRST_ANSWER)
    }

    pub(super) fn check_first_answer(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.first_answer_at().is_none_or(|at| at > now) {
            return;
        }
        let (code, reason) = super::act::refusal_of(Rejection::Reconnecting);
        // What else a process has been given is between it and the client.
        let openings = self.ledger.iter().filter(|request| request.method == Method::Initialize);
        let openings: Vec<_> = openings.map(|request| request.id.key.clone()).collect();
        let openings: Vec<_> = openings.iter().filter_map(|id| self.ledger.remove(id)).collect();
        let held = self.hold.take_all().into_iter().flat_map(|held| held.requests);
        for request in openings.into_iter().chain(held) {
            self.refuse(&request, code, reason, out);
        }
        self.opened_by_whoever_speaks(now, out);
        self.check_drain(now, out);
    }

    /// Nobody waits any more for the answer to the opening that was sent again: the process goes on, and whoever speaks next, or
    /// waits to do so, speaks to it.
    pub(super) fn opened_by_whoever_speaks(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.opening == Opening::Repeating {
            self.opening = Opening::Transparent;
            self.opening_deadline = None;
            self.flush_held(now, out);
        }
    }

    /// Sends a recorded request of the client again, under an id of ours.
    fn send_own_line(&mut self, now: Instant, line: &Bytes, purpose: Purpose, out: &mut Vec<Effect>) {
        if let Scan::Message(head) = head::scan(line) {
            let id = self.own_id();
            let line = splice::rewrite_id(line, &head, &id);
            self.note_own(now, &id, purpose);
            out.push(Effect::pass(line));
        }
    }

    /// Sends a request of ours.
    pub(super) fn send_own(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<&[u8]>,
        purpose: Purpose,
        out: &mut Vec<Effect>,
    ) {
        let id = self.own_id();
        let urgent = matches!(purpose, Purpose::Probe(_));
        self.note_own(now, &id, purpose);
        out.push(Effect::Forward { line: compose::request(&id, method, params).into(), tag: 0, urgent });
    }

    fn own_id(&mut self) -> Id {
        let (ledger, listens, hold) = (&self.ledger, &self.listens, &self.hold);
        let taken =
            |id: &IdKey| ledger.contains(id) || listens.contains(id) || hold.requests().any(|r| r.id.key == *id);
        self.own.id(self.session.text_ids(), taken)
    }

    fn note_own(&mut self, now: Instant, id: &Id, purpose: Purpose) {
        let seq = self.ledger.next_seq();
        let behind = self.ledger.len();
        self.own.sent(id, OwnRequest { purpose, seq, since: now, behind, passed: false });
    }

    /// Asks for the lists that the client knows, to compare them.
    pub(super) fn refresh_catalog(&mut self, now: Instant, out: &mut Vec<Effect>) {
        // The first process of a session told the client itself.
        if self.life.generation().0 > 1 && self.session.era() != Era::Probing {
            let known: Vec<_> = self.catalog.known().collect();
            for kind in known {
                self.request_list(now, kind, None, out);
            }
        }
    }

    pub(super) fn request_list(&mut self, now: Instant, kind: ListKind, cursor: Option<&Bytes>, out: &mut Vec<Effect>) {
        let meta = self.session.is_stateless().then(|| self.stateless_meta());
        let cursor = cursor.and_then(|raw| std::str::from_utf8(raw).ok());
        let members =
            [meta.map(|meta| format!("\"_meta\":{meta}")), cursor.map(|cursor| format!("\"cursor\":{cursor}"))];
        let members: Vec<_> = members.into_iter().flatten().collect();
        let params = (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")));
        self.send_own(now, kind.method(), params.as_deref().map(str::as_bytes), Purpose::Refresh(kind), out);
    }

    fn stateless_params(&self) -> String {
        format!("{{\"_meta\":{}}}", self.stateless_meta())
    }

    /// The `_meta` that every request of 2026-07-28 carries, in the version that the client used last.
    fn stateless_meta(&self) -> String {
        serde_json::json!({
            "io.modelcontextprotocol/protocolVersion": self.session.version().unwrap_or("2026-07-28"),
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "mcp-watchdog", "version": env!("CARGO_PKG_VERSION")},
        })
        .to_string()
    }
}
