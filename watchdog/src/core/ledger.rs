//! Requests of the client that the server owes an answer: who asked what, until when, and what may be sent again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use smallvec::SmallVec;

use super::ids::InFlight;
use super::soonest::Soonest;
use crate::wire::head::Method;
use crate::wire::id::{Id, IdKey};

/// How many tasks' tokens are remembered; progress of older tasks is not passed on.
const MAX_TASKS: usize = 1024;
/// How many boxes of requests that are over are kept for others.
const SPARE: usize = 64;

/// The name of a tool, in UTF-8. In place where it is not long: memory for each takes as long as to read it.
pub type ToolName = SmallVec<[u8; 24]>;

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its place in the order of all requests of the slot.
    pub seq: u64,
    /// The line that it is sent in: the place of the first request in that line. Only batches have others.
    pub tag: u64,
    /// Its id, as the client spelled it.
    pub id: Id,
    /// Its method.
    pub method: Method,
    /// `params.name`, for tools ([`Request::tool`]).
    pub name: Option<ToolName>,
    /// Whether the call becomes a task, whose progress goes on after the answer (2025-11-25).
    pub task: bool,
    /// Whether it carries the `_meta` of the stateless revision.
    pub stateless: bool,
    /// When it came.
    pub since: Instant,
    /// How long it may go unanswered before the server is suspected; `None` is for ever.
    pub patience: Option<Duration>,
    /// When that is.
    pub suspect_at: Option<Instant>,
    /// Whether the operator was told that it is overdue.
    pub reported: bool,
    /// When the server was first found busy over this request.
    pub busy_since: Option<Instant>,
    /// When it is answered in any case.
    pub deadline_at: Option<Instant>,
    /// Whether its method is read-only by definition (contract.md, promise 2).
    pub read_only: bool,
    /// Whether it may be sent once more to the next generation: because it is read-only, because it only gives the
    /// session a state, or because its tool is marked as repeatable and the user allowed that.
    pub repeatable: bool,
    /// Whether it has been sent a second time.
    pub repeated: bool,
    /// Whether its bytes were ever written to a server.
    pub sent: bool,
    /// `params._meta.progressToken`.
    pub token: Option<IdKey>,
    /// What calls of tools do not have, unless they may be sent again.
    pub details: Option<Box<Details>>,
}

/// What calls of tools do not have, unless they may be sent again.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// `params.uri`, for subscriptions.
    pub uri: Option<Box<str>>,
    /// `params.cursor` as spelled, for lists.
    pub cursor: Option<Box<[u8]>>,
    /// The message, where it may be sent again or its success changes the session.
    pub line: Option<Bytes>,
}

impl Request {
    /// `params.name`, for tools.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        str::from_utf8(self.name.as_ref()?).ok()
    }

    /// `params.uri`, for subscriptions.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        self.details.as_ref()?.uri.as_deref()
    }

    /// `params.cursor` as spelled, for lists.
    #[must_use]
    pub fn cursor(&self) -> Option<&[u8]> {
        self.details.as_ref()?.cursor.as_deref()
    }

    /// The message, where it may be sent again or its success changes the session.
    #[must_use]
    pub fn line(&self) -> Option<&Bytes> {
        self.details.as_ref()?.line.as_ref()
    }
}

/// A request that nobody waits for any more.
#[derive(Debug)]
struct GivenUp {
    seq: u64,
    id: IdKey,
    since: Instant,
}

/// What is in flight to the live generation.
#[derive(Debug, Default)]
pub struct Ledger {
    requests: InFlight<Box<Request>>,
    tokens: InFlight<IdKey>,
    /// Tokens of tasks, which outlive the request that made them.
    task_tokens: VecDeque<IdKey>,
    next_seq: u64,
    latest_answered: u64,
    /// The latest request that nobody waits for any more: the server may be at it still.
    given_up: Option<GivenUp>,
    /// Boxes of requests that are over. With many in flight, to free each box and to allocate the next one takes a tenth of the
    /// time of a call.
    #[expect(clippy::vec_box, reason = "it is the boxes that are kept")]
    spare: Vec<Box<Request>>,
    /// No entry has a time before this one: a lower bound, so that adding and removing cost nothing.
    wake: Option<Instant>,
}

