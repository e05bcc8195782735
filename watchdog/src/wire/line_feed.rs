//! Where a line ends.

use memchr::memchr;

use super::blocks::{self, BLOCK, Kernel, Last, Work};

/// So many bytes are looked at for what is ASCII too. Behind them a search is faster that looks for nothing else.
const NEAR: usize = 4 * BLOCK;

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineFeed {
    /// Where it is.
    pub(super) at: usize,
    /// Whether all before it is known to be ASCII. To see that with the same look costs next to nothing.
    pub(super) ascii: bool,
}

/// The first one in a text.
#[inline]
pub(super) fn first(text: &[u8]) -> Option<LineFeed> {
    match blocks::run(Near(text)) {
        Look::BehindAscii(at) => Some(LineFeed { at, ascii: true }),
        Look::BehindOthers(at) => Some(LineFeed { at, ascii: false }),
        Look::Nowhere => None,
        Look::Far(from) => Some(LineFeed { at: from + memchr(b'\n', &text[from..])?, ascii: false }),
    }
}

/// What a look at the beginning of a text finds, and where. Two words, which are returned in registers.
enum Look {
    BehindAscii(usize),
    BehindOthers(usize),
    /// The text ends here.
    Nowhere,
    /// If there is one, it is behind this.
    Far(usize),
}

struct Near<'a>(&'a [u8]);

impl Work for Near<'_> {
    type Output = Look;

    #[inline(always)]
    fn run(self, kernel: impl Kernel) -> Self::Output {
        let text = self.0;
        let (mut at, mut beyond_ascii) = (0, 0);
        loop {
            let (framing, is_last) = match text[at..].first_chunk() {
                Some(block) => (kernel.framing(block), false),
                None => match Last::of(text, at) {
                    Some(last) => (kernel.framing(&last.block).behind(last.before), true),
                    None => return Look::Nowhere,
                },
            };
            if framing.line_feeds != 0 {
                let before = framing.line_feeds ^ (framing.line_feeds - 1);
                let end = at + framing.line_feeds.trailing_zeros() as usize;
                let is_ascii = beyond_ascii | framing.beyond_ascii & before == 0;
                return if is_ascii { Look::BehindAscii(end) } else { Look::BehindOthers(end) };
            }
            if is_last {
                return Look::Nowhere;
            }
            beyond_ascii |= framing.beyond_ascii;
            at += BLOCK;
            if at == NEAR {
                return Look::Far(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference(text: &[u8]) -> Option<LineFeed> {
        let at = text.iter().position(|&byte| byte == b'\n')?;
        Some(LineFeed { at, ascii: at < NEAR && text[..at].is_ascii() })
    }

    #[test]
    fn it_is_found_at_every_place_and_with_it_what_is_not_ascii() {
        for length in 0..2 * NEAR {
            let mut text = vec![b'a'; length];
            assert_eq!(first(&text), None);
            text.extend_from_slice("\n\u{e9}\n".as_bytes());
            assert_eq!(first(&text), Some(LineFeed { at: length, ascii: length < NEAR }));
            for other in (0..length).step_by(7) {
                text[other] = 0xE9;
                assert_eq!(first(&text), Some(LineFeed { at: length, ascii: false }), "{other} of {length}");
                text[other] = b'a';
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_the_first_of_any_text(text in prop::collection::vec(prop::sample::select(b"aaaaaaaaaaaa\n\x80\x8a\xff".to_vec()), 0..400)) {
            prop_assert_eq!(first(&text), reference(&text));
            for length in 0..text.len().min(70) {
                prop_assert_eq!(first(&text[..length]), reference(&text[..length]));
            }
        }
    }
}
