//! The server's side of a session: its lives, and what they read.

use serde_json::{Value, json};

use super::{Session, USUAL};
use crate::lives::{Entry, What};
use crate::state::{Head, State};

impl Session {
    /// How many lives there have been.
    #[must_use]
    pub fn life(&self) -> u64 {
        self.shared.lock().life()
    }

    /// Waits until this life has begun, and returns its process.
    ///
    /// # Panics
    /// When it has not within ten seconds.
    #[track_caller]
    pub fn wait_life(&self, life: u64) -> u32 {
        self.wait(2 * USUAL, &format!("life {life}"), |state| state.server_pid(life))
    }

    /// Waits until the server of this life has ended.
    ///
    /// # Panics
    /// When it has not within five seconds.
    #[track_caller]
    pub fn wait_gone(&self, life: u64) {
        self.wait(USUAL, &format!("the end of life {life}"), |state| {
            let pid = state.server_pid(life)?;
            state.entries.iter().any(|entry| entry.pid == pid && entry.what == What::Gone).then_some(())
        });
    }

    /// What the lives have told so far.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.shared.lock().entries.clone()
    }

    /// Waits until the lives have told something for which `pick` has a value.
    ///
    /// # Panics
    /// When they have not within five seconds.
    #[track_caller]
    pub fn wait_entry<T>(&self, what: &str, mut pick: impl FnMut(&Entry) -> Option<T>) -> T {
        self.wait(USUAL, what, |state| state.entries.iter().find_map(&mut pick))
    }

    /// The messages of a method that a life read, or all lives together.
    #[must_use]
    pub fn read_by(&self, life: Option<u64>, method: &str) -> Vec<Value> {
        read(&self.shared.lock(), life, method)
    }

    /// Waits until the servers have read so many messages of a method, and returns them.
    ///
    /// # Panics
    /// When they have not within five seconds.
    #[track_caller]
    pub fn wait_read(&self, method: &str, count: usize) -> Vec<Value> {
        self.wait(USUAL, &format!("{method} number {count} at the server"), |state| {
            Some(read(state, None, method)).filter(|messages| messages.len() >= count)
        })
    }

    /// How often all lives together have read one request.
    #[must_use]
    pub fn times_read(&self, method: &str, id: impl Into<Value>) -> usize {
        let id = id.into();
        self.read_by(None, method).iter().filter(|message| message["id"] == id).count()
    }
}

fn read(state: &State, life: Option<u64>, method: &str) -> Vec<Value> {
    let of_life = state.entries.iter().filter(|entry| life.is_none_or(|life| life == entry.life));
    let lines = of_life.filter_map(|entry| match &entry.what {
        What::Read(line) => Some(line.as_str()),
        _ => None,
    });
    let messages = lines.flat_map(Head::all).filter(|(head, _)| head.method.as_deref() == Some(method));
    messages.map(|(_, text)| serde_json::from_str(&text).unwrap_or_else(|_| json!(text))).collect()
}
