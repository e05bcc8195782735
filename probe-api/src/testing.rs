//! A scripted context for the tests of probes: no server, no clock, no runtime.
//!
//! ```
//! use std::time::Duration;
//! use probe_api::testing::{Answer, FakeContext};
//! use probe_api::{async_trait, Context, Probe, Verdict};
//! use serde_json::Value;
//!
//! struct Ping;
//!
//! #[async_trait]
//! impl Probe for Ping {
//!     async fn check(&mut self, cx: &dyn Context) -> Verdict {
//!         match cx.call("ping", Value::Null, cx.remaining()).await {
//!             Ok(_) => Verdict::Pass,
//!             Err(error) => Verdict::Fail(error.to_string()),
//!         }
//!     }
//! }
//!
//! let cx = FakeContext::new().remaining_for(Duration::from_secs(3)).on("ping", Answer::Silence);
//! assert_eq!(cx.check(&mut Ping), Verdict::Fail("no answer in time".to_owned()));
//! assert_eq!(cx.remaining(), Duration::ZERO, "silence costs the whole limit");
//! assert_eq!(cx.calls()[0].method, "ping");
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::{CallError, Context, Era, Probe, ProcessFacts, Reply, Snapshot, Trigger, Verdict};

/// What a scripted server does with one request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// It answers with this `result`.
    Result(Value),
    /// It answers with an error of this code.
    Error(i64),
    /// It answers only after so long: `CallError::Timeout` where the call's limit is shorter.
    After(Duration, Box<Self>),
    /// It never answers.
    Silence,
    /// The check is ended while it waits.
    Cancelled,
    /// It dies.
    Gone,
    /// The watchdog refuses to send the request.
    Invalid,
}

/// One request that a probe made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its method.
    pub method: String,
    /// Its parameters; `Value::Null` where it had none.
    pub params: Value,
    /// How long the probe was ready to wait.
    pub limit: Duration,
}

/// A [`Context`] whose server follows a script and whose time passes only while a call waits.
#[derive(Debug)]
pub struct FakeContext {
    snapshot: Snapshot,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    remaining: Duration,
    answers: BTreeMap<String, VecDeque<Answer>>,
    calls: Vec<Call>,
    looks: VecDeque<ProcessFacts>,
}

impl Default for FakeContext {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeContext {
    /// A handshake session of revision 2025-11-25, and three seconds for the check.
    #[must_use]
    pub fn new() -> Self {
        let mut snapshot = Snapshot::new("fake", 1, Trigger::Manual);
        snapshot.era = Some(Era::Handshake);
        snapshot.protocol_version = Some("2025-11-25".to_owned());
        Self::with_snapshot(snapshot)
    }

    /// A session in which every request carries its own `_meta`, of revision 2026-07-28.
    #[must_use]
    pub fn stateless() -> Self {
        let mut snapshot = Snapshot::new("fake", 1, Trigger::Manual);
        snapshot.era = Some(Era::Stateless);
        snapshot.protocol_version = Some("2026-07-28".to_owned());
        Self::with_snapshot(snapshot)
    }

    /// A session as described, and three seconds for the check.
    #[must_use]
    pub fn with_snapshot(snapshot: Snapshot) -> Self {
        let state = State {
            remaining: Duration::from_secs(3),
            answers: BTreeMap::new(),
            calls: Vec::new(),
            looks: VecDeque::new(),
        };
        Self { snapshot, state: Mutex::new(state) }
    }

    /// The same with so much time for the check.
    #[must_use]
    pub fn remaining_for(self, remaining: Duration) -> Self {
        self.state().remaining = remaining;
        self
    }

    /// Adds an answer to the script of a method. Each is used once, in order, and the last one for ever. A method
    /// without a script is unknown to the server: error -32601.
    #[must_use]
    pub fn on(self, method: &str, answer: Answer) -> Self {
        self.state().answers.entry(method.to_owned()).or_default().push_back(answer);
        self
    }

    /// Adds what a look at the server's processes finds. Each is found once, in order, and the last one for ever; without
    /// any, a look finds what the snapshot has.
    #[must_use]
    pub fn seeing(self, facts: ProcessFacts) -> Self {
        self.state().looks.push_back(facts);
        self
    }

