//! The system calls of this room, each as a safe function.
#![expect(
    unsafe_code,
    reason = "room that was read into, dup to a chosen number, POLLRDHUP and registration have no safe form"
)]

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::Duration;

use bytes::BytesMut;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::libc;
use nix::sys::stat::{Mode, SFlag, fstat};
use rustix::io::retry_on_intr;
use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};

use crate::event_loop::End;

/// What a pipe should hold, in bytes: a few large messages without a change of process, and no more latency than that
/// (design/data-path.md).
#[cfg(target_os = "linux")]
const CAPACITY: i32 = 256 * 1024;

/// What is reserved when a caller brings a buffer without room: a read of nothing would look like the end.
const ROOM: usize = 64 * 1024;

/// The most slices of one `writev` on Linux and macOS (`IOV_MAX`); more are refused with EINVAL.
pub(super) const SLICES: usize = 1024;

/// What a descriptor is, as far as that decides how to drive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A pipe, with or without a name.
    Fifo,
    /// A socket.
    Socket,
    /// A terminal.
    Terminal,
    /// A file, `/dev/null` and all else that has no other end.
    Other,
}

/// Says what `fd` is.
pub(super) fn kind(fd: BorrowedFd<'_>) -> io::Result<Kind> {
    let format = SFlag::from_bits_truncate(fstat(fd)?.st_mode & SFlag::S_IFMT.bits());
    Ok(match format {
        SFlag::S_IFIFO => Kind::Fifo,
        SFlag::S_IFSOCK => Kind::Socket,
        SFlag::S_IFCHR if nix::unistd::isatty(fd).unwrap_or(false) => Kind::Terminal,
        _ => Kind::Other,
    })
}

/// The flags of the open file description.
pub(super) fn status_flags(fd: BorrowedFd<'_>) -> io::Result<OFlag> {
    Ok(OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?))
}

/// Makes the description non-blocking. For descriptions that are ours alone.
pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = status_flags(fd)?;
    if !flags.contains(OFlag::O_NONBLOCK) {
        fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    }
    Ok(())
}

/// Makes more room in a pipe. A user may have used up what pipes may hold together; a smaller one works too.
#[cfg(target_os = "linux")]
pub(crate) fn enlarge(pipe: BorrowedFd<'_>) {
    // Who has made it larger has a reason.
    if fcntl(pipe, FcntlArg::F_GETPIPE_SZ).is_ok_and(|size| size < CAPACITY) {
        _ = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(CAPACITY));
    }
}

