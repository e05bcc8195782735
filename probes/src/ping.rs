//! `ping`: the cheapest sign of life.

use probe_api::{ConfigError, Context, Era, Probe, ProbeKind, Verdict, async_trait};
use rmcp::model::{ConstString, DiscoverRequestMethod, PingRequestMethod};
use serde::Deserialize;

use crate::request::ask;

/// Asks for `ping`, or for `server/discover` in a session of a revision that has no ping (2026-07-28).
#[derive(Debug)]
pub struct Ping;

/// The options of `type: ping`: none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

#[async_trait]
impl Probe for Ping {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        match cx.snapshot().era {
            Some(Era::Handshake) => ask(cx, PingRequestMethod::VALUE).await,
            Some(Era::Stateless) => ask(cx, DiscoverRequestMethod::VALUE).await,
            // The first frame that a server reads can settle its era: it has to be the client's.
            None => Verdict::Unsupported,
        }
    }
}

impl ProbeKind for Ping {
    const NAME: &'static str = "ping";
    type Config = Config;

    fn new(_config: Config) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::{Answer, FakeContext};
    use probe_api::{Snapshot, Trigger};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_handshake_session_is_pinged() {
        let cx = FakeContext::new().on("ping", Answer::Result(serde_json::json!({})));
        assert_eq!(cx.check(&mut Ping), Verdict::Pass);
        let calls = cx.calls();
        assert_eq!((calls.len(), calls[0].method.as_str(), &calls[0].params), (1, "ping", &Value::Null));
        assert_eq!(calls[0].limit, std::time::Duration::from_secs(3), "it waits as long as it may");
    }

    #[test]
    fn a_stateless_session_is_never_pinged() {
        let cx = FakeContext::stateless();
        assert_eq!(cx.check(&mut Ping), Verdict::Pass);
        let calls = cx.calls();
        assert_eq!((calls.len(), calls[0].method.as_str()), (1, "server/discover"));
        assert!(calls[0].params["_meta"]["io.modelcontextprotocol/clientCapabilities"].is_object());
    }

    #[test]
    fn a_session_that_has_not_begun_is_left_alone() {
        let cx = FakeContext::with_snapshot(Snapshot::new("s", 1, Trigger::Periodic));
        assert_eq!(cx.check(&mut Ping), Verdict::Unsupported);
        assert!(cx.calls().is_empty());
    }

    #[test]
    fn silence_is_a_failure_that_says_so() {
        let cx = FakeContext::new().on("ping", Answer::Silence);
        assert_eq!(cx.check(&mut Ping), Verdict::Fail("no answer to ping within 3s".into()));
    }
}
