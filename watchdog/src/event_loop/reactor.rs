//! A thread for one future and the few descriptors that it moves bytes between.
//!
//! A runtime that serves many tasks takes more for each message than the message does: it wakes tasks by way of queues, looks
//! at its timers, and keeps wakers for each descriptor. Here every event is for the one future, so that it is a bit that is
//! set, and the future is polled. Timers, channels and all other descriptors stay with the runtime, whose thread wakes this
//! one.
//!
//! The system is called by way of rustix, which does not go through the C library: its calls can be cancelled, which takes a
//! tenth of a short message's time where a process has several threads.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use super::End;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Events of one look at the system: more than a data path has descriptors.
const EVENTS: usize = 16;
/// Descriptors that can be watched at once. A data path has two of its client's and three of a process, of which there is one.
const PLACES: usize = 32;
/// What names the alarm; descriptors are counted from 0.
const ALARM: u64 = u64::MAX;
/// Why a descriptor is not watched.
const FULL: &str = "too many descriptors are watched";
/// A look at the system that does not wait.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A transfer may be tried.
const READY: u8 = 1;
/// The other side was seen to have closed.
const CLOSED: u8 = 2;
/// Something is watched there.
const TAKEN: u8 = 4;

/// The thread's part: what waits.
#[derive(Debug)]
pub(crate) struct Reactor {
    registrar: Registrar,
    alarm: Arc<Alarm>,
}

/// Everybody else's part: where descriptors are registered.
#[derive(Debug, Clone)]
pub struct Registrar(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoll: OwnedFd,
    /// What is known of each descriptor that is watched.
    places: [AtomicU8; PLACES],
    /// How often the alarm was heard.
    alarms: AtomicU64,
}

/// A descriptor that is watched.
#[derive(Debug)]
pub(crate) struct Watched<Fd: AsFd> {
    fd: Fd,
    shared: Arc<Shared>,
    place: usize,
    end: End,
    /// Whether it is watched for room to write.
    wants_room: bool,
}

impl Reactor {
    /// A reactor that watches nothing yet.
    ///
    /// # Errors
    /// Where the system has no descriptors for it.
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &bell, EventData::new_u64(ALARM), EventFlags::IN | EventFlags::ET)?;
        let alarm = Arc::new(Alarm { rung: AtomicBool::new(false), thread: OnceLock::new(), bell });
        Ok(Self { registrar: Registrar(Arc::new(Shared::over(epoll))), alarm })
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
    pub(crate) fn block_on<F: Future>(self, future: F) -> F::Output {
        // It is set nowhere else, and a reactor runs once.
        _ = self.alarm.thread.set(thread::current().id());
        let waker = Waker::from(self.alarm.clone());
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = self.poll(&mut cx, future.as_mut()) {
                return output;
            }
            while !self.look(None) {}
        }
    }

    /// Polls a future.
    fn poll<F: Future>(&self, cx: &mut Context<'_>, future: Pin<&mut F>) -> Poll<F::Output> {
        // What rings during the poll may be about what the poll has passed already.
        if self.alarm.rung.load(Ordering::Acquire) && self.alarm.rung.swap(false, Ordering::AcqRel) {
            self.registrar.0.alarms.fetch_add(1, Ordering::Relaxed);
        }
        future.poll(cx)
    }

    /// Looks what the system has to tell, and waits for that as long as this, unless the alarm has rung. Whether there is
    /// reason to poll.
    fn look(&self, timeout: Option<&Timespec>) -> bool {
        let mut room = [const { MaybeUninit::uninit() }; EVENTS];
        let timeout = if self.alarm.rung.load(Ordering::Acquire) { Some(&AT_ONCE) } else { timeout };
        let some = match epoll::wait(&self.registrar.0.epoll, &mut room, timeout) {
            Ok((events, _)) => self.registrar.0.note(events),
            // A signal.
            Err(rustix::io::Errno::INTR) => false,
            // Nothing would be told any more: the future would wait for ever, and be polled all the time.
            Err(error) => panic!("the system does not tell what is ready: {error}"),
        };
        some || self.alarm.rung.load(Ordering::Acquire)
    }
}

impl Registrar {
    /// How often the thread was woken by something else than its descriptors. It changes between polls alone.
    pub(super) fn alarms(&self) -> u64 {
        self.0.alarms.load(Ordering::Relaxed)
    }

    /// Watches a descriptor whose transfers do not block. What was watched is used on the reactor's thread alone, once that runs.
    ///
    /// # Errors
    /// Gives the descriptor back where the system cannot watch it (EPERM for files), or too many are watched.
    pub(crate) fn watch<Fd: AsFd>(&self, fd: Fd, end: End) -> Result<Watched<Fd>, (Fd, io::Error)> {
        let shared = self.0.clone();
        let Some(place) = shared.take_place() else { return Err((fd, io::Error::other(FULL))) };
        match epoll::add(&shared.epoll, &fd, data(place), interest(end, false)) {
            Ok(()) => Ok(Watched { fd, shared, place, end, wants_room: false }),
            Err(error) => {
                shared.leave(place);
                Err((fd, error.into()))
            }
        }
    }
}

