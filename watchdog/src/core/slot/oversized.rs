//! Lines that were longer than the limit, and were thrown away: whoever waits for an answer is told.

use std::time::Instant;

use bytes::Bytes;

use super::{Effect, Slot};
use crate::core::asks::Answer;
use crate::core::ids::Generation;
use crate::core::refusal::Code;
use crate::wire::compose;
use crate::wire::id::Id;
use crate::wire::lines::{Oversized, OversizedKind, OversizedMessage};

/// How many questions of a server in one line are answered. One that writes such lines and reads nothing would fill the memory.
const QUESTIONS: usize = 1000;

impl Slot {
    /// A line of the client that was longer than the limit, and was thrown away.
    #[cold]
    pub fn client_oversized(&mut self, now: Instant, line: &Oversized, out: &mut Vec<Effect>) {
        self.clock = Some(now);
        self.used(now);
        self.emit_oversized("client", line.len, out);
        for message in &line.messages {
            self.client_message_dropped(message, out);
        }
        self.look_again(now);
    }

    fn client_message_dropped(&mut self, message: &OversizedMessage, out: &mut Vec<Effect>) {
        let Some(id) = &message.id else { return };
        match message.kind {
            OversizedKind::Request | OversizedKind::Unknown => {
                self.refuse_id(id, Code::MessageTooLarge, "client", false, out);
            }
            OversizedKind::Response => {
                // The server that asked would wait for ever.
                if let Answer::Pass(asked) = self.asks.answered(&id.key, self.life.live()) {
                    out.push(Effect::pass(too_long_for_server(&asked)));
                }
            }
            OversizedKind::Notification => {}
        }
    }

    /// A line of the server that was longer than the limit, and was thrown away.
    #[cold]
    pub fn server_oversized(&mut self, now: Instant, generation: Generation, line: &Oversized, out: &mut Vec<Effect>) {
        if self.hearing != Some(generation) {
            return;
        }
        self.emit_oversized("server", line.len, out);
        let mut questions = 0;
        for message in &line.messages {
            if message.kind == OversizedKind::Request {
                questions += 1;
                if questions > QUESTIONS {
                    continue;
                }
            }
            // An answer in it may have been its end.
            if self.hearing == Some(generation) {
                self.server_message_dropped(now, message, out);
            }
        }
        self.check_due(now, out);
    }

    fn server_message_dropped(&mut self, now: Instant, message: &OversizedMessage, out: &mut Vec<Effect>) {
        let Some(id) = &message.id else { return };
        match message.kind {
            OversizedKind::Request if self.life.live().is_none() => {}
            OversizedKind::Request => out.push(Effect::pass(too_long_for_server(id))),
            OversizedKind::Notification => {}
            OversizedKind::Response | OversizedKind::Unknown => {
                self.answer_dropped(now, id, Code::MessageTooLarge, "server", out);
            }
        }
    }
}

/// What a server is told under this id instead of a message that was too long.
fn too_long_for_server(id: &Id) -> Bytes {
    let message = "the message is longer than the limit of the watchdog in front of this server";
    compose::error(Some(id), Code::MessageTooLarge.number(), message, &serde_json::Value::Null)
}
