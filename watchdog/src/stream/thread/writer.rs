//! A thread that writes what is queued for it.

use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::super::descriptor::{self, Kind};
use super::{STACK, lock, remember};
use crate::event_loop::End;

/// The most bytes that wait, those in the thread's hands included.
const LIMIT: usize = 256 * 1024;

/// A buffer above this is given back to the allocator once it is empty.
const KEEP: usize = 16 * 1024;

/// How often an idle thread looks whether the reader is still there, on kinds that can lose theirs.
const LOOK: Duration = Duration::from_secs(1);

/// The producer's side.
#[derive(Debug)]
pub(in super::super) struct Writer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something was queued, or the producer is gone.
    queued: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Vec<u8>,
    /// Bytes in the thread's hands.
    writing: usize,
    /// The first failure, for good: its errno, where there was one.
    failed: Option<Option<i32>>,
    abandoned: bool,
    waker: Option<Waker>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub(in super::super) fn start(fd: OwnedFd, kind: Kind) -> io::Result<Self> {
        let shared = Arc::new(Shared { state: Mutex::new(State::default()), queued: Condvar::new() });
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("stream-write".into())
            .stack_size(STACK)
            .spawn(move || theirs.run(&std::fs::File::from(fd), kind))?;
        Ok(Self { shared })
    }

    #[inline(never)]
    pub(in super::super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.shared.state);
        state.result()?;
        let mut room = LIMIT.saturating_sub(state.queue.len() + state.writing);
        if room == 0 {
            remember(&mut state.waker, cx);
            return Poll::Pending;
        }
        let before = state.queue.len();
        for slice in slices {
            let part = &slice[..slice.len().min(room)];
            state.queue.extend_from_slice(part);
            room -= part.len();
        }
        let accepted = state.queue.len() - before;
        if before == 0 {
            self.shared.queued.notify_one();
        }
        Poll::Ready(Ok(accepted))
    }

    pub(in super::super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.shared.state);
        state.result()?;
        if state.queue.is_empty() && state.writing == 0 {
            return Poll::Ready(Ok(()));
        }
        remember(&mut state.waker, cx);
        Poll::Pending
    }

    pub(in super::super) fn poll_hangup(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = lock(&self.shared.state);
        if state.failed.is_some() {
            return Poll::Ready(());
        }
        remember(&mut state.waker, cx);
        Poll::Pending
    }
}

impl Drop for Writer {
    /// The thread still writes what is queued, and then closes the descriptor.
    fn drop(&mut self) {
        lock(&self.shared.state).abandoned = true;
        self.shared.queued.notify_one();
    }
}

impl State {
    fn result(&self) -> io::Result<()> {
        match self.failed {
            None => Ok(()),
            Some(Some(code)) => Err(io::Error::from_raw_os_error(code)),
            Some(None) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Shared {
    fn run(&self, file: &std::fs::File, kind: Kind) {
        let mut batch = Vec::new();
        loop {
            match self.next(&mut batch, file, kind) {
                Next::Write => {}
                Next::Gone => return self.fail(Some(nix::libc::EPIPE)),
                Next::Abandoned => return,
            }
            if let Err(error) = write_all(file, &batch) {
                return self.fail(error.raw_os_error());
            }
            batch.clear();
            batch.shrink_to(KEEP);
            let mut state = lock(&self.state);
            state.writing = 0;
            wake(state);
        }
    }

    /// Waits for bytes and takes them all.
    fn next(&self, batch: &mut Vec<u8>, file: &std::fs::File, kind: Kind) -> Next {
        let mut state = lock(&self.state);
        loop {
            if !state.queue.is_empty() {
                std::mem::swap(batch, &mut state.queue);
                state.writing = batch.len();
                return Next::Write;
            }
            if state.abandoned {
                return Next::Abandoned;
            }
            if kind == Kind::Other {
                state = self.queued.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (woken, timeout) = self.queued.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() && state.queue.is_empty() && descriptor::hung_up(file.as_fd(), End::Write) {
                return Next::Gone;
            }
        }
    }

    fn fail(&self, code: Option<i32>) {
        let mut state = lock(&self.state);
        state.failed = Some(code);
        state.queue = Vec::new();
        state.writing = 0;
        wake(state);
    }
}

/// What the thread does next.
enum Next {
    Write,
    /// The reader went away while nothing was to be written.
    Gone,
    Abandoned,
}

/// Wakes the producer without the lock held.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

fn write_all(mut file: &std::fs::File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                descriptor::wait_writable(file.as_fd());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
