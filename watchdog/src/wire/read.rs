//! A cursor over JSON text that reads one level at a time and builds nothing.
//!
//! Commas, colons, strings and scalars are checked at the levels that are read; of nested values that are passed over the
//! brackets of each kind are counted, and their strings have to be closed.

use super::Span;
use super::lines::BYTE_ORDER_MARK;
use super::number::is_number;
use super::{skip, text, word};

/// How a cursor passes over the values that may be long.
pub(super) trait Pass: Copy {
    /// The end of the string that begins at `start` with its quote; `None` where it has none.
    fn string(self, line: &[u8], start: usize) -> Option<usize>;
    /// The end of the object or array that begins at `start`; `None` where it has none, or is malformed.
    fn nested(self, line: &[u8], start: usize) -> Option<usize>;
}

/// In one go, as all of the line is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct AtOnce;

impl Pass for AtOnce {
    #[inline]
    fn string(self, line: &[u8], start: usize) -> Option<usize> {
        Some(text::end(line, start + 1)? + 1)
    }

    #[inline]
    fn nested(self, line: &[u8], start: usize) -> Option<usize> {
        skip::end(line, start)
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

    /// Passes over these bytes, if they come next.
    #[inline(always)]
    pub(super) fn pass_over(&mut self, text: &[u8]) -> bool {
        let found = self.line.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Passes over this name, its quotes and its colon, if it comes next and is spelled so, up to its value.
    #[inline(always)]
    pub(super) fn pass_over_name(&mut self, name: &[u8]) -> bool {
        self.skip_space();
        let found = self.pass_over(name);
        if found {
            self.skip_space();
        }
        found
    }

    /// Steps into an object or array, over its opening bracket; whether there is something in it. If not, it has been passed over.
    #[inline(always)]
    pub(super) fn enter(&mut self, open: u8, close: u8) -> Option<bool> {
        if self.token()? != open {
            return None;
        }
        self.skip_space();
        let empty = self.peek()? == close;
        self.at += usize::from(empty);
        Some(!empty)
    }

    /// Reads the name of a member, up to its value.
    #[inline(always)]
    pub(super) fn name(&mut self) -> Option<Name<'a>> {
        if self.token()? != b'"' {
            return None;
        }
        let (name, end) = Name::read(self.line, self.at)?;
        self.at = end;
        if self.token()? != b':' {
            return None;
        }
        self.skip_space();
        Some(name)
    }

    /// Passes over what stands behind a member or element; whether there is another one.
    #[inline(always)]
    pub(super) fn goes_on(&mut self, close: u8) -> Option<bool> {
        match self.token()? {
            b',' => Some(true),
            byte => (byte == close).then_some(false),
        }
    }

    /// Reads an array. `element` is given the span of each element.
    pub(super) fn array(&mut self, mut element: impl FnMut(Span)) -> Option<()> {
        let mut more = self.enter(b'[', b']')?;
        while more {
            self.skip_space();
            element(self.value()?);
            more = self.goes_on(b']')?;
        }
        Some(())
    }

    /// Passes over one value of any kind that nobody asks for.
    #[inline]
    pub(super) fn skip_value(&mut self) -> Option<()> {
        self.at = value_end(self.line, self.at, self.pass)?;
        Some(())
    }

    /// Passes over one value of any kind and gives its span.
    #[inline]
    pub(super) fn value(&mut self) -> Option<Span> {
        let start = self.at;
        self.skip_value()?;
        Some(start..self.at)
    }

    /// Passes over one value; gives its span where its first byte is `wanted`.
    #[inline]
    pub(super) fn value_if(&mut self, wanted: impl FnOnce(u8) -> bool) -> Option<Option<Span>> {
        let wanted = wanted(self.peek()?);
        let span = self.value()?;
        Some(wanted.then_some(span))
    }

    /// Gives the span of what `read` reads.
    #[inline(always)]
    pub(super) fn spanned(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<Span> {
        let start = self.at;
        read(self)?;
        Some(start..self.at)
    }

    /// Lends `read` a cursor of its own, so that this one can stay in registers even if `read` is not inlined.
    #[inline(always)]
    pub(super) fn apart(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let mut reader = Self { ..*self };
        read(&mut reader)?;
        self.at = reader.at;
        Some(())
    }

    /// Passes over white space and the byte behind it, and gives that.
    #[inline(always)]
    fn token(&mut self) -> Option<u8> {
        let mut byte = self.peek()?;
        if byte <= b' ' {
            self.at = behind_space(self.line, self.at);
            byte = self.peek()?;
        }
        self.at += 1;
        Some(byte)
    }

    #[inline(always)]
    fn skip_space(&mut self) {
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.at = behind_space(self.line, self.at);
        }
    }
}

/// The name of a member.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    spelled: &'a [u8],
    /// One that means less than eight bytes, as a word with the quote behind it; of others, [`Name::LONG`] or [`Name::ESCAPED`].
    word: u64,
}

