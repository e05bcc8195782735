//! The runtime of a process, and how its one thread is shared: a task that is polled does a bounded piece of work, whatever a
//! stranger writes, and lets the others have their turn. Beside it a sidecar has a thread for its
//! data path where the system is Linux ([`DataPath`]).

mod data_path;
#[cfg(target_os = "linux")]
pub(crate) mod reactor;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Context;

pub(crate) use data_path::DataPath;
use tokio::runtime::{Builder, Runtime};

/// Which end of a stream a descriptor is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// We read from it.
    Read,
    /// We write to it.
    Write,
}

/// What watches a descriptor.
#[derive(Debug, Clone)]
pub enum Watcher {
    /// The runtime that the caller is in.
    Runtime,
    /// The thread of a data path.
    #[cfg(target_os = "linux")]
    Reactor(reactor::Registrar),
}

impl Watcher {
    /// How often the thread was woken by something else than its descriptors; `None` where that is not known.
    fn alarms(&self) -> Option<u64> {
        match self {
            Self::Runtime => None,
            #[cfg(target_os = "linux")]
            Self::Reactor(registrar) => Some(registrar.alarms()),
        }
    }
}

/// Something that has had no news, and will wake the task when it has: until then it need not be asked.
#[derive(Debug, Default)]
pub(crate) struct Quiet {
    since: Option<u64>,
}

impl Quiet {
    /// It was asked, and had nothing to say.
    pub(crate) fn begin(&mut self, watcher: &Watcher) {
        self.since = watcher.alarms();
    }

    /// Whether nothing can have woken the task since.
    pub(crate) fn lasts(&self, watcher: &Watcher) -> bool {
        self.since.is_some() && self.since == watcher.alarms()
    }
}

/// Polls of tasks between two looks at the system for what is ready and which timers ring. A poll may take a millisecond.
const BETWEEN_LOOKS: u32 = 16;

/// The runtime of a process: one thread, with I/O and time.
///
/// # Errors
/// Where the system has no descriptors for it.
pub(crate) fn start() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().event_interval(BETWEEN_LOOKS).build()
}

/// Has the task polled again, after the others and after a look at I/O and timers. For one that has more to do and has done
/// its part: where it woke itself, it would be polled again and again before the runtime looks.
pub(crate) fn yield_turn(cx: &mut Context<'_>) {
    // The first poll hands the waker to the runtime, and is never ready.
    _ = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn timers_ring_while_a_task_has_ever_more_to_do() {
        let busy = || {
            poll_fn(|cx| {
                std::thread::sleep(Duration::from_micros(100));
                yield_turn(cx);
                Poll::<()>::Pending
            })
        };
        let begin = Instant::now();
        start().unwrap().block_on(async {
            let other = tokio::spawn(busy());
            tokio::select! {
                () = busy() => {}
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
            other.abort();
        });
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}
