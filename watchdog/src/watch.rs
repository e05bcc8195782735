//! Files and folders that are watched for changes (`watch`): a thread of its own that tells the driver.
//!
//! Folders may be large and disks slow, and the watcher's calls wait for a thread of its own; nothing of that is for the
//! task that serves a client. Nobody waits for the thread to end.

mod follow;
mod ignore;
mod paths;

use std::io;
use std::path::PathBuf;
use std::sync::mpsc as orders;
use std::task::{Context, Poll, ready};

use tokio::sync::mpsc;

use follow::Followed;

/// News that the driver has not taken. What does not fit says nothing new: something has changed.
const NEWS: usize = 64;

/// What the thread is told.
enum Order {
    /// By the system.
    Event(notify::Result<notify::Event>),
    /// By us.
    End,
}

/// A set of paths that is watched. Dropping it ends that.
#[derive(Debug)]
pub struct Watch {
    changes: mpsc::Receiver<String>,
    orders: orders::Sender<Order>,
}

impl Watch {
    /// Begins to watch; `None` if there is nothing to.
    ///
    /// # Errors
    /// Where the system gives no watcher or no thread. A single path that cannot be watched is told in the log.
    pub fn start(paths: &[PathBuf]) -> io::Result<Option<Self>> {
        if paths.is_empty() {
            return Ok(None);
        }
        let (orders, received) = orders::channel();
        let events = orders.clone();
        // Once the thread has ended nobody wants them.
        let watcher = notify::recommended_watcher(move |event| drop(events.send(Order::Event(event))));
        let watcher = watcher.map_err(|error| io::Error::other(told(&error)))?;
        let (news, changes) = mpsc::channel(NEWS);
        let paths = paths.to_vec();
        std::thread::Builder::new().name("watch".into()).spawn(move || {
            let mut followed = Followed::new(&paths, watcher, news);
            while let Ok(Order::Event(event)) = received.recv() {
                followed.take(event);
            }
        })?;
        Ok(Some(Self { changes, orders }))
    }

    /// The next change, as a path for people.
    pub fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        match ready!(self.changes.poll_recv(cx)) {
            Some(path) => Poll::Ready(path),
            // The thread has broken down, which its panic has told.
            None => Poll::Pending,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.orders.send(Order::End));
    }
}

/// What is wrong, and what helps.
fn told(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system's limit of watches is reached: raise fs.inotify.max_user_watches, or watch less".to_owned()
        }
        notify::ErrorKind::Io(error) if error.raw_os_error() == Some(nix::libc::EMFILE) => {
            "the system's limit of watchers or open files is reached: raise fs.inotify.max_user_instances".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
