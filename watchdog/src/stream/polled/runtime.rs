//! Under the runtime.
//!
//! Readiness is edge-triggered and kept by tokio. Two things are added here:
//!
//! * `unseen`: an edge that was taken from tokio while waiting for a hangup, or that no event has told of yet because
//!   the descriptor is new. The next transfer then tries its system call without an event.
//! * A hangup is latched by tokio for good, but a named pipe can get a new writer or reader after one. Where the kernel
//!   says that the hangup is over, the descriptor is registered afresh; otherwise the poll loop would spin.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll, ready};

use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};
use tokio::io::{Interest, Ready};

use super::Moved;
use crate::event_loop::End;
use crate::stream::descriptor::{self, Handle};

/// One direction of a descriptor.
#[derive(Debug)]
pub(in crate::stream) struct Polled {
    fd: AsyncFd<Handle>,
    end: End,
    unseen: bool,
}

impl Polled {
    pub(super) fn new(handle: Handle, end: End) -> Result<Self, (Handle, io::Error)> {
        let fd = descriptor::register(handle, interest(end))?;
        Ok(Self { fd, end, unseen: true })
    }

    // Not in the place of the call: there it would be in the way of who is under a reactor.
    #[inline(never)]
    pub(super) fn poll_transfer(
        &mut self,
        cx: &mut Context<'_>,
        mut transfer: impl FnMut(BorrowedFd<'_>) -> io::Result<Moved>,
    ) -> Poll<io::Result<usize>> {
        while let Poll::Ready(mut guard) = poll_ready(&self.fd, self.end, cx)? {
            match transfer(guard.get_inner().as_fd()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let hangup_is_over = closed(guard.ready(), self.end);
                    guard.clear_ready();
                    self.unseen = false;
                    if hangup_is_over {
                        self.register_again()?;
                    }
                }
                Err(error) => return Poll::Ready(Err(error)),
                Ok(moved) => {
                    if moved.exhausted {
                        // The event was taken before the transfer: an edge that came after it is not lost.
                        guard.clear_ready();
                        self.unseen = false;
                    }
                    return Poll::Ready(Ok(moved.bytes));
                }
            }
        }
        if !self.unseen {
            return Poll::Pending;
        }
        // The waker is stored: an edge that comes after this try is not missed.
        match transfer(self.fd.get_ref().as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.unseen = false;
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
            Ok(moved) => {
                self.unseen = !moved.exhausted;
                Poll::Ready(Ok(moved.bytes))
            }
        }
    }

    pub(super) fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // An error says that the event loop is being shut down: nobody will tell of a hangup any more.
            let Ok(mut guard) = ready!(poll_ready(&self.fd, self.end, cx)) else {
                return Poll::Ready(());
            };
            self.unseen = true;
            if !closed(guard.ready(), self.end) {
                guard.clear_ready_matching(open(self.end));
                continue;
            }
            if descriptor::hung_up(self.fd.get_ref().as_fd(), self.end) {
                return Poll::Ready(());
            }
            if self.register_again().is_err() {
                return Poll::Ready(());
            }
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }

    /// Forgets a hangup that is over. The event loop knows a descriptor by its number, so that a new number makes a
    /// new registration.
    fn register_again(&mut self) -> io::Result<()> {
        let handle = self.fd.get_ref().try_clone()?;
        self.fd = descriptor::register(handle, interest(self.end)).map_err(|(_, error)| error)?;
        Ok(())
    }
}

fn poll_ready<'a>(
    fd: &'a AsyncFd<Handle>,
    end: End,
    cx: &mut Context<'_>,
) -> Poll<io::Result<AsyncFdReadyGuard<'a, Handle>>> {
    match end {
        End::Read => fd.poll_read_ready(cx),
        End::Write => fd.poll_write_ready(cx),
    }
}

const fn interest(end: End) -> Interest {
    match end {
        End::Read => Interest::READABLE,
        End::Write => Interest::WRITABLE,
    }
}

const fn open(end: End) -> Ready {
    match end {
        End::Read => Ready::READABLE,
        End::Write => Ready::WRITABLE,
    }
}

fn closed(ready: Ready, end: End) -> bool {
    match end {
        End::Read => ready.is_read_closed(),
        End::Write => ready.is_write_closed(),
    }
}
