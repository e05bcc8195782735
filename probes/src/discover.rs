//! `discover`: the sign of life of the revisions without a session.

use probe_api::{ConfigError, Context, Era, Probe, ProbeKind, Verdict, async_trait};
use rmcp::model::{ConstString, DiscoverRequestMethod};
use serde::Deserialize;

use crate::request::ask;

/// Asks for `server/discover`; a handshake session does not have it.
#[derive(Debug)]
pub struct Discover;

/// The options of `type: discover`: none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

#[async_trait]
impl Probe for Discover {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        match cx.snapshot().era {
            Some(Era::Stateless) => ask(cx, DiscoverRequestMethod::VALUE).await,
            Some(Era::Handshake) | None => Verdict::Unsupported,
        }
    }
}

impl ProbeKind for Discover {
    const NAME: &'static str = "discover";
    type Config = Config;

    fn new(_config: Config) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::{Answer, FakeContext};

    use super::*;

    #[test]
    fn a_stateless_session_is_asked() {
        let cx = FakeContext::stateless().on("server/discover", Answer::Error(-32022));
        assert_eq!(cx.check(&mut Discover), Verdict::Pass, "a wrong version is an answer too");
        assert_eq!(cx.calls()[0].params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let cx = FakeContext::stateless().on("server/discover", Answer::Silence);
        assert_eq!(cx.check(&mut Discover), Verdict::Fail("no answer to server/discover within 3s".into()));
    }

    #[test]
    fn a_handshake_session_does_not_have_it() {
        let cx = FakeContext::new();
        assert_eq!(cx.check(&mut Discover), Verdict::Unsupported);
        assert!(cx.calls().is_empty());
    }
}
