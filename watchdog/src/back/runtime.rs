//! What a slot needs of a server, whatever it is reached by: one generation of it.

use std::collections::HashMap;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;

use super::facts::Processes;
use super::{Fence, StartError};
use crate::config::Server;
use crate::core::slot::Lost;
use crate::exit::Exit;
use crate::telemetry::LogHandle;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;

/// What happens to a runtime.
#[derive(Debug)]
pub enum News {
    /// The program runs.
    Started {
        /// Its process.
        pid: u32,
    },
    /// It cannot run.
    CannotStart {
        /// In words that name the command and the remedy.
        why: String,
        /// How the watchdog ends, if this was the first start.
        exit: Exit,
        /// Whether that is not certain: it may have run for a moment, and read what it was given.
        may_have_run: bool,
    },
    /// The server said something: take [`Runtime::next_line`] until there is none.
    Read {
        /// Whether nothing more can be new before the task is woken.
        spent: bool,
    },
    /// Its output, or it itself, has ended: take [`Runtime::next_line`] until there is none. More news follow.
    Drained,
    /// It ended, closed its output, or cannot be talked to. Once.
    Lost(Lost),
    /// Nothing of its process tree is left but these. Once, and the last.
    Gone {
        /// Processes that could not be ended.
        survivors: Vec<u32>,
    },
}

/// What starts the runtimes of a slot, one a generation.
pub trait Back: Send {
    /// Starts the next one. Nothing is left of the one before.
    ///
    /// # Errors
    /// Where nothing could be started that would tell of itself; what its program does wrong is [`News`].
    fn start(&mut self, server: &Server, log: &LogHandle) -> Result<Box<dyn Runtime>, StartError>;
}

/// One generation of a server. It is polled by the one task that owns it.
pub trait Runtime: Send {
    /// The next news. With `wanted` unset nothing is read, which holds the server back.
    fn poll_news(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<News>;
    /// The next line that was read, lent until the one after it is asked for.
    fn next_line(&mut self) -> Option<Line<'_>>;
    /// Queues a line.
    fn send(&mut self, line: &Framed<'_>, tag: u64, urgent: bool);
    /// Writes what is queued, as far as the server takes it. A failure shows as [`News::Lost`].
    fn flush(&mut self, cx: &mut Context<'_>);
    /// Bytes that are queued.
    fn backlog(&self) -> usize;
    /// Ends it by the ladder: end of input, SIGTERM, SIGKILL. With `hear` unset what it still says is not read. Gives back
    /// the lines that it was never given, by tag.
    fn stop(&mut self, hear: bool, eof_grace: Duration, term_grace: Duration) -> HashMap<u64, Bytes>;
    /// Ends it now.
    fn kill(&mut self);
    /// Sends a signal to its main process, where it has one here that runs.
    fn signal(&mut self, _: i32) {}
    /// The last lines of its stderr, oldest first, at most so many; where it has processes here.
    fn stderr_tail(&self, _lines: usize) -> Vec<String> {
        Vec::new()
    }
    /// What holds its processes together, where it has any here.
    fn fence(&self) -> Option<&Fence> {
        None
    }
    /// Its processes, where it has any here.
    fn processes(&self) -> Option<Processes> {
        None
    }
}
