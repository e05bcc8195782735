//! Where bytes go.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use super::descriptor::{self, Handle, Kind};
use super::polled::{Moved, Polled};
use super::thread::Writer;
use crate::event_loop::{End, Watcher};

/// A stream of bytes to write, whatever it is made of.
///
/// Where the runtime watches it, to be made inside one with I/O (tokio panics elsewhere). Dropping it closes the descriptor, and for a
/// pipe that was opened again the original one too, so that the reader sees the end; where a thread writes, that
/// happens after it has written what is queued.
#[derive(Debug)]
pub struct Sink {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Polled { fd: Polled, call: Call },
    Thread(Writer),
}

/// How bytes are written without waiting.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Write,
    #[cfg(target_os = "linux")]
    Send,
}

impl Call {
    pub(super) fn run(self, fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = match self {
            Self::Write => descriptor::write(fd, slices),
            #[cfg(target_os = "linux")]
            Self::Send => descriptor::send(fd, slices),
        };
        written.map_err(of_write)
    }
}

#[cold]
#[inline(never)]
fn of_write(error: io::Error) -> io::Error {
    match error.kind() {
        // A socket whose reader closed it with bytes unread.
        io::ErrorKind::ConnectionReset => io::ErrorKind::BrokenPipe.into(),
        _ => error,
    }
}

impl Sink {
    /// Our end of a child's pipe: a description that is ours alone, and non-blocking (it is made so if it is not).
    ///
    /// # Errors
    /// Where the event loop does not take the descriptor.
    pub fn own_pipe(fd: OwnedFd, watcher: &Watcher) -> io::Result<Self> {
        descriptor::set_nonblocking(fd.as_fd())?;
        match Polled::new(Handle::new(fd), End::Write, watcher) {
            Ok(fd) => Ok(Self { inner: Inner::Polled { fd, call: Call::Write } }),
            Err((_, error)) => Err(error),
        }
    }

    /// A descriptor that was inherited, and whose description strangers may share. Its flags are not touched.
    ///
    /// # Errors
    /// Where it is closed, or the thread that it needs cannot be started.
    pub fn inherited(fd: OwnedFd, watcher: &Watcher) -> io::Result<Self> {
        let kind = descriptor::kind(fd.as_fd())?;
        match inherited_polled(fd, kind, watcher) {
            Ok(sink) => Ok(sink),
            Err(fd) => Ok(Self { inner: Inner::Thread(Writer::start(fd, kind)?) }),
        }
    }

    /// Writes as many bytes of the slices as are taken now. `Ok(0)` only where the slices hold nothing.
    ///
    /// A thread takes bytes into its queue; whether they arrived is known after [`Self::poll_flush`].
    ///
    /// # Errors
    /// `BrokenPipe` when the reader is gone, and what else the write says, but not `WouldBlock` or `Interrupted`.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Polled { fd, call } => {
                let call = *call;
                let total = match slices {
                    [one] => one.len(),
                    all => all.iter().map(|slice| slice.len()).sum(),
                };
                fd.poll_transfer(cx, |fd| {
                    let bytes = call.run(fd, slices)?;
                    // A write of more slices than the kernel takes is cut by their number, which says nothing.
                    Ok(Moved { bytes, exhausted: bytes < total && slices.len() <= descriptor::SLICES })
                })
            }
            Inner::Thread(writer) => writer.poll_write(cx, slices),
        }
    }

    /// Ready when all that was accepted has been handed to the kernel, for the last bytes before an exit; the bound on
    /// the time is the caller's. At once for all kinds but threads.
    ///
    /// # Errors
    /// What the thread's write said.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Polled { .. } => Poll::Ready(Ok(())),
            Inner::Thread(writer) => writer.poll_flush(cx),
        }
    }

    /// Ready when the reader is gone, noticed while there is nothing to write. The other side of a socket that closed
    /// only its writing half is still a reader. One that shut down only its reading half is found by the next write. A
    /// thread notices a lost terminal or pipe within a second.
    pub fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.inner {
            Inner::Polled { fd, .. } => fd.poll_hangup(cx),
            Inner::Thread(writer) => writer.poll_hangup(cx),
        }
    }

    /// How much of what was written the reader has not taken from the kernel yet, to see whether it takes any: less than before says
    /// that it does. For a pipe they are bytes; for a socket it is the memory that holds them, which is given back in pieces of up to
    /// 36 KiB. 0 where it is not known: for threads, and on other systems than Linux.
    #[must_use]
    pub fn unread(&self) -> usize {
        match &self.inner {
            #[cfg(target_os = "linux")]
            Inner::Polled { fd, .. } => descriptor::unread(fd.as_fd()).unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether a thread does the writing.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) const fn is_threaded(&self) -> bool {
        matches!(self.inner, Inner::Thread(_))
    }
}

/// Puts the descriptor under the event loop, or gives it back where that cannot be done without touching its flags.
#[cfg(target_os = "linux")]
fn inherited_polled(fd: OwnedFd, kind: Kind, watcher: &Watcher) -> Result<Sink, OwnedFd> {
    let (handle, call) = match kind {
        Kind::Fifo => match descriptor::open_again(fd.as_fd(), End::Write) {
            Ok(again) => {
                descriptor::enlarge(again.as_fd());
                (Handle::opened_again(again, fd), Call::Write)
            }
            Err(_) => return Err(fd),
        },
        Kind::Socket => (Handle::new(fd), Call::Send),
        Kind::Terminal | Kind::Other => return Err(fd),
    };
    match Polled::new(handle, End::Write, watcher) {
        Ok(fd) => Ok(Sink { inner: Inner::Polled { fd, call } }),
        Err((handle, _)) => Err(handle.into_original()),
    }
}

#[cfg(not(target_os = "linux"))]
fn inherited_polled(fd: OwnedFd, _kind: Kind, _watcher: &Watcher) -> Result<Sink, OwnedFd> {
    Err(fd)
}
