//! JSON-RPC ids and progress tokens: compared by value, returned as they were spelled.

use std::borrow::Cow;

/// The value of an id, for comparison. `1`, `1.0` and `1e0` are one value, `"a"` and `"\u0061"` too; `1` and `"1"` differ.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IdKey {
    /// A number with an integral value that fits.
    Int(i64),
    /// A string, unescaped.
    Text(Box<str>),
    /// Any other number (fractions; integers that do not fit keep all their digits): its canonical spelling.
    Number(Box<str>),
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
    /// Reads an id from its JSON text. `None` for `null`, and for what is neither a number nor a string.
    #[must_use]
    pub fn parse(_raw: &[u8]) -> Option<Self> {
        None
    }

    /// The id as it was spelled.
    #[must_use]
    pub fn raw(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(b"")
    }
}