impl Ledger {
    /// The place of the next request in the order of all requests.
    pub const fn next_seq(&mut self) -> u64 {
        self.next_seq += 1;
        self.next_seq
    }

    /// Puts a request into a box.
    pub fn boxed(&mut self, request: Request) -> Box<Request> {
        match self.spare.pop() {
            Some(mut room) => {
                *room = request;
                room
            }
            None => Box::new(request),
        }
    }

    /// A request is over. Its box may be that of another one, and holds nothing until then that has memory of its own.
    pub fn over(&mut self, mut request: Box<Request>) {
        if self.spare.len() < SPARE {
            request.id = Id::from_int(0);
            (request.name, request.token, request.details) = (None, None, None);
            self.spare.push(request);
        }
    }

    /// Notes that a request was handed to the server.
    pub fn insert(&mut self, request: impl Into<Box<Request>>) {
        let mut request = request.into();
        request.sent = true;
        self.wake = Soonest::of(self.wake).and(request.suspect_at).and(request.deadline_at).get();
        if let Some(token) = &request.token {
            self.insert_token(token, &request.id.key);
        }
        self.requests.insert(request.id.key.clone(), request);
    }

    #[inline(never)]
    fn insert_token(&mut self, token: &IdKey, id: &IdKey) {
        self.tokens.insert(token.clone(), id.clone());
    }

    /// Takes the request that an answer with this id belongs to.
    pub fn answered(&mut self, id: &IdKey) -> Option<Box<Request>> {
        let request = self.requests.remove(id)?;
        self.latest_answered = self.latest_answered.max(request.seq);
        if let Some(token) = &request.token {
            self.forget_token(token, request.task);
        }
        Some(request)
    }

    /// Takes a request out without an answer.
    pub fn remove(&mut self, id: &IdKey) -> Option<Request> {
        let request = self.requests.remove(id)?;
        if let Some(token) = &request.token {
            self.tokens.remove(token);
        }
        Some(*request)
    }

    /// Nobody waits any more for the answer to a request that the server has. Those that wait for ever by design do not count.
    pub fn gave_up(&mut self, request: &Request, now: Instant) {
        let later = self.given_up.as_ref().is_none_or(|given_up| given_up.seq < request.seq);
        if request.patience.is_some() && later {
            self.given_up = Some(GivenUp { seq: request.seq, id: request.id.key.clone(), since: now });
        }
    }

    /// An answer came to no request that is in flight: a late one, perhaps, to the request that was given up.
    pub fn answered_late(&mut self, id: &IdKey) {
        if let Some(given_up) = self.given_up.take_if(|given_up| given_up.id == *id) {
            self.latest_answered = self.latest_answered.max(given_up.seq);
        }
    }

    /// Whether a server that answers in order may be at a request that was given up, not longer than `limit` ago.
    #[must_use]
    pub fn may_be_at_given_up(&self, now: Instant, limit: Duration) -> bool {
        self.given_up.as_ref().is_some_and(|given_up| {
            given_up.seq > self.latest_answered && now.saturating_duration_since(given_up.since) < limit
        })
    }

    #[inline(never)]
    fn forget_token(&mut self, token: &IdKey, task: bool) {
        self.tokens.remove(token);
        if task {
            self.task_tokens.push_back(token.clone());
            if self.task_tokens.len() > MAX_TASKS {
                self.task_tokens.pop_front();
            }
        }
    }

    /// The overdue requests that nobody was told of yet, oldest first.
    pub fn report_overdue(&mut self, now: Instant) -> Vec<&Request> {
        let mut new = Vec::new();
        for request in self.requests.values_mut().filter(|r| passed(r.suspect_at, now) && !r.reported) {
            request.reported = true;
            new.push(&**request);
        }
        new.sort_unstable_by_key(|request| request.seq);
        new
    }

    /// Whether a request with this id is in flight.
    #[must_use]
    pub fn contains(&self, id: &IdKey) -> bool {
        self.requests.contains_key(id)
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The requests, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.requests.values().map(|request| &**request)
    }

    /// Notes that the server answered a request of the watchdog's own that was sent as number `seq`.
    pub fn own_answered(&mut self, seq: u64) {
        self.latest_answered = self.latest_answered.max(seq);
    }

