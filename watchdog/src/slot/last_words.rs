//! What a client is still given when its session has ended: all that it takes, in its own time.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::front::Front;

/// How long a client may take nothing of it.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same where clients come and go: between them and their socket may be a `connect`, which takes 64 KiB at a time and hands
/// them on as slowly as its client takes them.
pub(crate) const PATIENCE_BEHIND_A_DOOR: Duration = Duration::from_secs(5);

/// How long a client is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// While it takes nothing.
    idle: Duration,
    /// While it takes something.
    whole: Option<Duration>,
}

impl Patience {
    /// With a client that has left through a door, or has closed its end of stdin.
    pub(super) const fn with_one_that_left(through_a_door: bool) -> Self {
        Self { idle: if through_a_door { PATIENCE_BEHIND_A_DOOR } else { PATIENCE }, whole: None }
    }

    /// With one that is there when the program is told to end. Requests in flight have as long where a client leaves.
    pub(super) fn at_the_end(drain: Duration) -> Self {
        Self { idle: PATIENCE, whole: Some(drain.max(PATIENCE)) }
    }
}

/// The rest for one client.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    begun: Option<Instant>,
    rest: Option<Rest>,
    due: Option<Instant>,
}

/// What was left when the client took some of it last.
#[derive(Debug)]
struct Rest {
    since: Instant,
    /// Bytes that are not written.
    backlog: usize,
    /// What is written, and not read. A socket has room for more only when most of that is.
    unread: usize,
}

impl LastWords {
    /// Writes what is left. Ready when nothing is to be waited for any more: `false` where the client has taken nothing, or has not
    /// taken all, for too long. Until then it is to be called again when [`due`](Self::due).
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        front: &mut Front,
        now: Instant,
        patience: Patience,
    ) -> Poll<bool> {
        if front.flush(cx).is_ready() {
            return Poll::Ready(true);
        }
        let begun = *self.begun.get_or_insert(now);
        let (backlog, unread) = (front.backlog(), front.unread());
        let since = match &self.rest {
            Some(rest) if backlog >= rest.backlog && unread >= rest.unread => rest.since,
            _ => self.rest.insert(Rest { since: now, backlog, unread }).since,
        };
        let due = patience.whole.map_or(since + patience.idle, |whole| (since + patience.idle).min(begun + whole));
        self.due = Some(due);
        if due <= now { Poll::Ready(false) } else { Poll::Pending }
    }

    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::event_loop::Watcher;
    use crate::front::Client;
    use crate::stream::{Sink, Source};
    use crate::wire::framed::Framed;

    /// More than a socket holds.
    const BYTES: usize = 1 << 20;
    const HALF_A_SECOND: Duration = Duration::from_millis(500);

    /// A client that has much to be given, and its end of the socket.
    fn client() -> (Front, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let source = Source::own_pipe(near.try_clone().unwrap().into(), &Watcher::Runtime).unwrap();
        let sink = Sink::own_pipe(near.into(), &Watcher::Runtime).unwrap();
        let mut front = Front::only(Client::new(source, sink, BYTES));
        front.send(&Framed::from(&vec![b'x'; BYTES].into()));
        (front, far)
    }

    /// What is found at this time, once the runtime has seen what the client did.
    async fn found(words: &mut LastWords, front: &mut Front, now: Instant) -> Poll<bool> {
        tokio::task::yield_now().await;
        let patience = Patience::with_one_that_left(false);
        poll_fn(|cx| Poll::Ready(words.poll(cx, front, now, patience))).await
    }

    /// A socket that has taken all it holds has room again only when three quarters of that are read.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_client_of_a_socket_that_takes_little_at_a_time_is_given_all() {
        let ((mut front, mut far), mut words) = (client(), LastWords::default());
        let (mut now, mut taken, mut room) = (Instant::now(), 0, vec![0; 40 << 10]);
        loop {
            match found(&mut words, &mut front, now).await {
                Poll::Ready(all) => break assert!(all, "given up after {taken} bytes"),
                Poll::Pending => taken += far.read(&mut room).unwrap(),
            }
            now += HALF_A_SECOND;
        }
        drop(front);
        far.set_nonblocking(false).unwrap();
        taken += far.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(taken, BYTES + 1);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_given_up_a_second_after_it_took_something() {
        let ((mut front, mut far), mut words) = (client(), LastWords::default());
        let begin = Instant::now();
        assert_eq!(found(&mut words, &mut front, begin).await, Poll::Pending);
        assert_eq!(words.due(), Some(begin + PATIENCE));
        // All of what it holds, so that there is room for more.
        while far.read(&mut [0; 64 << 10]).is_ok() {}
        let took = begin + HALF_A_SECOND;
        assert_eq!(found(&mut words, &mut front, took).await, Poll::Pending);
        assert_eq!(words.due(), Some(took + PATIENCE));
        assert_eq!(found(&mut words, &mut front, took + HALF_A_SECOND).await, Poll::Pending);
        assert_eq!(found(&mut words, &mut front, took + PATIENCE).await, Poll::Ready(false));
    }
}
