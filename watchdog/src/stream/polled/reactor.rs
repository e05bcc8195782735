//! Under the reactor of a data path: readiness is a bit that an event sets, and that a transfer clears which finds nothing to
//! do. Who polls is polled again after each event, so that no waker is kept.
//!
//! A hangup is a bit too. A named pipe can get a new writer or reader after one; events of later hangups come all the same.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::task::Poll;

use super::Moved;
use crate::event_loop::End;
use crate::event_loop::reactor::{Registrar, Watched};
use crate::stream::descriptor::{self, Handle};

/// One direction of a descriptor.
#[derive(Debug)]
pub(in crate::stream) struct Polled {
    watched: Watched<Handle>,
}

impl Polled {
    pub(super) fn new(handle: Handle, end: End, registrar: &Registrar) -> Result<Self, (Handle, io::Error)> {
        Ok(Self { watched: registrar.watch(handle, end)? })
    }

    #[inline]
    pub(super) fn poll_transfer(
        &mut self,
        mut transfer: impl FnMut(BorrowedFd<'_>) -> io::Result<Moved>,
    ) -> Poll<io::Result<usize>> {
        if !self.watched.is_ready() {
            return Poll::Pending;
        }
        match transfer(self.watched.get().as_fd()) {
            Err(error) => self.failed(error),
            Ok(moved) => {
                let noted = if moved.exhausted { self.watched.exhausted() } else { self.watched.eased() };
                Poll::Ready(noted.map(|()| moved.bytes))
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn failed(&mut self, error: io::Error) -> Poll<io::Result<usize>> {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Poll::Ready(Err(error));
        }
        match self.watched.blocked() {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        !self.watched.is_ready()
    }

    pub(super) fn poll_hangup(&mut self) -> Poll<()> {
        if self.watched.is_closed() { self.look_at_hangup() } else { Poll::Pending }
    }

    #[cold]
    #[inline(never)]
    fn look_at_hangup(&self) -> Poll<()> {
        if descriptor::hung_up(self.watched.get().as_fd(), self.watched.end()) {
            return Poll::Ready(());
        }
        self.watched.is_open_again();
        Poll::Pending
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.watched.get().as_fd()
    }
}
