//! The guard's end of the control socket.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, send};

use super::message::{ChildEvent, Frames, Launch, Order};

/// The descriptors of a child: its ends of the three pipes.
pub(super) struct Stdio {
    /// What it reads.
    pub stdin: OwnedFd,
    /// What it writes.
    pub stdout: OwnedFd,
    /// Where it complains.
    pub stderr: OwnedFd,
}

/// The socket, and what has arrived on it.
pub(super) struct Control {
    socket: OwnedFd,
    frames: Frames,
    descriptors: Vec<OwnedFd>,
    /// The engine has closed its end, or says what no engine says.
    gone: bool,
}

/// Room for one read of the launch: a usual one in one piece.
const LAUNCH_CHUNK: usize = 64 * 1024;

/// Room for one read of a later order.
const ORDER_CHUNK: usize = 256;

#[cfg(target_os = "linux")]
const CLOSE_ON_EXEC: MsgFlags = MsgFlags::MSG_CMSG_CLOEXEC;
/// Received descriptors are then closed by the child before `exec`, as everything above 2 is.
#[cfg(not(target_os = "linux"))]
const CLOSE_ON_EXEC: MsgFlags = MsgFlags::empty();

impl Control {
    /// Takes over the socket.
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, frames: Frames::default(), descriptors: Vec::new(), gone: false }
    }

    /// Whether the engine has gone. Nothing more is to be read then.
    pub(super) const fn is_gone(&self) -> bool {
        self.gone
    }

    /// For waiting until something arrives.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits for the launch. `None` is an engine that went away first, or right after it: nothing is started for nobody.
    pub(super) fn launch(&mut self) -> Option<(Launch, Stdio)> {
        loop {
            match self.next() {
                Some(Order::Launch(launch)) => {
                    let stdio = self.stdio()?;
                    // The end may be behind orders that came before it.
                    while self.receive(ORDER_CHUNK, MsgFlags::MSG_DONTWAIT) {}
                    return (!self.gone).then_some((launch, stdio));
                }
                Some(Order::Stop { .. } | Order::Kill | Order::Signal(_)) => return None,
                None if self.gone => return None,
                None => _ = self.receive(LAUNCH_CHUNK, MsgFlags::empty()),
            }
        }
    }

    fn stdio(&mut self) -> Option<Stdio> {
        let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(std::mem::take(&mut self.descriptors)).ok()?;
        Some(Stdio { stdin, stdout, stderr })
    }

    /// The next order that has arrived, without waiting.
    pub(super) fn poll(&mut self) -> Option<Order> {
        let order = self.next();
        if order.is_some() || self.gone {
            return order;
        }
        self.receive(ORDER_CHUNK, MsgFlags::MSG_DONTWAIT);
        self.next()
    }

    fn next(&mut self) -> Option<Order> {
        let order = self.frames.next().and_then(|body| body.map(|body| Order::from_body(&body)).transpose());
        order.unwrap_or_else(|_| {
            self.gone = true;
            None
        })
    }

    /// Reads once. Gives whether there was something. End of file and every error but "nothing there" mean that the engine has gone.
    fn receive(&mut self, chunk: usize, flags: MsgFlags) -> bool {
        let mut bytes = vec![0; chunk];
        let length = match receive_into(&self.socket, &mut bytes, &mut self.descriptors, flags) {
            Err(Errno::EAGAIN | Errno::EINTR) => return false,
            received => received.unwrap_or(0),
        };
        self.frames.push(bytes.get(..length).unwrap_or_default());
        self.gone = length == 0;
        !self.gone
    }

    /// Tells the engine. One that has gone is noticed by the next read, so a failure is nothing to act upon.
    pub(super) fn send(&self, event: &ChildEvent) {
        let frame = event.to_frame().unwrap_or_default();
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            match send(self.socket.as_raw_fd(), rest, MsgFlags::empty()) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn receive_into(
    socket: &OwnedFd,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
    flags: MsgFlags,
) -> nix::Result<usize> {
    let mut ancillary = cmsg_space!([RawFd; 3]);
    let mut slices = [IoSliceMut::new(bytes)];
    let flags = flags | CLOSE_ON_EXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut ancillary), flags)?;
    for received in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = received {
            // SAFETY: the kernel has just made these descriptors for this process, and nobody else knows them.
            descriptors.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Ok(message.bytes)
}

/// Takes descriptor 0 as the control socket and leaves [`null`](crate::os::null) in its place. An error is a process that no engine made.
pub(super) fn take_from_stdin() -> io::Result<Control> {
    nix::sys::socket::getsockopt(&io::stdin(), nix::sys::socket::sockopt::SockType)?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let null = crate::os::null()?;
    nix::unistd::dup2_stdin(&null)?;
    nix::unistd::dup2_stdout(&null)?;
    Ok(Control::new(socket))
}
