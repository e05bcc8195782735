//! JSON-RPC ids and progress tokens: compared by value, returned as they were spelled.

use std::borrow::Cow;
use std::fmt;

use super::Span;
use super::number::{self, Number};
use super::text::{self, Text};
use super::word;

/// The value of an id, for comparison. `1`, `1.0` and `1e0` are one value, `"a"` and `"\u0061"` too; `1` and `"1"` differ.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdKey {
    /// A number with an integral value that fits.
    Int(i64),
    /// A string, unescaped.
    Text(Box<str>),
    /// Any other number (fractions; integers that do not fit keep all their digits): its canonical spelling.
    Number(Box<str>),
    /// A string that is not text: it has a lone surrogate, invalid UTF-8, or an escape that JSON does not know.
    Opaque(Box<[u8]>),
}

impl Clone for IdKey {
    /// Nearly all are integers: what the others take stays out of the way of messages.
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Int(value) => Self::Int(*value),
            Self::Text(text) => Self::Text(clone_apart(text)),
            Self::Number(spelling) => Self::Number(clone_apart(spelling)),
            Self::Opaque(bytes) => Self::Opaque(clone_apart(bytes)),
        }
    }
}

#[cold]
#[inline(never)]
fn clone_apart<T: Clone>(value: &T) -> T {
    value.clone()
}

impl IdKey {
    /// The id that a careless server may send back instead of this one: the number for a string, the string for a number.
    #[must_use]
    pub fn alias(&self) -> Option<Self> {
        match self {
            Self::Int(value) => Some(Self::Text(value.to_string().into())),
            Self::Text(text) => canonical_int(text).map(Self::Int),
            Self::Number(_) | Self::Opaque(_) => None,
        }
    }
}

impl From<Number> for IdKey {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(value) => Self::Int(value),
            Number::Other(spelling) => Self::Number(spelling.into()),
        }
    }
}

/// The integer that is spelled exactly so.
fn canonical_int(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// An id with its spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id {
    /// Its value.
    pub key: IdKey,
    /// How it was spelled, where that is not the canonical spelling of the value.
    raw: Option<Box<[u8]>>,
}

impl Id {
    /// Reads the id at a span of a line, as [`Id::parse`] does.
    #[must_use]
    #[inline]
    pub fn at(line: &[u8], span: &Span) -> Option<Self> {
        // Nearly all are numbers of a few digits, and something stands behind them.
        if (1..=8).contains(&span.len())
            && let Some(word) = line.get(span.start..).and_then(word::first)
            && let Some(value) = word::number(word, span.len())
        {
            return Some(Self::from_int(value.into()));
        }
        Self::parse(line.get(span.clone())?)
    }

    /// Reads an id from its JSON text. `None` for `null`, and for what is neither a number nor a string.
    #[must_use]
    #[inline]
    pub fn parse(raw: &[u8]) -> Option<Self> {
        match small_int(raw) {
            Some(value) => Some(Self::from_int(value)),
            None => Self::parse_other(raw),
        }
    }

    #[inline(never)]
    fn parse_other(raw: &[u8]) -> Option<Self> {
        if let [b'"', text @ .., b'"'] = raw
            && text::is_plain(text)
            && let Ok(text) = std::str::from_utf8(text)
        {
            return Some(Self::text(text));
        }
        let key = if raw.first() == Some(&b'"') {
            match text::read(text::unquote(raw)?) {
                Text::Sound(text) => IdKey::Text(text.into()),
                Text::Unsound(bytes) => {
                    return Some(Self { key: IdKey::Opaque(bytes.into()), raw: Some(raw.into()) });
                }
            }
        } else {
            number::read(raw)?.into()
        };
        let made = Self { key, raw: None };
        Some(if *made.raw() == *raw { made } else { Self { raw: Some(raw.into()), ..made } })
    }

    /// The id of an integer.
    #[must_use]
    pub fn from_int(value: i64) -> Self {
        Self { key: IdKey::Int(value), raw: None }
    }

    /// The id of a string, given unescaped and without quotes.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { key: IdKey::Text(text.into()), raw: None }
    }

    /// The id as it was spelled.
    #[must_use]
    pub fn raw(&self) -> Cow<'_, [u8]> {
        if let Some(raw) = &self.raw {
            return Cow::Borrowed(raw);
        }
        match &self.key {
            IdKey::Int(value) => Cow::Owned(value.to_string().into_bytes()),
            IdKey::Text(text) => Cow::Owned(quote(text)),
            IdKey::Number(spelling) => Cow::Borrowed(spelling.as_bytes()),
            // Not reached: such an id has a spelling from the start.
            IdKey::Opaque(bytes) => Cow::Borrowed(bytes),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.raw()))
    }
}

/// Text as a JSON string.
pub(super) fn quote(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a string is always representable, and a Vec takes every write")
}

/// An integer of so few digits that it fits, spelled canonically.
#[inline]
fn small_int(raw: &[u8]) -> Option<i64> {
    let (negative, digits) = match raw {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, raw),
    };
    if digits.len() > 18 || matches!(digits, [] | [b'0', _, ..]) || (negative && digits == b"0") {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests;
