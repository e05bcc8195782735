//! Reading a long line while it comes, so that little is left to be read when it is whole.
//!
//! What costs time is to pass over long values, and to see that all of the line is UTF-8. Both go on with each piece of the line
//! from where they stood. The scan itself begins anew when the value has ended in which it ran out of input, and jumps over the
//! long values whose ends it has found before: it is the same scan as that of a line that is there at once, and finds the same.

use std::cell::RefCell;

use super::Span;
use super::framed::Seen;
use super::head::{Scan, scan_by};
use super::read::Pass;
use super::skip::{Skip, SkipText, Step};

/// A value that is shorter is passed over again; in bytes. So there is no more than one span to remember for so many of a line.
const LONG: usize = 4 << 10;
/// A line with many values is scanned again only while that costs at most so many times its length in all.
const AGAIN: usize = 2;
/// A jump over a long value costs as much as to look at so many bytes.
const JUMP: usize = 32;

/// What was read of a line that has not ended.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    text: Text,
    values: Values,
    /// Bytes that the scans had to look at, at most, jumps counted as such.
    looked_at: usize,
}

/// Whether a text is UTF-8.
#[derive(Debug, Default)]
struct Text {
    /// So many bytes are whole characters.
    sound: usize,
    /// Behind them is something else.
    broken: bool,
}

/// The values that scans have passed over.
#[derive(Debug, Default)]
struct Values {
    /// Long ones, each with its end, in the order in which scans come to them.
    ended: Vec<Span>,
    /// The first of them that the scan has not come to.
    next: usize,
    /// The one in which the line ended so far.
    open: Option<Open>,
    /// One of them is malformed, and the line with it.
    broken: bool,
}

/// A value whose end has not come.
#[derive(Debug)]
struct Open {
    start: usize,
    /// How far it was read.
    at: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text(SkipText),
    Nested(Skip),
}

impl Ahead {
    /// Takes a line that goes on: what was there before, and more.
    pub(super) fn feed(&mut self, line: &[u8]) {
        self.text.feed(line);
        if self.values.settle(line) && self.looked_at <= line.len().saturating_mul(AGAIN) {
            self.scan(line);
        }
    }

    /// Takes the whole line. That it ends before a CR that was there before is no matter.
    pub(super) fn end(mut self, line: &[u8]) -> Seen {
        self.text.feed(line);
        // A value without end or with a fault is met by every scan of this line.
        let scan = if self.values.settle(line) { self.scan(line) } else { Scan::NotJson };
        Seen { scan, is_utf8: !self.text.broken && self.text.sound >= line.len() }
    }

    fn scan(&mut self, line: &[u8]) -> Scan {
        let ended = &self.values.ended;
        let known: usize = ended.iter().map(ExactSizeIterator::len).sum();
        self.looked_at += line.len().saturating_sub(known) + ended.len() * JUMP;
        self.values.next = 0;
        let values = RefCell::new(std::mem::take(&mut self.values));
        let scan = scan_by(line, &values);
        self.values = values.into_inner();
        scan
    }
}

impl Text {
    fn feed(&mut self, text: &[u8]) {
        let Some(more) = text.get(self.sound..).filter(|_| !self.broken) else { return };
        match simdutf8::compat::from_utf8(more) {
            Ok(more) => self.sound += more.len(),
            Err(error) => {
                self.sound += error.valid_up_to();
                // A character may have been cut.
                self.broken = error.error_len().is_some();
            }
        }
    }
}

impl Values {
    /// Goes on in the value that is open, if one is. Whether a scan comes beyond it.
    fn settle(&mut self, line: &[u8]) -> bool {
        let settled = match self.open.take() {
            Some(open) => self.go_on(line, open).is_some(),
            None => true,
        };
        settled && !self.broken
    }

    /// Goes on in a value; gives its end, or remembers how far it came.
    fn go_on(&mut self, line: &[u8], mut open: Open) -> Option<usize> {
        if open.at > line.len() {
            return None;
        }
        let step = match &mut open.kind {
            Kind::Text(skip) => skip.feed(line, open.at),
            Kind::Nested(skip) => skip.feed(line, open.at),
        };
        match step {
            Step::Ended(end) => {
                if end - open.start >= LONG {
                    self.ended.push(open.start..end);
                    self.next = self.ended.len();
                }
                Some(end)
            }
            Step::Open => {
                self.open = Some(Open { at: line.len(), ..open });
                None
            }
            Step::Broken => {
                self.broken = true;
                None
            }
        }
    }

    /// Jumps over a value whose end is known, or begins it.
    fn pass(&mut self, line: &[u8], value: Open) -> Option<usize> {
        match self.ended.get(self.next) {
            Some(known) if known.start == value.start => {
                self.next += 1;
                Some(known.end)
            }
            _ => self.go_on(line, value),
        }
    }
}

impl Pass for &RefCell<Values> {
    fn string(self, line: &[u8], start: usize) -> Option<usize> {
        self.borrow_mut().pass(line, Open { start, at: start + 1, kind: Kind::Text(SkipText::default()) })
    }

    fn nested(self, line: &[u8], start: usize) -> Option<usize> {
        self.borrow_mut().pass(line, Open { start, at: start, kind: Kind::Nested(Skip::default()) })
    }
}

#[cfg(test)]
mod tests;
