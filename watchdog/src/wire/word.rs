//! Eight bytes at once, as a number: the first byte of the text is the lowest of the word.

/// The lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGHS: u64 = ONES << 7;

/// The word at the beginning of a text.
#[inline(always)]
pub(super) fn first(text: &[u8]) -> Option<u64> {
    text.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The end of a text from `start` on as a word that goes on with zeros, where it is shorter than one and the text is not.
#[inline]
pub(super) fn rest(text: &[u8], start: usize) -> Option<u64> {
    let bits = 8 * text.len().checked_sub(start).filter(|left| (1..8).contains(left))?;
    Some(u64::from_le_bytes(*text.last_chunk()?) >> (64 - bits))
}

/// The highest bit of each byte that equals `wanted`; bits above the lowest such bit may be wrong.
#[inline(always)]
pub(super) const fn matches(word: u64, wanted: u8) -> u64 {
    let difference = word ^ (ONES * wanted as u64);
    difference.wrapping_sub(ONES) & !difference & HIGHS
}

/// The highest bit of each byte that is a control character of ASCII but DEL; bits above the lowest such bit may be wrong.
#[inline(always)]
pub(super) const fn controls(word: u64) -> u64 {
    word.wrapping_sub(ONES * b' ' as u64) & !word & HIGHS
}

/// How many bits stand before the first quote, where none of them are a backslash.
#[inline(always)]
pub(super) const fn bits_to_quote(word: u64) -> Option<u32> {
    let quotes = matches(word, b'"');
    if quotes == 0 {
        return None;
    }
    let bits = quotes.trailing_zeros() & !7;
    if matches(up_to_quote(word, bits), b'\\') == 0 { Some(bits) } else { None }
}

/// So many bits of a word and the quote behind them, the rest zeros.
#[inline(always)]
pub(super) const fn up_to_quote(word: u64, bits: u32) -> u64 {
    word & (u64::MAX >> (56 - bits))
}

/// The same of a text that has no quote behind it. There is a word for each text of less than eight bytes.
#[inline(always)]
pub(super) fn with_quote(text: &[u8]) -> Option<u64> {
    let word = || text.iter().rev().fold(u64::from(b'"'), |word, byte| word << 8 | u64::from(*byte));
    (text.len() < 8).then(word)
}

/// The length of the integer at the beginning of a word, where it has no sign, and a comma or a curly bracket behind it: nearly
/// every id is one. What is none may be a number all the same.
#[inline]
pub(super) const fn integer(word: u64) -> Option<usize> {
    // A digit is 0x30 to 0x39: with 6 more, its high half is still 3.
    let digits = word ^ (ONES * 0x30);
    let others = (digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xF0);
    let bits = others.trailing_zeros() & !7;
    let is_whole = bits < 64 && matches!((word >> bits) as u8, b',' | b'}');
    if is_whole && matches!(word as u8, b'1'..=b'9') { Some((bits / 8) as usize) } else { None }
}

/// The value of the canonical decimal number that is spelled by so many bytes at the beginning of a word, one to eight.
#[inline(always)]
pub(super) const fn number(word: u64, length: usize) -> Option<u32> {
    // The first digit is the lowest byte: moved up, those before it are zeros.
    let digits = (word ^ (ONES * 0x30)) << (64 - 8 * length);
    // With 0x76 more, all but a digit have the highest bit.
    let others = (digits | digits.wrapping_add(ONES * 0x76)) & HIGHS;
    if others != 0 || (word as u8 == b'0' && length > 1) {
        return None;
    }
    // Neighbours are joined three times, each pair of numbers by one multiplication.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let every_other = 0x0000_00FF_0000_00FF;
    let upper = (pairs & every_other).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & every_other).wrapping_mul(1 + (10_000 << 32));
    Some((upper.wrapping_add(lower) >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quote_is_found_in_a_word_unless_a_backslash_stands_before_it() {
        let bits = |word: &[u8; 8]| bits_to_quote(u64::from_le_bytes(*word));
        for at in 0..8 {
            for other in [b'a', b'!', b'#', b'[', b']', 0, 0x80, b'"' | 0x80, b'\\' | 0x80, 0xFF] {
                let mut word = [other; 8];
                assert_eq!(bits(&word), None);
                word[at] = b'"';
                assert_eq!(bits(&word).map(|bits| bits as usize), Some(8 * at), "{word:?}");
                for before in 0..at {
                    let escaped = [&word[..before], b"\\", &word[before + 1..]].concat();
                    assert_eq!(bits(escaped.as_slice().try_into().expect("eight bytes")), None);
                }
                for behind in at + 1..8 {
                    word[behind] = b'\\';
                    assert_eq!(bits(&word).map(|bits| bits as usize), Some(8 * at), "{word:?}");
                }
            }
        }
    }

    #[test]
    fn texts_of_less_than_eight_bytes_have_words_of_their_own() {
        let texts = ["", "\0", "\0\0", "\"", "\"\0", "id", "id\0", "id\"", "jsonrpc", "jsonrp", "\u{ff}"];
        for (at, text) in texts.iter().enumerate() {
            let equal: Vec<usize> = (0..texts.len())
                .filter(|&other| with_quote(texts[other].as_bytes()) == with_quote(text.as_bytes()))
                .collect();
            assert_eq!(equal, [at]);
        }
        assert_eq!(with_quote(b"id"), Some(u64::from_le_bytes(*b"id\"\0\0\0\0\0")));
        assert_eq!(with_quote(b"12345678"), None);
    }

    #[test]
    fn the_rest_of_a_text_is_a_word_that_goes_on_with_zeros() {
        let text = b"0123456789";
        assert_eq!(rest(text, 9), Some(u64::from(b'9')));
        assert_eq!(rest(text, 3), Some(u64::from_le_bytes(*b"3456789\0")));
        assert_eq!((rest(text, 2), rest(text, 10), rest(text, 11), rest(b"1}", 0)), (None, None, None, None));
        assert_eq!(rest(b"\"id\":12}", 5).and_then(integer), Some(2));
        assert_eq!(rest(b"\"id\":123", 5).and_then(integer), None);
    }

    #[test]
    fn short_integers_are_taken_for_what_they_are() {
        for length in 1..12 {
            let digits = &"123456789012"[..length];
            for (behind, known) in
                [(",\"a\":123", true), ("}       ", true), ("]  ,    ", false), (".5,     ", false), ("e1,", false)]
            {
                let text = format!("{digits}{behind}");
                let expected = (known && length < 8).then_some(length);
                assert_eq!(first(text.as_bytes()).and_then(integer), expected, "{text}");
            }
        }
        for text in [
            "0,      ",
            "01,     ",
            "-1,     ",
            ",       ",
            "1a,     ",
            "1/,     ",
            "1:,     ",
            "1\u{b1},    ",
            "1,",
            "1",
        ] {
            assert_eq!(first(text.as_bytes()).and_then(integer), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_read_where_it_is_canonical(value in 0_u32..100_000_000, shorter in 0_u32..8, behind in any::<[u8; 8]>()) {
            let value = value / 10_u32.pow(shorter);
            let text = value.to_string();
            let word = first(&[text.as_bytes(), &behind].concat()).unwrap();
            prop_assert_eq!(number(word, text.len()), Some(value));
            if text.len() < 8 {
                let padded = first(&[b"0", text.as_bytes(), &behind].concat()).unwrap();
                prop_assert_eq!(number(padded, text.len() + 1), None);
            }
        }

        #[test]
        fn what_is_no_digit_makes_no_number(other in any::<u8>(), at in 0_usize..8, length in 1_usize..=8) {
            let mut word = *b"12345678";
            word[at] = other;
            let text = &word[..length];
            let is_number = text.iter().all(u8::is_ascii_digit) && (text[0] != b'0' || length == 1);
            let expected = is_number.then(|| str::from_utf8(text).unwrap().parse().unwrap());
            prop_assert_eq!(number(u64::from_le_bytes(word), length), expected);
        }
    }
}
