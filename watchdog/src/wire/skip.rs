//! Passing over strings and nested values at memory speed, in one go or chunk by chunk.
//!
//! Blocks of 64 bytes are turned into bit masks, one bit a byte: which bytes are quotes, backslashes, brackets. A prefix
//! sum over the quotes tells which bytes are inside strings. Brackets outside of strings are counted, both kinds apart;
//! only where the value may end in a block, they are looked at one by one. So depth costs nothing, and of malformed
//! nesting only what crosses (`[{]}`) is not noticed, as it is not for what stands between the brackets.

use memchr::memchr;

use super::blocks::{self, BLOCK, Kernel, Last, Nesting, Quoting};

/// So many blocks without a quote and a backslash promise more of them: then a search that is faster, and costs more to begin.
const PLAIN: usize = 2;

/// What more input did to the value that is passed over, or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The value ended just before this offset.
    Ended(usize),
    /// The input is used up and the value still open.
    Open,
    /// It is not JSON: brackets that do not match, or a backslash outside of a string; to who reads more, all else too.
    Broken,
}

/// Passes over one object or array: fed from its opening bracket on, until it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Skip {
    /// All ones inside of a string.
    inside: u64,
    escapes: Escapes,
    /// Open brackets.
    depth: usize,
    /// Curly brackets that were opened, without those that were closed.
    curly: isize,
}

/// Which bytes of a text are escaped, block by block.
#[derive(Debug, Clone, Copy, Default)]
struct Escapes {
    /// 1 where the next byte is escaped by a backslash before it.
    next: u64,
}

/// Passes over one string: fed from behind its opening quote on, until it has ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SkipText {
    escapes: Escapes,
}

impl SkipText {
    /// Takes what comes from an offset of the input on, and finds the end of the string behind its closing quote. Not to be called
    /// again once it answered something else than [`Step::Open`].
    pub(super) fn feed(&mut self, text: &[u8], from: usize) -> Step {
        struct Feed<'a>(&'a mut Escapes, &'a [u8], usize);
        impl blocks::Work for Feed<'_> {
            type Output = Step;
            #[inline(always)]
            fn run(self, kernel: impl Kernel) -> Self::Output {
                let mut escapes = *self.0;
                let step = escapes.walk(self.1, self.2, kernel);
                *self.0 = escapes;
                step
            }
        }
        blocks::run(Feed(&mut self.escapes, text, from))
    }
}

/// The end of the object or array that begins at an offset of a text, which is there as a whole; `None` where it has none, or is
/// malformed.
#[inline]
pub(super) fn end(text: &[u8], start: usize) -> Option<usize> {
    match text.last_chunk() {
        Some(block) if text.len() - BLOCK <= start => {
            Some(start + blocks::run(Short { block, before: BLOCK + start - text.len() })?)
        }
        _ => long_end(text, start),
    }
}

#[inline(never)]
fn long_end(text: &[u8], start: usize) -> Option<usize> {
    struct Whole<'a>(&'a [u8], usize);
    impl blocks::Work for Whole<'_> {
        type Output = Option<usize>;
        #[inline(always)]
        fn run(self, kernel: impl Kernel) -> Self::Output {
            match Skip::default().walk(self.0, self.1, kernel) {
                Step::Ended(end) => Some(end),
                Step::Open | Step::Broken => None,
            }
        }
    }
    blocks::run(Whole(text, start))
}

/// Finds the length of an object or array that begins in the last block of a text. Most do, and there is little to be done for them:
/// no state goes from block to block, and they have few brackets to look at.
struct Short<'a> {
    block: &'a [u8; BLOCK],
    /// So many bytes of the block stand before it.
    before: usize,
}

impl blocks::Work for Short<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Self::Output {
        let marks = kernel.quoting(self.block).behind(self.before);
        let inside = kernel.prefix_xor(Escapes::default().quotes(marks, BLOCK));
        let nesting = kernel.nesting(self.block).behind(self.before);
        let found = Nesting { opening: nesting.opening & !inside, closing: nesting.closing & !inside, ..nesting };
        let mut left = found.closing;
        let mut closed = 0;
        while left != 0 {
            closed += 1;
            let up_to_end = left ^ (left - 1);
            if count(found.opening & up_to_end) == closed {
                let stray = marks.backslashes & !inside & up_to_end;
                let curly = found.up_to(up_to_end).curly_balance();
                return (stray == 0 && curly == 0).then_some(index(left) + 1);
            }
            left &= left - 1;
        }
        None
    }
}

