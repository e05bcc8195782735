//! Lines of the client under an id that a request of ours has in flight: two requests under one id cannot be told apart, and
//! so the client's waits until ours is answered.

use std::time::Instant;

use bytes::Bytes;

use super::client::key;
use super::passing::Passing;
use super::{Effect, Slot};
use crate::core::hold::with_wanted;
use crate::wire::head::{self, Kind, Scan};
use crate::wire::id::IdKey;

impl Slot {
    /// A line with such a request waits.
    #[cold]
    pub(super) fn park(&mut self, now: Instant, line: Bytes) {
        self.parked_until.get_or_insert(now + self.config.probe.total_timeout);
        self.parked.push(line);
    }

    /// The time for an answer to a request of ours under a client's id is over: ours is forgotten.
    pub(super) fn check_parked(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.parked_until.is_some_and(|at| at <= now) {
            for id in self.parked.iter().flat_map(|line| requests_in(line)) {
                self.own.answered(&id);
            }
            self.resume_parked(now, out);
        }
    }

    /// Lines that waited for an id of ours to become free.
    pub(super) fn resume_parked(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.parked_until = None;
        for line in std::mem::take(&mut self.parked) {
            match head::elements(&line) {
                // The session has changed meanwhile: what it has no batches for any more is said one by one.
                Some(elements) if !self.session.batches() => {
                    for span in elements {
                        self.client_says(now, Passing::Kept(&line.slice(span)), out);
                    }
                }
                _ => self.client_says(now, Passing::Kept(&line), out),
            }
        }
    }

    /// The client does not want this request answered any more. What else is in its line still waits.
    pub(super) fn cancel_parked(&mut self, id: &IdKey) {
        self.parked = std::mem::take(&mut self.parked).into_iter().filter_map(|line| without(line, id)).collect();
    }
}

/// The ids of the requests in a line.
pub(super) fn requests_in(line: &[u8]) -> Vec<IdKey> {
    let id = |message: &[u8]| match head::scan(message) {
        Scan::Message(head) if head.kind == Kind::Request => key(message, head.id.as_ref()),
        _ => None,
    };
    match head::elements(line) {
        Some(elements) => elements.into_iter().filter_map(|span| id(line.get(span)?)).collect(),
        None => id(line).into_iter().collect(),
    }
}

/// A line without this request, if anything else is in it.
fn without(line: Bytes, id: &IdKey) -> Option<Bytes> {
    if !requests_in(&line).contains(id) {
        return Some(line);
    }
    let left = with_wanted(&line, true, |other| other != id);
    head::elements(&left).is_some_and(|left| !left.is_empty()).then_some(left)
}
