//! Fields in bytes, and bytes in frames.

use std::ffi::CString;
use std::time::Duration;

/// The longest body of a frame, in bytes: far above what any system accepts as arguments and environment together.
pub(crate) const LONGEST: u32 = 64 << 20;

/// Bytes that no peer of the same binary writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed message on the socket")]
pub(crate) struct Malformed;

/// Builds a frame.
pub(super) struct Writer {
    /// The length, filled in last, and the body so far.
    frame: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self { frame: vec![0; size_of::<u32>()] }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.frame.push(byte);
    }

    pub(super) fn number(&mut self, number: u32) {
        self.frame.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn long(&mut self, number: u64) {
        self.frame.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn optional(&mut self, number: Option<u64>) {
        self.byte(number.is_some().into());
        number.into_iter().for_each(|number| self.long(number));
    }

    /// In milliseconds; one that does not fit counts as the longest that does.
    pub(super) fn duration(&mut self, duration: Duration) {
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        self.long(milliseconds);
    }

    /// `None` is a length that no frame can have.
    pub(super) fn length(&mut self, length: usize) -> Option<()> {
        self.number(u32::try_from(length).ok()?);
        Some(())
    }

    pub(super) fn strings(&mut self, strings: &[CString]) -> Option<()> {
        self.length(strings.len())?;
        for string in strings {
            self.length(string.as_bytes().len())?;
            self.frame.extend_from_slice(string.as_bytes());
        }
        Some(())
    }

    pub(super) fn into_frame(mut self) -> Option<Vec<u8>> {
        let (head, body) = self.frame.split_at_mut(size_of::<u32>());
        let length = u32::try_from(body.len()).ok().filter(|&length| length <= LONGEST)?;
        head.copy_from_slice(&length.to_le_bytes());
        Some(self.frame)
    }
}

/// Takes a body apart.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn number(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn long(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of 32 bits with a sign, written as an optional one that is there.
    pub(super) fn signed(&mut self) -> Result<i32, Malformed> {
        let number = self.optional()?.and_then(|number| u32::try_from(number).ok()).ok_or(Malformed)?;
        Ok(number.cast_signed())
    }

    pub(super) fn optional(&mut self) -> Result<Option<u64>, Malformed> {
        match self.byte()? {
            0 => Ok(None),
            1 => self.long().map(Some),
            _ => Err(Malformed),
        }
    }

    pub(super) fn duration(&mut self) -> Result<Duration, Malformed> {
        self.long().map(Duration::from_millis)
    }

    fn string(&mut self) -> Result<CString, Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        let (head, rest) = self.rest.split_at_checked(length).ok_or(Malformed)?;
        self.rest = rest;
        CString::new(head).map_err(|_| Malformed)
    }

    pub(super) fn strings(&mut self) -> Result<Vec<CString>, Malformed> {
        self.list(Self::string)
    }

    /// Nothing is reserved for the length that the bytes claim, so a wrong one costs nothing.
    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, Malformed>) -> Result<Vec<T>, Malformed> {
        let length = self.number()?;
        (0..length).map(|_| item(self)).collect()
    }

    /// Gives `value` if nothing is left.
    pub(super) fn end<T>(self, value: T) -> Result<T, Malformed> {
        if self.rest.is_empty() { Ok(value) } else { Err(Malformed) }
    }
}

/// Cuts a stream of bytes into the bodies of frames.
#[derive(Debug)]
pub(crate) struct Frames {
    pending: Vec<u8>,
    longest: u32,
}

impl Default for Frames {
    fn default() -> Self {
        Self::new(LONGEST)
    }
}

impl Frames {
    /// With bodies of at most `longest` bytes.
    pub(crate) const fn new(longest: u32) -> Self {
        Self { pending: Vec::new(), longest }
    }

    /// Adds bytes as they came from the socket.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete body.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        let Some((head, rest)) = self.pending.split_first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head);
        if length > self.longest {
            return Err(Malformed);
        }
        let length = usize::try_from(length).map_err(|_| Malformed)?;
        let Some(body) = rest.get(..length).map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        self.pending.drain(..size_of::<u32>() + length);
        Ok(Some(body))
    }
}
