//! JSON strings: where they end, and what they say.

use std::borrow::Cow;

use memchr::memchr;

use super::skip::{SkipText, Step};
use super::word;

/// Bytes that are looked at word by word before a search that pays off only for long strings starts.
const SHORT: usize = 48;

/// The offset of the quote that closes the string whose text begins at `start`.
#[inline(always)]
pub(super) fn end(line: &[u8], start: usize) -> Option<usize> {
    match word::first(line.get(start..)?).and_then(word::bits_to_quote) {
        Some(bits) => Some(start + (bits / 8) as usize),
        None => match plain_end(line, start) {
            Ok(quote) => Some(quote),
            Err(at) => far_end(line, at),
        },
    }
}

/// The same for a string that is not so short, if it is not long and has no backslash; else a place in it that is not escaped.
#[inline(never)]
pub(super) fn plain_end(line: &[u8], start: usize) -> Result<usize, usize> {
    let mut at = start;
    while at - start < SHORT {
        let Some(rest) = line.get(at..) else { break };
        let Some(word) = word::first(rest) else {
            at += rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
            break;
        };
        let marks = word::matches(word, b'"') | word::matches(word, b'\\');
        if marks != 0 {
            at += (marks.trailing_zeros() / 8) as usize;
            break;
        }
        at += 8;
    }
    if line.get(at) == Some(&b'"') { Ok(at) } else { Err(at) }
}

/// The same for a long string or an escaped one, from a place in it on that is not escaped.
#[inline(never)]
pub(super) fn far_end(line: &[u8], start: usize) -> Option<usize> {
    match SkipText::default().feed(line, start) {
        Step::Ended(end) => Some(end - 1),
        Step::Open | Step::Broken => None,
    }
}

/// Whether a text has no quote, no backslash and no control character.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let is_plain = |word| word::matches(word, b'"') | word::matches(word, b'\\') | word::controls(word) == 0;
    let (words, rest) = text.as_chunks();
    words.iter().all(|word| is_plain(u64::from_le_bytes(*word)))
        && match text.last_chunk() {
            Some(word) => is_plain(u64::from_le_bytes(*word)),
            None => rest.iter().all(|byte| !matches!(byte, b'"' | b'\\' | ..b' ')),
        }
}

/// What a string says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// Text as it should be.
    Sound(Cow<'a, str>),
    /// A lone surrogate (spelled here as if UTF-8 had surrogates), invalid UTF-8, or an escape that JSON does not have
    /// (kept as it stands).
    Unsound(Vec<u8>),
}

/// Reads the text between a string's quotes.
pub(super) fn read(text: &[u8]) -> Text<'_> {
    if memchr(b'\\', text).is_none() {
        return match std::str::from_utf8(text) {
            Ok(text) => Text::Sound(Cow::Borrowed(text)),
            Err(_) => Text::Unsound(text.to_vec()),
        };
    }
    let (bytes, sound) = unescape(text);
    if !sound {
        return Text::Unsound(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Text::Sound(Cow::Owned(text)),
        Err(error) => Text::Unsound(error.into_bytes()),
    }
}

/// The text between a string's quotes as it is meant, sound or not.
pub(super) fn unescaped(text: &[u8]) -> Vec<u8> {
    unescape(text).0
}

/// Reads a string that is only shown to people: what is not text becomes U+FFFD.
pub(super) fn read_lossy(text: &[u8]) -> Cow<'_, str> {
    match read(text) {
        Text::Sound(text) => text,
        Text::Unsound(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// The text between the quotes of `raw`, where that is one whole JSON string.
pub(super) fn unquote(raw: &[u8]) -> Option<&[u8]> {
    let quote = match raw {
        [b'"', ..] => end(raw, 1)?,
        _ => return None,
    };
    (quote + 1 == raw.len()).then(|| &raw[1..quote])
}

fn unescape(text: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::with_capacity(text.len());
    let mut sound = true;
    let mut rest = text;
    while let Some(at) = memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (used, known) = escape(rest, &mut out);
        sound &= known;
        rest = &rest[used..];
    }
    out.extend_from_slice(rest);
    (out, sound)
}

/// Writes what the escape at the beginning of `text` means; gives its length and whether it means a character.
fn escape(text: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
    let plain = match text.get(1) {
        Some(&byte @ (b'"' | b'\\' | b'/')) => byte,
        Some(b'b') => 0x08,
        Some(b'f') => 0x0C,
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'u') => return unicode_escape(text, out),
        _ => {
            out.push(b'\\');
            return (1, false);
        }
    };
    out.push(plain);
    (2, true)
}

