//! Passing over strings and nested values at memory speed, in one go or chunk by chunk.
//!
//! Blocks of 64 bytes are turned into bit masks, one bit a byte: which bytes are quotes, backslashes, brackets. A prefix
//! sum over the quotes tells which bytes are inside strings. Brackets outside of strings are counted, both kinds apart;
//! only where the value may end in a block, they are looked at one by one. So depth costs nothing, and of malformed
//! nesting only what crosses (`[{]}`) is not noticed, as it is not for what stands between the brackets.

use memchr::memchr;

use super::blocks::{self, BLOCK, Kernel, Nesting, Quoting};

/// What a piece of input did to the value that is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The value ended just before this offset of the piece.
    Ended(usize),
    /// The piece is used up and the value still open.
    Open,
    /// Brackets that do not match, or a backslash outside of a string.
    Broken,
}

/// Passes over one object or array: fed from its opening bracket on, until it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Skip {
    in_string: bool,
    escapes: Escapes,
    /// Open brackets.
    depth: usize,
    /// Curly brackets that were opened, without those that were closed.
    curly: isize,
}

/// Which bytes of a text are escaped, block by block.
#[derive(Debug, Clone, Copy, Default)]
struct Escapes {
    /// Whether the next byte is escaped by a backslash before it.
    next: bool,
}

/// The offset of the quote that ends a string; `text` begins inside of it, and not behind a backslash.
pub(super) fn string_end(text: &[u8]) -> Option<usize> {
    struct Find<'a>(&'a [u8]);
    impl blocks::Work for Find<'_> {
        type Output = Option<usize>;
        #[inline(always)]
        fn run(self, kernel: impl Kernel) -> Self::Output {
            find_end(self.0, kernel)
        }
    }
    blocks::run(Find(text))
}

#[inline(always)]
fn find_end(text: &[u8], kernel: impl Kernel) -> Option<usize> {
    let mut escapes = Escapes::default();
    let mut at = 0;
    while let Some(block) = text[at..].first_chunk() {
        let marks = kernel.quoting(block);
        if marks.quotes | marks.backslashes == 0 {
            at += escapes.skip_text(&text[at..], BLOCK);
            continue;
        }
        let quotes = marks.quotes & !escapes.of_block(marks.backslashes, BLOCK);
        if quotes != 0 {
            return Some(at + index(quotes));
        }
        at += BLOCK;
    }
    let rest = &text[at..];
    let marks = kernel.quoting(&blocks::filled(rest));
    let quotes = marks.quotes & !escapes.of_block(marks.backslashes, rest.len());
    (quotes != 0).then(|| at + index(quotes))
}

