//! Requests that wait for a server: bounded in number, bytes and time.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use bytes::Bytes;

use super::ledger::Request;
use super::soonest::Soonest;
use crate::wire::head::{self, Kind, Scan};
use crate::wire::id::IdKey;
use crate::wire::splice;

/// One line that waits: a request, or a batch with the requests in it.
#[derive(Debug, Clone)]
pub struct Held {
    /// The line, as it will be sent.
    pub line: Bytes,
    /// The requests in it.
    pub requests: Vec<Request>,
    /// When it is answered instead; `None` while the first connection is awaited.
    pub expires: Option<Instant>,
}

/// The queue.
#[derive(Debug)]
pub struct Hold {
    queue: VecDeque<Held>,
    /// Requests in it.
    count: usize,
    bytes: usize,
    max_requests: usize,
    max_bytes: usize,
}

impl Hold {
    /// An empty queue.
    #[must_use]
    pub const fn new(max_requests: usize, max_bytes: usize) -> Self {
        Self { queue: VecDeque::new(), count: 0, bytes: 0, max_requests, max_bytes }
    }

    /// Queues a line, or gives it back when there is no room. A line that alone is larger than the byte limit is
    /// taken by an empty queue, so that a large request is not refused for ever.
    ///
    /// # Errors
    /// The line, when the queue is full.
    pub fn push(&mut self, held: Held) -> Result<(), Held> {
        let count = self.count + held.requests.len();
        let full = count > self.max_requests || self.bytes + held.line.len() > self.max_bytes;
        if full && !(self.queue.is_empty() && held.requests.len() <= self.max_requests) {
            return Err(held);
        }
        self.push_unbounded(held);
        Ok(())
    }

    /// Sets both limits; what waits already stays.
    pub const fn set_limits(&mut self, max_requests: usize, max_bytes: usize) {
        self.max_requests = max_requests;
        self.max_bytes = max_bytes;
    }

    /// Queues a line that was in flight; such lines were bounded when they were sent.
    pub fn push_unbounded(&mut self, held: Held) {
        self.count += held.requests.len();
        self.bytes += held.line.len();
        let at = first_seq(&held);
        let place = self.queue.partition_point(|other| first_seq(other) <= at);
        self.queue.insert(place, held);
    }

    /// Everything that waits, oldest first.
    pub fn take_all(&mut self) -> Vec<Held> {
        (self.count, self.bytes) = (0, 0);
        self.queue.drain(..).collect()
    }

    /// Takes the first line for which `wanted` holds.
    pub fn take_first(&mut self, wanted: impl Fn(&Held) -> bool) -> Option<Held> {
        let at = self.queue.iter().position(wanted)?;
        let held = self.queue.remove(at)?;
        self.count -= held.requests.len();
        self.bytes -= held.line.len();
        Some(held)
    }

    /// Takes a request out because the client cancelled it. What is left of a batch still waits.
    pub fn cancel(&mut self, id: &IdKey) -> Option<Request> {
        let at = self.queue.iter().position(|held| held.requests.iter().any(|r| r.id.key == *id))?;
        let held = self.queue.get_mut(at)?;
        let place = held.requests.iter().position(|r| r.id.key == *id)?;
        let request = held.requests.remove(place);
        self.count -= 1;
        self.bytes -= held.line.len();
        if held.requests.is_empty() {
            self.queue.remove(at);
        } else {
            held.line = with_wanted(&held.line, true, |other| other != id);
            self.bytes += held.line.len();
        }
        Some(request)
    }

    /// The lines whose time is over.
    pub fn expired(&mut self, now: Instant) -> Vec<Held> {
        let mut gone = Vec::new();
        while let Some(held) = self.take_first(|held| held.expires.is_some_and(|at| at <= now)) {
            gone.push(held);
        }
        gone
    }

    /// When the next line expires.
    #[must_use]
    pub fn wake(&self) -> Option<Instant> {
        Soonest::default().and_all(self.queue.iter().map(|held| held.expires)).get()
    }

    /// The requests that wait.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.queue.iter().flat_map(|held| held.requests.iter())
    }

    /// How many requests wait.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Moves all times by as much as the machine slept.
    pub fn postpone(&mut self, gap: std::time::Duration) {
        for held in &mut self.queue {
            held.expires = held.expires.map(|at| at + gap);
        }
    }
}

/// A batch with only those of its requests that are still wanted, and without the other messages unless they are too. Any
/// other line, and a batch that keeps everything, stay as they are.
pub(super) fn with_wanted(line: &Bytes, others: bool, wanted: impl Fn(&IdKey) -> bool) -> Bytes {
    let stays = |element: &[u8]| match head::scan(element) {
        Scan::Message(head) if head.kind == Kind::Request => {
            head::id_at(element, head.id.as_ref()).is_none_or(|id| wanted(&id.key))
        }
        Scan::Message(_) => others,
        _ => true,
    };
    let all: Vec<_> = head::elements(line).unwrap_or_default().into_iter().filter_map(|span| line.get(span)).collect();
    if all.iter().all(|element| stays(element)) {
        return line.clone();
    }
    splice::join_batch(all.into_iter().filter(|element| stays(element)))
}

/// A batch with only these of its requests, and without the other messages.
pub(super) fn with_these(line: &Bytes, requests: &[Request]) -> Bytes {
    let ids: HashSet<&IdKey> = requests.iter().map(|request| &request.id.key).collect();
    with_wanted(line, false, |id| ids.contains(id))
}

fn first_seq(held: &Held) -> u64 {
    held.requests.first().map_or(u64::MAX, |request| request.seq)
}

#[cfg(test)]
mod tests;
