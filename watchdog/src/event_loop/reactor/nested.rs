//! A reactor inside a runtime: for tests in paused time, in which nothing may wait for itself.

use std::future::poll_fn;
use std::os::fd::AsFd;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::{AT_ONCE, Alarm, Reactor};

/// Runs a future as [`Reactor::block_on`] does, as part of the task that the caller is, in a runtime of one thread.
pub(crate) async fn run<F: Future>(reactor: Reactor, future: F) -> F::Output {
    let epoll = reactor.registrar.0.epoll.as_fd().try_clone_to_owned().expect("a descriptor");
    #[expect(
        deprecated,
        reason = "its successor asks for a promise; a descriptor that is owned here is closed by nobody else"
    )]
    let events = AsyncFd::with_interest(epoll, Interest::READABLE).expect("an epoll can be watched");
    _ = reactor.alarm.thread.set(std::thread::current().id());
    let mut future = pin!(future);
    poll_fn(|cx| {
        let waker = Waker::from(Arc::new(Ringing { alarm: reactor.alarm.clone(), task: cx.waker().clone() }));
        let mut inner = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = reactor.poll(&mut inner, future.as_mut()) {
                return Poll::Ready(output);
            }
            while !reactor.look(Some(&AT_ONCE)) {
                match events.poll_read_ready(cx) {
                    Poll::Ready(ready) => ready.expect("the runtime is there").clear_ready(),
                    Poll::Pending => return Poll::Pending,
                }
            }
        }
    })
    .await
}

/// Rings the alarm, and has the task polled.
struct Ringing {
    alarm: Arc<Alarm>,
    task: Waker,
}

impl Wake for Ringing {
    fn wake(self: Arc<Self>) {
        self.alarm.wake_by_ref();
        self.task.wake_by_ref();
    }
}