impl Skip {
    /// Takes the next piece of the input. Not to be called again once it answered something else than [`Step::Open`].
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Step {
        struct Feed<'a>(&'a mut Skip, &'a [u8]);
        impl blocks::Work for Feed<'_> {
            type Output = Step;
            #[inline(always)]
            fn run(self, kernel: impl Kernel) -> Self::Output {
                // A copy of its own stays in registers.
                let mut skip = *self.0;
                let step = skip.walk(self.1, kernel);
                *self.0 = skip;
                step
            }
        }
        blocks::run(Feed(self, bytes))
    }

    #[inline(always)]
    fn walk(&mut self, bytes: &[u8], kernel: impl Kernel) -> Step {
        let mut at = 0;
        while let Some(block) = bytes[at..].first_chunk() {
            let marks = kernel.quoting(block);
            if self.in_string && marks.quotes | marks.backslashes == 0 {
                at += self.escapes.skip_text(&bytes[at..], BLOCK);
                continue;
            }
            match self.block(block, marks, BLOCK, kernel) {
                Step::Open => at += BLOCK,
                Step::Ended(end) => return Step::Ended(at + end),
                Step::Broken => return Step::Broken,
            }
        }
        let rest = &bytes[at..];
        if rest.is_empty() {
            return Step::Open;
        }
        let block = blocks::filled(rest);
        match self.block(&block, kernel.quoting(&block), rest.len(), kernel) {
            Step::Ended(end) => Step::Ended(at + end),
            step => step,
        }
    }

    #[inline(always)]
    fn block(&mut self, block: &[u8; BLOCK], marks: Quoting, valid: usize, kernel: impl Kernel) -> Step {
        let nesting = kernel.nesting(block);
        let quotes = marks.quotes & !self.escapes.of_block(marks.backslashes, valid);
        let inside = kernel.prefix_xor(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        self.in_string = inside >> (BLOCK - 1) == 1;
        let stray = marks.backslashes & !inside;
        let found = Nesting { opening: nesting.opening & !inside, closing: nesting.closing & !inside, ..nesting };
        if found.opening | found.closing != 0 {
            if let Some(end) = self.end_in(found) {
                let up_to_end = end | (end - 1);
                let curly = self.curly + found.up_to(up_to_end).curly_balance();
                return if stray & up_to_end == 0 && curly == 0 { Step::Ended(index(end) + 1) } else { Step::Broken };
            }
            self.depth = self.depth + count(found.opening) - count(found.closing);
            self.curly += found.curly_balance();
        }
        if stray == 0 { Step::Open } else { Step::Broken }
    }

    /// The bracket of a block that ends the value.
    #[inline(always)]
    fn end_in(&self, found: Nesting) -> Option<u64> {
        // What closes the bracket right before it ends nothing, unless the value itself begins there.
        let inner = if self.depth == 0 { 0 } else { found.closing_at_once() };
        let candidates = found.closing & !inner;
        if self.depth > count(candidates) {
            return None;
        }
        let mut left = candidates;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            let before = found.up_to(bit - 1);
            if self.depth + count(before.opening) == count(before.closing) + 1 {
                return Some(bit);
            }
            left ^= bit;
        }
        None
    }
}

impl Nesting {
    /// Those at these places.
    const fn up_to(self, mask: u64) -> Self {
        Self { opening: self.opening & mask, closing: self.closing & mask, ..self }
    }

    fn curly_balance(self) -> isize {
        (count(self.opening & self.curly) as isize) - (count(self.closing & self.curly) as isize)
    }

    /// The closing brackets whose bracket before is an opening one.
    const fn closing_at_once(self) -> u64 {
        let others = !(self.opening | self.closing);
        let behind = self.opening << 1;
        // The carry runs through what stands between two brackets, and ends at the second.
        let next = others.wrapping_add(behind & others) | behind;
        next & self.closing
    }
}

impl Escapes {
    /// Passes over text whose first `known` bytes have neither a quote nor a backslash; gives the offset of the next
    /// quote, or all.
    fn skip_text(&mut self, text: &[u8], known: usize) -> usize {
        let end = memchr(b'"', &text[known..]).map_or(text.len(), |more| known + more);
        self.next = !trailing_backslashes(&text[known..end]).is_multiple_of(2);
        end
    }

    /// Which bytes of a block an odd number of backslashes stands before; remembers whether one does before the first byte
    /// after its `valid` ones.
    #[inline(always)]
    fn of_block(&mut self, backslashes: u64, valid: usize) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let first = u64::from(self.next);
        if backslashes == 0 {
            self.next = false;
            return first;
        }
        // A backslash that is escaped itself escapes nothing.
        let runs = backslashes & !first;
        let starts = runs & !(runs << 1);
        // Added to its run, a start becomes the place behind it. That is as far from the start as the run is long.
        let (from_even, _) = runs.overflowing_add(starts & EVEN);
        let (from_odd, beyond) = runs.overflowing_add(starts & !EVEN);
        let escaped = !runs & (from_even & !EVEN | from_odd & EVEN);
        self.next = if valid < BLOCK { escaped >> valid & 1 == 1 } else { beyond };
        escaped | first
    }
}

/// The number of backslashes at the end of `text`.
fn trailing_backslashes(text: &[u8]) -> usize {
    text.iter().rev().take_while(|&&byte| byte == b'\\').count()
}

/// Where the lowest bit is. There is one.
const fn index(bits: u64) -> usize {
    // At most 64, so this is exact on every platform.
    bits.trailing_zeros() as usize
}

const fn count(bits: u64) -> usize {
    bits.count_ones() as usize
}

#[cfg(test)]
mod tests;
