//! The book: what is owed and what is there, known from what goes in and comes out alone. It is the reference that the slot is
//! compared with, and shares nothing with it but the scan of lines.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::lines::{elements, id_key, span_text, text};
use crate::core::ids::Generation;
use crate::core::slot::{Count, Effect, Outgoing, RequestOutcome, Slot};
use crate::core::testing::{raw_id, value};
use crate::events::EventKind;
use crate::wire::head::Method;
use crate::wire::id::IdKey;

/// The longest that a request waits which no process has: one that is held (`restart.hold`), or that waits for the outcome of an
/// attempt (`handshake.timeout`) after its process was condemned, and the steps in between.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// For so long the client may think about a question before its process is replaced as planned (`probe.busy_max`).
const LONGEST_QUESTION: Duration = Duration::from_secs(600);

/// A request of the client, as the book knows it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The value of its id.
    pub(super) key: IdKey,
    pub(super) method: &'static str,
    pub(super) answered: bool,
    pub(super) cancelled: bool,
    /// The generations that it was written to, as far as the watchdog was not told otherwise.
    pub(super) written: Vec<Generation>,
    /// Whether it has a progress token, which is its id.
    pub(super) token: bool,
    /// Since when no process has it.
    pub(super) waits_since: Option<Instant>,
}

impl Entry {
    pub(super) const fn is_open(&self) -> bool {
        !self.answered && !self.cancelled
    }

    pub(super) fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }

    /// To how many processes it may be written (contract.md, promise 2).
    fn most(&self) -> usize {
        match self.method {
            "initialize" | "subscriptions/listen" => usize::MAX,
            "tools/call" | "x/y" | "tasks/result" => 1,
            _ => 2,
        }
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
    /// Whether the live process was said to be connected.
    pub(super) connected: bool,
    /// Whether something has happened for which a connected process may be replaced.
    pub(super) excused: bool,
    /// Whether the watchdog has said that it is going to end the live process.
    pub(super) chosen: bool,
    /// Whether an operator has switched the server off.
    pub(super) disabled: bool,
    /// Requests that the live process was given and has not answered, and their tags.
    pub(super) inbox: Vec<(String, u64)>,
    /// Lines by tag, as they were given to the live process.
    pub(super) lines: BTreeMap<u64, Bytes>,
    /// Questions that the client has not answered: the id it knows, who asked, under which id, and when.
    pub(super) questions: Vec<(String, Generation, String, Instant)>,
    /// The id under which the live process is asking right now.
    pub(super) asking: Option<String>,
    pub(super) chain: Option<Generation>,
    pub(super) acknowledged: BTreeSet<String>,
    pub(super) exited: bool,
    /// Requests that were counted at their end, but for streams: those with an answer, and those that were cancelled.
    pub(super) counted: (usize, usize),
}

impl Book {
    pub(super) fn note(&mut self, now: Instant, effect: Effect) {
        match effect {
            Effect::Spawn(generation) => {
                assert!(self.live.is_none() && self.dying.is_none(), "a second process tree");
                assert!(!self.exited && generation > self.latest);
                assert!(!self.disabled, "a start of what is switched off");
                (self.live, self.latest, self.connected) = (Some(generation), generation, false);
                self.chosen = false;
                self.inbox.clear();
                self.lines.clear();
            }
            Effect::Tear { generation, .. } => {
                assert_eq!(self.live, Some(generation));
                assert!(
                    !self.connected || self.excused || self.chosen,
                    "{generation} serves, and nothing was held against it"
                );
                self.dying = self.live.take();
                self.connected = false;
                self.orphan(now, generation);
            }
            Effect::Forward { line: Outgoing::Made(line), tag, .. } => self.forwarded(&line, tag),
            Effect::Deliver(Outgoing::Made(line)) => {
                assert!(!self.exited, "a word after the last");
                self.delivered(now, &text(&line));
            }
            Effect::Deliver(Outgoing::Given) | Effect::Forward { line: Outgoing::Given, .. } => panic!("it was lent"),
            Effect::StartChain { generation, .. } => {
                assert_eq!((self.chain.replace(generation), self.live), (None, Some(generation)));
            }
            Effect::EndChain => assert!(self.chain.take().is_some()),
            Effect::Exit(_) => {
                assert!(self.live.is_none() && self.dying.is_none() && !self.exited, "an end with something left");
                self.exited = true;
            }
            Effect::Count(Count::Request { method, outcome, .. }) if method != Method::SubscriptionsListen => {
                match outcome {
                    RequestOutcome::Cancelled => self.counted.1 += 1,
                    _ => self.counted.0 += 1,
                }
            }
            Effect::Emit(kind) => self.told(now, &kind),
            Effect::Count(_) => {}
            Effect::Manage { .. } | Effect::EndManage(_) => panic!("no tools were injected"),
            Effect::Kill | Effect::Weigh(_) | Effect::ProbeReply(..) | Effect::Stray(_) => {}
        }
    }