impl<'a> Name<'a> {
    const LONG: u64 = 0;
    const ESCAPED: u64 = 1;

    /// Whether it means this.
    #[inline(always)]
    pub(super) fn is(self, name: &str) -> bool {
        match word::with_quote(name.as_bytes()) {
            Some(word) => self.word == word,
            None => self.spelled == name.as_bytes() || (self.word == Self::ESCAPED && self.means(name)),
        }
    }

    #[cold]
    fn means(self, name: &str) -> bool {
        text::unescaped(self.spelled) == name.as_bytes()
    }

    /// Reads the rest of a name that begins at `start` behind its quote; gives its end too, behind the other one.
    #[inline(always)]
    fn read(line: &'a [u8], start: usize) -> Option<(Self, usize)> {
        let text = line.get(start..)?;
        if let Some(word) = word::first(text)
            && let Some(bits) = word::bits_to_quote(word)
        {
            let length = (bits / 8) as usize;
            let name = Self { spelled: &text[..length], word: word::up_to_quote(word, bits) };
            return Some((name, start + length + 1));
        }
        Self::read_long(line, start)
    }

    /// The same of one that is not so short, or escaped, or near the end of the line.
    #[inline(never)]
    fn read_long(line: &'a [u8], start: usize) -> Option<(Self, usize)> {
        let (quote, word) = match text::plain_end(line, start) {
            Ok(quote) => (quote, word::with_quote(line.get(start..quote)?).unwrap_or(Self::LONG)),
            Err(at) => Self::read_far(line, start, at)?,
        };
        Some((Self { spelled: line.get(start..quote)?, word }, quote + 1))
    }

    /// Finds the closing quote of a name that is long or escaped from a place in it on, and its word.
    #[cold]
    #[inline(never)]
    fn read_far(line: &[u8], start: usize, at: usize) -> Option<(usize, u64)> {
        let quote = text::far_end(line, at)?;
        let spelled = line.get(start..quote)?;
        let word = if spelled.contains(&b'\\') {
            word::with_quote(&text::unescaped(spelled)).unwrap_or(Self::ESCAPED)
        } else {
            Self::LONG
        };
        Some((quote, word))
    }
}

/// The first place from `at` on where no white space is.
#[inline(never)]
fn behind_space(line: &[u8], mut at: usize) -> usize {
    while line.get(at).copied().is_some_and(is_space) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `start`.
#[inline(never)]
fn value_end(line: &[u8], start: usize, pass: impl Pass) -> Option<usize> {
    match line.get(start)? {
        b'"' => pass.string(line, start),
        b'{' | b'[' => pass.nested(line, start),
        _ => scalar_end(line, start),
    }
}

/// The end of the number or literal that begins at `start`.
pub(super) fn scalar_end(line: &[u8], start: usize) -> Option<usize> {
    let rest = line.get(start..)?;
    if let Some(length) = word::first(rest).and_then(word::integer) {
        return Some(start + length);
    }
    let length = rest.iter().take_while(|&&byte| is_scalar_byte(byte)).count();
    is_scalar(&rest[..length]).then_some(start + length)
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
