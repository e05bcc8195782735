//! Reading the head of a line by what earlier lines of its stream looked like.
//!
//! Nearly every line of a stream is an earlier one with other values in a few places: the id, the name of the tool, its arguments,
//! the result. So what was found in a line is kept as a [`Shape`]: the text between those values, which has to come again to the
//! byte; of each of the values its class; and where everything stood. To see that a short line has a known shape takes half of the
//! instructions of a scan, and half of the code.
//!
//! **What is found is what the scan finds.** The scan goes from left to right, and never back. All it knows of what it has passed
//! is where things stood, and of values that they were there, and of which class: what it decides, it decides by names, by the
//! method, by the word `null`, and by whether an id is a string or a number. Where a token ends is decided by the token and the
//! byte behind it. Suppose now that it reads a line of this shape beside the line that the shape was learned from. Up to the first
//! of those values (the holes) both are the same text, so it does the same. There it passes over a value, and looks at no more of
//! it than its class, which is the same; that value ends where [`Class::end`](shape::Class) says, since that asks the functions
//! that the scan asks, of the same line. Behind it both lines are the same text again; and so on to the end of both. What it found
//! is then the same too, but for where things stand: each of them as far behind the latest hole as in the line that was learned.
//!
//! That takes for granted that the holes are values that the scan passes over as a whole ([`holes`] walks as the scan does), that
//! text between them is not cut within a token (names and colons stand around each), and that the method is no hole.

use super::{Head, Scan};
use shape::Shape;

/// Longer lines are scanned: what stands around their values is the least part of them, and a line of another shape is passed over
/// twice before that is seen. In bytes.
const LONG: usize = 8 << 10;
/// So many lines without a known shape, one behind the other, have to come before one is learned: most that differ from those
/// before them do so only once, and to learn a shape takes as long as four scans of a line.
const PATIENCE: u32 = 2;
/// Where shapes are learned and never seen again, or cannot be learned, the patience grows up to this: then learning costs next to nothing.
const MOST_PATIENCE: u32 = 64;

/// The shapes that lines of one stream have had. Two, since answers and notifications take turns.
#[derive(Debug)]
pub struct Shapes {
    known: [Shape; 2],
    /// The one that was seen last.
    latest: usize,
    /// So many lines had neither of them since one had.
    misses: u32,
    /// So many may be until one is learned.
    patience: u32,
}

impl Default for Shapes {
    fn default() -> Self {
        Self { known: [Shape::default(), Shape::default()], latest: 0, misses: 0, patience: PATIENCE }
    }
}

impl Shapes {
    /// Finds what [`scan`](super::scan) finds in a line. Takes a [`Scan::unread`].
    #[inline(never)]
    pub fn read(&mut self, line: &[u8], scan: &mut Scan) {
        if let Scan::Message(head) = scan
            && self.recall(line, head).is_none()
        {
            self.scan(line, scan);
        }
    }

    /// Fills in the head of a line that has a known shape; leaves that of any other as it is.
    #[inline(always)]
    fn recall(&mut self, line: &[u8], head: &mut Head) -> Option<()> {
        if line.len() > LONG {
            return None;
        }
        let mut nth = self.latest;
        // A loop, so that there is one copy of what is done for a line.
        loop {
            let shape = self.known.get_mut(nth)?;
            if shape.read(line, head).is_some() {
                self.misses = 0;
                if shape.is_new {
                    shape.is_new = false;
                    self.patience = PATIENCE;
                }
                self.latest = nth;
                return Some(());
            }
            nth ^= 1;
            if nth == self.latest {
                return None;
            }
        }
    }

    /// Scans a line, and learns its shape where it is time to.
    #[cold]
    #[inline(never)]
    fn scan(&mut self, line: &[u8], scan: &mut Scan) {
        scan.read(line);
        let Scan::Message(head) = scan else { return };
        if line.len() > LONG {
            return;
        }
        self.misses += 1;
        if self.misses >= self.patience {
            self.learn(line, head);
        }
    }

    /// Learns the shape of a line in place of the one that was not seen for longer.
    #[cold]
    #[inline(never)]
    fn learn(&mut self, line: &[u8], head: &Head) {
        self.misses = 0;
        let was_in_vain = match Shape::of(line, head) {
            Some(shape) => {
                self.latest ^= 1;
                std::mem::replace(&mut self.known[self.latest], shape).is_new
            }
            None => true,
        };
        if was_in_vain {
            self.patience = MOST_PATIENCE.min(2 * self.patience);
        }
    }
}

mod holes;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod oracle;
mod places;
mod shape;
#[cfg(test)]
mod tests;
