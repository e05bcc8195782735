//! One generation of a server as the engine holds it: start, events, stop.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::fence::{self, Fence};
use super::group::{self, Leader, Orphans};
use super::link::{self, Link};
use super::pipes::{self, ChildEnds, Pipes};
use super::spawner;
use crate::cgroup::Group;
use crate::config;
use crate::core::ending::Ending;
use crate::guard::message::{ChildEvent, Launch, Order, Step};
use crate::guard::{self, LEFTOVER_GRACE, SWEEP};
use crate::os;

/// How much longer than its own limits a guard may take before it counts as hung: it was stopped, or starved.
const MARGIN: Duration = Duration::from_secs(1);

/// What a guard keeps of the engine's environment: what the binary may need to run at all, and what makes its panics readable.
/// The child's environment travels in the launch.
const GUARD_ENV: [&str; 3] = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "RUST_BACKTRACE"];

/// Why a child could not be started. What its program does wrong is not among it: that is [`ChildEvent::CannotStart`].
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The command, its environment or its folder holds a NUL byte.
    #[error("the command or its environment holds a NUL byte")]
    Nul,
    /// More than any system executes.
    #[error("the command and its environment are too long")]
    TooLong,
    /// No pipe or socket can be made.
    #[error("cannot make the pipes of a child")]
    Pipes(#[source] io::Error),
    /// What a guard is started with is not there: this program's own file, a descriptor.
    #[error("cannot prepare a guard")]
    Guard(#[source] io::Error),
}

/// A child process tree behind its guard.
///
/// Dropping it closes the control socket, and that *is* kill-on-drop for the whole tree: the guard gives it half a second to
/// end by itself, half a second after SIGTERM, and then kills until nothing is left. (Killing the guard on drop would do the
/// opposite, and orphan everything that left the child's process group.)
///
/// All methods must be called within a tokio runtime with I/O and time; they panic elsewhere, as tokio's own do.
#[derive(Debug)]
pub struct Child {
    link: Link,
    /// Once it is there.
    guard: Option<tokio::process::Child>,
    fence: Fence,
    /// Who is left to us when the guard is gone.
    orphans: Orphans,
    reported: Reported,
    stage: Stage,
    events: VecDeque<ChildEvent>,
    /// When the guard counts as hung.
    overdue: Option<Pin<Box<Sleep>>>,
}

/// How far the story of the leader has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    Start,
    End,
    /// The end, and whether it ever ran is not known: the guard has gone without a word.
    Untold,
}

#[derive(Debug)]
enum Stage {
    /// The guard is being started. What is for it waits in its socket.
    Starting(spawner::Outcome),
    /// The guard is there.
    Guarded,
    /// The guard has gone before its tree, and what is left of that and can be found is being waited for.
    Orphaned { until: Instant, pause: Pin<Box<Sleep>> },
    /// Everything is told.
    Over,
}

impl Child {
    /// Has a guard started and hands it the launch; waits for neither. A guard that cannot be started is an event:
    /// [`ChildEvent::CannotStart`] with [`Step::Guard`].
    ///
    /// # Errors
    /// The command cannot be handed to any program, or no pipes can be made for it.
    pub fn start(command: &config::Command) -> Result<(Self, Pipes), StartError> {
        Self::start_with(&os::own_program().map_err(StartError::Guard)?, command)
    }

