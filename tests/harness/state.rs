//! What a session knows, and the one place where threads wait for it to change.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::answer::Answer;
use crate::lives::{Entry, What};

/// One line of the watchdog's stdout.
#[derive(Debug, Clone)]
pub struct Line {
    /// When it was read.
    pub at: Instant,
    /// Its bytes without the line end, lossily as text.
    pub text: String,
    /// What it says; `None` when it is not JSON.
    pub value: Option<Value>,
}

impl Line {
    /// Its method, where it is a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.value.as_ref()?.get("method")?.as_str()
    }
}

/// A request that the client sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) at: Instant,
}

/// Everything that is known. Ids are keys as they are spelled.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) lines: Vec<Line>,
    /// What was read of stdout after its last line end.
    pub(crate) partial: Vec<u8>,
    pub(crate) stdout_ended: bool,
    pub(crate) stderr: Vec<u8>,
    pub(crate) sent: BTreeMap<String, Sent>,
    pub(crate) cancelled: BTreeSet<String>,
    pub(crate) optional: BTreeSet<String>,
    pub(crate) answers: BTreeMap<String, Vec<Answer>>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) exit: Option<ExitStatus>,
}

/// What routing has to know of a message.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    id: Option<Box<RawValue>>,
    pub(crate) method: Option<String>,
}

impl Head {
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref().map(RawValue::get)
    }

    /// The messages of a line: one, or those of a batch.
    pub(crate) fn all(text: &str) -> Vec<(Self, String)> {
        let items: Vec<Box<RawValue>> = match serde_json::from_str(text) {
            Ok(items) => items,
            Err(_) => serde_json::from_str(text).into_iter().collect(),
        };
        let head = |text: &str| Some((serde_json::from_str(text).ok()?, text.to_owned()));
        items.iter().filter_map(|item| head(item.get())).collect()
    }
}

impl State {
    /// Takes a line of stdout.
    pub(crate) fn take_line(&mut self, bytes: &[u8]) {
        let at = Instant::now();
        let text = String::from_utf8_lossy(bytes).into_owned();
        for (head, item) in Head::all(&text) {
            if let (Some(id), None) = (head.id(), &head.method) {
                let method = self.sent.get(id).map(|sent| sent.method.clone()).unwrap_or_default();
                let value = serde_json::from_str(&item).unwrap_or_default();
                self.answers.entry(id.to_owned()).or_default().push(Answer { at, method, value });
            }
        }
        self.lines.push(Line { at, value: serde_json::from_str(&text).ok(), text });
    }

    /// Notes the requests of a line that the client sends.
    pub(crate) fn note_sent(&mut self, line: &str) {
        let at = Instant::now();
        for (head, item) in Head::all(line) {
            match (head.id(), &head.method) {
                (Some(id), Some(method)) => {
                    self.sent.insert(id.to_owned(), Sent { method: method.clone(), at });
                }
                (None, Some(method)) if method == "notifications/cancelled" => {
                    let message: Value = serde_json::from_str(&item).unwrap_or_default();
                    self.cancelled.insert(message["params"]["requestId"].to_string());
                }
                _ => {}
            }
        }
    }

    /// The number of the last life.
    pub(crate) fn life(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.what == What::Start).map(|entry| entry.life).max().unwrap_or(0)
    }

    /// Whether every process that told something has ended.
    pub(crate) fn all_gone(&self) -> bool {
        let gone = |pid| self.entries.iter().any(|entry| entry.pid == pid && entry.what == What::Gone);
        self.entries.iter().all(|entry| gone(entry.pid))
    }

    /// The process of a life.
    pub(crate) fn server_pid(&self, life: u64) -> Option<u32> {
        self.entries.iter().find(|entry| entry.life == life && entry.what == What::Start).map(|entry| entry.pid)
    }
}

/// The state, shared by the threads that read and the test that waits.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A test that has failed still wants to see what there was.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes everybody who waits.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let value = change(&mut self.lock());
        self.changed.notify_all();
        value
    }

    /// Waits until there is a value, at most so long. `recheck` is for conditions that nothing tells the state of.
    pub(crate) fn wait<T>(
        &self,
        within: Duration,
        recheck: Option<Duration>,
        mut ready: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let end = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if let Some(value) = ready(&state) {
                return Some(value);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let left = recheck.map_or(left, |recheck| recheck.min(left));
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
