//! The end of what the server wrote to stderr.

use memchr::{memchr, memrchr};

use crate::telemetry::plain;

/// How much is kept, in bytes (contract.md, Streams).
pub(super) const KEPT: usize = 64 * 1024;

/// The most bytes of one line that go to the log.
pub const LONGEST_LINE: usize = 8 * 1024;

/// The most characters of one line of [`StderrTail::tail`].
const LONGEST_TAIL_LINE: usize = 500;

/// How much of a line is looked at for those: escape sequences and long characters take room without giving any.
const LOOKED_AT: usize = 8 * LONGEST_TAIL_LINE;

/// Splits the stderr of one server process into lines for the log, and keeps its last 64 KiB.
///
/// Memory is bounded by the ring and one partial line, whatever is written; both grow with use.
#[derive(Debug, Default)]
pub struct StderrTail {
    /// Full once it has [`KEPT`] bytes; then `next` is where the oldest byte lies.
    ring: Vec<u8>,
    next: usize,
    /// The start of a line whose end has not come.
    partial: Vec<u8>,
    /// The rest of the line is thrown away: its first 8 KiB have been given out.
    cut: bool,
}

impl StderrTail {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what was read, and hands on each line that it completes, without its end (`\n` or `\r\n`) and cut to
    /// [`LONGEST_LINE`]. Empty lines are left out. A line that is within `bytes` is not copied.
    pub fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) {
        self.keep(bytes);
        while let Some(end) = memchr(b'\n', bytes) {
            self.complete(&bytes[..end], &mut line);
            bytes = &bytes[end + 1..];
        }
        self.hold(bytes, &mut line);
    }

    /// Hands on a last line without an end, at the end of the stream.
    pub fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        self.complete(&[], &mut line);
    }

    /// The last `count` lines, oldest first, made fit for an error's text: valid UTF-8, no control characters or escape
    /// sequences, at most 500 characters each.
    #[must_use]
    pub fn tail(&self, count: usize) -> Vec<String> {
        let (newer, older) = self.ring.split_at(self.next);
        let kept = [older, newer].concat();
        // The oldest line of a full ring has lost its start, so that it counts only where it is all there is.
        let whole = match memchr(b'\n', &kept) {
            Some(end) if kept.len() == KEPT => &kept[end + 1..],
            _ => &kept[..],
        };
        let mut lines = last_lines(whole, count);
        if lines.is_empty() {
            lines = last_lines(&kept, count);
        }
        lines.reverse();
        lines
    }

    fn keep(&mut self, bytes: &[u8]) {
        let mut bytes = &bytes[bytes.len().saturating_sub(KEPT)..];
        let room = KEPT - self.ring.len();
        if room > 0 {
            let (first, rest) = bytes.split_at(room.min(bytes.len()));
            self.ring.extend_from_slice(first);
            bytes = rest;
        }
        while !bytes.is_empty() {
            let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.next));
            self.ring[self.next..][..first.len()].copy_from_slice(first);
            self.next = (self.next + first.len()) % KEPT;
            bytes = rest;
        }
    }

    /// Ends a line whose last part is `part`.
    fn complete(&mut self, part: &[u8], line: &mut impl FnMut(&[u8])) {
        if std::mem::take(&mut self.cut) {
            return;
        }
        if self.partial.is_empty() {
            return give(part, line);
        }
        let room = LONGEST_LINE - self.partial.len();
        self.partial.extend_from_slice(&part[..part.len().min(room)]);
        give(&self.partial, line);
        self.partial.clear();
    }

    /// Keeps the start of a line; gives it out when it is as long as lines may be.
    fn hold(&mut self, part: &[u8], line: &mut impl FnMut(&[u8])) {
        if self.cut {
            return;
        }
        let room = LONGEST_LINE - self.partial.len();
        self.partial.extend_from_slice(&part[..part.len().min(room)]);
        if self.partial.len() == LONGEST_LINE {
            give(&self.partial, line);
            self.partial.clear();
            self.cut = true;
        }
    }
}

fn give(line: &[u8], to: &mut impl FnMut(&[u8])) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        to(&line[..line.len().min(LONGEST_LINE)]);
    }
}

/// The last lines that hold anything readable, newest first.
fn last_lines(mut text: &[u8], count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    while lines.len() < count && !text.is_empty() {
        let start = memrchr(b'\n', text).map_or(0, |end| end + 1);
        let line = &text[start..];
        let line = plain::text(&String::from_utf8_lossy(&line[..line.len().min(LOOKED_AT)]), LONGEST_TAIL_LINE);
        if !line.is_empty() {
            lines.push(line);
        }
        text = &text[..start.saturating_sub(1)];
    }
    lines
}

#[cfg(test)]
mod tests;
