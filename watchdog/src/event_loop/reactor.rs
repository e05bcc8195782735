//! A thread for one future and the few descriptors that it moves bytes between.
//!
//! A runtime that serves many tasks takes more for each message than the message does: it wakes tasks by way of queues, looks
//! at its timers, and keeps wakers for each descriptor. Here every event is for the one future, so that it is a bit that is
//! set, and the future is polled. Timers, channels and all other descriptors stay with the runtime, whose thread wakes this
//! one.

use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Token};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Events of one look at the system: more than a data path has descriptors.
const EVENTS: usize = 16;
/// The alarm's; descriptors are counted from 0.
const ALARM: Token = Token(usize::MAX);

/// A transfer may be tried.
const READY: u8 = 1;
/// The other side was seen to have closed.
const CLOSED: u8 = 2;

/// Which way bytes go through a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are read from it.
    In,
    /// They are written to it.
    Out,
}

/// The thread's part: what waits.
#[derive(Debug)]
pub(crate) struct Reactor {
    poll: mio::Poll,
    registrar: Registrar,
    alarm: Arc<Alarm>,
}

/// Everybody else's part: where descriptors are registered.
#[derive(Debug, Clone)]
pub struct Registrar(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    registry: mio::Registry,
    /// By token.
    flags: Mutex<Vec<Option<Arc<AtomicU8>>>>,
    /// How often the alarm was heard.
    alarms: AtomicU64,
}

/// A descriptor that is watched. To be dropped before it is closed.
#[derive(Debug)]
pub(crate) struct Registration {
    shared: Arc<Shared>,
    fd: RawFd,
    token: Token,
    flags: Arc<AtomicU8>,
    way: Way,
    /// Whether it is watched for room to write.
    wants_room: bool,
}

impl Reactor {
    /// A reactor that watches nothing yet.
    ///
    /// # Errors
    /// Where the system has no descriptors for it.
    pub(crate) fn new() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let alarm = Arc::new(Alarm {
            rung: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            bell: mio::Waker::new(poll.registry(), ALARM)?,
        });
        let registry = poll.registry().try_clone()?;
        let registrar = Registrar(Arc::new(Shared { registry, flags: Mutex::default(), alarms: AtomicU64::new(0) }));
        Ok(Self { poll, registrar, alarm })
    }

    /// Where descriptors are registered.
    pub(crate) fn registrar(&self) -> Registrar {
        self.registrar.clone()
    }

    /// Runs a future on a thread of its own, within the runtime that the caller is in. What comes of it, or of its panic, is
    /// received.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub(crate) fn spawn<F>(self, name: &str, future: F) -> io::Result<oneshot::Receiver<thread::Result<F::Output>>>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (done, outcome) = oneshot::channel();
        let runtime = Handle::current();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _runtime = runtime.enter();
            let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.block_on(future)));
            // Nobody hears it where the runtime has ended.
            drop(done.send(end));
        })?;
        Ok(outcome)
    }

    /// Runs a future to its end.
    pub(crate) fn block_on<F: Future>(mut self, future: F) -> F::Output {
        let waker = Waker::from(self.alarm.clone());
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        let mut events = Events::with_capacity(EVENTS);
        loop {
            // What rings during the poll may be about what the poll has passed already.
            if self.alarm.rung.swap(false, Ordering::SeqCst) {
                self.registrar.0.alarms.fetch_add(1, Ordering::Relaxed);
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            while !self.wait(&mut events) {}
        }
    }

    /// Waits for an event or the alarm, or looks only once where that has rung. Whether there is reason to poll.
    fn wait(&mut self, events: &mut Events) -> bool {
        let timeout = self.alarm.wait().then_some(Duration::ZERO);
        let waited = self.poll.poll(events, timeout);
        let rung = self.alarm.stop_waiting();
        if let Err(error) = waited {
            // A signal. Whatever else it were, the future would find by its own calls what is wrong.
            return rung || error.kind() != io::ErrorKind::Interrupted;
        }
        self.registrar.0.note(events) || rung
    }
}

impl Registrar {
    /// How often the thread was woken by something else than its descriptors. It changes between polls alone.
    pub(super) fn alarms(&self) -> u64 {
        self.0.alarms.load(Ordering::Relaxed)
    }

