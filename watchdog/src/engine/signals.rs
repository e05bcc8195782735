//! Signals that end the program, and signals that are for the server.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::guard;

/// Signals that are caught from now on.
#[derive(Debug)]
pub struct Signals(Vec<(i32, Signal)>);

impl Signals {
    /// Catches SIGTERM, SIGINT, SIGHUP and SIGQUIT, which end the program.
    ///
    /// # Errors
    /// When they cannot be caught.
    pub fn catch() -> io::Result<Self> {
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
        kinds.into_iter().map(watch).collect::<io::Result<_>>().map(Self)
    }

    /// Catches SIGUSR1, SIGUSR2 and SIGWINCH, which mean nothing to us and are passed on to the server.
    ///
    /// # Errors
    /// When they cannot be caught.
    pub fn catch_for_server() -> io::Result<Self> {
        let kinds = [SignalKind::user_defined1(), SignalKind::user_defined2(), SignalKind::window_change()];
        kinds.into_iter().map(watch).collect::<io::Result<_>>().map(Self)
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> i32 {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// The number of one that has come already.
    pub async fn pending(&mut self) -> Option<i32> {
        // The runtime looks for what has come before it goes on with a task that has yielded.
        tokio::task::yield_now().await;
        std::future::poll_fn(|cx| match self.poll(cx) {
            Poll::Ready(number) => Poll::Ready(Some(number)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<i32> {
        for (number, signal) in &mut self.0 {
            if signal.poll_recv(cx).is_ready() {
                return Poll::Ready(*number);
            }
        }
        Poll::Pending
    }
}

/// Whoever starts programs with signals blocked, as a thread that handles none does, means nothing by it, and those that end this
/// program must reach it. The same holds for an ignored SIGTERM: who ignores it means itself, and hands it on by `exec`. SIGHUP, SIGINT
/// and SIGQUIT are another thing: `nohup` and a shell's `&` ignore them for the program that they start, which keeps that unless it
/// catches them. To be called while there is one thread: the others inherit what it hears.
pub(crate) fn hear_all() {
    // It fails for numbers that are no signals alone, and this is an empty set.
    _ = guard::signals::unblock_all();
    guard::signals::die_of_sigterm();
}

/// A file that may not become longer (`ulimit -f`) counts as a full disk: the write says so. The signal that comes with it would
/// end this process, and with it every session, over a line of the log.
pub(crate) fn outlive_full_files() {
    // Where it cannot be caught, all is as it was.
    _ = signal_hook::flag::register(nix::libc::SIGXFSZ, Arc::default());
}

fn watch(kind: SignalKind) -> io::Result<(i32, Signal)> {
    Ok((kind.as_raw_value(), signal(kind)?))
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{Signal, raise};

    use super::*;

    #[tokio::test]
    async fn what_has_come_is_known_without_a_wait() {
        let mut signals = Signals::catch_for_server().unwrap();
        assert_eq!(signals.pending().await, None);
        raise(Signal::SIGWINCH).unwrap();
        assert_eq!(signals.pending().await, Some(nix::libc::SIGWINCH));
        assert_eq!(signals.pending().await, None, "each once");
    }
}