fn unicode_escape(text: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
    let Some(unit) = code_unit(text) else {
        out.push(b'\\');
        return (1, false);
    };
    let low = text.get(6..).and_then(code_unit);
    let pair = low.and_then(|low| char::decode_utf16([unit, low]).next()?.ok());
    let (character, used) = match (char::from_u32(u32::from(unit)), pair) {
        (Some(single), _) => (single, 6),
        (None, Some(pair)) => (pair, 12),
        (None, None) => {
            out.extend_from_slice(&surrogate_bytes(unit));
            return (6, false);
        }
    };
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    (used, true)
}

/// The value of `\uXXXX` at the beginning of `text`.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0_u16, |unit, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

/// A surrogate in the form that UTF-8 would give it (WTF-8), which no sound text contains.
fn surrogate_bytes(unit: u16) -> [u8; 3] {
    let [high, low] = unit.to_be_bytes();
    [0xE0 | high >> 4, 0x80 | (high & 0x0F) << 2 | low >> 6, 0x80 | low & 0x3F]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(text: &str) -> Text<'_> {
        Text::Sound(Cow::Borrowed(text))
    }

    #[test]
    fn every_escape_of_json_is_read() {
        assert_eq!(read(br#"\"\\\/\b\f\n\r\t\u0041\u00e9"#), sound("\"\\/\u{8}\u{c}\n\r\tA\u{e9}"));
        assert_eq!(read(br"\ud83d\uDE00!"), sound("\u{1f600}!"));
    }

    #[test]
    fn lone_surrogates_are_kept_apart_from_the_replacement_character() {
        assert_eq!(read(br"\ud800"), Text::Unsound(vec![0xED, 0xA0, 0x80]));
        assert_eq!(read(br"\ud800\u0041"), Text::Unsound(vec![0xED, 0xA0, 0x80, b'A']));
        assert_eq!(read("\u{fffd}".as_bytes()), sound("\u{fffd}"));
        assert_eq!(read_lossy(br"a\udfff"), "a\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn broken_escapes_stand_as_they_are() {
        assert_eq!(read(br"\x"), Text::Unsound(br"\x".to_vec()));
        assert_eq!(read(br"\u12g4"), Text::Unsound(br"\u12g4".to_vec()));
        assert_eq!(read(br"a\"), Text::Unsound(br"a\".to_vec()));
    }

    #[test]
    fn the_closing_quote_is_found_at_every_distance() {
        for length in 0..150 {
            for backslashes in 0..4 {
                let mut line = vec![b'a'; length];
                line.extend(std::iter::repeat_n(b'\\', backslashes));
                line.extend_from_slice(br#"" x"y"#);
                let first = length + backslashes;
                let expected = if backslashes % 2 == 0 { first } else { first + 3 };
                assert_eq!(end(&line, 0), Some(expected), "{length} {backslashes}");
            }
        }
        assert_eq!(end(b"abc", 0), None);
        assert_eq!(end(b"", 1), None);
    }

    #[test]
    fn what_is_not_plain_is_found_in_every_place() {
        for length in 0..40 {
            for other in [b'a', b' ', b'!', 0x7F, 0x80, 0xFF] {
                let mut text = vec![other; length];
                assert!(is_plain(&text));
                for at in 0..length {
                    for byte in [b'"', b'\\', 0, 0x1F, b'\n'] {
                        text[at] = byte;
                        assert!(!is_plain(&text), "{text:?}");
                    }
                    text[at] = other;
                }
            }
        }
    }

    #[test]
    fn a_string_with_more_behind_it_is_not_one_string() {
        assert_eq!(unquote(br#""a\"b""#), Some(&br#"a\"b"#[..]));
        assert_eq!(unquote(br#""a"b""#), None);
        assert_eq!(unquote(br#"""#), None);
        assert_eq!(unquote(b""), None);
    }
}
