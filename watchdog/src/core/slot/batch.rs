//! Batches, which 2025-03-26 alone has: lines with several messages. Each message in them is treated as if it stood alone,
//! and a batch of which nothing had to be taken out goes on as it is.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use bytes::Bytes;

use super::act::refusal_of;
use super::client::key;
use super::parked::requests_in;
use super::passing::Passing;
use super::server::{body_of, outcome};
use super::{Effect, RequestOutcome, Slot};
use crate::core::hold::{Held, with_these};
use crate::core::ledger::Request;
use crate::core::lifecycle::Admission;
use crate::wire::head::{self, Kind, Method, Scan};
use crate::wire::id::IdKey;
use crate::wire::splice;

/// The requests of one batch, in their order. A batch may have a million of them.
#[derive(Default)]
struct Asked {
    requests: BTreeMap<u64, Request>,
    by_id: HashMap<IdKey, u64>,
}

impl Asked {
    fn add(&mut self, request: Request) {
        self.by_id.insert(request.id.key.clone(), request.seq);
        self.requests.insert(request.seq, request);
    }

    fn take(&mut self, id: &IdKey) -> Option<Request> {
        self.requests.remove(&self.by_id.remove(id)?)
    }
}

impl Slot {
    /// A batch of the client goes as it is, or without the messages that the server must not see. Each request in it is
    /// owed an answer of its own.
    #[cold]
    pub(super) fn client_batch(&mut self, now: Instant, line: Bytes, out: &mut Vec<Effect>) {
        let Some(elements) = head::elements(&line).filter(|elements| !elements.is_empty()) else {
            return self.protest(None, -32600, "Invalid Request: the batch is empty or malformed", out);
        };
        if !self.own.is_empty() && requests_in(&line).iter().any(|id| self.own.contains(id)) {
            return self.park(now, line);
        }
        let (mut kept, mut changed, mut asked) = (Vec::new(), false, Asked::default());
        for span in elements {
            let element = line.slice(span);
            let passed = self.client_element(now, element.clone(), &mut asked, out);
            changed |= passed.as_ref() != Some(&element);
            kept.extend(passed);
        }
        if kept.is_empty() {
            return;
        }
        let line = if changed { splice::join_batch(kept.iter().map(|element| &element[..])) } else { line };
        let requests: Vec<Request> = asked.requests.into_values().collect();
        let Some(first) = requests.first().cloned() else {
            if self.is_open() {
                out.push(Effect::pass(line));
            } else {
                Self::pass_answers(&kept, out);
            }
            return;
        };
        if self.first_word.is_some() {
            return self.tell_why(&requests, out);
        }
        let admission = self.admit(now, &first, out);
        if admission != Admission::Forward {
            Self::pass_answers(&kept, out);
        }
        match admission {
            Admission::Forward => self.forward_batch(now, line, requests, out),
            Admission::Hold => {
                // What else it says is for the process that is there, or for none.
                let line = with_these(&line, &requests);
                self.keep(now, Held { line, requests, expires: None }, out);
                self.flush_held(now, out);
            }
            Admission::Reject(rejection) => {
                let (code, reason) = refusal_of(rejection);
                for request in &requests {
                    self.refuse(request, code, reason, out);
                }
            }
        }
    }

    /// The answers in a batch whose requests cannot go on now. The process that asked waits for them.
    fn pass_answers(kept: &[Bytes], out: &mut Vec<Effect>) {
        let is_answer =
            |element: &&Bytes| matches!(head::scan(element), Scan::Message(head) if head.method == Method::None);
        let mut answers = kept.iter().filter(is_answer).peekable();
        if answers.peek().is_some() {
            out.push(Effect::pass(splice::join_batch(answers.map(|element| &element[..]))));
        }
    }

