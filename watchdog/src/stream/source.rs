//! Where bytes come from.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use bytes::BytesMut;

use super::descriptor::{self, Handle, Kind};
use super::polled::{Moved, Polled};
use super::thread::Reader;
use crate::event_loop::{End, Watcher};

/// A stream of bytes to read, whatever it is made of.
///
/// Where the runtime watches it, to be made inside one with I/O (tokio panics elsewhere). Dropping it closes the descriptor; where a
/// thread reads, that happens after the read which the thread is in.
#[derive(Debug)]
pub struct Source {
    inner: Inner,
    ended: bool,
}

#[derive(Debug)]
enum Inner {
    Polled { fd: Polled, call: Call, drains: bool },
    Thread(Reader),
}

/// How bytes are read without waiting.
#[derive(Debug, Clone, Copy)]
enum Call {
    Read,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "inherited sockets have a thread there"))]
    Receive,
}

impl Call {
    fn run(self, fd: BorrowedFd<'_>, buffer: &mut BytesMut) -> io::Result<usize> {
        let read = match self {
            Self::Read => descriptor::read(fd, buffer),
            Self::Receive => descriptor::receive(fd, buffer),
        };
        read.or_else(of_read)
    }
}

#[cold]
#[inline(never)]
fn of_read(error: io::Error) -> io::Result<usize> {
    match error.kind() {
        // The other side closed its socket before it had read all of ours. Its bytes to us have all come by then.
        io::ErrorKind::ConnectionReset => Ok(0),
        _ => Err(error),
    }
}

impl Source {
    /// Our end of a child's pipe: a description that is ours alone, and non-blocking (it is made so if it is not).
    ///
    /// # Errors
    /// Where the event loop does not take the descriptor.
    pub fn own_pipe(fd: OwnedFd, watcher: &Watcher) -> io::Result<Self> {
        descriptor::set_nonblocking(fd.as_fd())?;
        match Polled::new(Handle::new(fd), End::Read, watcher) {
            Ok(fd) => Ok(Self::polled(fd, Call::Read, true)),
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
            Ok(source) => Ok(source),
            Err(fd) => Ok(Self { inner: Inner::Thread(Reader::start(fd, kind)?), ended: false }),
        }
    }

    const fn polled(fd: Polled, call: Call, drains: bool) -> Self {
        Self { inner: Inner::Polled { fd, call, drains }, ended: false }
    }

    /// Appends what is there to `buffer`, as much as fits its spare room (64 KiB are reserved where it has none).
    /// `Ok(0)` is the end of the stream, for good. Losing the other side of a socket or terminal is the end too.
    ///
    /// # Errors
    /// What the read says, but not `WouldBlock` or `Interrupted`.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        if self.ended {
            return Poll::Ready(Ok(0));
        }
        let read = match &mut self.inner {
            Inner::Polled { fd, call, drains } => {
                let (call, drains) = (*call, *drains);
                fd.poll_transfer(cx, |fd| {
                    let room = buffer.capacity() - buffer.len();
                    let bytes = call.run(fd, buffer)?;
                    Ok(Moved { bytes, exhausted: drains && 0 < bytes && bytes < room })
                })
            }
            Inner::Thread(reader) => reader.poll_read(cx, buffer),
        };
        if matches!(read, Poll::Ready(Ok(0))) {
            self.ended = true;
        }
        read
    }

    /// Whether there is nothing more to read, as far as is known, and the caller of [`Self::poll_read`] is woken when there
    /// is. A source that does not know it says no.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        match &self.inner {
            Inner::Polled { fd, .. } => fd.is_spent(),
            Inner::Thread(_) => false,
        }
    }

    /// Reads what is there at this moment, for draining after a death: `None` when there is nothing (yet), `Some(0)` at
    /// the end.
    ///
    /// # Errors
    /// As [`Self::poll_read`].
    pub fn try_read_now(&mut self, buffer: &mut BytesMut) -> io::Result<Option<usize>> {
        if self.ended {
            return Ok(Some(0));
        }
        let read = match &mut self.inner {
            Inner::Polled { fd, call, .. } => match call.run(fd.as_fd(), buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                read => read.map(Some),
            },
            Inner::Thread(reader) => reader.try_read_now(buffer),
        };
        if matches!(read, Ok(Some(0))) {
            self.ended = true;
        }
        read
    }

    /// Ready when the other side has closed although unread data may be there: for the time when the caller does not
    /// want data and so would not see the end. It does not wake for data. A thread sees a hangup behind the chunk that
    /// it holds within 200 ms, and the end of a plain file only when the file is read.
    pub fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.ended {
            return Poll::Ready(());
        }
        match &mut self.inner {
            Inner::Polled { fd, .. } => fd.poll_hangup(cx),
            Inner::Thread(reader) => reader.poll_hangup(cx),
        }
    }

    /// Whether a thread does the reading.
    #[cfg(all(test, target_os = "linux"))]
    pub(super) const fn is_threaded(&self) -> bool {
        matches!(self.inner, Inner::Thread(_))
    }
}

/// Puts the descriptor under the event loop, or gives it back where that cannot be done without touching its flags.
#[cfg(target_os = "linux")]
fn inherited_polled(fd: OwnedFd, kind: Kind, watcher: &Watcher) -> Result<Source, OwnedFd> {
    let drains = descriptor::short_read_drains(fd.as_fd(), kind);
    let (handle, call) = match kind {
        Kind::Fifo => match descriptor::open_again(fd.as_fd(), End::Read) {
            Ok(again) => {
                descriptor::enlarge(again.as_fd());
                (Handle::opened_again(again, fd), Call::Read)
            }
            Err(_) => return Err(fd),
        },
        Kind::Socket => (Handle::new(fd), Call::Receive),
        Kind::Terminal | Kind::Other => return Err(fd),
    };
    match Polled::new(handle, End::Read, watcher) {
        Ok(fd) => Ok(Source::polled(fd, call, drains)),
        Err((handle, _)) => Err(handle.into_original()),
    }
}

#[cfg(not(target_os = "linux"))]
fn inherited_polled(fd: OwnedFd, _kind: Kind, _watcher: &Watcher) -> Result<Source, OwnedFd> {
    Err(fd)
}
