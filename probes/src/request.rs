//! Requests to the supervised server: their form in either era, and the verdicts of those that meet no answer.

use std::time::Duration;

use probe_api::options::Span;
use probe_api::{CallError, Context, Era, Reply, Snapshot, Verdict};
use rmcp::model::{ClientCapabilities, Implementation, ProtocolVersion, RequestMetaObject};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error;
use serde_json::{Map, Value, json};

/// Sends a request for as long as the check may take. Where no answer comes, the error is the verdict.
pub(crate) async fn ask(cx: &dyn Context, method: &str, own: Map<String, Value>) -> Result<Reply, Verdict> {
    let limit = cx.remaining();
    cx.call(method, params(cx.snapshot(), own), limit).await.map_err(|error| match error {
        CallError::Timeout => Verdict::Fail(format!("no answer to {method} within {}", rounded(limit))),
        CallError::Gone => Verdict::Fail("the server is gone".to_owned()),
        // Not in this phase of the session: `tools/list` before the handshake, say.
        CallError::Invalid => Verdict::Unsupported,
        error => Verdict::Inconclusive(error.to_string()),
    })
}

/// A duration that was measured or left over, to hundredths of a second: what a scheduler adds or takes is not worth
/// telling.
pub(crate) fn rounded(duration: Duration) -> Span {
    if duration < Duration::from_secs(1) {
        return Span(Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)));
    }
    let hundredths = (duration + Duration::from_millis(5)).as_millis() / 10;
    Span(Duration::from_millis(u64::try_from(hundredths * 10).unwrap_or(u64::MAX)))
}

/// The parameters of a request, which are left out where there are none. From revision 2026-07-28 on, every request
/// carries the client's context and is refused without it.
fn params(snapshot: &Snapshot, mut own: Map<String, Value>) -> Value {
    if snapshot.era == Some(Era::Stateless) {
        let us = Implementation::new("mcp-watchdog", env!("CARGO_PKG_VERSION"));
        let meta = RequestMetaObject::with_client_context(version(snapshot), us, ClientCapabilities::default());
        own.insert("_meta".to_owned(), json!(meta));
    }
    if own.is_empty() { Value::Null } else { Value::Object(own) }
}

/// The version that the client used last: the server is known to accept it.
fn version(snapshot: &Snapshot) -> ProtocolVersion {
    let known = snapshot.protocol_version.as_deref().and_then(|version| {
        let version: Result<_, Error> = ProtocolVersion::deserialize(version.into_deserializer());
        version.ok()
    });
    known.unwrap_or(ProtocolVersion::NO_INITIALIZE)
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
            ask(cx, "prompts/list", Map::new()).await.map_or_else(|verdict| verdict, |_| Verdict::Pass)
        }
    }

    fn verdict(answer: Answer) -> Verdict {
        FakeContext::new().on("prompts/list", answer).check(&mut List)
    }

    #[test]
    fn silence_and_death_are_failures_and_nothing_else_is() {
        assert_eq!(verdict(Answer::Silence), Verdict::Fail("no answer to prompts/list within 3s".into()));
        assert_eq!(verdict(Answer::Gone), Verdict::Fail("the server is gone".into()));
        assert_eq!(verdict(Answer::Cancelled), Verdict::Inconclusive("the check was ended".into()));
        assert_eq!(verdict(Answer::Invalid), Verdict::Unsupported);
    }

    #[test]
    fn a_handshake_session_gets_no_params_but_the_request_s_own() {
        let cx = FakeContext::new().on("prompts/list", Answer::Silence);
        let _ = cx.check(&mut List);
        assert_eq!(cx.calls()[0].params, Value::Null);
        let own = Map::from_iter([("name".to_owned(), json!("x"))]);
        assert_eq!(params(cx.snapshot(), own), json!({ "name": "x" }));
    }

    #[test]
    fn a_stateless_session_gets_the_context_that_its_revision_requires() {
        let cx = FakeContext::stateless();
        let _ = cx.check(&mut List);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "mcp-watchdog", "version": env!("CARGO_PKG_VERSION") },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        assert_eq!(cx.calls()[0].params, json!({ "_meta": meta }));
        let own = Map::from_iter([("name".to_owned(), json!("x"))]);
        assert_eq!(params(cx.snapshot(), own), json!({ "name": "x", "_meta": meta }));
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
    fn measured_times_read_well() {
        let text = |millis| rounded(Duration::from_millis(millis)).to_string();
        assert_eq!([text(3000), text(2999), text(1250), text(500), text(0)], ["3s", "3s", "1.25s", "500ms", "0s"]);
        assert_eq!(rounded(Duration::from_micros(2_999_950)).to_string(), "3s");
        assert_eq!(rounded(Duration::from_micros(72_999_950)).to_string(), "1m13s");
    }
}
