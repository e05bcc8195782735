//! The book: what is owed and what is there, known from what goes in and comes out alone.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;

use crate::core::ids::Generation;
use crate::core::slot::{Count, Effect, RequestOutcome, Slot};
use crate::core::testing::{raw_id, value};
use crate::wire::Span;
use crate::wire::head::{Head, Method, Scan, elements as elements_of, scan};
use crate::wire::id::{Id, IdKey};

pub(super) type Checked = Result<(), TestCaseError>;

/// A request of the client, as the book knows it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) method: &'static str,
    pub(super) answered: bool,
    pub(super) cancelled: bool,
    /// The generations that it was written to, as far as the watchdog was not told otherwise.
    pub(super) written: Vec<Generation>,
    /// Whether it has a progress token, which is its id.
    pub(super) token: bool,
}

impl Entry {
    pub(super) const fn is_open(&self) -> bool {
        !self.answered && !self.cancelled
    }

    pub(super) fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

/// What is there, from what went in and came out.
#[derive(Default)]
pub(super) struct Book {
    pub(super) requests: BTreeMap<String, Entry>,
    /// The process that is spoken to.
    pub(super) live: Option<Generation>,
    pub(super) dying: Option<Generation>,
    pub(super) latest: Generation,
    /// Requests that the live process was given and has not answered, and their tags.
    pub(super) inbox: Vec<(String, u64)>,
    /// Lines by tag, as they were given to the live process.
    pub(super) lines: BTreeMap<u64, Bytes>,
    /// Questions that the client has not answered: the id it knows, who asked and under which id.
    pub(super) questions: Vec<(String, Generation, String)>,
    /// The id under which the live process is asking right now.
    pub(super) asking: Option<String>,
    pub(super) chain: Option<Generation>,
    pub(super) acknowledged: BTreeSet<String>,
    pub(super) exited: bool,
    /// Requests that were counted at their end, but for streams: those with an answer, and those that were cancelled.
    pub(super) counted: (usize, usize),
}

impl Book {
    pub(super) fn note(&mut self, effect: Effect) -> Checked {
        match effect {
            Effect::Spawn(generation) => {
                prop_assert!(self.live.is_none() && self.dying.is_none(), "a second process tree");
                prop_assert!(!self.exited && generation > self.latest);
                (self.live, self.latest) = (Some(generation), generation);
                self.inbox.clear();
                self.lines.clear();
            }
            Effect::Tear { generation, .. } => {
                prop_assert_eq!(self.live, Some(generation));
                self.dying = self.live.take();
            }
            Effect::Forward { line, tag, .. } => self.forwarded(&line, tag)?,
            Effect::Deliver(line) => self.delivered(&text(&line))?,
            Effect::StartChain { generation, .. } => {
                prop_assert_eq!((self.chain.replace(generation), self.live), (None, Some(generation)));
            }
            Effect::EndChain => prop_assert!(self.chain.take().is_some()),
            Effect::Exit(_) => {
                prop_assert!(self.live.is_none() && self.dying.is_none() && !self.exited, "an end with something left");
                self.exited = true;
            }
            Effect::Count(Count::Request { method, outcome, .. }) if method != Method::SubscriptionsListen => {
                match outcome {
                    RequestOutcome::Cancelled => self.counted.1 += 1,
                    _ => self.counted.0 += 1,
                }
            }
            Effect::Count(_) => {}
            Effect::Manage { .. } | Effect::EndManage(_) => prop_assert!(false, "no tools were injected"),
            Effect::Kill | Effect::ProbeReply(..) | Effect::Emit(_) | Effect::Stray(_) => {}
        }
        Ok(())
    }

    /// A line for the live process.
    fn forwarded(&mut self, line: &Bytes, tag: u64) -> Checked {
        let text = text(line);
        let Some(live) = self.live else {
            return Err(TestCaseError::fail(format!("written to nobody: {text}")));
        };
        if tag != 0 {
            self.lines.insert(tag, line.clone());
        }
        for element in elements(&text) {
            let message = value(&element);
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            if method == "notifications/cancelled" {
                let id = span_text(&element, |head| head.request_id);
                let entry = &self.requests[&id];
                prop_assert!(entry.written.contains(&live), "a cancel of what this process never had: {}", element);
            }
            if message["id"].is_null() {
                continue;
            }
            let id = raw_id(&element);
            self.inbox.push((element.clone(), tag));
            // What is not the client's is ours.
            let Some(entry) = self.requests.get_mut(&id).filter(|entry| entry.method == method) else {
                continue;
            };
            prop_assert!(entry.is_open(), "sent after its end: {}", element);
            prop_assert!(!entry.written.contains(&live), "sent twice to one process: {}", element);
            entry.written.push(live);
            let most = match method {
                "initialize" | "subscriptions/listen" => usize::MAX,
                "tools/call" | "x/y" => 1,
                _ => 2,
            };
            prop_assert!(entry.written.len() <= most, "{} was written {} times", method, entry.written.len());
        }
        Ok(())
    }

