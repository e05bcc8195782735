//! Real descriptors of every kind; each test has a deadline instead of hanging.

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use super::{Sink, Source};
use crate::event_loop::Watcher;

/// Makes two tests of each function: under the runtime, and under a reactor beside one.
macro_rules! under_both {
    ($($name:ident),* $(,)?) => {
        mod runtime {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&crate::event_loop::Watcher::Runtime).await;
            })*
        }

        mod reactor {
            $(#[tokio::test]
            async fn $name() {
                let reactor = crate::event_loop::reactor::Reactor::new().expect("a reactor");
                let watcher = crate::event_loop::Watcher::Reactor(reactor.registrar());
                let ended = tokio::task::spawn_blocking(move || reactor.block_on(super::$name(&watcher)));
                ended.await.expect("no panic");
            })*
        }
    };
}

mod bulk;
mod sink;
mod source;
mod stdio;

const DEADLINE: Duration = Duration::from_secs(20);

/// Runs `future`, and fails instead of hanging.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it hangs")
}

/// A blocking pipe, as a parent process makes it: (read end, write end).
fn pipe() -> (OwnedFd, OwnedFd) {
    nix::unistd::pipe2(OFlag::O_CLOEXEC).expect("a pipe")
}

fn set_pipe_size(fd: &impl AsFd, bytes: i32) {
    fcntl(fd, FcntlArg::F_SETPIPE_SZ(bytes)).expect("a smaller pipe");
}

/// A blocking pair of stream sockets, as Node makes it: (ours, the client's).
fn sockets() -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC).expect("a socket pair")
}

/// A terminal that passes bytes as they are: (our side, the emulator's).
fn terminal() -> (OwnedFd, OwnedFd) {
    let pair = nix::pty::openpty(None, None).expect("a pseudo-terminal");
    let mut raw = tcgetattr(&pair.slave).expect("its settings");
    cfmakeraw(&mut raw);
    tcsetattr(&pair.slave, SetArg::TCSANOW, &raw).expect("raw mode");
    (pair.slave, pair.master)
}

/// The same with the writing end ours: (the emulator's, ours).
fn terminal_out() -> (OwnedFd, OwnedFd) {
    let (ours, theirs) = terminal();
    (theirs, ours)
}

fn null() -> OwnedFd {
    File::options().read(true).write(true).open("/dev/null").expect("/dev/null").into()
}

fn flags(fd: &impl AsFd) -> OFlag {
    OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).expect("flags"))
}

async fn read(source: &mut Source) -> io::Result<Vec<u8>> {
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    poll_fn(|cx| source.poll_read(cx, &mut buffer)).await?;
    Ok(buffer.to_vec())
}

async fn read_to_end(source: &mut Source) -> io::Result<Vec<u8>> {
    let mut buffer = BytesMut::with_capacity(64 * 1024);
    loop {
        buffer.reserve(64 * 1024);
        if poll_fn(|cx| source.poll_read(cx, &mut buffer)).await? == 0 {
            return Ok(buffer.to_vec());
        }
    }
}

async fn write(sink: &mut Sink, bytes: &[u8]) -> io::Result<usize> {
    poll_fn(|cx| sink.poll_write(cx, &[IoSlice::new(bytes)])).await
}

async fn write_all(sink: &mut Sink, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = write(sink, bytes).await?;
        bytes = &bytes[written..];
    }
    poll_fn(|cx| sink.poll_flush(cx)).await
}

/// Checks that `poll` is pending now and stays so while the event loop has its turns, and that it is not polled over and
/// over for nothing.
async fn stays_pending(mut poll: impl FnMut(&mut Context<'_>) -> bool) {
    let mut end = pin!(tokio::time::sleep(Duration::from_millis(20)));
    let mut polls = 0;
    poll_fn(|cx| {
        polls += 1;
        assert!(!poll(cx), "ready at poll {polls}");
        end.as_mut().poll(cx)
    })
    .await;
    assert!(polls <= 5, "{polls} polls without a reason: it spins");
}

/// Bytes in which a lost, doubled or displaced block shows.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).expect("one byte")).collect()
}