    /// Whether some request in flight has not seen the server answer a later one: silence may come from being in line.
    /// Requests without a timer of their own (`tasks/result`) do not count, since nothing else would find the server hung.
    #[must_use]
    pub fn may_be_in_line(&self) -> bool {
        self.timed().any(|request| request.seq > self.latest_answered)
    }

    /// Whether a request is in flight that will be overdue some time.
    #[must_use]
    pub fn has_timed(&self) -> bool {
        self.timed().next().is_some()
    }

    fn timed(&self) -> impl Iterator<Item = &Request> {
        self.iter().filter(|request| request.patience.is_some())
    }

    /// Progress for a token: the call it belongs to gets its whole time again. `false` if the token is not live.
    pub fn progress(&mut self, token: &IdKey, now: Instant) -> bool {
        let Some(id) = self.tokens.get(token) else { return self.task_tokens.contains(token) };
        if let Some(request) = self.requests.get_mut(id) {
            request.suspect_at = request.patience.map(|patience| now + patience);
            request.busy_since = None;
            // It may have been overdue, and then the wake does not count it any more.
            self.wake = Soonest::of(self.wake).and(request.suspect_at).get();
        }
        true
    }

    /// Everything in flight, oldest first; nothing stays, tokens included.
    pub fn drain(&mut self) -> Vec<Request> {
        let mut all: Vec<_> = self.requests.drain().map(|(_, request)| *request).collect();
        all.sort_unstable_by_key(|request| request.seq);
        self.tokens.clear();
        self.task_tokens.clear();
        self.given_up = None;
        self.wake = None;
        all
    }

    /// The earliest time at which [`Self::due`] may find something.
    #[must_use]
    pub const fn wake(&self) -> Option<Instant> {
        self.wake
    }

    /// The requests whose deadline has passed (taken out), and whether any request is overdue.
    pub fn due(&mut self, now: Instant) -> (Vec<Request>, bool) {
        if self.wake.is_none_or(|wake| wake > now) {
            return (Vec::new(), false);
        }
        let late: Vec<IdKey> =
            self.requests.values().filter(|r| passed(r.deadline_at, now)).map(|r| r.id.key.clone()).collect();
        let mut expired: Vec<_> = late.iter().filter_map(|id| self.remove(id)).collect();
        expired.sort_unstable_by_key(|request| request.seq);
        let overdue = self.requests.values().any(|r| passed(r.suspect_at, now));
        // Overdue requests are looked at again when the probe chain has ended and given them a new time.
        let future = |at: Option<Instant>| at.filter(|at| *at > now);
        let times = self.requests.values().flat_map(|r| [future(r.suspect_at), r.deadline_at]);
        self.wake = Soonest::default().and_all(times).get();
        (expired, overdue)
    }

    /// Gives overdue requests more time: their own patience, or `grace` where the server is busy.
    pub fn rearm(&mut self, now: Instant, grace: Option<Duration>) {
        for request in self.requests.values_mut().filter(|r| passed(r.suspect_at, now)) {
            request.suspect_at = grace.or(request.patience).map(|patience| now + patience);
            if grace.is_some() {
                request.busy_since.get_or_insert(now);
            } else {
                request.busy_since = None;
            }
            self.wake = Soonest::of(self.wake).and(request.suspect_at).get();
        }
    }

    /// Whether being busy does not excuse an overdue request any longer.
    #[must_use]
    pub fn busy_too_long(&self, now: Instant, limit: Duration) -> bool {
        let over = |since: Instant| now.saturating_duration_since(since) >= limit;
        self.requests.values().any(|r| passed(r.suspect_at, now) && r.busy_since.is_some_and(over))
    }

    /// Moves all times by as much as the machine slept.
    pub fn postpone(&mut self, gap: Duration) {
        for request in self.requests.values_mut() {
            request.suspect_at = request.suspect_at.map(|at| at + gap);
            request.deadline_at = request.deadline_at.map(|at| at + gap);
        }
        if let Some(given_up) = &mut self.given_up {
            given_up.since += gap;
        }
        self.wake = self.wake.map(|at| at + gap);
    }
}

fn passed(at: Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

#[cfg(test)]
mod tests;