    fn told(&mut self, now: Instant, kind: &EventKind) {
        match kind {
            EventKind::ServerConnected { .. } | EventKind::ServerReconnected { .. } => {
                assert!(self.live.is_some() && !self.connected, "a connection to nobody, or a second one");
                self.connected = true;
            }
            EventKind::ServerReplacementDue { .. } | EventKind::ServerIdle { .. } => {
                self.chosen = true;
                // An opening may be begun anew, with other files.
                for entry in self.requests.values_mut().filter(|entry| entry.method == "initialize") {
                    entry.waits_since = entry.waits_since.map(|_| now);
                }
            }
            EventKind::ServerDisconnected { reason, .. } => self.ended(now, reason),
            _ => {}
        }
    }

    /// A process that the watchdog chose to end owed nothing, and was owed nothing that may still come.
    fn ended(&self, now: Instant, reason: &str) {
        if !["max-lifetime", "memory-limit", "files-changed", "idle-stop"].contains(&reason) {
            return;
        }
        let ended = self.dying.unwrap_or_else(|| panic!("{reason}, and nothing was torn down"));
        let mut given = self.requests.values().filter(|entry| !entry.is_listen() && entry.written.contains(&ended));
        assert!(given.all(|entry| !entry.is_open()), "{reason} in the middle of a call");
        let mut asked = self.questions.iter().filter(|(_, from, ..)| *from == ended);
        assert!(asked.all(|(.., since)| now >= *since + LONGEST_QUESTION), "{reason} during a question");
        let needed = self.requests.values().any(Entry::is_open);
        assert!(!needed || reason != "idle-stop", "somebody waits or listens");
    }

    /// A process is gone, or given up: its requests are nobody's.
    pub(super) fn orphan(&mut self, now: Instant, generation: Generation) {
        for entry in self.requests.values_mut().filter(|entry| entry.written.last() == Some(&generation)) {
            entry.waits_since.get_or_insert(now);
        }
    }

    /// The process has ended: whatever it had and may not be sent again is answered at once (contract.md, promise 5).
    pub(super) fn nobody_waits_for(&self, dead: Generation) {
        let waiting = self.requests.iter().filter(|(_, entry)| {
            entry.is_open() && entry.written.last() == Some(&dead) && entry.written.len() >= entry.most()
        });
        let waiting: Vec<_> = waiting.collect();
        assert!(waiting.is_empty(), "{dead} is dead, and who waits for it is not told: {waiting:?}");
    }

    /// Nothing waits for a process for longer than is promised. The first opening waits for attempts that fail, and none is made
    /// while the guard says nothing of the last tree, which it does in its own time.
    pub(super) fn nobody_waits_too_long(&self, now: Instant) {
        let late = self.requests.iter().filter(|(_, entry)| {
            let patient = entry.is_listen() || entry.method == "initialize" && self.dying.is_some();
            let since = entry.waits_since.filter(|_| entry.is_open() && !patient);
            since.is_some_and(|since| now.saturating_duration_since(since) > LONGEST_WAIT)
        });
        let late: Vec<_> = late.collect();
        assert!(late.is_empty() || self.exited, "they wait and are not told: {late:?}");
    }

