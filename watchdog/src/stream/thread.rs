//! Descriptors that cannot be waited for: a thread does the blocking calls.
//!
//! The threads are never joined. One that sits in a `read` or `write` ends with the process and does not hold up its
//! exit, which is why this is not `spawn_blocking` (processes.md, C22).
mod reader;
mod writer;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

pub(super) use reader::Reader;
pub(super) use writer::Writer;

/// The stack of a thread that copies bytes: the calls below it are shallow, and the memory of an idle watchdog counts.
const STACK: usize = 64 * 1024;

/// The state is plain data that is valid between any two statements, so that a panic elsewhere does not spoil it.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the waker of the task that polls.
fn remember(slot: &mut Option<Waker>, cx: &Context<'_>) {
    match slot {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *slot = Some(cx.waker().clone()),
    }
}
