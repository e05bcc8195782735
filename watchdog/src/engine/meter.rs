//! Numbers of a slot that change with its traffic. One task writes them, anybody reads them, and nobody waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
    /// Processes that were started after the first.
    pub restarts: Cell,
    /// Calls that were overdue.
    pub timeouts: Cell,
}
