//! One read-only request as a check: what the built-in protocol probes have in common.

use std::time::Duration;

use probe_api::{CallError, Context, Era, Snapshot, Verdict};
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion, RequestMetaObject};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use serde_json::{Value, json};

/// Sends the request and reads a verdict off what becomes of it. Any answer is life, errors of any code included
/// (design: wire.md, "Probes on the wire"); silence for as long as the check may take is a failure.
pub(crate) async fn ask(cx: &dyn Context, method: &str) -> Verdict {
    let limit = cx.remaining();
    match cx.call(method, params(cx.snapshot()), limit).await {
        Ok(_) => Verdict::Pass,
        Err(CallError::Timeout) => Verdict::Fail(format!("no answer to {method} within {}", Span(limit))),
        Err(CallError::Gone) => Verdict::Fail("the server is gone".to_owned()),
        // Not in this phase of the session: `tools/list` before the handshake, say.
        Err(CallError::Invalid) => Verdict::Unsupported,
        Err(error) => Verdict::Inconclusive(error.to_string()),
    }
}

/// The parameters of a request that has none of its own. From revision 2026-07-28 on, every request carries the
/// client's context and is refused without it.
fn params(snapshot: &Snapshot) -> Value {
    if snapshot.era != Some(Era::Stateless) {
        return Value::Null;
    }
    let us = Implementation::new("mcp-watchdog", env!("CARGO_PKG_VERSION"));
    let meta = RequestMetaObject::with_client_context(version(snapshot), us, ClientCapabilities::default());
    json!({ "_meta": meta })
}

/// The version that the client used last: the server is known to accept it.
fn version(snapshot: &Snapshot) -> ProtocolVersion {
    let known = snapshot.protocol_version.as_deref().and_then(|version| {
        let version: Result<_, Error> = ProtocolVersion::deserialize(version.into_deserializer());
        version.ok()
    });
    known.unwrap_or(ProtocolVersion::NO_INITIALIZE)
}

/// A duration for people: `3s`, `1.25s`, `500ms`.
struct Span(Duration);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < Duration::from_secs(1) {
            return write!(f, "{}ms", self.0.as_millis());
        }
        // Hundredths: what a scheduler adds or takes is not worth telling.
        let text = format!("{:.2}", self.0.as_secs_f64());
        write!(f, "{}s", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::{Answer, FakeContext};
    use probe_api::{Probe, async_trait};

    use super::*;

    struct List;

    #[async_trait]
    impl Probe for List {
        async fn check(&mut self, cx: &dyn Context) -> Verdict {
            ask(cx, "prompts/list").await
        }
    }

    fn verdict(answer: Answer) -> Verdict {
        FakeContext::new().on("prompts/list", answer).check(&mut List)
    }

    #[test]
    fn any_answer_is_life() {
        assert_eq!(verdict(Answer::Result(json!({ "prompts": [] }))), Verdict::Pass);
        assert_eq!(verdict(Answer::Result(Value::Null)), Verdict::Pass);
        for code in [-32601, -32600, -32602, -32603, -32022, 0, 1] {
            assert_eq!(verdict(Answer::Error(code)), Verdict::Pass, "{code}");
        }
    }

    #[test]
    fn silence_and_death_are_failures_and_nothing_else_is() {
        assert_eq!(verdict(Answer::Silence), Verdict::Fail("no answer to prompts/list within 3s".into()));
        assert_eq!(verdict(Answer::Gone), Verdict::Fail("the server is gone".into()));
        assert_eq!(verdict(Answer::Cancelled), Verdict::Inconclusive("the check was ended".into()));
        assert_eq!(verdict(Answer::Invalid), Verdict::Unsupported);
    }

    #[test]
    fn a_handshake_session_gets_no_params() {
        let cx = FakeContext::new().on("prompts/list", Answer::Silence);
        let _ = cx.check(&mut List);
        assert_eq!(cx.calls()[0].params, Value::Null);
    }

    #[test]
    fn a_stateless_session_gets_the_context_that_its_revision_requires() {
        let cx = FakeContext::stateless();
        let _ = cx.check(&mut List);
        let expected = json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "mcp-watchdog", "version": env!("CARGO_PKG_VERSION") },
            "io.modelcontextprotocol/clientCapabilities": {},
        } });
        assert_eq!(cx.calls()[0].params, expected);
    }

    #[test]
    fn the_version_is_the_one_that_the_client_used() {
        let mut snapshot = FakeContext::stateless().snapshot().clone();
        snapshot.protocol_version = Some("2027-01-31".to_owned());
        assert_eq!(version(&snapshot).as_str(), "2027-01-31");
        snapshot.protocol_version = None;
        assert_eq!(version(&snapshot).as_str(), "2026-07-28");
    }

    #[test]
    fn spans_read_well() {
        let text = |millis| Span(Duration::from_millis(millis)).to_string();
        assert_eq!([text(3000), text(2999), text(1250), text(500), text(0)], ["3s", "3s", "1.25s", "500ms", "0ms"]);
        assert_eq!(Span(Duration::from_micros(2_999_950)).to_string(), "3s");
    }
}
