//! Front ends: where clients are.
//!
//! The sidecar has one client for its whole life, on its own stdin and stdout. A server of `serve` has a door instead, through
//! which clients come and go.

pub mod client;
pub mod entrance;
pub mod socket;

use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;

use crate::telemetry::allowance::Allowance;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;
pub use client::{Client, Input};
use socket::Door;

/// The client's side of a slot.
#[derive(Debug)]
pub struct Front {
    client: Option<Client>,
    door: Option<Door>,
    /// What the log is told of clients that end badly: through a door they come as often as they like.
    complaints: Allowance,
}

impl Front {
    /// One client, for good.
    #[must_use]
    pub fn only(client: Client) -> Self {
        Self { client: Some(client), door: None, complaints: Allowance::new(Instant::now()) }
    }

    /// Whoever comes.
    #[must_use]
    pub fn open(door: Door) -> Self {
        Self { client: None, door: Some(door), complaints: Allowance::new(Instant::now()) }
    }

    /// Whether clients come and go.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.door.is_some()
    }

    /// Whether a client is there.
    #[must_use]
    pub const fn has_client(&self) -> bool {
        self.client.is_some()
    }

    /// The client has gone; another one may come.
    pub fn forget_client(&mut self) {
        self.client = None;
    }

    /// What the client does next. With `wanted` unset nothing is read, but its end is noticed. With `leaving` set, the session of
    /// the last client is ending: who comes now waits at the door for the next. Who comes while a client is there is told
    /// `turned_away`.
    pub fn poll_input(
        &mut self,
        cx: &mut Context<'_>,
        wanted: bool,
        leaving: bool,
        turned_away: &dyn Fn() -> Bytes,
    ) -> Poll<Input> {
        // Before the door: who comes right after a client has left is the next one, and not turned away for it.
        if let Some(client) = &mut self.client
            && let Poll::Ready(input) = client.poll_input(cx, wanted, &mut self.complaints)
        {
            return Poll::Ready(input);
        }
        if !leaving
            && let Some(door) = &mut self.door
            && let Poll::Ready(client) = door.poll_client(cx, self.client.is_some(), turned_away)
        {
            self.client = Some(client);
            return Poll::Ready(Input::Came);
        }
        Poll::Pending
    }

    /// The next line that was read.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        self.client.as_mut()?.next_line()
    }

    /// Queues a line.
    pub fn send(&mut self, line: &Framed<'_>) {
        if let Some(client) = &mut self.client {
            client.send(line);
        }
    }

    /// Writes what is queued, as far as the client takes it. Ready when nothing is left.
    pub fn flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.client.as_mut().map_or(Poll::Ready(()), |client| client.flush(cx))
    }

    /// What the client has been sent and has not read yet, as far as that is known ([`Sink::unread`](crate::stream::Sink::unread)).
    #[must_use]
    pub fn unread(&self) -> usize {
        self.client.as_ref().map_or(0, Client::unread)
    }

    /// Bytes that are queued.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.client.as_ref().map_or(0, Client::backlog)
    }
}

#[cfg(test)]
mod tests;
