//! Requests of the server to the client (handshake era), by generation.
//!
//! Both sides of a session number their requests from 0, and so does every new server process. A dead generation's
//! question is withdrawn at the client, but its answer may be under way; without care it would be taken for the answer to
//! the new server's first question. So a new question under an id that is still unanswered at the client goes out under
//! another id, which is put back in the answer.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::ids::Generation;
use crate::wire::id::{Id, IdKey};

/// How many unanswered questions are remembered. A client that was told of the withdrawal sends no answer, so
/// they stay until their id is forgotten here.
const MAX_DEAD: usize = 1024;

/// One question, under the id that the client knows it by.
#[derive(Debug, Clone)]
struct Ask {
    generation: Generation,
    /// The id that the server gave it.
    id: Id,
    token: Option<IdKey>,
    since: Instant,
    seq: u64,
}

impl Ask {
    /// The id under which the client knows it; `key` is that of the table.
    fn known_as(&self, key: &IdKey) -> Id {
        match key {
            IdKey::Int(n) if *key != self.id.key => Id::from_int(*n),
            IdKey::Text(text) if *key != self.id.key => Id::text(text),
            // Replacements are integers and strings; every other id is the server's own.
            _ => self.id.clone(),
        }
    }
}

/// What is to be done with an answer of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The live server asked, under this id.
    Pass(Id),
    /// A dead generation asked: nobody wants the answer.
    Swallow,
    /// Nobody asked.
    Unknown,
}

/// The table.
#[derive(Debug, Default)]
pub struct Asks {
    open: HashMap<IdKey, Ask>,
    next: u64,
}

impl Asks {
    /// Notes a question. `Some` is the id under which it has to be put to the client, where its own is taken.
    pub fn asked(&mut self, now: Instant, generation: Generation, id: &Id, token: Option<IdKey>) -> Option<Id> {
        self.next += 1;
        if self.open.len() >= 2 * MAX_DEAD {
            self.forget_oldest();
        }
        let ask = Ask { generation, id: id.clone(), token, since: now, seq: self.next };
        if self.open.get(&id.key).is_none_or(|old| old.generation == generation) {
            self.open.insert(id.key.clone(), ask);
            return None;
        }
        let replacement = self.unused(id);
        self.open.insert(replacement.key.clone(), ask);
        Some(replacement)
    }

    /// An id of the same kind that the client does not know.
    fn unused(&mut self, id: &Id) -> Id {
        loop {
            self.next += 1;
            let candidate = match id.key {
                IdKey::Text(_) => Id::text(&format!("mcp-watchdog/ask/{}", self.next)),
                // Inside i32, far from what a server counts up to.
                _ => Id::from_int(2_000_000_000 + i64::try_from(self.next % 100_000_000).unwrap_or(0)),
            };
            if !self.open.contains_key(&candidate.key) {
                return candidate;
            }
        }
    }

    /// The client answers.
    pub fn answered(&mut self, id: &IdKey, live: Option<Generation>) -> Answer {
        match self.open.remove(id) {
            Some(ask) if Some(ask.generation) == live => Answer::Pass(ask.id),
            Some(_) => Answer::Swallow,
            None => Answer::Unknown,
        }
    }

    /// Until when this generation may count on an answer, if the client is given so long for each. Some are never answered.
    #[must_use]
    pub fn owed_until(&self, generation: Generation, limit: Duration) -> Option<Instant> {
        let asked = self.open.values().filter(|ask| ask.generation == generation);
        asked.map(|ask| ask.since + limit).max()
    }

    /// Moves all times by as much as the machine slept.
    pub fn postpone(&mut self, gap: Duration) {
        for ask in self.open.values_mut() {
            ask.since += gap;
        }
    }

    /// The live server withdraws its question: the id that the client knows it by.
    pub fn withdrawn(&mut self, generation: Generation, id: &IdKey) -> Option<Id> {
        let known = self.open.iter().find(|(_, ask)| ask.generation == generation && ask.id.key == *id);
        let key = known.map(|(key, _)| key.clone())?;
        let ask = self.open.remove(&key)?;
        Some(ask.known_as(&key))
    }

    /// A generation is gone: the ids of its open questions as the client knows them, oldest first.
    pub fn lost(&mut self, generation: Generation) -> Vec<Id> {
        let mut lost: Vec<(u64, Id)> = Vec::new();
        for (key, ask) in self.open.iter().filter(|(_, ask)| ask.generation == generation) {
            lost.push((ask.seq, ask.known_as(key)));
        }
        lost.sort_unstable_by_key(|(seq, _)| *seq);
        self.forget_oldest();
        lost.into_iter().map(|(_, id)| id).collect()
    }

    fn forget_oldest(&mut self) {
        if self.open.len() > MAX_DEAD {
            let mut seqs: Vec<_> = self.open.values().map(|ask| ask.seq).collect();
            seqs.sort_unstable();
            let oldest_kept = seqs[seqs.len() - MAX_DEAD];
            self.open.retain(|_, ask| ask.seq >= oldest_kept);
        }
    }

    /// Whether progress of the client for this token belongs to the live server, as far as is known.
    #[must_use]
    pub fn token_is_dead(&self, token: &IdKey, live: Option<Generation>) -> bool {
        let mut owners = self.open.values().filter(|ask| ask.token.as_ref() == Some(token)).peekable();
        owners.peek().is_some() && owners.all(|ask| Some(ask.generation) != live)
    }
}

#[cfg(test)]
mod tests;
