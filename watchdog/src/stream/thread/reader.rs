//! A thread that reads, one chunk ahead of its consumer.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;

use super::super::descriptor::{self, Kind};
use super::{STACK, lock, remember};
use crate::event_loop::End;

/// One read, and so the most that is read ahead.
const CHUNK: usize = 64 * 1024;

/// How often the thread looks for a hangup while its chunk is not wanted.
const LOOK: Duration = Duration::from_millis(200);

/// The consumer's side.
#[derive(Debug)]
pub(in super::super) struct Reader {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The consumer has emptied the chunk, or is gone.
    emptied: Condvar,
}

#[derive(Debug, Default)]
struct State {
    chunk: Vec<u8>,
    /// How much of the chunk the consumer has.
    taken: usize,
    /// What follows the chunk.
    end: Option<Ending>,
    hung_up: bool,
    abandoned: bool,
    waker: Option<Waker>,
}

/// How a source ended.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Eof,
    /// The errno, where there was one.
    Error(Option<i32>),
}

impl Reader {
    /// Starts the thread.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub(in super::super) fn start(fd: OwnedFd, kind: Kind) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::new(State::default()), emptied: Condvar::new() });
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("stream-read".into())
            .stack_size(STACK)
            .spawn(move || theirs.run(&std::fs::File::from(fd), kind))?;
        Ok(Self { shared })
    }

    #[inline(never)]
    pub(in super::super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        match self.take(buffer, Some(cx)) {
            Ok(Some(read)) => Poll::Ready(Ok(read)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    pub(in super::super) fn try_read_now(&mut self, buffer: &mut BytesMut) -> io::Result<Option<usize>> {
        self.take(buffer, None)
    }

    pub(in super::super) fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.shared.state);
        if state.hung_up || state.end.is_some() {
            return Poll::Ready(());
        }
        remember(&mut state.waker, cx);
        Poll::Pending
    }

    /// Moves what is there into `buffer`; without it, leaves the waker of `cx`.
    fn take(&mut self, buffer: &mut BytesMut, cx: Option<&mut Context<'_>>) -> io::Result<Option<usize>> {
        let mut state = lock(&self.shared.state);
        let left = state.chunk.len() - state.taken;
        if left > 0 {
            if buffer.capacity() == buffer.len() {
                buffer.reserve(left);
            }
            let moved = left.min(buffer.capacity() - buffer.len());
            buffer.extend_from_slice(&state.chunk[state.taken..][..moved]);
            state.taken += moved;
            if moved == left {
                self.shared.emptied.notify_one();
            }
            return Ok(Some(moved));
        }
        match state.end {
            Some(Ending::Eof) => Ok(Some(0)),
            Some(Ending::Error(code)) => {
                Err(code.map_or_else(|| io::ErrorKind::Other.into(), io::Error::from_raw_os_error))
            }
            None => {
                if let Some(cx) = cx {
                    remember(&mut state.waker, cx);
                }
                Ok(None)
            }
        }
    }
}

impl Drop for Reader {
    /// The thread ends, and the descriptor is closed, after the read that it is in.
    fn drop(&mut self) {
        lock(&self.shared.state).abandoned = true;
        self.shared.emptied.notify_one();
    }
}

impl Shared {
    fn run(&self, file: &std::fs::File, kind: Kind) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let (read, end) = match read_once(file, &mut chunk, kind) {
                Ok(0) => (0, Some(Ending::Eof)),
                Ok(read) => (read, None),
                Err(error) => (0, Some(Ending::Error(error.raw_os_error()))),
            };
            chunk.truncate(read);
            let mut state = lock(&self.state);
            state.chunk = chunk;
            state.taken = 0;
            state.end = end;
            wake(state);
            if end.is_some() {
                return;
            }
            match self.wait_emptied(file) {
                Some(emptied) => chunk = emptied,
                None => return,
            }
            chunk.resize(CHUNK, 0);
        }
    }

    /// Waits until the chunk was taken, and gives it back; `None` when the consumer is gone. Watches for a hangup
    /// meanwhile, since only a read would show it otherwise.
    fn wait_emptied(&self, file: &std::fs::File) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            if state.abandoned {
                return None;
            }
            if state.taken == state.chunk.len() {
                state.taken = 0;
                return Some(std::mem::take(&mut state.chunk));
            }
            if state.hung_up {
                state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, timeout) = self.emptied.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && descriptor::hung_up(file.as_fd(), End::Read) {
                state.hung_up = true;
                wake(state);
                state = lock(&self.state);
            }
        }
    }
}

/// Wakes the consumer without the lock held.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn read_once(mut file: &std::fs::File, chunk: &mut [u8], kind: Kind) -> io::Result<usize> {
    loop {
        match file.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => descriptor::wait_readable(file.as_fd()),
            // A terminal whose other side is gone says EIO (pty(7)); so does one that we, in the background, must not read.
            Err(error) if kind == Kind::Terminal && error.raw_os_error() == Some(nix::libc::EIO) => return Ok(0),
            done => return done,
        }
    }
}
