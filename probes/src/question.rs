//! Probes that put one harmless question without parameters: any answer is life.

use std::marker::PhantomData;

use probe_api::{ConfigError, Context, Era, Probe, ProbeKind, Verdict, async_trait};
use serde::Deserialize;
use serde_json::Map;

use crate::request::ask;

/// What tells these probes apart.
pub trait Question: Send + 'static {
    /// The word behind `type:`.
    const NAME: &'static str;

    /// The request to send; `None` where sessions of this era do not have it.
    fn method(era: Era) -> Option<&'static str>;
}

/// A probe that asks a [`Question`].
#[derive(Debug)]
pub struct Asking<Q>(PhantomData<Q>);

/// The options: none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoOptions {}

#[async_trait]
impl<Q: Question> Probe for Asking<Q> {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        // The first frame that a server reads can settle its era: it has to be the client's.
        let Some(method) = cx.snapshot().era.and_then(Q::method) else {
            return Verdict::Unsupported;
        };
        // Errors of any code are life too (design: wire.md, "Probes on the wire").
        ask(cx, method, Map::new()).await.map_or_else(|verdict| verdict, |_| Verdict::Pass)
    }
}

impl<Q: Question> ProbeKind for Asking<Q> {
    const NAME: &'static str = Q::NAME;
    type Config = NoOptions;

    fn new(_: NoOptions) -> Result<Self, ConfigError> {
        Ok(Self(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use probe_api::testing::{Answer, FakeContext};
    use probe_api::{Snapshot, Trigger};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Discover, Ping, ToolsList};

    fn verdict<Q: Question>(cx: &FakeContext) -> Verdict {
        cx.check(&mut Asking::<Q>(PhantomData))
    }

    /// The method and parameters of the only request that was made.
    fn asked(probe: &mut dyn Probe, cx: &FakeContext) -> Option<(String, Value)> {
        let _ = cx.check(probe);
        let mut calls = cx.calls();
        assert!(calls.len() <= 1, "{calls:?}");
        calls.pop().map(|call| (call.method, call.params))
    }

    fn each(test: impl Fn(&mut dyn Probe, &str)) {
        test(&mut Asking::<crate::ping::Question>(PhantomData), Ping::NAME);
        test(&mut Asking::<crate::discover::Question>(PhantomData), Discover::NAME);
        test(&mut Asking::<crate::tools_list::Question>(PhantomData), ToolsList::NAME);
    }

    #[test]
    fn each_era_is_asked_in_its_own_form() {
        each(|probe, name| {
            let handshake = asked(probe, &FakeContext::new()).map(|(method, params)| {
                assert_eq!(params, Value::Null, "{name}");
                method
            });
            let stateless = asked(probe, &FakeContext::stateless()).map(|(method, params)| {
                let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
                assert_eq!(version, "2026-07-28", "{name}");
                method
            });
            let expected = match name {
                "ping" => (Some("ping"), Some("server/discover")),
                "discover" => (None, Some("server/discover")),
                _ => (Some("tools/list"), Some("tools/list")),
            };
            assert_eq!((handshake.as_deref(), stateless.as_deref()), expected, "{name}");
        });
    }

    #[test]
    fn a_session_that_has_not_begun_is_left_alone() {
        each(|probe, name| {
            let cx = FakeContext::with_snapshot(Snapshot::new("s", 1, Trigger::Periodic));
            assert_eq!((cx.check(probe), cx.calls().len()), (Verdict::Unsupported, 0), "{name}");
        });
    }

    #[test]
    fn what_an_era_does_not_have_is_not_asked() {
        assert_eq!(verdict::<crate::discover::Question>(&FakeContext::new()), Verdict::Unsupported);
    }

    #[test]
    fn any_answer_is_life() {
        let verdict = |answer| verdict::<crate::ping::Question>(&FakeContext::new().on("ping", answer));
        assert_eq!(verdict(Answer::Result(json!({}))), Verdict::Pass);
        assert_eq!(verdict(Answer::Result(Value::Null)), Verdict::Pass);
        for code in [-32601, -32600, -32602, -32603, -32022, 0, 1] {
            assert_eq!(verdict(Answer::Error(code)), Verdict::Pass, "{code}");
        }
        assert_eq!(verdict(Answer::Invalid), Verdict::Unsupported, "the handshake is not done");
    }

    #[test]
    fn silence_for_as_long_as_it_may_wait_is_a_failure_that_says_so() {
        let cx = FakeContext::new().on("tools/list", Answer::Silence);
        let silent = Verdict::Fail("no answer to tools/list within 3s".into());
        assert_eq!(verdict::<crate::tools_list::Question>(&cx), silent);
        assert_eq!(cx.calls()[0].limit, Duration::from_secs(3));
    }
}
