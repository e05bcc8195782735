//! Blocks of bytes as bit masks: which bytes are what.
//!
//! What is done with them is written once, over a [`Kernel`], and compiled for each: the portable one, which compilers
//! turn into what vector instructions the platform always has, and one for AVX2.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod portable;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;
/// Set in `{` and `}`, not in `[` and `]`.
const CURLY: u8 = 0x20;

/// The bytes that begin and end strings, and escape others; one bit a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoting {
    pub(super) quotes: u64,
    pub(super) backslashes: u64,
}

/// The brackets; one bit a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nesting {
    pub(super) opening: u64,
    pub(super) closing: u64,
    /// Of the brackets, those that are curly; other bits say nothing.
    pub(super) curly: u64,
}

/// What matters before a message is read; one bit a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) line_feeds: u64,
    /// What is not ASCII.
    pub(super) beyond_ascii: u64,
}

/// How a block is read.
pub(super) trait Kernel: Copy {
    /// Line feeds, and what is not ASCII.
    fn framing(self, block: &[u8; BLOCK]) -> Framing;
    /// Quotes and backslashes.
    fn quoting(self, block: &[u8; BLOCK]) -> Quoting;
    /// Brackets.
    fn nesting(self, block: &[u8; BLOCK]) -> Nesting;
    /// Bit n is the exclusive or of the bits 0 to n.
    fn prefix_xor(self, bits: u64) -> u64;
}

/// Something that is done with blocks.
pub(super) trait Work {
    /// What comes of it.
    type Output;
    /// Does it. To be inlined always, so that it is compiled for the kernel.
    fn run(self, kernel: impl Kernel) -> Self::Output;
}

/// Does the work with the best kernel that the processor can run.
#[inline]
pub(super) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    let work = match avx2::run(work) {
        Ok(output) => return output,
        Err(work) => work,
    };
    run_portable(work)
}

#[inline(never)]
fn run_portable<W: Work>(work: W) -> W::Output {
    work.run(portable::Portable)
}

/// The last bytes of a text, fewer than a block, as the end of one.
pub(super) struct Last {
    pub(super) block: [u8; BLOCK],
    /// So many bytes of the block stand before them.
    pub(super) before: usize,
}

impl Last {
    /// What is left of a text from an offset on, which is less than a block; `None` where nothing is.
    #[inline(always)]
    pub(super) fn of(text: &[u8], at: usize) -> Option<Self> {
        let before = BLOCK - (text.len() - at);
        if before == BLOCK {
            return None;
        }
        let block = text.last_chunk().copied().unwrap_or_else(|| filled(text));
        Some(Self { block, before })
    }
}

/// A text of less than a block as the end of one.
#[inline(never)]
fn filled(text: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[BLOCK - text.len()..].copy_from_slice(text);
    block
}

impl Quoting {
    /// Without the first so many bytes.
    #[inline(always)]
    pub(super) const fn behind(self, count: usize) -> Self {
        Self { quotes: self.quotes >> count, backslashes: self.backslashes >> count }
    }
}

impl Framing {
    /// Without the first so many bytes.
    #[inline(always)]
    pub(super) const fn behind(self, count: usize) -> Self {
        Self { line_feeds: self.line_feeds >> count, beyond_ascii: self.beyond_ascii >> count }
    }
}

impl Nesting {
    /// Without the first so many bytes.
    #[inline(always)]
    pub(super) const fn behind(self, count: usize) -> Self {
        Self { opening: self.opening >> count, closing: self.closing >> count, curly: self.curly >> count }
    }
}

#[cfg(test)]
mod tests;