    /// Watches a descriptor whose transfers do not block.
    ///
    /// # Errors
    /// Where the system cannot watch it (EPERM for files).
    pub(crate) fn register(&self, fd: &impl AsRawFd, way: Way) -> io::Result<Registration> {
        let shared = self.0.clone();
        let (fd, flags) = (fd.as_raw_fd(), Arc::new(AtomicU8::new(READY)));
        let token = shared.take_place(flags.clone());
        let registered = shared.registry.register(&mut SourceFd(&fd), token, interest(way, false));
        let registration = Registration { shared, fd, token, flags, way, wants_room: false };
        registered.map(|()| registration)
    }
}

impl Shared {
    fn places(&self) -> std::sync::MutexGuard<'_, Vec<Option<Arc<AtomicU8>>>> {
        // A list of pointers is whole between any two statements.
        self.flags.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_place(&self, flags: Arc<AtomicU8>) -> Token {
        let mut places = self.places();
        let at = places.iter().position(Option::is_none).unwrap_or_else(|| {
            places.push(None);
            places.len() - 1
        });
        places[at] = Some(flags);
        Token(at)
    }

    /// Sets the bits of what is ready. Whether there was any.
    fn note(&self, events: &Events) -> bool {
        let places = self.places();
        let mut some = false;
        for event in events {
            let Some(flags) = places.get(event.token().0).and_then(Option::as_ref) else { continue };
            let closed = event.is_read_closed() || event.is_write_closed() || event.is_error();
            let bits = if closed { READY | CLOSED } else { READY };
            flags.fetch_or(bits, Ordering::Relaxed);
            some = true;
        }
        some
    }
}

impl Registration {
    /// Whether a transfer may do something.
    pub(crate) fn is_ready(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & READY != 0
    }

    /// A transfer has had to wait. What was seen to have closed is open again then.
    pub(crate) fn blocked(&mut self) -> io::Result<()> {
        self.clear(READY | CLOSED);
        if self.way == Way::Out { self.want_room(true) } else { Ok(()) }
    }

    /// A transfer has done less than it was to do: the next one has to wait for an event, unless the end has been told of, of
    /// which no other event will.
    pub(crate) fn exhausted(&mut self) -> io::Result<()> {
        if self.is_closed() { Ok(()) } else { self.blocked() }
    }

    /// A transfer has done all that it was to do.
    pub(crate) fn eased(&mut self) -> io::Result<()> {
        if self.wants_room { self.want_room(false) } else { Ok(()) }
    }

    /// Whether the other side was seen to have closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// It has been opened again. The next time that it closes is another event.
    pub(crate) fn is_open_again(&self) {
        self.clear(CLOSED);
    }

    fn clear(&self, bits: u8) {
        self.flags.fetch_and(!bits, Ordering::Relaxed);
    }

    /// Events for room come only while they are waited for: a socket would tell of each message that its other side reads.
    /// The system tells at once where there is room by now.
    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        self.wants_room = wanted;
        self.shared.registry.reregister(&mut SourceFd(&self.fd), self.token, interest(self.way, wanted))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // It fails where registering has failed.
        _ = self.shared.registry.deregister(&mut SourceFd(&self.fd));
        self.shared.places()[self.token.0] = None;
    }
}

/// What is to be told of. A hangup always is.
const fn interest(way: Way, room: bool) -> Interest {
    match way {
        Way::In => Interest::READABLE,
        Way::Out if room => Interest::WRITABLE,
        Way::Out => NO_ROOM,
    }
}

/// The least that can be asked for: urgent bytes, which nothing of ours has.
#[cfg(target_os = "linux")]
const NO_ROOM: Interest = Interest::PRIORITY;
/// No less can be asked for there.
#[cfg(not(target_os = "linux"))]
const NO_ROOM: Interest = Interest::WRITABLE;

/// Wakes the thread. Its flag alone does where the thread does not wait.
#[derive(Debug)]
struct Alarm {
    rung: AtomicBool,
    waiting: AtomicBool,
    bell: mio::Waker,
}

impl Alarm {
    /// Says that the thread is about to wait; whether it need not.
    fn wait(&self) -> bool {
        self.waiting.store(true, Ordering::SeqCst);
        self.rung.load(Ordering::SeqCst)
    }

    /// Says that it does not wait any more; whether it was rung.
    fn stop_waiting(&self) -> bool {
        self.waiting.store(false, Ordering::SeqCst);
        self.rung.load(Ordering::SeqCst)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Either the thread sees the flag before it waits, or we see that it waits.
        if !self.rung.swap(true, Ordering::SeqCst) && self.waiting.load(Ordering::SeqCst) {
            self.bell.wake().expect("an event counter that is open takes every increment");
        }
    }
}

#[cfg(test)]
mod tests;
