//! Whether bytes are UTF-8.

use super::blocks::{self, BLOCK, Kernel, Work};

/// Up to this length a text is looked at for ASCII first; in bytes. Beyond it that costs much where it is not.
const SHORT: usize = 4 << 10;

/// Whether a text is UTF-8 as a whole.
pub(super) fn is_utf8(text: &[u8]) -> bool {
    // Nearly all lines are ASCII, and short: to see that takes less than to begin the search that is faster.
    (text.len() <= SHORT && blocks::run(IsAscii(text))) || simdutf8::basic::from_utf8(text).is_ok()
}

struct IsAscii<'a>(&'a [u8]);

impl Work for IsAscii<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, _: impl Kernel) -> bool {
        let text = self.0;
        let Some(last) = text.last_chunk() else { return text.is_ascii() };
        // The last block begins in the one before it.
        let (blocks, _) = text.as_chunks();
        let all = blocks.iter().fold(*last, join);
        all.iter().fold(0, |any, byte| any | byte).is_ascii()
    }
}

/// The bits that are set in either block.
#[inline(always)]
fn join(mut all: [u8; BLOCK], block: &[u8; BLOCK]) -> [u8; BLOCK] {
    for (byte, more) in all.iter_mut().zip(block) {
        *byte |= more;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_found_in_every_place_of_every_length() {
        for length in (0..300).chain([SHORT, SHORT + 1]) {
            let mut text = vec![b'a'; length];
            assert!(is_utf8(&text));
            for at in (0..length).rev().take(300) {
                text[at] = 0xE9;
                assert!(!is_utf8(&text), "{at} of {length}");
                text[at] = b'a';
            }
        }
    }

    #[test]
    fn what_is_not_ascii_may_be_utf8() {
        for length in 0..200 {
            let text = format!("{}\u{e9}{}\u{1f600}", "a".repeat(length), "b".repeat(200 - length));
            assert!(is_utf8(text.as_bytes()));
            assert!(!is_utf8(&text.as_bytes()[..text.len() - 1]));
        }
    }
}