/// Such pipes grow by themselves.
#[cfg(not(target_os = "linux"))]
pub(crate) const fn enlarge(_: BorrowedFd<'_>) {}

/// Opens the pipe behind `fd` once more, so that the new description can be non-blocking while the old one, which
/// strangers share, stays as it is.
///
/// # Errors
/// EACCES for a pipe of another user, ENXIO for a write end without a reader, ENOENT without `/proc`, EBADF when the
/// descriptor does not allow this direction (opening it again must not grant what we were not given).
#[cfg(target_os = "linux")]
pub(super) fn open_again(fd: BorrowedFd<'_>, end: End) -> io::Result<OwnedFd> {
    let access = status_flags(fd)? & OFlag::O_ACCMODE;
    let wanted = match end {
        End::Read => OFlag::O_RDONLY,
        End::Write => OFlag::O_WRONLY,
    };
    if access != OFlag::O_RDWR && access != wanted {
        return Err(Errno::EBADF.into());
    }
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(open(path.as_str(), wanted | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// Whether a read that fills less than its room has emptied the source: not where the kernel keeps packets apart. (A
/// pipe can do that too, by `O_DIRECT` on its write end, and a stream socket behind bytes that descriptors came with; a
/// reader cannot see it, and no client is known to do it. What is left waits for what comes next.)
#[cfg(target_os = "linux")]
pub(super) fn short_read_drains(fd: BorrowedFd<'_>, kind: Kind) -> bool {
    use nix::sys::socket::{SockType, getsockopt, sockopt};
    kind != Kind::Socket || matches!(getsockopt(&fd, sockopt::SockType), Ok(SockType::Stream))
}

/// Appends what one `read` gives; 0 is the end.
pub(super) fn read(fd: BorrowedFd<'_>, buffer: &mut BytesMut) -> io::Result<usize> {
    fill(buffer, |room| Ok(rustix::io::read(fd, room)?.0.len()))
}

/// Appends what one `recv` gives without waiting, whatever the flags of the description.
pub(super) fn receive(fd: BorrowedFd<'_>, buffer: &mut BytesMut) -> io::Result<usize> {
    fill(buffer, |room| Ok(rustix::net::recv(fd, room, RecvFlags::DONTWAIT)?.0.0.len()))
}

/// Runs a reading system call on the spare room of `buffer`. The call returns how many bytes it has written to the start
/// of the room. Interrupted calls are repeated.
fn fill(
    buffer: &mut BytesMut,
    mut call: impl FnMut(&mut [MaybeUninit<u8>]) -> rustix::io::Result<usize>,
) -> io::Result<usize> {
    if buffer.capacity() == buffer.len() {
        buffer.reserve(ROOM);
    }
    let read = retry_on_intr(|| call(buffer.spare_capacity_mut()))?;
    // SAFETY: the kernel has initialised `read` bytes after the old length, and they lie within the capacity.
    unsafe { buffer.set_len(buffer.len() + read) };
    Ok(read)
}

/// Writes the slices with one call.
pub(super) fn write(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(retry_on_intr(|| match slices {
        // It costs the kernel less than a list of one.
        [one] => rustix::io::write(fd, one),
        slices => rustix::io::writev(fd, &slices[..slices.len().min(SLICES)]),
    })?)
}

/// Sends the slices without waiting, whatever the flags of the description, and without SIGPIPE.
#[cfg(target_os = "linux")]
pub(super) fn send(fd: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    Ok(retry_on_intr(|| match slices {
        [one] => send(fd, one, flags),
        slices => sendmsg(fd, &slices[..slices.len().min(SLICES)], &mut SendAncillaryBuffer::default(), flags),
    })?)
}

/// Asks the kernel whether the other side is gone at this moment, without waiting.
///
/// A writer of a socket that half-closed its own writing side is still there as a reader, so that `RDHUP` counts for
/// our reading end alone.
pub(super) fn hung_up(fd: BorrowedFd<'_>, end: End) -> bool {
    #[cfg(target_os = "linux")]
    let read_closed = libc::POLLRDHUP;
    #[cfg(not(target_os = "linux"))]
    let read_closed = 0;
    let events = match end {
        End::Read => read_closed,
        End::Write => 0,
    };
    let gone = events | libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
    wait(fd, events, 0) & gone != 0
}

/// Blocks a reading thread on a description that a stranger has made non-blocking.
pub(super) fn wait_readable(fd: BorrowedFd<'_>) {
    wait(fd, libc::POLLIN, -1);
}

/// Blocks a writing thread on a description that a stranger has made non-blocking.
pub(crate) fn wait_writable(fd: BorrowedFd<'_>) {
    wait(fd, libc::POLLOUT, -1);
}

/// The same for so long at most.
pub(super) fn wait_writable_for(fd: BorrowedFd<'_>, limit: Duration) {
    wait(fd, libc::POLLOUT, limit.as_millis().try_into().unwrap_or(libc::c_int::MAX));
}

/// `poll` on one descriptor; the timeout is in milliseconds, -1 is for ever. An error counts as no event.
fn wait(fd: BorrowedFd<'_>, events: libc::c_short, timeout: libc::c_int) -> libc::c_short {
    let mut entry = libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 };
    // SAFETY: the pointer is to one initialised entry that lives over the call, and the count is one.
    let ready = unsafe { libc::poll(&raw mut entry, 1, timeout) };
    if ready > 0 { entry.revents } else { 0 }
}

/// What the other side of a pipe or a socket has not read yet.
#[cfg(target_os = "linux")]
pub(super) fn unread(fd: BorrowedFd<'_>) -> io::Result<usize> {
    let request = match kind(fd)? {
        Kind::Fifo => libc::FIONREAD,
        Kind::Socket => libc::TIOCOUTQ,
        Kind::Terminal | Kind::Other => return Ok(0),
    };
    let mut bytes: libc::c_int = 0;
    // SAFETY: both requests write one int, to which the pointer is, and which lives over the call.
    Errno::result(unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut bytes) })?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// A second descriptor for the same description, numbered `at_least` or higher and closed on exec.
pub(crate) fn duplicate(fd: BorrowedFd<'_>, at_least: RawFd) -> io::Result<OwnedFd> {
    // The kernel's word for a number that the limit of open files does not let be.
    let few = |errno| if errno == Errno::EINVAL { Errno::EMFILE } else { errno };
    let number = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(at_least)).map_err(few)?;
    // SAFETY: the kernel has just made this descriptor, and nothing else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Opens `/dev/null` on each of 0, 1 and 2 that is closed, so that no later open lands there.
///
/// Rust's runtime does the same before `main`; here it holds for an embedder as well.
pub(super) fn open_missing_standard() -> io::Result<()> {
    for number in 0..=2 {
        // SAFETY: F_GETFD takes no argument and touches no memory; a closed number is an error, not a fault.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } != -1 {
            continue;
        }
        let null = open("/dev/null", OFlag::O_RDWR, Mode::empty())?;
        if null.as_raw_fd() == number {
            // It is to stay for the life of the process.
            let _ = null.into_raw_fd();
        } else {
            // SAFETY: `null` is open, and `number` was found closed: no owner loses its descriptor.
            Errno::result(unsafe { libc::dup2(null.as_raw_fd(), number) })?;
        }
    }
    Ok(())
}

/// Puts a descriptor under the event loop of the runtime we are in (tokio panics where there is none).
///
/// # Errors
/// Gives the handle back where the event loop does not take it (EPERM for files).
pub(super) fn register(handle: Handle, interest: Interest) -> Result<AsyncFd<Handle>, (Handle, io::Error)> {
    // SAFETY: a handle owns its descriptor and never changes or closes it before its own end; tokio owns the handle for
    // as long as the registration lives.
    unsafe { AsyncFd::register_with_interest(handle, interest) }.map_err(AsyncFdRegisterError::into_parts)
}

/// A descriptor in use, with the one it was opened from.
///
/// A pipe that was opened again has two descriptors, and the other side sees the end of the stream only when both are
/// closed: they live and die together.
#[derive(Debug)]
pub(super) struct Handle {
    used: OwnedFd,
    original: Option<OwnedFd>,
}

impl Handle {
    pub(super) const fn new(used: OwnedFd) -> Self {
        Self { used, original: None }
    }

    #[cfg(target_os = "linux")]
    pub(super) const fn opened_again(used: OwnedFd, original: OwnedFd) -> Self {
        Self { used, original: Some(original) }
    }

    /// The same pair under new numbers.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let original = self.original.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Self { used: self.used.try_clone()?, original })
    }

    /// The descriptor as it was given to us.
    #[cfg(target_os = "linux")]
    pub(super) fn into_original(self) -> OwnedFd {
        self.original.unwrap_or(self.used)
    }
}

impl AsRawFd for Handle {
    fn as_raw_fd(&self) -> RawFd {
        self.used.as_raw_fd()
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.used.as_fd()
    }
}
