//! Without instructions that only some processors have.

use super::{BLOCK, CURLY, Framing, Kernel, Nesting, Quoting};

#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Kernel for Portable {
    #[inline(always)]
    fn framing(self, block: &[u8; BLOCK]) -> Framing {
        let line_feeds = block.map(|byte| u8::from(byte == b'\n'));
        Framing { line_feeds: gather(&line_feeds, 0), beyond_ascii: gather(block, 7) }
    }

    #[inline(always)]
    fn quoting(self, block: &[u8; BLOCK]) -> Quoting {
        let classes = block.map(|byte| u8::from(byte == b'"') | u8::from(byte == b'\\') << 1);
        Quoting { quotes: gather(&classes, 0), backslashes: gather(&classes, 1) }
    }

    #[inline(always)]
    fn nesting(self, block: &[u8; BLOCK]) -> Nesting {
        let classes = block.map(|byte| {
            let square = byte & !CURLY;
            u8::from(square == b'[') | u8::from(square == b']') << 1 | byte & CURLY
        });
        Nesting { opening: gather(&classes, 0), closing: gather(&classes, 1), curly: gather(&classes, 5) }
    }

    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}

/// One bit of each byte.
#[inline(always)]
fn gather(classes: &[u8; BLOCK], bit: u32) -> u64 {
    let (words, _) = classes.as_chunks::<8>();
    let packed = words.iter().map(|word| pack(u64::from_le_bytes(*word) >> bit));
    packed.zip((0..).step_by(8)).fold(0, |mask, (bits, shift)| mask | bits << shift)
}

/// Gathers the lowest bit of each of eight bytes into one byte.
#[inline(always)]
fn pack(word: u64) -> u64 {
    // Each product term lands on its own bit of the top byte, so that none carries into another.
    (word & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
