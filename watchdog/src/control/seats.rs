//! How many are connected at a time, and who goes where more want to be.
//!
//! Nobody can keep others out by connecting and asking nothing: where no seat is free, those make room who have asked nothing for a
//! moment, and then those who have had their answers.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Connections at a time, of one listener.
pub(super) const SEATS: usize = 64;

/// Who connects to ask something does so at once.
const SILENCE: Duration = Duration::from_millis(100);

/// How long one who is to go may take before another is told.
const LEAVING: Duration = Duration::from_millis(10);

/// The seats of a listener.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    /// Oldest first.
    taken: Vec<Weak<Seat>>,
}

/// A connection's. It is free again when the last of these is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    since: Instant,
    /// Whether it has ever asked for anything.
    asked: AtomicBool,
    /// Whether an answer is being found.
    busy: AtomicBool,
    told: AtomicBool,
    leave: Notify,
    _permit: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new() -> Self {
        Self { free: Arc::new(Semaphore::new(SEATS)), taken: Vec::new() }
    }

    /// A seat, once there is one.
    pub(super) async fn take(&mut self) -> Arc<Seat> {
        let mut wait = Duration::ZERO;
        let permit = loop {
            match timeout(wait, self.free.clone().acquire_owned()).await {
                Ok(Ok(permit)) => break permit,
                // Never closed, so that there is always a seat in the end.
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => wait = self.make_room(),
            }
        };
        self.taken.retain(|seat| seat.strong_count() > 0);
        let flag = || AtomicBool::new(false);
        let (asked, busy, told, leave) = (flag(), flag(), flag(), Notify::new());
        let seat = Arc::new(Seat { since: Instant::now(), asked, busy, told, leave, _permit: permit });
        self.taken.push(Arc::downgrade(&seat));
        seat
    }

    /// Tells one to go, where there is one; how long to wait before that is worth another try.
    fn make_room(&self) -> Duration {
        let taken: Vec<Arc<Seat>> = self.taken.iter().filter_map(Weak::upgrade).collect();
        let mut left = taken.iter().filter(|seat| !seat.told.load(Relaxed) && !seat.busy.load(Relaxed));
        let silent = left.clone().find(|seat| !seat.asked.load(Relaxed));
        let due = silent.map(|seat| SILENCE.saturating_sub(seat.since.elapsed()));
        let leaver = match (silent, due) {
            (Some(seat), Some(Duration::ZERO)) => Some(seat),
            _ => left.find(|seat| seat.asked.load(Relaxed)),
        };
        match leaver {
            Some(seat) => {
                seat.tell();
                LEAVING
            }
            None => due.unwrap_or(SILENCE),
        }
    }
}

impl Seat {
    /// Somebody else is to have it.
    pub(super) async fn is_needed(&self) {
        self.leave.notified().await;
    }

    /// Tells its connection to go.
    pub(super) fn tell(&self) {
        self.told.store(true, Relaxed);
        self.leave.notify_one();
    }

    /// Whether somebody else is to have it.
    pub(super) fn is_told(&self) -> bool {
        self.told.load(Relaxed)
    }

    /// Whether its connection has ever asked for anything.
    pub(super) fn has_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// Its connection asks for something, and has no answer while this is there.
    pub(super) fn asks(self: &Arc<Self>) -> Asking {
        self.asked.store(true, Relaxed);
        self.busy.store(true, Relaxed);
        Asking(self.clone())
    }
}

/// A question without an answer; a connection has one at a time.
#[derive(Debug)]
pub(super) struct Asking(Arc<Seat>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.busy.store(false, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    /// A connection that goes when it is told to.
    fn occupy(seat: Arc<Seat>) -> JoinHandle<()> {
        tokio::spawn(async move { seat.is_needed().await })
    }

    #[tokio::test(start_paused = true)]
    async fn the_silent_make_room_oldest_first_and_those_who_wait_for_answers_do_not() {
        let mut seats = Seats::new();
        let waiting = seats.take().await;
        let asking = waiting.asks();
        let waiting = occupy(waiting);
        let answered = seats.take().await;
        drop(answered.asks());
        let answered = occupy(answered);
        let mut silent = Vec::new();
        for _ in 2..SEATS {
            silent.push(occupy(seats.take().await));
        }

        let before = Instant::now();
        let _first = seats.take().await;
        assert!(before.elapsed() < SILENCE && answered.is_finished(), "it has had its answer");
        let _second = seats.take().await;
        assert!((SILENCE..SILENCE * 2).contains(&before.elapsed()), "{:?}", before.elapsed());
        assert!(silent[0].is_finished() && !silent[1].is_finished());
        let now = Instant::now();
        for _ in 3..SEATS {
            occupy(seats.take().await);
        }
        assert!(silent.iter().all(JoinHandle::is_finished) && now.elapsed() < Duration::from_secs(1));
        assert!(!waiting.is_finished());
        drop(asking);
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_go_is_told_once() {
        let mut seats = Seats::new();
        let stream = seats.take().await;
        drop(stream.asks());
        let mut busy = Vec::new();
        for _ in 1..SEATS {
            let seat = seats.take().await;
            busy.push(seat.asks());
        }
        assert!(timeout(SILENCE * 3, seats.take()).await.is_err(), "nobody can go");
        stream.is_needed().await;
        assert!(timeout(SILENCE * 3, stream.is_needed()).await.is_err(), "told twice");
        drop(busy.pop());
        assert!(timeout(SILENCE, seats.take()).await.is_ok());
    }
}
