//! With AVX2, which nearly every processor for servers and desktops has had since 2015. Six times as fast as without.
#![expect(
    unsafe_code,
    reason = "code for instructions that not every processor has may only be called where they were found"
)]

use std::arch::x86_64::{
    __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set1_epi8, _mm256_cmpeq_epi8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi64x, _mm256_slli_epi16,
};
use std::sync::LazyLock;

use super::{BLOCK, CURLY, Framing, Kernel, Nesting, Quoting, Work};

/// To be made where the instructions were found, and nowhere else.
#[derive(Clone, Copy)]
struct Avx2(());

/// Whether the processor has all of the instructions. To ask for them one by one takes as long as to look at a block.
static FOUND: LazyLock<bool> = LazyLock::new(|| {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("popcnt")
});

/// Does the work where the processor can, or gives it back.
#[inline]
pub(super) fn run<W: Work>(work: W) -> Result<W::Output, W> {
    if !*FOUND {
        return Err(work);
    }
    // SAFETY: the processor has all that the function is compiled for.
    Ok(unsafe { compiled(work) })
}

#[target_feature(enable = "avx2,bmi1,pclmulqdq,popcnt")]
fn compiled<W: Work>(work: W) -> W::Output {
    work.run(Avx2(()))
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn framing(self, block: &[u8; BLOCK]) -> Framing {
        // SAFETY: who has a value of this type has found the instructions.
        unsafe { framing(block) }
    }

    #[inline(always)]
    fn quoting(self, block: &[u8; BLOCK]) -> Quoting {
        // SAFETY: who has a value of this type has found the instructions.
        unsafe { quoting(block) }
    }

    #[inline(always)]
    fn nesting(self, block: &[u8; BLOCK]) -> Nesting {
        // SAFETY: who has a value of this type has found the instructions.
        unsafe { nesting(block) }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: who has a value of this type has found the instructions.
        unsafe { prefix_xor(bits) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn framing(block: &[u8; BLOCK]) -> Framing {
    let halves = load(block);
    Framing { line_feeds: mask(equal(halves, b'\n')), beyond_ascii: mask(halves) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn quoting(block: &[u8; BLOCK]) -> Quoting {
    let halves = load(block);
    Quoting { quotes: mask(equal(halves, b'"')), backslashes: mask(equal(halves, b'\\')) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn nesting(block: &[u8; BLOCK]) -> Nesting {
    let halves = load(block);
    let curly = halves.map(|half| _mm256_or_si256(half, _mm256_set1_epi8(CURLY.cast_signed())));
    Nesting {
        opening: mask(equal(curly, b'{')),
        closing: mask(equal(curly, b'}')),
        // The bit that tells the kinds apart becomes the highest of its byte.
        curly: mask(halves.map(|half| _mm256_slli_epi16::<2>(half))),
    }
}

/// A product without carries, of which one factor is all ones, adds up each bit's lower neighbours.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn prefix_xor(bits: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(bits.cast_signed()), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &[u8; BLOCK]) -> [__m256i; 2] {
    let (words, _) = block.as_chunks::<8>();
    let word = |at: usize| i64::from_le_bytes(words[at]);
    [_mm256_setr_epi64x(word(0), word(1), word(2), word(3)), _mm256_setr_epi64x(word(4), word(5), word(6), word(7))]
}

#[inline]
#[target_feature(enable = "avx2")]
fn equal(halves: [__m256i; 2], byte: u8) -> [__m256i; 2] {
    halves.map(|half| _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte.cast_signed())))
}

/// The highest bit of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn mask(halves: [__m256i; 2]) -> u64 {
    let [low, high] = halves.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
    low | high << 32
}
