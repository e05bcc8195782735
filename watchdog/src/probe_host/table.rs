//! The check that runs, the calls that wait, and the way to the engine: what the functions of a plugin act upon.

use std::collections::HashMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use probe_api::abi::{Str, call, log};
use serde_json::value::RawValue;

use super::message::{CALLS, LONGEST_REPORT, Report, to_frame};
use crate::telemetry::allowance::Allowance;

/// How much longer than the check a call waits: the engine says at its end whether the server was silent, which is worth
/// more than "cancelled". It is well within the time that a check has to return after its end.
const LAST_WORD: Duration = Duration::from_millis(25);

/// What every thread of the host shares.
pub(super) struct Table {
    state: Mutex<State>,
    changed: Condvar,
    socket: UnixStream,
    /// One frame after the other.
    writing: Mutex<()>,
    /// A process that the plugin forks has all of this too, and must not speak in its name.
    process: u32,
}

struct State {
    /// Counts checks and creations. The number stands for the `mcp_check` of one.
    handles: usize,
    current: Option<Current>,
    /// Counts calls.
    calls: u64,
    waiting: HashMap<u64, Option<Answer>>,
    /// What plugins read the answers from, until the next check begins.
    replies: Vec<Box<str>>,
    lines: Allowance,
}

/// A check or creation that runs.
struct Current {
    handle: usize,
    /// `None` is a creation, at which there is no server to ask.
    check: Option<u64>,
    deadline: Instant,
    detail: Option<String>,
}

/// What became of a call.
struct Answer {
    code: i32,
    json: Option<Box<RawValue>>,
}

impl Table {
    pub(super) fn new(socket: UnixStream) -> Self {
        let state = State {
            handles: 0,
            current: None,
            calls: 0,
            waiting: HashMap::new(),
            replies: Vec::new(),
            lines: Allowance::new(Instant::now()),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            socket,
            writing: Mutex::new(()),
            process: std::process::id(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the engine. One that has gone is noticed by the thread that reads; what is too long is not sent.
    pub(super) fn send(&self, report: &Report) {
        if !self.is_ours() {
            return;
        }
        if let Some(frame) = to_frame(report, LONGEST_REPORT) {
            let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            _ = (&self.socket).write_all(&frame);
        }
    }

    /// Where the engine is heard.
    pub(super) const fn socket(&self) -> &UnixStream {
        &self.socket
    }

    // -- for the plugin's thread --------------------------------------------------------------------------------------

    /// Begins a check, or a creation, and gives its handle: never 0, and never given before.
    pub(super) fn begin(&self, check: Option<u64>, time: Duration) -> usize {
        let mut state = self.lock();
        state.handles += 1;
        let handle = state.handles;
        state.replies.clear();
        state.current = Some(Current { handle, check, deadline: Instant::now() + time, detail: None });
        handle
    }

    /// Ends what runs; its handle is stale from now on. Gives its detail.
    pub(super) fn end(&self) -> Option<String> {
        let mut state = self.lock();
        // They wake up, and find that their check has ended.
        state.waiting.clear();
        let detail = state.current.take().and_then(|current| current.detail);
        drop(state);
        self.changed.notify_all();
        detail
    }

    // -- for the thread that reads ------------------------------------------------------------------------------------

    /// Gives a call its answer, if it waits still. An answer of `null` arrives as none.
    pub(super) fn answer(&self, number: u64, code: i32, json: Option<Box<RawValue>>) {
        let json = json.or_else(|| (code >= call::RESULT).then(|| RawValue::NULL.to_owned()));
        if let Some(waiting) = self.lock().waiting.get_mut(&number) {
            *waiting = Some(Answer { code, json });
        }
        self.changed.notify_all();
    }

    // -- for any thread of the plugin ---------------------------------------------------------------------------------

    /// Asks the server, and waits for the answer.
    pub(super) fn call(
        &self,
        handle: usize,
        method: &str,
        params: Option<Box<RawValue>>,
        timeout_ms: u32,
    ) -> (i32, Str) {
        if !self.is_ours() {
            return (call::CANCELLED, Str::EMPTY);
        }
        let mut state = self.lock();
        let (check, deadline) = match state.current(handle) {
            None => return (call::CANCELLED, Str::EMPTY),
            Some(Current { check: None, .. }) => return (call::INVALID, Str::EMPTY),
            Some(Current { check: Some(check), deadline, .. }) => (*check, *deadline),
        };
        if deadline <= Instant::now() {
            return (call::CANCELLED, Str::EMPTY);
        }
        if state.waiting.len() >= CALLS {
            return (call::INVALID, Str::EMPTY);
        }
        state.calls += 1;
        let number = state.calls;
        state.waiting.insert(number, None);
        drop(state);
        self.send(&Report::Call { check, call: number, method: method.to_owned(), params, timeout_ms });
        self.wait(handle, number, deadline + LAST_WORD)
    }

    fn wait(&self, handle: usize, number: u64, end: Instant) -> (i32, Str) {
        let mut state = self.lock();
        loop {
            let answer = state.waiting.get_mut(&number).and_then(Option::take);
            let left = end.saturating_duration_since(Instant::now());
            if answer.is_none() && state.current(handle).is_some() && !left.is_zero() {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            state.waiting.remove(&number);
            // After the check's end there is nobody who may read an answer.
            return match answer.filter(|_| state.current(handle).is_some()) {
                Some(Answer { code, json: Some(json) }) => (code, state.keep(json)),
                Some(Answer { code, json: None }) => (code, Str::EMPTY),
                None => (call::CANCELLED, Str::EMPTY),
            };
        }
    }

    /// In milliseconds, negative after the end. 0 for a stale handle.
    pub(super) fn remaining_ms(&self, handle: usize) -> i64 {
        let now = Instant::now();
        let state = self.is_ours().then(|| self.lock());
        let Some(deadline) = state.and_then(|mut state| state.current(handle).map(|current| current.deadline)) else {
            return 0;
        };
        let signed = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        match deadline.checked_duration_since(now) {
            Some(left) => signed(left),
            None => -signed(now.saturating_duration_since(deadline)),
        }
    }

    /// The last one counts.
    pub(super) fn detail(&self, handle: usize, text: String) {
        if self.is_ours()
            && let Some(current) = self.lock().current(handle)
        {
            current.detail = Some(text);
        }
    }

    /// A line for the log, where the allowance has one left.
    pub(super) fn log(&self, handle: usize, level: i32, text: String) {
        if !self.is_ours() {
            return;
        }
        let mut state = self.lock();
        if state.current(handle).is_none() {
            return;
        }
        let Some(refused) = state.lines.admit(Instant::now()) else { return };
        drop(state);
        if refused > 0 {
            let text = format!("{refused} lines were left out: too many in a short time");
            self.send(&Report::Log { level: log::WARN, text });
        }
        self.send(&Report::Log { level, text });
    }

    /// Whether this is the process that was started, and not one that the plugin has forked.
    pub(super) fn is_ours(&self) -> bool {
        std::process::id() == self.process
    }
}

impl State {
    /// What a handle stands for, unless it is stale.
    fn current(&mut self, handle: usize) -> Option<&mut Current> {
        self.current.as_mut().filter(|current| current.handle == handle)
    }

    /// Keeps an answer until the next check begins. The text does not move when the list grows.
    fn keep(&mut self, json: Box<RawValue>) -> Str {
        self.replies.push(json.into());
        self.replies.last().map_or(Str::EMPTY, |text| Str::borrow(text))
    }
}

#[cfg(test)]
mod tests;
