//! A cursor over JSON text that reads one level at a time and builds nothing.
//!
//! Commas, colons, strings and scalars are checked at the levels that are read; of nested values that are passed over the
//! brackets of each kind are counted, and their strings have to be closed.

use std::borrow::Cow;

use memchr::memchr;

use super::Span;
use super::number::is_number;
use super::skip::{Skip, Step};
use super::text::{self, Text};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How a cursor passes over the values that may be long.
pub(super) trait Pass {
    /// The end of the string that begins at `start` with its quote; `None` where it has none.
    fn string(&mut self, line: &[u8], start: usize) -> Option<usize>;
    /// The end of the object or array that begins at `start`; `None` where it has none, or is malformed.
    fn nested(&mut self, line: &[u8], start: usize) -> Option<usize>;
}

/// In one go, as all of the line is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct AtOnce;

impl Pass for AtOnce {
    #[inline]
    fn string(&mut self, line: &[u8], start: usize) -> Option<usize> {
        Some(text::end(line, start + 1)?.quote + 1)
    }

    #[inline]
    fn nested(&mut self, line: &[u8], start: usize) -> Option<usize> {
        match Skip::default().feed(&line[start..]) {
            Step::Ended(length) => Some(start + length),
            Step::Open | Step::Broken => None,
        }
    }
}

/// Where reading is. Every method answers `None` for malformed text; the cursor is then of no more use.
pub(super) struct Reader<'a, P = AtOnce> {
    line: &'a [u8],
    at: usize,
    pass: P,
}

impl<'a> Reader<'a> {
    /// Stands at the first value of a line.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self::by(line, AtOnce)
    }
}

impl<'a, P: Pass> Reader<'a, P> {
    /// The same, with another way to pass over values.
    pub(super) fn by(line: &'a [u8], pass: P) -> Self {
        let at = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut reader = Self { line, at, pass };
        reader.skip_space();
        reader
    }

    /// The next byte.
    pub(super) fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    /// Requires that nothing but white space is left.
    pub(super) fn end(&mut self) -> Option<()> {
        self.skip_space();
        (self.at == self.line.len()).then_some(())
    }

    /// Reads an object. `member` is given each name, unescaped, and has to read the value.
    // The scan of a short line takes a fifth longer where this is a call.
    #[inline]
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        self.skip_space();
        if self.peek() == Some(b'}') {
            return self.take(b'}');
        }
        loop {
            let name = self.name()?;
            self.skip_space();
            self.take(b':')?;
            self.skip_space();
            member(self, &name)?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// Reads an array. `element` is given the span of each element.
    pub(super) fn array(&mut self, mut element: impl FnMut(Span)) -> Option<()> {
        self.take(b'[')?;
        self.skip_space();
        if self.peek() == Some(b']') {
            return self.take(b']');
        }
        loop {
            element(self.value()?);
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// Passes over one value of any kind that nobody asks for.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        self.value().map(|_| ())
    }

    /// Passes over one value of any kind and gives its span.
    pub(super) fn value(&mut self) -> Option<Span> {
        let start = self.at;
        self.at = match self.peek()? {
            b'"' => self.pass.string(self.line, start)?,
            b'{' | b'[' => self.pass.nested(self.line, start)?,
            _ => start + scalar_length(&self.line[start..])?,
        };
        Some(start..self.at)
    }

    /// Passes over one value; gives its span where its first byte is `wanted`.
    pub(super) fn value_if(&mut self, wanted: impl FnOnce(u8) -> bool) -> Option<Option<Span>> {
        let wanted = wanted(self.peek()?);
        let span = self.value()?;
        Some(wanted.then_some(span))
    }

    /// Gives the span of what `read` reads, along with what it found.
    pub(super) fn spanned<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<(Span, T)> {
        let start = self.at;
        let found = read(self)?;
        Some((start..self.at, found))
    }

    /// Passes over what stands between two members; whether there is another one.
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        self.skip_space();
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => {
                self.skip_space();
                Some(true)
            }
            _ => (byte == close).then_some(false),
        }
    }

    fn name(&mut self) -> Option<Cow<'a, [u8]>> {
        self.take(b'"')?;
        let end = text::end(self.line, self.at)?;
        let name = &self.line[self.at..end.quote];
        self.at = end.quote + 1;
        if end.plain || memchr(b'\\', name).is_none() {
            return Some(Cow::Borrowed(name));
        }
        Some(Cow::Owned(match text::read(name) {
            Text::Sound(text) => text.into_owned().into_bytes(),
            Text::Unsound(bytes) => bytes,
        }))
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        if self.peek() != Some(byte) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }
}

/// White space of the JSON grammar.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a byte can be part of a number or a literal.
pub(super) fn is_scalar_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Whether `text` is a number or a literal. Python's `json` writes the last three by default, and reads them.
pub(super) fn is_scalar(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity") || is_number(text)
}

fn scalar_length(rest: &[u8]) -> Option<usize> {
    let length = rest.iter().take_while(|&&byte| is_scalar_byte(byte)).count();
    is_scalar(&rest[..length]).then_some(length)
}
