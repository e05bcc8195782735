//! Under the reactor of a data path: readiness is a bit that an event sets, and that a transfer clears which finds nothing to
//! do. Who polls is polled again after each event, so that no waker is kept.
//!
//! A hangup is a bit too. A named pipe can get a new writer or reader after one; events of later hangups come all the same.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::Poll;

use super::Moved;
use crate::event_loop::reactor::{Registrar, Registration, Way};
use crate::stream::descriptor::{self, End, Handle};

/// One direction of a descriptor.
#[derive(Debug)]
pub(in crate::stream) struct Polled {
    /// Before the descriptor, which it has to go before.
    registration: Registration,
    handle: Handle,
    end: End,
}

impl Polled {
    pub(super) fn new(handle: Handle, end: End, registrar: &Registrar) -> Result<Self, (Handle, io::Error)> {
        let way = match end {
            End::Read => Way::In,
            End::Write => Way::Out,
        };
        match registrar.register(&handle, way) {
            Ok(registration) => Ok(Self { registration, handle, end }),
            Err(error) => Err((handle, error)),
        }
    }

    #[inline]
    pub(super) fn poll_transfer(
        &mut self,
        mut transfer: impl FnMut(BorrowedFd<'_>) -> io::Result<Moved>,
    ) -> Poll<io::Result<usize>> {
        if !self.registration.is_ready() {
            return Poll::Pending;
        }
        match transfer(self.handle.as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match self.registration.blocked() {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            Err(error) => Poll::Ready(Err(error)),
            Ok(moved) => {
                let noted = if moved.exhausted { self.registration.exhausted() } else { self.registration.eased() };
                Poll::Ready(noted.map(|()| moved.bytes))
            }
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        !self.registration.is_ready()
    }

    pub(super) fn poll_hangup(&mut self) -> Poll<()> {
        if !self.registration.is_closed() {
            return Poll::Pending;
        }
        if descriptor::hung_up(self.handle.as_fd(), self.end) {
            return Poll::Ready(());
        }
        self.registration.is_open_again();
        Poll::Pending
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}
