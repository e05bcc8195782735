//! `events.file`: events appended to a file by a thread of its own, so that a slow or full disk holds up nobody.

mod rotate;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::config::EventFile;
use rotate::RotatingFile;

/// The most events that wait for the disk.
const WAITING: usize = 1024;
/// Enough for formatting an error.
const STACK: usize = 128 * 1024;

/// The way to the file. Dropping it lets the thread write what is there and end.
#[derive(Debug)]
pub(super) struct FileSink {
    sender: SyncSender<Message>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
enum Message {
    /// With its end.
    Line(String),
    /// Answered when everything before it is done.
    Flush(SyncSender<()>),
}

#[derive(Debug, Default)]
struct Shared {
    waiting: AtomicUsize,
    /// Whether the last write failed.
    failing: AtomicBool,
    /// Events that the file has not got and nobody was told of, and those in all.
    untold: AtomicU64,
    dropped: AtomicU64,
}

/// The end of everything that was pushed so far, to be waited for. The default has come already.
#[derive(Debug, Default)]
pub(super) struct Flush(Option<Receiver<()>>);

impl Flush {
    pub(super) fn wait(self, limit: Duration) {
        if let Some(done) = self.0 {
            // Whatever comes of it, there is nothing else to do.
            let _ = done.recv_timeout(limit);
        }
    }
}

impl FileSink {
    /// Starts the thread. The file is opened by it, since that may take as long as writing.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub(super) fn start(file: EventFile) -> io::Result<Self> {
        let (sender, messages) = sync_channel(WAITING);
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let run = move || write_all(&messages, &theirs, RotatingFile::new(file));
        std::thread::Builder::new().name("events".into()).stack_size(STACK).spawn(run)?;
        Ok(Self { sender, shared })
    }

    /// Takes a line with its end, or counts it as dropped. Does not wait.
    pub(super) fn push(&self, line: String) {
        self.shared.waiting.fetch_add(1, Relaxed);
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.shared.waiting.fetch_sub(1, Relaxed);
            self.shared.drop_one();
        }
    }

    /// How many were dropped since this last said so. It says nothing while the file could not take that news either.
    pub(super) fn take_dropped(&self) -> Option<u64> {
        let stuck = self.shared.failing.load(Relaxed) || self.shared.waiting.load(Relaxed) > WAITING / 2;
        if stuck {
            return None;
        }
        Some(self.shared.untold.swap(0, Relaxed)).filter(|dropped| *dropped > 0)
    }

    /// How many were dropped in all.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }

    /// A mark behind all that was pushed. Where not even that finds room, there is nothing to wait for.
    pub(super) fn flush(&self) -> Flush {
        let (done, mark) = sync_channel(1);
        Flush(self.sender.try_send(Message::Flush(done)).is_ok().then_some(mark))
    }
}

impl Shared {
    fn drop_one(&self) {
        self.untold.fetch_add(1, Relaxed);
        self.dropped.fetch_add(1, Relaxed);
    }
}

fn write_all(messages: &Receiver<Message>, shared: &Shared, mut file: RotatingFile) {
    for message in messages {
        match message {
            Message::Flush(done) => drop(done.send(())),
            Message::Line(line) => {
                let written = file.append(line.as_bytes());
                shared.waiting.fetch_sub(1, Relaxed);
                let failed_before = shared.failing.swap(written.is_err(), Relaxed);
                if let Err(error) = written {
                    shared.drop_one();
                    if !failed_before {
                        let path = file.path().display();
                        tracing::error!("events are lost: {path} (events.file) cannot be written: {error}");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
