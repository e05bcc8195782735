//! Drives one future on this thread, without a runtime.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark {
    thread: Thread,
    /// The thread's own token does not do: code inside the future may park too, and use it up.
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits for the future, for as long as it takes.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let unpark = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&unpark));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[test]
    fn a_wake_from_another_thread_is_heard() {
        let mut threads = Vec::new();
        let answer = block_on(poll_fn(|cx| {
            if threads.len() == 3 {
                return Poll::Ready(7);
            }
            let waker = cx.waker().clone();
            threads.push(thread::spawn(move || waker.wake()));
            Poll::Pending
        }));
        assert_eq!((answer, threads.len()), (7, 3));
    }

    #[test]
    fn a_wake_is_not_lost_when_the_future_uses_up_the_token_of_its_thread() {
        let mut polls = 0;
        block_on(poll_fn(|cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            thread::park();
            Poll::Pending
        }));
        assert_eq!(polls, 2);
    }
}