impl Shared {
    fn over(epoll: OwnedFd) -> Self {
        Self { epoll, places: [const { AtomicU8::new(0) }; PLACES], alarms: AtomicU64::new(0) }
    }

    /// A place in which nothing was watched.
    fn take_place(&self) -> Option<usize> {
        let place = self.places.iter().position(|place| place.fetch_or(TAKEN, Ordering::AcqRel) & TAKEN == 0)?;
        self.places[place].store(TAKEN | READY, Ordering::Release);
        Some(place)
    }

    fn leave(&self, place: usize) {
        self.places[place].store(0, Ordering::Release);
    }

    /// Sets the bits of what is ready. Whether there was any.
    fn note(&self, events: &[epoll::Event]) -> bool {
        let mut some = false;
        for event in events {
            let place = usize::try_from(event.data.u64()).ok();
            let Some(place) = place.and_then(|place| self.places.get(place)) else { continue };
            let closed = EventFlags::HUP | EventFlags::RDHUP | EventFlags::ERR;
            let bits = if { event.flags }.intersects(closed) { READY | CLOSED } else { READY };
            set(place, |flags| flags | bits);
            some = true;
        }
        some
    }
}

impl<Fd: AsFd> Watched<Fd> {
    /// The descriptor.
    pub(crate) const fn get(&self) -> &Fd {
        &self.fd
    }

    fn flags(&self) -> &AtomicU8 {
        &self.shared.places[self.place]
    }

    /// Which end of a stream it is.
    pub(crate) const fn end(&self) -> End {
        self.end
    }

    /// Whether a transfer may do something.
    pub(crate) fn is_ready(&self) -> bool {
        self.flags().load(Ordering::Relaxed) & READY != 0
    }

    /// A transfer has had to wait. What was seen to have closed is open again then.
    pub(crate) fn blocked(&mut self) -> io::Result<()> {
        self.clear(READY | CLOSED);
        if self.end == End::Write { self.want_room(true) } else { Ok(()) }
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
        self.flags().load(Ordering::Relaxed) & CLOSED != 0
    }

    /// It has been opened again. The next time that it closes is another event.
    pub(crate) fn is_open_again(&self) {
        self.clear(CLOSED);
    }

    fn clear(&self, bits: u8) {
        set(self.flags(), |flags| flags & !bits);
    }

    /// Events for room come only while they are waited for: a socket would tell of each message that its other side reads.
    /// The system tells at once where there is room by now.
    #[cold]
    #[inline(never)]
    fn want_room(&mut self, wanted: bool) -> io::Result<()> {
        self.wants_room = wanted;
        Ok(epoll::modify(&self.shared.epoll, &self.fd, data(self.place), interest(self.end, wanted))?)
    }
}

impl<Fd: AsFd> Drop for Watched<Fd> {
    fn drop(&mut self) {
        // Before it is closed: another descriptor for the same description would keep the watch.
        let ended = epoll::delete(&self.shared.epoll, &self.fd);
        debug_assert!(ended.is_ok(), "nobody else ends a watch: {ended:?}");
        self.shared.leave(self.place);
    }
}

/// Changes bits. Not one operation: only the thread does so. Others take a place only while no event for it can come, and try it
/// only by setting a bit that one in use has already.
fn set(flags: &AtomicU8, change: impl FnOnce(u8) -> u8) {
    flags.store(change(flags.load(Ordering::Relaxed)), Ordering::Relaxed);
}

const fn data(place: usize) -> EventData {
    EventData::new_u64(place as u64)
}

/// What is to be told of. A hangup always is.
fn interest(end: End, room: bool) -> EventFlags {
    let wanted = match end {
        End::Read => EventFlags::IN | EventFlags::RDHUP,
        End::Write if room => EventFlags::OUT,
        End::Write => EventFlags::empty(),
    };
    wanted | EventFlags::ET
}

/// Wakes the thread.
#[derive(Debug)]
struct Alarm {
    /// Whether it was rung since the thread last polled.
    rung: AtomicBool,
    /// The thread itself needs no bell: it looks at the flag before it waits.
    thread: OnceLock<ThreadId>,
    /// Told of once for each number that is added to it, and never read.
    bell: OwnedFd,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_first = !self.rung.swap(true, Ordering::AcqRel);
        if is_first && self.thread.get() != Some(&thread::current().id()) {
            let rung = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
            rung.expect("a counter that is open takes 2^64 - 2 rings");
        }
    }
}

#[cfg(test)]
pub(crate) mod nested;
#[cfg(test)]
mod tests;
