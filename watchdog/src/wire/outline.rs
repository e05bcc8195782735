//! The ids and kinds of the messages in a line that is too long to be kept, found while its bytes stream by.

mod message;

use self::message::Message;
use super::id::Id;
use super::read::is_space;
use super::skip::Step;

/// What is kept of the messages of a batch, in bytes: a line without an end must not fill the memory, and the answers to its
/// requests, each several times as long, are there at one time. What comes after is not found.
const KEPT: usize = 4 << 20;

/// What kind of message an outline shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OversizedKind {
    /// It has a method, and an id that is a string or a number.
    Request,
    /// It has a method alone.
    Notification,
    /// It has a result or an error.
    Response,
    /// It is no message.
    Unknown,
}

/// What is known of a message in a line beyond the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OversizedMessage {
    /// What it was.
    pub kind: OversizedKind,
    /// Its id, wherever in the message that stood. An id of more than 1 KiB is not found.
    pub id: Option<Id>,
}

/// Reads one line, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Outline {
    at: At,
    batch: bool,
    found: Vec<OversizedMessage>,
    /// How much [`Self::found`] takes, in bytes.
    kept: usize,
}

/// What comes next.
#[derive(Debug, Default)]
enum At {
    /// A message, or the bracket that opens a batch.
    #[default]
    Start,
    /// The first message of a batch, or its end.
    First,
    /// A message of a batch.
    Element,
    /// The rest of a message.
    Message(Box<Message>),
    /// A comma, or the end of the batch.
    Next,
    /// White space to the end of the line.
    End,
    /// Nothing any more: this is not JSON.
    Broken,
}

impl Outline {
    /// Takes the next piece of the line.
    pub(super) fn feed(&mut self, mut piece: &[u8]) {
        while let Some(&first) = piece.first() {
            let used = match &mut self.at {
                At::Broken => return,
                At::Message(message) => match message.feed(piece) {
                    Step::Open => return,
                    Step::Broken => {
                        self.at = At::Broken;
                        return;
                    }
                    Step::Ended(used) => {
                        self.message_ended();
                        used
                    }
                },
                _ if is_space(first) => 1,
                at => {
                    let (next, used) = after(at, first);
                    self.batch |= matches!(next, At::First);
                    self.at = next;
                    used
                }
            };
            piece = piece.get(used..).unwrap_or_default();
        }
    }

    /// The messages that were found, in their order; none where the line is not JSON as a whole.
    pub(super) fn end(self) -> Vec<OversizedMessage> {
        if matches!(self.at, At::End) { self.found } else { Vec::new() }
    }

    fn message_ended(&mut self) {
        let next = if self.batch { At::Next } else { At::End };
        let At::Message(message) = std::mem::replace(&mut self.at, next) else { return };
        let message = message.end();
        // An id may be kept as it is spelled beside its value.
        self.kept += size_of::<OversizedMessage>() + message.id.as_ref().map_or(0, |id| 2 * id.raw().len());
        if self.kept <= KEPT {
            self.found.push(message);
        }
    }
}

/// What follows a byte between messages, and how many bytes that took.
fn after(at: &At, byte: u8) -> (At, usize) {
    match (at, byte) {
        (At::Start, b'[') => (At::First, 1),
        (At::Start | At::First | At::Element, b'{') => (At::Message(Box::default()), 1),
        (At::First | At::Next, b']') => (At::End, 1),
        (At::Next, b',') => (At::Element, 1),
        (At::First | At::Element, _) => (At::Message(Box::new(Message::none())), 0),
        _ => (At::Broken, 1),
    }
}

#[cfg(test)]
mod tests;