    /// Whether an opening has not been answered. (That a client cannot cancel it is a rule of MCP.)
    pub(super) fn is_opening(&self) -> bool {
        self.requests.values().any(|entry| entry.method == "initialize" && !entry.answered)
    }

    /// Time that did not count.
    pub(super) fn postpone(&mut self, gap: Duration) {
        for entry in self.requests.values_mut() {
            entry.waits_since = entry.waits_since.map(|since| since + gap);
        }
        for (.., since) in &mut self.questions {
            *since += gap;
        }
    }

    /// A line for the live process.
    fn forwarded(&mut self, line: &Bytes, tag: u64) {
        let text = text(line);
        let live = self.live.unwrap_or_else(|| panic!("written to nobody: {text}"));
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
                assert!(entry.written.contains(&live), "a cancel of what this process never had: {element}");
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
            assert!(entry.is_open(), "sent after its end: {element}");
            assert!(!entry.written.contains(&live), "sent twice to one process: {element}");
            entry.written.push(live);
            entry.waits_since = None;
            assert!(entry.written.len() <= entry.most(), "{method} was written {} times", entry.written.len());
        }
    }

    /// A line for the client.
    fn delivered(&mut self, now: Instant, line: &str) {
        for element in elements(line) {
            let message = value(&element);
            if let Some(from) = message["params"]["from"].as_u64() {
                assert_eq!(Some(Generation(from)), self.live.or(self.dying), "something of an older generation");
            }
            match message["method"].as_str() {
                Some("notifications/subscriptions/acknowledged") => {
                    let id = span_text(&element, |head| head.meta_subscription_id);
                    assert!(self.requests[&id].is_open() && self.acknowledged.insert(id), "a second acknowledgement");
                }
                Some("notifications/cancelled") => {
                    let id = span_text(&element, |head| head.request_id);
                    if self.acknowledged.contains(&id)
                        && let Some(entry) = self.requests.get_mut(&id)
                    {
                        entry.answered = true;
                    }
                }
                Some("notifications/progress") => {
                    let token = span_text(&element, |head| head.progress_token);
                    assert!(self.requests[&token].is_open(), "progress after the end: {element}");
                }
                Some("sampling/createMessage") => {
                    let id = raw_id(&element);
                    assert!(self.questions.iter().all(|(known, ..)| *known != id), "two questions under one id");
                    let (Some(asked), Some(live)) = (self.asking.take(), self.live) else {
                        panic!("a question of nobody: {element}");
                    };
                    self.questions.push((id, live, asked, now));
                }
                Some(_) => {}
                None => self.answered(&element),
            }
        }
    }

    fn answered(&mut self, element: &str) {
        let id = raw_id(element);
        let entry = self.requests.get_mut(&id).unwrap_or_else(|| panic!("an answer to nothing: {element}"));
        assert!(!entry.cancelled, "an answer to a cancelled request: {element}");
        assert!(!entry.answered, "a second answer: {element}");
        entry.answered = true;
        let message = value(element);
        let data = &message["error"]["data"];
        if data["source"] == "mcp-watchdog" {
            let written = !entry.written.is_empty();
            assert_eq!(data["sent"].as_bool(), Some(written), "whether it was written to a process: {element}");
        }
    }

    /// What the slot owes is what the book says is owed, each request at one place.
    pub(super) fn agrees_with(&self, slot: &Slot) {
        if self.exited {
            return;
        }
        let open = self.requests.values().filter(|entry| entry.is_open());
        let mut owed: Vec<&IdKey> = open.map(|entry| &entry.key).collect();
        owed.sort_unstable();
        let listens = owed.iter().copied().filter(|id| slot.listens.contains(id));
        let waiting =
            slot.ledger.iter().chain(slot.hold.requests()).chain(&slot.overdue).map(|request| &request.id.key);
        let parked = slot.parked.iter().flat_map(|line| elements(&text(line)));
        let parked: Vec<IdKey> = parked.map(|message| id_key(&raw_id(&message))).collect();
        let mut known: Vec<&IdKey> = waiting.chain(&parked).chain(listens).collect();
        known.sort_unstable();
        assert_eq!(known, owed);
    }
}