    /// A line for the client.
    fn delivered(&mut self, line: &str) -> Checked {
        for element in elements(line) {
            let message = value(&element);
            if let Some(from) = message["params"]["from"].as_u64() {
                prop_assert_eq!(Some(Generation(from)), self.live.or(self.dying), "something of an older generation");
            }
            match message["method"].as_str() {
                Some("notifications/subscriptions/acknowledged") => {
                    let id = span_text(&element, |head| head.meta_subscription_id);
                    prop_assert!(
                        self.requests[&id].is_open() && self.acknowledged.insert(id),
                        "a second acknowledgement"
                    );
                }
                Some("notifications/cancelled") => {
                    let id = span_text(&element, |head| head.request_id);
                    if self.acknowledged.contains(&id) {
                        self.requests.get_mut(&id).expect("it was asked").answered = true;
                    }
                }
                Some("notifications/progress") => {
                    let token = span_text(&element, |head| head.progress_token);
                    prop_assert!(self.requests[&token].is_open(), "progress after the end: {}", element);
                }
                Some("sampling/createMessage") => {
                    let id = raw_id(&element);
                    prop_assert!(self.questions.iter().all(|(known, ..)| *known != id), "two questions under one id");
                    let asked = self.asking.take().expect("a process asks");
                    self.questions.push((id, self.live.expect("a live process asks"), asked));
                }
                Some(_) => {}
                None => self.answered(&element)?,
            }
        }
        Ok(())
    }

    fn answered(&mut self, element: &str) -> Checked {
        let id = raw_id(element);
        let Some(entry) = self.requests.get_mut(&id) else {
            return Err(TestCaseError::fail(format!("an answer to nothing: {element}")));
        };
        prop_assert!(!entry.cancelled, "an answer to a cancelled request: {}", element);
        prop_assert!(!entry.answered, "a second answer: {}", element);
        entry.answered = true;
        Ok(())
    }

    /// What the slot owes is what the book says is owed, each request at one place.
    pub(super) fn agrees_with(&self, slot: &Slot) -> Checked {
        if self.exited {
            return Ok(());
        }
        let key = |raw: &str| Id::parse(raw.as_bytes()).map(|id| id.key);
        let open = self.requests.iter().filter(|(_, entry)| entry.is_open());
        let owed: BTreeSet<IdKey> = open.filter_map(|(id, _)| key(id)).collect();
        let listens: BTreeSet<IdKey> = owed.iter().filter(|id| slot.listens.contains(id)).cloned().collect();
        let waiting =
            slot.ledger.iter().chain(slot.hold.requests()).chain(&slot.overdue).map(|request| request.id.key.clone());
        let parked = slot.parked.iter().filter_map(|line| key(&raw_id(&text(line))));
        let mut known: Vec<IdKey> = waiting.chain(parked).chain(listens).collect();
        known.sort();
        prop_assert_eq!(known, owed.into_iter().collect::<Vec<_>>());
        Ok(())
    }
}

pub(super) fn text(line: &Bytes) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// The messages in a line.
pub(super) fn elements(line: &str) -> Vec<String> {
    match scan(line.as_bytes()) {
        Scan::Batch => {
            elements_of(line.as_bytes()).unwrap_or_default().into_iter().map(|span| line[span].to_owned()).collect()
        }
        _ => vec![line.to_owned()],
    }
}

/// The value at a place that the head scan finds, as it is spelled.
fn span_text(line: &str, pick: impl Fn(Head) -> Option<Span>) -> String {
    let Scan::Message(head) = scan(line.as_bytes()) else { panic!("no message: {line}") };
    pick(head).map(|span| line[span].to_owned()).unwrap_or_default()
}
