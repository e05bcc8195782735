//! Requests of the watchdog itself to the server, and the ids they go under.
//!
//! An id is of the client's own kind, since some servers ignore the other one, and never one that the client has in
//! flight. Integers come from a range inside i32 and far from where clients count (wire.md, "Probes on the wire").

use std::time::Instant;

use super::catalog::ListKind;
use super::ids::{CallId, InFlight};
use crate::wire::id::{Id, IdKey};

/// The lowest integer id of our own.
const BASE: i64 = 2_000_000_000;
/// How many ids there are from there on; the last one is below `i32::MAX`.
const RANGE: i64 = 147_000_000;
/// How far we move away when a client counts into our range.
const STRIDE: i64 = 1_000_003;

/// What an own request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// The replayed `initialize`.
    Handshake,
    /// The first word to a new process in the stateless era: does it answer?
    Readiness,
    /// State of the session that was replayed; the text names it.
    Replay(Box<str>),
    /// The published catalog.
    Refresh(ListKind),
    /// A probe's call.
    Probe(CallId),
}

/// One own request in flight.
#[derive(Debug, Clone)]
pub struct OwnRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// Its place in the order of all requests.
    pub seq: u64,
    /// When it was sent.
    pub since: Instant,
    /// How many requests of the client were in flight then.
    pub behind: usize,
    /// Whether it has passed lines that waited to be written, so that its place is not that on the wire.
    pub passed: bool,
}

/// The table.
#[derive(Debug)]
pub struct Own {
    open: InFlight<OwnRequest>,
    next: i64,
}

impl Own {
    /// An empty table; `seed` moves the first id, so that two watchdogs in a row differ.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { open: InFlight::default(), next: i64::try_from(seed % 100_000_000).unwrap_or(0) }
    }

    /// Makes an id that is not in flight. `taken` tells which ids the client uses.
    pub fn id(&mut self, text: bool, taken: impl Fn(&IdKey) -> bool) -> Id {
        loop {
            self.next = (self.next + 1) % RANGE;
            let id =
                if text { Id::text(&format!("mcp-watchdog/{}", self.next)) } else { Id::from_int(BASE + self.next) };
            if !taken(&id.key) && !self.open.contains_key(&id.key) {
                return id;
            }
        }
    }

    /// A client's request carries this id: when it comes near ours, we move.
    pub const fn avoid(&mut self, id: &IdKey) {
        if let IdKey::Int(n) = id
            && *n >= BASE
            && (*n - BASE).abs_diff(self.next) < 1000
        {
            self.next = (self.next + STRIDE) % RANGE;
        }
    }

    /// Notes a request that was sent.
    pub fn sent(&mut self, id: &Id, request: OwnRequest) {
        self.open.insert(id.key.clone(), request);
    }

    /// Takes the request that an answer with this id belongs to.
    pub fn answered(&mut self, id: &IdKey) -> Option<OwnRequest> {
        self.open.remove(id)
    }

    /// Whether none is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether this id is ours and in flight.
    #[must_use]
    pub fn contains(&self, id: &IdKey) -> bool {
        self.open.contains_key(id)
    }

    /// Whether this id is that of a probe's call in flight.
    #[must_use]
    pub fn is_probe(&self, id: &IdKey) -> bool {
        self.open.get(id).is_some_and(|own| matches!(own.purpose, Purpose::Probe(_)))
    }

    /// The request of this probe's call has passed lines that waited.
    pub fn has_passed(&mut self, call: CallId) {
        if let Some(own) = self.open.values_mut().find(|own| own.purpose == Purpose::Probe(call)) {
            own.passed = true;
        }
    }

    /// The server is gone: the probes' calls among what was in flight, in their order.
    pub fn lost(&mut self) -> Vec<CallId> {
        let calls = self.open.drain().filter_map(|(_, request)| match request.purpose {
            Purpose::Probe(call) => Some(call),
            _ => None,
        });
        let mut calls: Vec<_> = calls.collect();
        calls.sort_unstable();
        calls
    }
}

#[cfg(test)]
mod tests;
