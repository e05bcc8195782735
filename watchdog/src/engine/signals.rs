//! Signals that end the program.

use std::io;
use std::task::{Context, Poll};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT, caught from now on.
#[derive(Debug)]
pub struct Signals([(i32, Signal); 4]);

impl Signals {
    /// Catches them.
    ///
    /// # Errors
    /// When they cannot be caught.
    pub fn catch() -> io::Result<Self> {
        let watch = |kind: SignalKind| Ok::<_, io::Error>((kind.as_raw_value(), signal(kind)?));
        Ok(Self([
            watch(SignalKind::terminate())?,
            watch(SignalKind::interrupt())?,
            watch(SignalKind::hangup())?,
            watch(SignalKind::quit())?,
        ]))
    }

    /// The number of the next one.
    pub async fn next(&mut self) -> i32 {
        std::future::poll_fn(|cx| self.poll(cx)).await
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