    /// The requests that were made, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// Runs a check to its end, without a runtime.
    ///
    /// # Panics
    /// When the probe waits for something other than this context, which never keeps it waiting.
    pub fn check(&self, probe: &mut dyn Probe) -> Verdict {
        let mut check = pin!(probe.check(self));
        match check.as_mut().poll(&mut std::task::Context::from_waker(Waker::noop())) {
            Poll::Ready(verdict) => verdict,
            Poll::Pending => panic!("the probe waits for something that is not its context"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn answer(&mut self, method: &str) -> Answer {
        self.answers.get_mut(method).and_then(next).unwrap_or(Answer::Error(-32601))
    }

    /// Lets time pass until the answer, or until the limit.
    fn wait(&mut self, answer: Answer, limit: Duration) -> Result<Reply, CallError> {
        match answer {
            Answer::Result(result) => Ok(Reply::Result(result)),
            Answer::Error(code) => Ok(Reply::Error(json!({ "code": code, "message": "scripted" }))),
            Answer::After(delay, answer) if delay < limit => {
                self.remaining = self.remaining.saturating_sub(delay);
                self.wait(*answer, limit - delay)
            }
            Answer::After(..) | Answer::Silence => {
                self.remaining = self.remaining.saturating_sub(limit);
                Err(CallError::Timeout)
            }
            Answer::Cancelled => Err(CallError::Cancelled),
            Answer::Gone => Err(CallError::Gone),
            Answer::Invalid => Err(CallError::Invalid),
        }
    }
}

/// Takes the next of a script, and leaves the last one for ever.
fn next<T: Clone>(script: &mut VecDeque<T>) -> Option<T> {
    if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
}

#[async_trait]
impl Context for FakeContext {
    fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn remaining(&self) -> Duration {
        self.state().remaining
    }

    fn process(&self) -> ProcessFacts {
        next(&mut self.state().looks).unwrap_or_else(|| self.snapshot.process.clone())
    }

    async fn call(&self, method: &str, params: Value, limit: Duration) -> Result<Reply, CallError> {
        let mut state = self.state();
        state.calls.push(Call { method: method.to_owned(), params, limit });
        let answer = state.answer(method);
        let limit = limit.min(state.remaining);
        state.wait(answer, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ask(&'static str, Duration);

    #[async_trait]
    impl Probe for Ask {
        async fn check(&mut self, cx: &dyn Context) -> Verdict {
            match cx.call(self.0, Value::Null, self.1).await {
                Ok(reply) => Verdict::Busy(format!("{:?}", reply.error_code())),
                Err(error) => Verdict::Fail(format!("{error:?}")),
            }
        }
    }

    struct Stuck;

    #[async_trait]
    impl Probe for Stuck {
        async fn check(&mut self, _cx: &dyn Context) -> Verdict {
            std::future::pending().await
        }
    }

    #[test]
    fn answers_are_used_in_order_and_the_last_one_stays() {
        let cx = FakeContext::new().on("a", Answer::Error(-1)).on("a", Answer::Gone);
        let ask = |cx: &FakeContext| cx.check(&mut Ask("a", Duration::from_secs(1)));
        assert_eq!(ask(&cx), Verdict::Busy("Some(-1)".into()));
        assert_eq!(ask(&cx), Verdict::Fail("Gone".into()));
        assert_eq!(ask(&cx), Verdict::Fail("Gone".into()));
        assert_eq!(cx.calls().len(), 3);
    }

    #[test]
    fn an_unscripted_method_is_unknown_to_the_server() {
        let verdict = FakeContext::new().check(&mut Ask("b", Duration::ZERO));
        assert_eq!(verdict, Verdict::Busy("Some(-32601)".into()));
    }

    #[test]
    fn time_passes_only_while_a_call_waits() {
        let late = Answer::After(Duration::from_secs(1), Box::new(Answer::Result(json!({}))));
        let cx = FakeContext::new().on("a", late);
        assert_eq!(cx.check(&mut Ask("a", Duration::from_secs(2))), Verdict::Busy("None".into()));
        assert_eq!(cx.remaining(), Duration::from_secs(2));
        assert_eq!(cx.check(&mut Ask("a", Duration::from_millis(500))), Verdict::Fail("Timeout".into()));
        assert_eq!(cx.remaining(), Duration::from_millis(1500));
        let cx = FakeContext::new().on("a", Answer::Silence);
        assert_eq!(cx.check(&mut Ask("a", Duration::from_secs(60))), Verdict::Fail("Timeout".into()));
        assert_eq!(cx.remaining(), Duration::ZERO);
    }

    #[test]
    fn looks_at_the_processes_follow_their_script() {
        let facts = |cpu_ms| ProcessFacts { cpu_ms: Some(cpu_ms), ..ProcessFacts::default() };
        let mut snapshot = FakeContext::new().snapshot().clone();
        snapshot.process = facts(1);
        let cx = FakeContext::with_snapshot(snapshot);
        assert_eq!(cx.process(), facts(1));
        let cx = cx.seeing(facts(2)).seeing(facts(3));
        assert_eq!([cx.process(), cx.process(), cx.process()], [facts(2), facts(3), facts(3)]);
    }

    #[test]
    #[should_panic(expected = "waits for something")]
    fn a_probe_that_waits_elsewhere_is_told() {
        let _ = FakeContext::new().check(&mut Stuck);
    }
}
