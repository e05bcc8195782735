//! The id and kind of one message, found while its bytes stream by.
//!
//! Works like [`scan`](super::super::head::scan) at the top level only, chunk by chunk, in constant memory.

use memchr::memchr2;

use super::super::id::Id;
use super::super::read::{is_scalar, is_scalar_byte, is_space};
use super::super::skip::{Skip, Step};
use super::super::text;
use super::{OversizedKind, OversizedMessage};

/// Longest spelling of an id that is found, and of a name that is compared; in bytes.
pub(super) const HELD_MAX: usize = 1024;

/// Reads one message, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Message {
    at: At,
    /// Whether the next byte of a string is escaped.
    escaped: bool,
    /// The string or scalar that is being read, as far as it matters.
    held: Vec<u8>,
    member: Member,
    id: Option<Id>,
    method: bool,
    response: bool,
    /// Whether it is a value alone, and no object.
    bare: bool,
}

/// What comes next.
#[derive(Debug, Default)]
enum At {
    /// The first member, or the end of the object.
    #[default]
    First,
    /// A name.
    Name,
    /// The rest of a name.
    NameText,
    /// The colon behind a name.
    Colon,
    /// A value.
    Value,
    /// The rest of a string.
    Text,
    /// The rest of a number or literal.
    Scalar,
    /// The rest of an object or array.
    Nested(Skip),
    /// A comma, or the end of the object.
    Next,
    /// Nothing any more: it is whole.
    End,
    /// Nothing any more: it is not JSON.
    Broken,
}

/// The member whose value is being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Member {
    Id,
    Method,
    /// `result` or `error`.
    Body,
    #[default]
    Other,
}

/// The value of a member, as far as it matters.
enum Value<'a> {
    Text(&'a [u8]),
    Scalar(&'a [u8]),
    Nested,
}

impl Message {
    /// Reads a value that is no object, of which nothing is to be found but its end.
    pub(super) fn none() -> Self {
        Self { at: At::Value, bare: true, ..Self::default() }
    }

    /// Takes the next piece of the line: of an object, from behind its opening brace on. Not to be called again once it answered
    /// something else than [`Step::Open`].
    pub(super) fn feed(&mut self, piece: &[u8]) -> Step {
        let whole = piece.len();
        let mut piece = piece;
        loop {
            match self.at {
                At::Broken => return Step::Broken,
                At::Next if self.bare => return Step::Ended(whole - piece.len()),
                At::End => return Step::Ended(whole - piece.len()),
                _ => {}
            }
            let Some(&first) = piece.first() else { return Step::Open };
            let used = match self.at {
                At::NameText | At::Text => self.text(piece),
                At::Scalar => self.scalar(piece),
                At::Nested(ref mut skip) => match skip.feed(piece, 0) {
                    Step::Open => piece.len(),
                    Step::Broken => self.go(At::Broken, piece.len()),
                    Step::Ended(used) => {
                        self.value(&Value::Nested);
                        self.go(At::Next, used)
                    }
                },
                _ if is_space(first) => 1,
                _ => self.token(first, piece),
            };
            piece = piece.get(used..).unwrap_or_default();
        }
    }

    /// The verdict on a message that has ended.
    pub(super) fn end(self) -> OversizedMessage {
        let (kind, id) = match (self.method, self.response) {
            (true, _) if self.id.is_some() => (OversizedKind::Request, self.id),
            (true, _) => (OversizedKind::Notification, None),
            (false, true) => (OversizedKind::Response, self.id),
            (false, false) => (OversizedKind::Unknown, self.id),
        };
        OversizedMessage { kind, id }
    }

    /// Takes one significant byte between strings, scalars and nested values; gives how many bytes it used.
    fn token(&mut self, byte: u8, piece: &[u8]) -> usize {
        let next = match (&self.at, byte) {
            (At::First | At::Name, b'"') => At::NameText,
            (At::First | At::Next, b'}') => At::End,
            (At::Next, b',') => At::Name,
            (At::Colon, b':') => At::Value,
            (At::Value, b'"') => At::Text,
            // Both are read again, from this byte on, by the state that they lead to.
            (At::Value, b'{' | b'[') => return self.go(At::Nested(Skip::default()), 0),
            (At::Value, _) if is_scalar_byte(byte) => return self.go(At::Scalar, 0),
            _ => return self.go(At::Broken, piece.len()),
        };
        self.go(next, 1)
    }

    fn go(&mut self, next: At, used: usize) -> usize {
        self.at = next;
        used
    }

    /// Takes the bytes of a string, up to its closing quote if that is there.
    fn text(&mut self, piece: &[u8]) -> usize {
        let mut at = usize::from(std::mem::take(&mut self.escaped));
        while let Some(hit) = piece.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            at += hit;
            if piece[at] == b'"' {
                self.hold(&piece[..at]);
                self.string_ended();
                return at + 1;
            }
            at += 2;
        }
        self.escaped = at > piece.len();
        self.hold(piece);
        piece.len()
    }

    fn string_ended(&mut self) {
        let held = std::mem::take(&mut self.held);
        if matches!(self.at, At::NameText) {
            self.member = Member::of(&held);
            self.at = At::Colon;
        } else {
            self.value(&Value::Text(&held));
            self.at = At::Next;
        }
        self.reuse(held);
    }

    fn scalar(&mut self, piece: &[u8]) -> usize {
        let length = piece.iter().take_while(|&&byte| is_scalar_byte(byte)).count();
        self.hold(&piece[..length]);
        if length == piece.len() {
            return length;
        }
        let held = std::mem::take(&mut self.held);
        // A scalar that is too long to be held is a number, if it is anything.
        self.at = if held.len() > HELD_MAX || is_scalar(&held) { At::Next } else { At::Broken };
        self.value(&Value::Scalar(&held));
        self.reuse(held);
        length
    }

    fn value(&mut self, value: &Value<'_>) {
        match self.member {
            Member::Id => {
                self.id = match value {
                    Value::Text(held) | Value::Scalar(held) if held.len() > HELD_MAX => None,
                    // Whoever is answered under it could not read the answer.
                    Value::Text(held) if std::str::from_utf8(held).is_err() => None,
                    Value::Text(held) => Id::parse(&[b"\"", *held, b"\""].concat()),
                    Value::Scalar(held) => Id::parse(held),
                    Value::Nested => None,
                }
            }
            Member::Method => self.method = matches!(value, Value::Text(_)),
            Member::Body => self.response = true,
            Member::Other => {}
        }
    }

    /// Keeps bytes of a name, scalar or id; more than [`HELD_MAX`] in all only show that there were more.
    fn hold(&mut self, bytes: &[u8]) {
        if matches!(self.at, At::Text) && self.member != Member::Id {
            return;
        }
        let room = (HELD_MAX + 1).saturating_sub(self.held.len());
        self.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What it takes, in bytes.
    #[cfg(test)]
    pub(super) const fn holds(&self) -> usize {
        self.held.capacity()
    }

    fn reuse(&mut self, mut held: Vec<u8>) {
        held.clear();
        self.held = held;
    }
}

impl Member {
    /// The member of that name, given as it is spelled.
    fn of(name: &[u8]) -> Self {
        match &*text::read_lossy(name) {
            "id" => Self::Id,
            "method" => Self::Method,
            "result" | "error" => Self::Body,
            _ => Self::Other,
        }
    }
}