    /// The same with the binary that becomes the guard, for programs that are not the watchdog themselves.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(program: &Path, command: &config::Command) -> Result<(Self, Pipes), StartError> {
        let (pipes, ends) = pipes::open().map_err(StartError::Pipes)?;
        Ok((Self::start_on(program, command, &ends)?, pipes))
    }

    /// The same on descriptors of the caller's, which the caller closes afterwards.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn start_on(program: &Path, command: &config::Command, ends: &ChildEnds) -> Result<Self, StartError> {
        let mut launch = Launch::new(command).ok_or(StartError::Nul)?;
        let (fence, placement) = fence::plan(&command.bounds);
        let cgroup = placement.as_ref().map(|placement| Group::at(placement.folder.clone()));
        launch.placement = placement;
        let launch = Order::Launch(launch).to_frame().ok_or(StartError::TooLong)?;
        let (ours, guards) = link::pair().map_err(StartError::Pipes)?;
        let link = Link::open(ours, launch, ends).map_err(StartError::Pipes)?;
        let mut guard = Command::new(program);
        guard
            .arg0(guard::ARGV0)
            .env_clear()
            .envs(GUARD_ENV.iter().filter_map(|&key| Some((key, std::env::var_os(key)?))))
            .stdin(Stdio::from(guards))
            .stdout(Stdio::from(os::null().map_err(StartError::Guard)?));
        Ok(Self {
            link,
            guard: None,
            fence,
            orphans: Orphans { leader: None, cgroup },
            reported: Reported::Nothing,
            stage: Stage::Starting(spawner::spawn(guard)),
            events: VecDeque::new(),
            overdue: None,
        })
    }

    /// The next event. Either [`ChildEvent::CannotStart`], or [`ChildEvent::Started`] and [`ChildEvent::Exited`]; then one
    /// [`ChildEvent::Empty`], whatever becomes of the guard; then nothing for ever.
    ///
    /// When the guard is killed, what it can no longer tell is filled in: the leader's end by SIGKILL, which the guard's death
    /// causes, and the empty tree, once the leader's process group has been killed. `Exited` by SIGKILL also stands for a
    /// leader that could not be killed; it is among the survivors then.
    pub fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<ChildEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(event);
            }
            match &mut self.stage {
                Stage::Starting(guard) => match Pin::new(guard).poll(cx) {
                    Poll::Ready(Ok(Ok(guard))) => {
                        self.guard = Some(guard);
                        self.stage = Stage::Guarded;
                    }
                    Poll::Ready(Ok(Err(error))) => self.no_guard(error.raw_os_error().unwrap_or(libc::EIO)),
                    // The thread has broken down.
                    Poll::Ready(Err(_)) => self.no_guard(libc::EIO),
                    Poll::Pending => {
                        ready!(self.poll_overdue(cx));
                        self.no_guard(libc::ETIMEDOUT);
                    }
                },
                Stage::Guarded => match self.link.poll_event(cx) {
                    Poll::Ready(Some(event)) => self.take(event),
                    Poll::Ready(None) => self.guard_lost(),
                    Poll::Pending => {
                        ready!(self.poll_overdue(cx));
                        self.overdue = None;
                        if let Some(guard) = &mut self.guard {
                            // Its end of the socket closes with it.
                            _ = guard.start_kill();
                        }
                    }
                },
                Stage::Orphaned { until, pause } => {
                    ready!(pause.as_mut().poll(cx));
                    let is_over = *until <= Instant::now();
                    pause.as_mut().reset(Instant::now() + group::PAUSE);
                    self.orphans.kill();
                    let survivors = self.orphans.survivors();
                    if survivors.is_empty() || is_over {
                        self.end(survivors);
                    }
                }
                Stage::Over => return Poll::Pending,
            }
        }
    }

    /// [`poll_event`](Self::poll_event) as a future. Dropping it loses nothing.
    pub async fn event(&mut self) -> ChildEvent {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Begins the stop ladder, with the child's stdin closed by the caller: `eof_grace` for the tree to end by itself, SIGTERM
    /// (and SIGCONT, so that a stopped process meets it), `term_grace`, SIGKILL for at most two seconds. Repeated, it only ever
    /// shortens: the earlier deadline holds at every rung.
    pub fn stop(&mut self, eof_grace: Duration, term_grace: Duration) {
        self.order(&Order::Stop { eof_grace, term_grace }, eof_grace.saturating_add(term_grace));
    }

    /// Kills the whole tree now.
    pub fn kill(&mut self) {
        self.order(&Order::Kill, Duration::ZERO);
    }

    /// Sends a signal to the leader, if its program runs. The guard does it: it alone knows that the number is still its own.
    pub fn signal(&mut self, signal: i32) {
        if self.is_guarded() {
            self.link.send(&Order::Signal(signal));
        }
    }

    /// The leader of the child's session and process group, once it has started.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.orphans.leader.as_ref().map(Leader::pid)
    }

    /// Whether the program may have run although it is told that it cannot: the guard went before it could say so.
    #[must_use]
    pub const fn may_have_run(&self) -> bool {
        matches!(self.reported, Reported::Untold)
    }

    /// The guard, the parent of the tree (for [`super::facts::Processes`]): there once there is a [`pid`](Self::pid).
    #[must_use]
    pub fn guard_pid(&self) -> Option<u32> {
        self.guard.as_ref()?.id()
    }

    /// What holds the tree.
    #[must_use]
    pub const fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether somebody hears orders, or will.
    const fn is_guarded(&self) -> bool {
        matches!(self.stage, Stage::Starting(_) | Stage::Guarded)
    }

    fn order(&mut self, order: &Order, grace: Duration) {
        if !self.is_guarded() {
            return;
        }
        self.link.send(order);
        self.wake_guard();
        self.expect_end_within(grace);
    }

    /// A guard that somebody stopped goes on. It is not reaped before this is dropped, so the number is its own.
    fn wake_guard(&self) {
        if let Some(pid) = self.guard_pid().and_then(|pid| i32::try_from(pid).ok()) {
            _ = kill(Pid::from_raw(pid), Signal::SIGCONT);
        }
    }

    /// Sets the moment from which the guard counts as hung, or brings it closer.
    fn expect_end_within(&mut self, grace: Duration) {
        // One that lies beyond what the clock can tell never comes.
        let Some(deadline) = Instant::now().checked_add(grace.saturating_add(SWEEP + MARGIN)) else {
            return;
        };
        if self.overdue.as_ref().is_none_or(|overdue| deadline < overdue.deadline()) {
            self.overdue = Some(Box::pin(sleep_until(deadline)));
        }
    }

    fn poll_overdue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(overdue) = &mut self.overdue else { return Poll::Pending };
        ready!(overdue.as_mut().poll(cx));
        if overdue.deadline().elapsed() >= MARGIN {
            // We were stopped, and it may have been too: it goes on where it was.
            overdue.as_mut().reset(Instant::now() + SWEEP + MARGIN);
            ready!(overdue.as_mut().poll(cx));
        }
        Poll::Ready(())
    }

    /// Takes the guard's word, in the order that is promised.
    fn take(&mut self, event: ChildEvent) {
        match (&event, self.reported) {
            (ChildEvent::Started { pid }, Reported::Nothing) => {
                self.orphans.leader = Leader::new(*pid);
                self.reported = Reported::Start;
                self.events.push_back(event);
            }
            (ChildEvent::CannotStart { .. }, Reported::Nothing) | (ChildEvent::Exited(_), Reported::Start) => {
                self.reported = Reported::End;
                self.events.push_back(event);
                // A stop that was asked for has set this already, and gives the tree more time.
                if self.overdue.is_none() {
                    self.expect_end_within(LEFTOVER_GRACE);
                }
            }
            (ChildEvent::Empty { survivors }, _) => {
                let survivors = survivors.clone();
                self.end(survivors);
            }
            // Not what a guard says; the stream of events keeps its form.
            _ => {}
        }
    }

    /// Fills in the leader's part of the story, as far as it was not told.
    fn conclude_leader(&mut self) {
        match self.reported {
            Reported::Nothing => {
                self.reported = Reported::Untold;
                self.events.push_back(ChildEvent::CannotStart { errno: libc::EPIPE, step: Step::Guard });
            }
            Reported::Start => {
                self.reported = Reported::End;
                self.events.push_back(ChildEvent::Exited(Ending::Signal(libc::SIGKILL)));
            }
            Reported::End | Reported::Untold => {}
        }
    }

    /// The guard cannot be started, or not in time. One that appears all the same finds nobody at the other end and starts nothing.
    fn no_guard(&mut self, errno: i32) {
        self.link.close();
        self.events.push_back(ChildEvent::CannotStart { errno, step: Step::Guard });
        self.reported = Reported::End;
        self.end(Vec::new());
    }

    fn guard_lost(&mut self) {
        self.conclude_leader();
        self.orphans.kill();
        let until = Instant::now() + group::LIMIT;
        self.stage = Stage::Orphaned { until, pause: Box::pin(sleep(Duration::ZERO)) };
    }

    fn end(&mut self, survivors: Vec<u32>) {
        self.conclude_leader();
        self.events.push_back(ChildEvent::Empty { survivors });
        self.stage = Stage::Over;
        self.overdue = None;
    }
}

impl Drop for Child {
    /// Closing the socket reaches a guard that is alive, and one that somebody stopped once it goes on. Where it is not, nobody else would end the rest of the group.
    fn drop(&mut self) {
        self.wake_guard();
        if matches!(self.stage, Stage::Guarded)
            && let Some(guard) = &mut self.guard
            && matches!(guard.try_wait(), Ok(Some(_)))
        {
            self.orphans.kill();
        }
    }
}
