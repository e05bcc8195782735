//! The bounded queue in front of stderr.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::libc;

use crate::stream::wait_writable;

/// The most bytes that wait, those in the thread's hands included.
pub(super) const LIMIT: usize = 256 * 1024;

/// Room for the line about dropped ones.
const SUMMARY: usize = 256;

/// A buffer above this is given back to the allocator once it is empty.
const KEEP: usize = 16 * 1024;

/// The thread formats nothing and calls nothing deep.
const STACK: usize = 64 * 1024;

/// Lines on their way to a descriptor. Dropping it lets the thread write what is there and end.
#[derive(Debug)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

/// Makes the line that says how many were dropped.
type Summary = Box<dyn Fn(u64) -> String + Send + Sync>;

struct Shared {
    state: Mutex<State>,
    /// There is something to do for the thread.
    filled: Condvar,
    /// The thread has done all there was.
    drained: Condvar,
    summary: Summary,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// Bytes in the thread's hands.
    writing: usize,
    /// The thread waits to be woken.
    waiting: bool,
    /// Lines since the last that was taken.
    dropped: u64,
    /// Nobody will ever read.
    dead: bool,
    closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Queue {
    /// Starts the thread that writes to `fd`. `summary` makes the line for a number of dropped ones.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub(super) fn start(fd: OwnedFd, summary: impl Fn(u64) -> String + Send + Sync + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            filled: Condvar::new(),
            drained: Condvar::new(),
            summary: Box::new(summary),
        });
        let theirs = Arc::clone(&shared);
        let file = File::from(fd);
        std::thread::Builder::new().name("log".into()).stack_size(STACK).spawn(move || theirs.run(&file))?;
        Ok(Self { shared })
    }

    /// Takes a line given in parts, without its end, or counts it as dropped. Does not wait for the writing.
    pub(super) fn push(&self, parts: &[&[u8]]) {
        let mut state = self.shared.lock();
        if state.dead {
            return;
        }
        let length = parts.iter().map(|part| part.len()).sum::<usize>() + 1;
        if !state.has_room(length) {
            state.dropped += 1;
        } else {
            self.shared.settle(&mut state);
            for part in parts {
                state.pending.extend_from_slice(part);
            }
            state.pending.push(b'\n');
        }
        // A thread that does not wait looks again by itself; waking it would cost a system call for each line of a flood.
        let wake = std::mem::take(&mut state.waiting);
        drop(state);
        if wake {
            self.shared.filled.notify_one();
        }
    }

    /// Whether a line of at least so many bytes is worth making; counts it as dropped where it is not.
    pub(super) fn admits(&self, length: usize) -> bool {
        let mut state = self.shared.lock();
        let admits = !state.dead && state.has_room(length);
        // A queue without room has lines for its thread to write, so that it need not be woken.
        state.dropped += u64::from(!admits && !state.dead);
        admits
    }

    /// Waits, at most for `limit`, until all is written or is not to be written any more.
    pub(super) fn flush(&self, limit: Duration) -> bool {
        let state = self.shared.lock();
        let waited = self.shared.drained.wait_timeout_while(state, limit, |state| !state.is_idle());
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_idle()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.filled.notify_one();
    }
}

impl State {
    const fn has_room(&self, length: usize) -> bool {
        let summary = if self.dropped > 0 { SUMMARY } else { 0 };
        self.pending.len() + self.writing + summary + length <= LIMIT
    }

    const fn is_idle(&self) -> bool {
        self.dead || (self.pending.is_empty() && self.writing == 0 && self.dropped == 0)
    }
}

impl Shared {
    /// The state is plain data that is valid between any two statements, so that a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the line about dropped ones, where there are any.
    fn settle(&self, state: &mut State) {
        if state.dropped > 0 {
            let line = (self.summary)(std::mem::take(&mut state.dropped));
            state.pending.extend_from_slice(line.as_bytes());
            state.pending.push(b'\n');
        }
    }

    fn run(&self, file: &File) {
        let mut batch = Vec::new();
        while self.next(&mut batch) {
            let gone = matches!(write_all(file, &batch), Err(error) if is_final(&error));
            batch.clear();
            batch.shrink_to(KEEP);
            let mut state = self.lock();
            state.writing = 0;
            if gone {
                *state = State { dead: true, ..State::default() };
            }
            if state.is_idle() {
                self.drained.notify_all();
            }
            if gone {
                return;
            }
        }
    }

    /// Waits for lines and takes them all; false at the end.
    fn next(&self, batch: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.pending.is_empty() && state.dropped == 0 && !state.closed {
            state.waiting = true;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting = false;
        if state.pending.is_empty() {
            self.settle(&mut state);
        }
        if state.pending.is_empty() {
            return false;
        }
        std::mem::swap(batch, &mut state.pending);
        state.writing = batch.len();
        true
    }
}

/// Nobody will ever read: the reader is gone, or there is no descriptor. A full disk or a lost terminal may come back.
fn is_final(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPIPE | libc::EBADF | libc::ECONNRESET))
}

/// What cannot be written is lost. Waits where a stranger made the description non-blocking.
fn write_all(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait_writable(file.as_fd()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
