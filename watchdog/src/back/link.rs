//! The engine's end of the control socket. Nothing in here ever waits for the guard.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as BlockingStream;
use std::task::{Context, Poll, ready};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, Shutdown, send, sendmsg, shutdown};
use tokio::net::UnixStream;

use super::pipes::ChildEnds;
use crate::guard::message::{ChildEvent, Frames, Order};

/// Room for one read; a report is a few bytes.
const CHUNK: usize = 1024;

/// The socket, what waits to be written to it, and what has arrived on it.
#[derive(Debug)]
pub(super) struct Link {
    socket: UnixStream,
    outgoing: Vec<u8>,
    frames: Frames,
}

/// Makes the two ends of a control socket: the engine's, and the one that becomes the guard's descriptor 0.
pub(super) fn pair() -> io::Result<(BlockingStream, OwnedFd)> {
    let (ours, guards) = BlockingStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, guards.into()))
}

impl Link {
    /// Sends the launch's frame and the child's descriptors, which go with its first byte. What the socket does not take at
    /// once (beyond some 200 KiB) is sent by [`poll_event`](Self::poll_event), which also tells of a guard that has gone already.
    pub(super) fn open(socket: BlockingStream, launch: Vec<u8>, ends: &ChildEnds) -> io::Result<Self> {
        let descriptors = [&ends.stdin, &ends.stdout, &ends.stderr].map(AsRawFd::as_raw_fd);
        let rights = [ControlMessage::ScmRights(&descriptors)];
        let bytes = [IoSlice::new(&launch)];
        let sent = match sendmsg::<()>(socket.as_raw_fd(), &bytes, &rights, MsgFlags::MSG_DONTWAIT, None) {
            Err(Errno::EPIPE | Errno::ECONNRESET) => launch.len(),
            sent => sent?,
        };
        let outgoing = launch.get(sent..).unwrap_or_default().to_vec();
        Ok(Self { socket: UnixStream::from_std(socket)?, outgoing, frames: Frames::default() })
    }

    /// Sends an order, at once if it can be.
    pub(super) fn send(&mut self, order: &Order) {
        // Only a launch can be too long for a frame.
        self.outgoing.extend(order.to_frame().unwrap_or_default());
        // Not through the runtime, which tries only once it has heard that the socket is writable: whoever gives an order may
        // never poll again.
        let sent = send(self.socket.as_raw_fd(), &self.outgoing, MsgFlags::MSG_DONTWAIT).unwrap_or(0);
        self.outgoing.drain(..sent);
    }

    /// Ends the talk: nothing that was sent is acted upon by a guard that has not read it yet.
    pub(super) fn close(&mut self) {
        self.outgoing.clear();
        // A socket that cannot be shut down has no other end.
        _ = shutdown(self.socket.as_raw_fd(), Shutdown::Both);
    }

    /// The next report; `None` when the guard has gone, or says what no guard says.
    pub(super) fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<ChildEvent>> {
        self.poll_flush(cx);
        loop {
            match self.frames.next() {
                Ok(Some(body)) => return Poll::Ready(ChildEvent::from_body(&body).ok()),
                Ok(None) => {}
                Err(_) => return Poll::Ready(None),
            }
            if ready!(self.socket.poll_read_ready(cx)).is_err() {
                return Poll::Ready(None);
            }
            let mut bytes = [0; CHUNK];
            match self.socket.try_read(&mut bytes) {
                Ok(0) => return Poll::Ready(None),
                Ok(length) => self.frames.push(bytes.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(None),
            }
        }
    }

    /// Writes what is left over. A guard that cannot be written to has gone, which the reading side says.
    fn poll_flush(&mut self, cx: &mut Context<'_>) {
        while !self.outgoing.is_empty() && matches!(self.socket.poll_write_ready(cx), Poll::Ready(Ok(()))) {
            match self.socket.try_write(&self.outgoing) {
                Ok(sent) => drop(self.outgoing.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.outgoing.clear(),
            }
        }
    }
}
