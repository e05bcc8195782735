//! Passing over a nested value at memory speed, in one go or chunk by chunk.
//!
//! Blocks of 64 bytes are turned into bit masks, one bit a byte: which bytes are quotes, backslashes, brackets. A prefix
//! sum over the quotes tells which bytes are inside strings; only brackets outside of strings are looked at one by one.
//! There is no recursion: the kinds of the open brackets are a stack of bits, so depth costs an eighth of a byte.

use memchr::memchr;

const BLOCK: usize = 64;
/// Set in `{` and `}`, not in `[` and `]`.
const CURLY: u8 = 0x20;

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
#[derive(Debug, Clone, Default)]
pub(super) struct Skip {
    in_string: bool,
    /// Whether the next byte is escaped by a backslash before it.
    escaped: bool,
    open: Brackets,
}

impl Skip {
    /// Takes the next piece of the input. Not to be called again once it answered something else than [`Step::Open`].
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Step {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (marks, valid) = match rest.first_chunk::<BLOCK>() {
                Some(block) => (Marks::of(block), BLOCK),
                None => (Marks::of(&padded(rest)), rest.len()),
            };
            if self.in_string && marks.quotes == 0 {
                at += self.skip_text(rest, valid);
                continue;
            }
            match self.block(&marks, valid) {
                Step::Open => at += valid,
                Step::Ended(end) => return Step::Ended(at + end),
                Step::Broken => return Step::Broken,
            }
        }
        Step::Open
    }

    /// Passes over string text whose first `known` bytes have no quote; gives the offset of the next quote, or all.
    fn skip_text(&mut self, text: &[u8], known: usize) -> usize {
        let end = memchr(b'"', &text[known..]).map_or(text.len(), |more| known + more);
        let run = trailing_backslashes(&text[..end]);
        // An escape from before the text takes its first byte.
        let spent = usize::from(self.escaped && run == end);
        self.escaped = (run - spent) % 2 == 1;
        end
    }

    fn block(&mut self, marks: &Marks, valid: usize) -> Step {
        let quotes = marks.quotes & !self.escapes(marks.backslashes, valid);
        let inside = prefix_xor(quotes) ^ if self.in_string { u64::MAX } else { 0 };
        self.in_string = inside >> (BLOCK - 1) == 1;
        let stray = marks.backslashes & !inside;
        let opening = marks.opening & !inside;
        let mut brackets = opening | marks.closing & !inside;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            let curly = marks.curly & bit != 0;
            if opening & bit != 0 {
                self.open.push(curly);
            } else if self.open.pop() != Some(curly) {
                return Step::Broken;
            } else if self.open.is_empty() {
                return if stray & (bit - 1) == 0 { Step::Ended(index(bit) + 1) } else { Step::Broken };
            }
            brackets ^= bit;
        }
        if stray == 0 { Step::Open } else { Step::Broken }
    }

    /// Which bytes of a block are escaped; remembers whether the first byte after its `valid` ones is.
    fn escapes(&mut self, backslashes: u64, valid: usize) -> u64 {
        let mut escaped = u64::from(self.escaped);
        let mut left = backslashes & !escaped;
        if left & left << 1 == 0 {
            // No run of them is longer than one, so each escapes the byte behind it.
            self.escaped = left >> (valid - 1) & 1 == 1;
            return escaped | left << 1;
        }
        self.escaped = false;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            if index(bit) + 1 == valid {
                self.escaped = true;
                break;
            }
            escaped |= bit << 1;
            left &= !(bit | bit << 1);
        }
        escaped
    }
}

/// The number of backslashes at the end of `text`.
pub(super) fn trailing_backslashes(text: &[u8]) -> usize {
    text.iter().rev().take_while(|&&byte| byte == b'\\').count()
}

/// Where the only bit of `bit` is.
fn index(bit: u64) -> usize {
    // At most 64, so this is exact on every platform.
    bit.trailing_zeros() as usize
}

fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Bit n is the exclusive or of the bits 0 to n.
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// Where the bytes that matter are in one block.
struct Marks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
    curly: u64,
}

impl Marks {
    #[inline(always)]
    fn of(block: &[u8; BLOCK]) -> Self {
        // This loop is what the compiler turns into vector compares; the packing below works on eight bytes at a time.
        let mut classes = [0_u8; BLOCK];
        for (class, &byte) in classes.iter_mut().zip(block) {
            let square = byte & !CURLY;
            *class = u8::from(byte == b'"')
                | u8::from(byte == b'\\') << 1
                | u8::from(square == b'[') << 2
                | u8::from(square == b']') << 3
                | byte & CURLY;
        }
        let mut marks = Self { quotes: 0, backslashes: 0, opening: 0, closing: 0, curly: 0 };
        let (words, _) = classes.as_chunks::<8>();
        for (place, word) in words.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let shift = place * 8;
            marks.quotes |= pack(word) << shift;
            marks.backslashes |= pack(word >> 1) << shift;
            marks.opening |= pack(word >> 2) << shift;
            marks.closing |= pack(word >> 3) << shift;
            marks.curly |= pack(word >> 5) << shift;
        }
        marks
    }
}

/// Gathers the lowest bit of each of eight bytes into one byte.
fn pack(word: u64) -> u64 {
    // Each product term lands on its own bit of the top byte, so that none carries into another.
    (word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The open brackets: one bit each, set for `{`.
#[derive(Debug, Clone, Default)]
struct Brackets {
    depth: usize,
    /// The innermost up to 64, the last one lowest.
    top: u64,
    /// Those further out, 64 to a word.
    below: Vec<u64>,
}

impl Brackets {
    fn push(&mut self, curly: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.top);
        }
        self.top = self.top << 1 | u64::from(curly);
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<bool> {
        self.depth = self.depth.checked_sub(1)?;
        let curly = self.top & 1 == 1;
        self.top >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.below.pop()?;
        }
        Some(curly)
    }

    fn is_empty(&self) -> bool {
        self.depth == 0
    }
}

#[cfg(test)]
mod tests;