    /// What of one message in a batch goes on, if anything. What is no message is the server's to refuse.
    fn client_element(
        &mut self,
        now: Instant,
        element: Bytes,
        asked: &mut Asked,
        out: &mut Vec<Effect>,
    ) -> Option<Bytes> {
        let Scan::Message(head) = head::scan(&element) else {
            return Some(element);
        };
        match head.kind {
            Kind::Request => {
                self.session.observe(&element, &head);
                if let Some(request) = self.request(now, &element, &head) {
                    let request = self.manage(&element, &head, request, out)?;
                    self.own.avoid(&request.id.key);
                    asked.add(*request);
                }
                Some(element)
            }
            Kind::Notification => {
                let named = key(&element, head.request_id.as_ref()).filter(|_| head.method == Method::Cancelled);
                let Some(request) = named.and_then(|id| asked.take(&id)) else {
                    let passed = self.client_notification(now, Passing::Kept(&element), &head, out);
                    return passed.map(|passed| passed.into_bytes(&element));
                };
                // Both go on together, and nobody is owed an answer.
                self.ended(self.clock, &request, RequestOutcome::Cancelled, out);
                Some(element)
            }
            Kind::Result | Kind::Error => {
                let passed = self.client_answer(Passing::Kept(&element), &head, out);
                passed.map(|passed| passed.into_bytes(&element))
            }
        }
    }

    /// Hands a batch to the server.
    pub(super) fn forward_batch(&mut self, now: Instant, line: Bytes, requests: Vec<Request>, out: &mut Vec<Effect>) {
        if requests.iter().any(|request| request.method == Method::Initialize) {
            self.opening_deadline = Some(now + self.config.handshake.timeout);
        }
        let tag = requests.first().map_or(0, |request| request.seq);
        for mut request in requests {
            request.tag = tag;
            request.suspect_at = request.patience.map(|patience| now + patience);
            self.ledger.insert(request);
        }
        self.hand(Passing::Kept(&line), tag, out);
    }

    /// A batch goes on as it is, or without the elements that the client must not see.
    #[cold]
    pub(super) fn server_batch(&mut self, now: Instant, line: &Bytes, out: &mut Vec<Effect>) {
        let Some(elements) = head::elements(line) else {
            return self.emit_stray(Passing::Kept(line), out);
        };
        let heads: Option<Vec<_>> = elements
            .into_iter()
            .map(|span| match head::scan(line.get(span.clone())?) {
                Scan::Message(head) => Some((line.slice(span), head)),
                _ => None,
            })
            .collect();
        let Some(heads) = heads.filter(|heads| !heads.is_empty()) else {
            return self.emit_stray(Passing::Kept(line), out);
        };
        let (mut kept, mut changed, mut answered) = (Vec::new(), false, Vec::new());
        for (element, head) in heads {
            if self.hearing.is_none() {
                // An answer in it was its end.
                break;
            }
            self.message_of_life(&element, &head);
            let ok = head.kind == Kind::Result;
            let request = match head.kind {
                Kind::Result | Kind::Error => {
                    let id = key(&element, head.id.as_ref());
                    id.and_then(|id| self.request_answered(&id))
                }
                _ => None,
            };
            if let Some(request) = request {
                self.learn(now, &request, ok, body_of(&element, head.body.clone()));
                let passed = self.with_tools(request.method, Passing::Kept(&element), &head, out).into_bytes(&element);
                changed |= passed != element;
                answered.push((request, ok));
                kept.push(passed);
                continue;
            }
            match self.server_message(now, Passing::Kept(&element), &head, out) {
                Some(passed) => {
                    let passed = passed.into_bytes(&element);
                    changed |= passed != element;
                    kept.push(passed);
                }
                None => changed = true,
            }
        }
        match (kept.is_empty(), changed) {
            (true, _) => {}
            (false, false) => self.deliver(line.clone(), out),
            (false, true) => self.deliver(splice::join_batch(kept.iter().map(|element| &element[..])), out),
        }
        for (request, ok) in answered {
            self.last_client_answer = Some(now);
            self.ended(Some(now), &request, outcome(ok), out);
            self.after_answer(now, &request, ok, out);
        }
    }
}
