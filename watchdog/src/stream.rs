//! Byte streams on any kind of descriptor, polled by one task.
//!
//! | descriptor | how it is driven |
//! |---|---|
//! | our end of a child's pipe | non-blocking; the description is ours alone |
//! | inherited pipe (Linux) | opened again through `/proc/self/fd/N` for a non-blocking description of our own |
//! | inherited socket (Linux) | `MSG_DONTWAIT` on each call |
//! | file, `/dev/null`, terminal, a pipe that cannot be opened again; elsewhere than on Linux everything inherited | a thread, one chunk ahead |
//!
//! Invariants:
//! * `O_NONBLOCK` sits on the open file description, which an inherited descriptor shares with strangers: it is never
//!   set there (processes.md, C21).
//! * No method waits, and none keeps state in a future: to stop polling at any moment loses nothing.
//! * SIGPIPE is ignored by Rust's runtime since before `main`; a write without a reader is an error, not a signal.
//!   Nothing here changes that, and the program must not either.
mod descriptor;
pub mod outbox;
pub(crate) mod outlet;
pub mod past_lines;
mod polled;
mod sink;
pub(crate) mod socket_file;
mod source;
pub mod stderr_tail;
pub mod stdio;
mod thread;

pub use sink::Sink;
pub use source::Source;
pub use stderr_tail::StderrTail;

pub(crate) use descriptor::{duplicate, enlarge, wait_writable};

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
