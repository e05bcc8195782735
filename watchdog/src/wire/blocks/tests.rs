use proptest::prelude::*;

use super::*;

/// The masks of a block by a kernel. The bit that tells the kinds apart counts for brackets alone.
struct Masks([u8; BLOCK]);

impl Work for Masks {
    type Output = (Framing, Quoting, Nesting);
    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Self::Output {
        let nesting = kernel.nesting(&self.0);
        let curly = nesting.curly & (nesting.opening | nesting.closing);
        (kernel.framing(&self.0), kernel.quoting(&self.0), Nesting { curly, ..nesting })
    }
}

/// The same, byte by byte.
fn reference(block: &[u8; BLOCK]) -> (Framing, Quoting, Nesting) {
    let places = |wanted: &[u8]| {
        let found = block.iter().enumerate().filter(|(_, byte)| wanted.contains(byte));
        found.fold(0, |mask, (at, _)| mask | 1 << at)
    };
    let beyond_ascii: Vec<u8> = (0x80..=u8::MAX).collect();
    let framing = Framing { line_feeds: places(b"\n"), beyond_ascii: places(&beyond_ascii) };
    let quoting = Quoting { quotes: places(b"\""), backslashes: places(b"\\") };
    (framing, quoting, Nesting { opening: places(b"{["), closing: places(b"}]"), curly: places(b"{}") })
}

fn check(block: [u8; BLOCK]) {
    let expected = reference(&block);
    assert_eq!(Masks(block).run(portable::Portable), expected, "portable: {block:?}");
    assert_eq!(run(Masks(block)), expected, "the best there is: {block:?}");
}

#[test]
fn every_byte_is_known_at_every_place() {
    for first in 0..=u8::MAX {
        let mut byte = first;
        check(std::array::from_fn(|_| {
            byte = byte.wrapping_add(1);
            byte
        }));
        check([first; BLOCK]);
    }
}

proptest! {
    #[test]
    fn all_kernels_see_the_same(bytes in prop::collection::vec(any::<u8>(), BLOCK)) {
        check(bytes.try_into().unwrap());
    }

    #[test]
    fn all_kernels_add_up_alike(bits in any::<u64>()) {
        struct Sum(u64);
        impl Work for Sum {
            type Output = u64;
            #[inline(always)]
            fn run(self, kernel: impl Kernel) -> u64 {
                kernel.prefix_xor(self.0)
            }
        }
        let below = |at: u32| (bits << (63 - at)).count_ones() % 2;
        let expected = (0..64).fold(0, |sum, at| sum | u64::from(below(at)) << at);
        prop_assert_eq!((Sum(bits).run(portable::Portable), run(Sum(bits))), (expected, expected));
    }
}
