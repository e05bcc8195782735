//! Open `subscriptions/listen` requests (2026-07-28). They outlive server processes: a new one is given the same request
//! under the same id, and its acknowledgement, which the client has had already, is kept back.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use crate::wire::id::{Id, IdKey};

/// The filter keys of `params.notifications`, with the notification that each lets pass.
const LIST_TYPES: [(&str, &str); 3] = [
    ("toolsListChanged", "notifications/tools/list_changed"),
    ("promptsListChanged", "notifications/prompts/list_changed"),
    ("resourcesListChanged", "notifications/resources/list_changed"),
];

#[derive(Debug)]
struct Listen {
    seq: u64,
    id: Id,
    line: Bytes,
    /// The filter that the client has seen acknowledged.
    acknowledged: Option<Value>,
    /// Whether the live server has acknowledged it.
    current: bool,
}

/// What becomes of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledgement {
    /// The client has not had one yet.
    Deliver,
    /// It has.
    Swallow,
}

/// What becomes of an answer to a listen request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It is the client's to see.
    Deliver,
    /// A new server refused what an older one had acknowledged: the client is told that the stream has ended.
    Withdraw(Id),
}

/// The table.
#[derive(Debug, Default)]
pub struct Listens {
    open: BTreeMap<IdKey, Listen>,
}

impl Listens {
    /// Notes a listen request that was sent.
    pub fn opened(&mut self, seq: u64, id: Id, line: Bytes) {
        self.open.insert(id.key.clone(), Listen { seq, id, line, acknowledged: None, current: false });
    }

    /// Whether this id is an open listen.
    #[must_use]
    pub fn contains(&self, id: &IdKey) -> bool {
        self.open.contains_key(id)
    }

    /// Whether nothing is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The server acknowledged. `None` if nobody listens under that id.
    pub fn acknowledged(&mut self, id: &IdKey, filter: Value) -> Option<Acknowledgement> {
        let listen = self.open.get_mut(id)?;
        listen.current = true;
        Some(match listen.acknowledged {
            None => {
                listen.acknowledged = Some(filter);
                Acknowledgement::Deliver
            }
            Some(_) => Acknowledgement::Swallow,
        })
    }

    /// The server answered the request: the stream is over.
    pub fn answered(&mut self, id: &IdKey, error: bool) -> Option<End> {
        let listen = self.open.remove(id)?;
        let refused_again = error && listen.acknowledged.is_some() && !listen.current;
        Some(if refused_again { End::Withdraw(listen.id) } else { End::Deliver })
    }

    /// One side cancelled it. `false` if it was not open.
    pub fn closed(&mut self, id: &IdKey) -> bool {
        self.open.remove(id).is_some()
    }

    /// A server process is gone.
    pub fn lost(&mut self) {
        for listen in self.open.values_mut() {
            listen.current = false;
        }
    }

    /// The requests to send to a new server, oldest first.
    #[must_use]
    pub fn replay(&self) -> Vec<Bytes> {
        let mut all: Vec<_> = self.open.values().map(|listen| (listen.seq, listen.line.clone())).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        all.into_iter().map(|(_, line)| line).collect()
    }

    /// Forgets everything that the client has not seen acknowledged and gives back the ids.
    pub fn take_unacknowledged(&mut self) -> Vec<Id> {
        let ids: Vec<_> = self.open.values().filter(|l| l.acknowledged.is_none()).map(|l| l.id.clone()).collect();
        self.open.retain(|_, listen| listen.acknowledged.is_some());
        ids
    }

    /// Forgets the streams that the client has seen acknowledged and gives back their ids.
    pub fn take_acknowledged(&mut self) -> Vec<Id> {
        let ids: Vec<_> = self.open.values().filter(|l| l.acknowledged.is_some()).map(|l| l.id.clone()).collect();
        self.open.retain(|_, listen| listen.acknowledged.is_none());
        ids
    }

    /// The listens whose acknowledged filter lets this list notification pass.
    pub fn hearing<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Id> {
        let key = LIST_TYPES.iter().find(|(_, name)| *name == method).map(|(key, _)| *key);
        self.open.values().filter_map(move |listen| {
            let filter = listen.acknowledged.as_ref()?;
            (filter.get(key?) == Some(&Value::Bool(true))).then_some(&listen.id)
        })
    }
}

#[cfg(test)]
mod tests;
