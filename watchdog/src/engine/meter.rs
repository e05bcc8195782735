//! Numbers of a slot. One task writes them, anybody reads them, and nobody waits.
//!
//! What changes with every message lies in cells that are stored to and read without a lock: traffic, and the requests that
//! have come to an end. Everything else is folded from events and probe chains ([`Tally`]), which are rare.

mod counts;
mod histogram;
mod requests;
mod tally;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub use counts::Counts;
pub use histogram::{BOUNDS, Histogram};
pub use requests::{OUTCOMES, Requests};
pub use tally::{Probing, Tally};

use crate::core::slot::Count;

/// A counter or gauge with one writer.
#[derive(Debug, Default)]
pub struct Cell(AtomicU64);

impl Cell {
    /// The value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets it.
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds to it. Not one operation: there is one writer.
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }
}

/// The numbers of one slot.
#[derive(Debug, Default)]
pub struct Meter {
    /// Requests of the client that the server owes an answer.
    pub in_flight: Cell,
    /// Requests that wait for a server.
    pub held: Cell,
    /// Clients that are there.
    pub clients: Cell,
    /// Lines from the client.
    pub messages_in: Cell,
    /// Lines to the client.
    pub messages_out: Cell,
    /// Bytes from the client, line ends not counted.
    pub bytes_in: Cell,
    /// Bytes to the client.
    pub bytes_out: Cell,
    /// Requests that have come to an end.
    pub requests: Requests,
    /// Whether clients come through a socket, instead of being on our stdin and stdout.
    pub socket: bool,
    tally: Mutex<Tally>,
}

impl Meter {
    /// All zero.
    #[must_use]
    pub fn new(socket: bool) -> Self {
        Self { socket, ..Self::default() }
    }

    /// What is folded from events and probe chains. Not to be held for long: the slot's task writes to it.
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        // Numbers are valid between any two statements.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the core counts beside its events.
    pub fn count(&self, count: Count) {
        match count {
            Count::Request { method, outcome, elapsed } => self.requests.ended(method, outcome, elapsed),
            Count::HandshakeTimeout => self.timed_out("handshake"),
            Count::DeadlinePassed => self.timed_out("deadline"),
        }
    }

    #[cold]
    #[inline(never)]
    fn timed_out(&self, what: &'static str) {
        self.tally().timeouts.add(what);
    }

    /// A client came through the socket.
    pub fn client_came(&self, now: Instant) {
        self.tally().client_came(now);
    }

    /// It left, and its server will be replaced for the next one.
    pub fn client_left(&self, now: Instant) {
        self.tally().client_left(now);
    }
}

#[cfg(test)]
mod tests;
