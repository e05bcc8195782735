//! A descriptor under an event loop: the runtime's, or that of a data path.
#[cfg(target_os = "linux")]
mod reactor;
mod runtime;

use std::io;
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};

use super::descriptor::Handle;
use crate::event_loop::{End, Watcher};

/// One direction of a descriptor that an event loop watches.
#[derive(Debug)]
pub(super) enum Polled {
    Runtime(runtime::Polled),
    #[cfg(target_os = "linux")]
    Reactor(reactor::Polled),
}

/// What a transfer has done, and whether it shows that the descriptor is exhausted for now.
pub(super) struct Moved {
    /// Bytes read or written.
    pub(super) bytes: usize,
    /// Less was moved than was asked for, so that the next try would have to wait.
    pub(super) exhausted: bool,
}

impl Polled {
    /// Registers a descriptor whose transfers do not block.
    ///
    /// # Errors
    /// Gives the handle back where the event loop does not take it (EPERM for files).
    pub(super) fn new(handle: Handle, end: End, watcher: &Watcher) -> Result<Self, (Handle, io::Error)> {
        match watcher {
            Watcher::Runtime => runtime::Polled::new(handle, end).map(Self::Runtime),
            #[cfg(target_os = "linux")]
            Watcher::Reactor(registrar) => reactor::Polled::new(handle, end, registrar).map(Self::Reactor),
        }
    }

    /// Transfers when it can be done without waiting.
    #[inline]
    pub(super) fn poll_transfer(
        &mut self,
        cx: &mut Context<'_>,
        transfer: impl FnMut(BorrowedFd<'_>) -> io::Result<Moved>,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Runtime(polled) => polled.poll_transfer(cx, transfer),
            #[cfg(target_os = "linux")]
            Self::Reactor(polled) => polled.poll_transfer(transfer),
        }
    }

    /// Whether a transfer would have to wait, and its end wakes the task without another try.
    pub(super) fn is_spent(&self) -> bool {
        match self {
            // The task is woken by what a try has found pending.
            Self::Runtime(_) => false,
            #[cfg(target_os = "linux")]
            Self::Reactor(polled) => polled.is_spent(),
        }
    }

    /// Ready when the other side is gone, whatever can still be read or written.
    pub(super) fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Runtime(polled) => polled.poll_hangup(cx),
            #[cfg(target_os = "linux")]
            Self::Reactor(polled) => polled.poll_hangup(),
        }
    }

    /// The descriptor itself, for a transfer that does not care for events.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Runtime(polled) => polled.as_fd(),
            #[cfg(target_os = "linux")]
            Self::Reactor(polled) => polled.as_fd(),
        }
    }
}