impl Skip {
    /// Takes what comes from an offset of the input on. Not to be called again once it answered something else than
    /// [`Step::Open`].
    pub(super) fn feed(&mut self, bytes: &[u8], from: usize) -> Step {
        struct Feed<'a>(&'a mut Skip, &'a [u8], usize);
        impl blocks::Work for Feed<'_> {
            type Output = Step;
            #[inline(always)]
            fn run(self, kernel: impl Kernel) -> Self::Output {
                // A copy of its own stays in registers.
                let mut skip = *self.0;
                let step = skip.walk(self.1, self.2, kernel);
                *self.0 = skip;
                step
            }
        }
        blocks::run(Feed(self, bytes, from))
    }

    #[inline(always)]
    fn walk(&mut self, bytes: &[u8], from: usize, kernel: impl Kernel) -> Step {
        let mut at = from;
        while let Some(block) = bytes[at..].first_chunk() {
            let marks = kernel.quoting(block);
            let quotes = self.escapes.quotes(marks, BLOCK);
            // All of it is text, whatever it looks like: the rule in a message that carries code.
            if self.inside != 0 && quotes == 0 {
                at = self.escapes.pass_text(bytes, at + BLOCK, kernel);
                continue;
            }
            match self.block(kernel.nesting(block), marks.backslashes, quotes, kernel) {
                Step::Open => at += BLOCK,
                Step::Ended(end) => return Step::Ended(at + end),
                Step::Broken => return Step::Broken,
            }
        }
        let Some(last) = Last::of(bytes, at) else { return Step::Open };
        let marks = kernel.quoting(&last.block).behind(last.before);
        let quotes = self.escapes.quotes(marks, BLOCK - last.before);
        match self.block(kernel.nesting(&last.block).behind(last.before), marks.backslashes, quotes, kernel) {
            Step::Ended(end) => Step::Ended(at + end),
            step => step,
        }
    }

    /// Takes a block with these brackets and backslashes, and these quotes that are not escaped.
    #[inline(always)]
    fn block(&mut self, nesting: Nesting, backslashes: u64, quotes: u64, kernel: impl Kernel) -> Step {
        let inside = kernel.prefix_xor(quotes) ^ self.inside;
        self.inside = (inside.cast_signed() >> (BLOCK - 1)).cast_unsigned();
        let stray = backslashes & !inside;
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
            let depth = self.depth + count(before.opening) - count(before.closing);
            if depth == 1 {
                return Some(bit);
            }
            // Those that are left could not close that many.
            if depth > count(left) {
                return None;
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
    #[inline(always)]
    fn walk(&mut self, text: &[u8], from: usize, kernel: impl Kernel) -> Step {
        let at = self.pass_text(text, from, kernel);
        let quotes = if let Some(block) = text[at..].first_chunk() {
            self.quotes(kernel.quoting(block), BLOCK)
        } else {
            let Some(last) = Last::of(text, at) else { return Step::Open };
            self.quotes(kernel.quoting(&last.block).behind(last.before), BLOCK - last.before)
        };
        if quotes == 0 { Step::Open } else { Step::Ended(at + index(quotes) + 1) }
    }

    /// Passes over the blocks of `text` from `at` on, up to one with a quote that is not escaped, or the last whole one.
    #[inline(always)]
    fn pass_text(&mut self, text: &[u8], mut at: usize, kernel: impl Kernel) -> usize {
        let mut plain = 0;
        while let Some(block) = text[at..].first_chunk() {
            let marks = kernel.quoting(block);
            let mut behind = *self;
            if behind.quotes(marks, BLOCK) != 0 {
                break;
            }
            *self = behind;
            at += BLOCK;
            plain = if marks.quotes | marks.backslashes == 0 { plain + 1 } else { 0 };
            if plain == PLAIN {
                plain = 0;
                let length;
                (length, *self) = up_to_quote(&text[at..]);
                at += length;
            }
        }
        at
    }

    /// The quotes of a block that are not escaped, if the first `valid` bytes of it count, of which there is one at least or
    /// none that is marked.
    #[inline(always)]
    const fn quotes(&mut self, marks: Quoting, valid: usize) -> u64 {
        marks.quotes & !self.of_block(marks.backslashes, valid)
    }

    /// Which bytes of a block an odd number of backslashes stands before; remembers whether one does before the first byte
    /// after its `valid` ones.
    #[inline(always)]
    const fn of_block(&mut self, backslashes: u64, valid: usize) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let first = self.next;
        if backslashes == 0 {
            self.next = 0;
            return first;
        }
        // A backslash that is escaped itself escapes nothing.
        let runs = backslashes & !first;
        // Odd places and those behind a backslash are set, so that what a backslash borrows comes from the place behind it, and
        // what has changed are pairs: a backslash that escapes, and the byte that it escapes.
        let pairs = ((runs << 1) | ODD).wrapping_sub(runs) ^ ODD;
        self.next = (pairs & runs) >> (valid - 1) & 1;
        pairs ^ (runs | first)
    }
}

/// The offset of the next quote in text whose first byte is not escaped, or all; and what is escaped there.
#[inline(never)]
fn up_to_quote(text: &[u8]) -> (usize, Escapes) {
    let end = memchr(b'"', text).unwrap_or(text.len());
    let backslashes = text[..end].iter().rev().take_while(|&&byte| byte == b'\\').count();
    (end, Escapes { next: u64::from(backslashes % 2 == 1) })
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
