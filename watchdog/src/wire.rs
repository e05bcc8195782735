//! Bytes of the protocol, as data: framing, the head scan, ids, and the few edits that exist.
//!
//! Pure: nothing in here does I/O, reads a clock or logs. Messages are never parsed into values and written again; the
//! original bytes are what is forwarded.

pub mod compose;
pub mod framed;
pub mod head;
pub mod id;
pub mod lines;
pub mod list;
pub mod splice;

mod ahead;
mod blocks;
mod line_feed;
mod method;
mod number;
mod outline;
mod read;
#[cfg(test)]
mod samples;
mod skip;
mod text;
mod utf8;
mod word;

/// A place inside a line: `start..end` in bytes.
pub type Span = std::ops::Range<usize>;
