//! The thread that starts guards.
//!
//! Starting a process stops the thread that does it until the new one has executed its program: half a millisecond on an idle
//! machine, many times that on a busy one. On the engine's one thread all sessions would wait for the start of each server, so
//! it is done here. A guard does not die with the thread that made it: it asks for no signal at the death of its parent, which
//! for the kernel would be this thread (design/processes.md, C16).

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Where the process appears, or why there is none.
pub(super) type Outcome = oneshot::Receiver<io::Result<Child>>;

/// One start.
struct Job {
    command: Command,
    /// The runtime in which the process is held.
    runtime: Handle,
    answer: oneshot::Sender<io::Result<Child>>,
}

/// The way to the thread, which lives as long as the process.
static THREAD: Mutex<Option<Sender<Job>>> = Mutex::new(None);

/// Has a command started, after those that were asked for before. Dropping the outcome takes back what has not begun yet.
///
/// What the command holds open is closed after the outcome is known, so that whoever sees the one has the other.
pub(super) fn spawn(command: Command) -> Outcome {
    let (answer, outcome) = oneshot::channel();
    let mut job = Job { command, runtime: Handle::current(), answer };
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(jobs) = thread.as_ref() {
        match jobs.send(job) {
            Ok(()) => return outcome,
            Err(returned) => job = returned.0,
        }
    }
    match begin() {
        Ok(jobs) => {
            // It waits for its first one.
            _ = jobs.send(job);
            *thread = Some(jobs);
        }
        Err(error) => _ = job.answer.send(Err(error)),
    }
    outcome
}

fn begin() -> io::Result<Sender<Job>> {
    let (jobs, queue) = channel();
    std::thread::Builder::new().name("spawner".to_owned()).spawn(move || serve(&queue))?;
    Ok(jobs)
}

fn serve(queue: &Receiver<Job>) {
    while let Ok(Job { mut command, runtime, answer }) = queue.recv() {
        if answer.is_closed() {
            continue;
        }
        let _entered = runtime.enter();
        // One that nobody wants any more ends when it finds its socket closed, and is reaped by the runtime.
        _ = answer.send(keep_the_dead().and_then(|()| command.spawn()));
    }
}

/// Sees to it that a guard that has ended keeps its number until it is reaped, which everything that signals it relies on. A
/// process that was started with SIGCHLD ignored has its children reaped by the kernel; a handler, once installed, ends that.
fn keep_the_dead() -> io::Result<()> {
    signal(SignalKind::child()).map(drop)
}
