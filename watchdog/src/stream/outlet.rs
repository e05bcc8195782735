//! Where a thread writes that waits for its reader, but must be able to stop waiting.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

#[cfg(target_os = "linux")]
use super::descriptor::Kind;
use super::descriptor::{self, wait_writable_for};
use super::sink::Call;
#[cfg(target_os = "linux")]
use crate::event_loop::End;

/// A stream of bytes to write, whose description strangers may share: its flags are not touched.
#[derive(Debug)]
pub(crate) struct Outlet {
    fd: OwnedFd,
    call: Call,
}

impl Outlet {
    /// A descriptor that was inherited. Files, terminals, pipes that cannot be opened again and, elsewhere than on Linux, all
    /// descriptors make each write wait for its end.
    ///
    /// # Errors
    /// Where it is closed, or no descriptor is left.
    pub(crate) fn inherited(fd: BorrowedFd<'_>) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        match descriptor::kind(fd)? {
            Kind::Fifo => {
                if let Ok(again) = descriptor::open_again(fd, End::Write) {
                    return Ok(Self { fd: again, call: Call::Write });
                }
            }
            Kind::Socket => return Ok(Self { fd: fd.try_clone_to_owned()?, call: Call::Send }),
            Kind::Terminal | Kind::Other => {}
        }
        Ok(Self { fd: fd.try_clone_to_owned()?, call: Call::Write })
    }

    /// Writes as much as is taken now.
    ///
    /// # Errors
    /// `WouldBlock` where nothing is, `BrokenPipe` when the reader is gone, and what else the write says.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.call.run(self.fd.as_fd(), &[IoSlice::new(bytes)])
    }

    /// Waits until something is taken, for so long at most.
    pub(crate) fn wait(&self, limit: Duration) {
        wait_writable_for(self.fd.as_fd(), limit);
    }

    /// What the reader has not taken from the kernel yet, as [`Sink::unread`](super::Sink::unread) counts it.
    pub(crate) fn unread(&self) -> usize {
        #[cfg(target_os = "linux")]
        return descriptor::unread(self.fd.as_fd()).unwrap_or(0);
        #[cfg(not(target_os = "linux"))]
        0
    }
}
