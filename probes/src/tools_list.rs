//! `tools_list`: a request that every server with tools has to answer.

use probe_api::{ConfigError, Context, Probe, ProbeKind, Verdict, async_trait};
use rmcp::model::{ConstString, ListToolsRequestMethod};
use serde::Deserialize;

use crate::request::ask;

/// Asks for `tools/list`, in either era. Heavier than a ping, and answered by servers that drop pings.
#[derive(Debug)]
pub struct ToolsList;

/// The options of `type: tools_list`: none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

#[async_trait]
impl Probe for ToolsList {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        if cx.snapshot().era.is_none() {
            return Verdict::Unsupported;
        }
        ask(cx, ListToolsRequestMethod::VALUE).await
    }
}

impl ProbeKind for ToolsList {
    const NAME: &'static str = "tools_list";
    type Config = Config;

    fn new(_config: Config) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use probe_api::testing::{Answer, FakeContext};
    use probe_api::{Snapshot, Trigger};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn both_eras_are_asked_each_in_its_own_form() {
        let cx = FakeContext::new().on("tools/list", Answer::Result(json!({ "tools": [] })));
        assert_eq!(cx.check(&mut ToolsList), Verdict::Pass);
        assert_eq!(cx.calls()[0].params, Value::Null);
        let cx = FakeContext::stateless().on("tools/list", Answer::Result(json!({ "tools": [] })));
        assert_eq!(cx.check(&mut ToolsList), Verdict::Pass);
        assert!(cx.calls()[0].params["_meta"].is_object());
    }

    #[test]
    fn before_the_session_nothing_is_asked() {
        let cx = FakeContext::with_snapshot(Snapshot::new("s", 1, Trigger::Periodic));
        assert_eq!(cx.check(&mut ToolsList), Verdict::Unsupported);
        assert!(cx.calls().is_empty());
        let cx = FakeContext::new().on("tools/list", Answer::Invalid);
        assert_eq!(cx.check(&mut ToolsList), Verdict::Unsupported, "the handshake is not done");
    }

    #[test]
    fn silence_is_a_failure_that_says_so() {
        let cx = FakeContext::new().on("tools/list", Answer::Silence);
        assert_eq!(cx.check(&mut ToolsList), Verdict::Fail("no answer to tools/list within 3s".into()));
    }
}
