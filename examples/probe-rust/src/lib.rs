//! A probe that wants certain tools to be listed.

use probe_api::serde::Deserialize;
use probe_api::serde_json::{Value, json};
use probe_api::{
    CallError, ConfigError, Context, Era, Probe, ProbeKind, Reply, Snapshot, Verdict, async_trait, declare_probe,
};

/// A list may come in pages. A server that never says which is the last does not keep us for ever.
const MOST_PAGES: usize = 20;

struct ToolsPresent {
    wanted: Vec<String>,
}

#[derive(Deserialize)]
#[serde(crate = "probe_api::serde", deny_unknown_fields)]
struct Config {
    tools: Vec<String>,
}

impl ProbeKind for ToolsPresent {
    const NAME: &'static str = "tools-present";
    type Config = Config;
    const CONFIG_SCHEMA: &'static str = r#"{
        "type": "object",
        "properties": { "tools": { "type": "array", "items": { "type": "string" }, "minItems": 1 } },
        "required": ["tools"],
        "additionalProperties": false
    }"#;

    fn new(config: Config) -> Result<Self, ConfigError> {
        if config.tools.is_empty() {
            return Err(ConfigError("tools: name at least one".to_owned()));
        }
        Ok(Self { wanted: config.tools })
    }
}

#[async_trait]
impl Probe for ToolsPresent {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        match self.missing(cx).await {
            Ok(missing) if missing.is_empty() => Verdict::Pass,
            Ok(missing) => Verdict::Fail(format!("not among the tools: {}", missing.join(", "))),
            Err(verdict) => verdict,
        }
    }
}

impl ToolsPresent {
    async fn missing(&self, cx: &dyn Context) -> Result<Vec<&str>, Verdict> {
        let mut missing: Vec<&str> = self.wanted.iter().map(String::as_str).collect();
        let mut cursor = Value::Null;
        for _ in 0..MOST_PAGES {
            let page = page(cx, &cursor).await?;
            let listed = page["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
            missing.retain(|name| listed.iter().all(|tool| tool["name"] != **name));
            cursor = page["nextCursor"].clone();
            if missing.is_empty() || cursor.is_null() {
                return Ok(missing);
            }
        }
        Err(Verdict::Inconclusive(format!("the list of tools has more than {MOST_PAGES} pages")))
    }
}

async fn page(cx: &dyn Context, cursor: &Value) -> Result<Value, Verdict> {
    match cx.call("tools/list", params(cx.snapshot(), cursor), cx.remaining()).await {
        Ok(Reply::Result(page)) => Ok(page),
        Ok(reply) if reply.error_code() == Some(-32601) => Err(Verdict::Unsupported),
        Ok(Reply::Error(error)) => Err(Verdict::Fail(format!("tools/list: {}", error["message"]))),
        Err(CallError::Timeout) => Err(Verdict::Fail("no answer to tools/list".to_owned())),
        // The session is not open yet, or this check was ended: that says nothing about the server.
        Err(error) => Err(Verdict::Inconclusive(error.to_string())),
    }
}

/// From revision 2026-07-28 on, every request carries the client's context.
fn params(snapshot: &Snapshot, cursor: &Value) -> Value {
    let mut params = json!({});
    if snapshot.era == Some(Era::Stateless) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": snapshot.protocol_version,
            "io.modelcontextprotocol/clientInfo": { "name": "tools-present", "version": env!("CARGO_PKG_VERSION") },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    if !cursor.is_null() {
        params["cursor"] = cursor.clone();
    }
    params
}

declare_probe!(ToolsPresent);

#[cfg(test)]
mod tests {
    use probe_api::testing::{Answer, FakeContext};

    use super::*;

    fn check(cx: &FakeContext) -> Verdict {
        let tools = vec!["search".to_owned(), "fetch".to_owned()];
        cx.check(&mut ToolsPresent::new(Config { tools }).expect("two tools are enough"))
    }

    fn page(names: &[&str], next: Option<&str>) -> Answer {
        let tools: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        let mut page = json!({ "tools": tools });
        if let Some(next) = next {
            page["nextCursor"] = next.into();
        }
        Answer::Result(page)
    }

    #[test]
    fn tools_are_looked_for_on_every_page() {
        let cx = FakeContext::new()
            .on("tools/list", page(&["other", "fetch"], Some("2")))
            .on("tools/list", page(&["search"], None));
        assert_eq!(check(&cx), Verdict::Pass);
        assert_eq!(cx.calls()[1].params, json!({ "cursor": "2" }));
    }

    #[test]
    fn the_verdict_names_what_is_missing() {
        let cx = FakeContext::new().on("tools/list", page(&["fetch"], None));
        assert_eq!(check(&cx), Verdict::Fail("not among the tools: search".to_owned()));
    }

    #[test]
    fn a_list_without_end_is_no_verdict() {
        let cx = FakeContext::new().on("tools/list", page(&["other"], Some("again")));
        assert!(matches!(check(&cx), Verdict::Inconclusive(_)));
        assert_eq!(cx.calls().len(), MOST_PAGES);
    }

    #[test]
    fn only_silence_and_errors_of_the_server_count_against_it() {
        let verdict = |answer| check(&FakeContext::new().on("tools/list", answer));
        assert!(matches!(verdict(Answer::Silence), Verdict::Fail(_)));
        assert!(matches!(verdict(Answer::Error(-32603)), Verdict::Fail(_)));
        assert_eq!(verdict(Answer::Error(-32601)), Verdict::Unsupported);
        assert!(matches!(verdict(Answer::Cancelled), Verdict::Inconclusive(_)));
    }

    #[test]
    fn a_request_without_a_session_carries_the_context() {
        let cx = FakeContext::stateless().on("tools/list", page(&["search", "fetch"], None));
        assert_eq!(check(&cx), Verdict::Pass);
        assert_eq!(cx.calls()[0].params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    }

    #[test]
    fn no_tool_at_all_is_refused() {
        assert!(ToolsPresent::new(Config { tools: Vec::new() }).is_err());
    }
}
