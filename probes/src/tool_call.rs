//! `tool_call`: a tool that is run for real.

use probe_api::options::{excerpt, quoted};
use probe_api::{ConfigError, Context, Probe, ProbeKind, Reply, Verdict, async_trait};
use regex_lite::Regex;
use rmcp::model::{CallToolRequestMethod, ConstString, ResultType};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::request::ask;

/// How much of a result's text is searched: an engine that is made to be small is not made to be fast.
const SEARCHED: usize = 256 * 1024;

/// How much of an answer a reason quotes, in characters.
const SHOWN: usize = 120;

/// The error of a tool that wants the user to open an address first (revision 2025-11-25).
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Calls one of the server's tools and reads its answer. The only probe that finds a server which answers, but answers
/// wrong.
///
/// The tool runs for real, at every check and behind the user's back: choose one that changes nothing, costs little and
/// asks nobody.
#[derive(Debug)]
pub struct ToolCall {
    tool: String,
    arguments: Map<String, Value>,
    expect: Option<Regex>,
    allow_error: bool,
}

/// The options of `type: tool_call`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The tool's name.
    tool: String,
    /// Its arguments; none without.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// A regular expression that has to match somewhere in the text of the result: its text blocks, joined by newlines,
    /// of which the first 256 KiB are searched.
    expect: Option<String>,
    /// Whether a result that the tool itself marks as an error (`isError`) is as good as another.
    #[serde(default)]
    allow_error: bool,
}

#[async_trait]
impl Probe for ToolCall {
    async fn check(&mut self, cx: &dyn Context) -> Verdict {
        if cx.snapshot().era.is_none() {
            return Verdict::Unsupported;
        }
        let own = [("name", json!(self.tool)), ("arguments", Value::Object(self.arguments.clone()))];
        let own = own.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        match ask(cx, CallToolRequestMethod::VALUE, own).await {
            Ok(Reply::Result(result)) => self.judge(&result),
            Ok(Reply::Error(error)) => refused(&self.tool, &error),
            Err(verdict) => verdict,
        }
    }
}

impl ToolCall {
    fn judge(&self, result: &Value) -> Verdict {
        let tool = &self.tool;
        // Absent means complete (MCP 2026-07-28; earlier revisions do not have it).
        let kind = result["resultType"].as_str().unwrap_or(ResultType::COMPLETE.as_str());
        if kind != ResultType::COMPLETE.as_str() {
            let kind = quoted(kind);
            return Verdict::Inconclusive(format!(
                "{tool} did not finish but answered {kind}; choose a tool that does"
            ));
        }
        let text = text(result);
        let shown = excerpt(&text, SHOWN);
        if result["isError"] == true && !self.allow_error {
            return Verdict::Fail(format!("{tool} reports an error: {shown}"));
        }
        match &self.expect {
            Some(expect) if !expect.is_match(&text) => Verdict::Fail(format!(
                "the answer of {tool} does not match {}: {shown}",
                excerpt(expect.as_str(), SHOWN)
            )),
            _ => Verdict::Pass,
        }
    }
}

/// The text blocks of a result, joined and cut.
fn text(result: &Value) -> String {
    let mut joined = String::new();
    for text in result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str()) {
        if !joined.is_empty() {
            joined.push('\n');
        }
        let mut end = text.len().min(SEARCHED.saturating_sub(joined.len()));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        joined.push_str(&text[..end]);
    }
    joined
}

fn refused(tool: &str, error: &Value) -> Verdict {
    let code = error["code"].as_i64().unwrap_or_default();
    if code == URL_ELICITATION_REQUIRED {
        return Verdict::Inconclusive(format!("{tool} wants the user to open an address first; choose another tool"));
    }
    let message = excerpt(error["message"].as_str().unwrap_or_default(), SHOWN);
    Verdict::Fail(format!("the call of {tool} was refused with {code}: {message}"))
}

impl ProbeKind for ToolCall {
    const NAME: &'static str = "tool_call";
    type Config = Config;

    fn new(config: Config) -> Result<Self, ConfigError> {
        let Config { tool, arguments, expect, allow_error } = config;
        if tool.is_empty() {
            return Err(ConfigError("`tool` is empty: name one of the server's tools".to_owned()));
        }
        let compile = |pattern: String| {
            Regex::new(&pattern).map_err(|error| {
                ConfigError(format!("`expect` is not a regular expression: {} ({error})", quoted(&pattern)))
            })
        };
        Ok(Self { tool, arguments, expect: expect.map(compile).transpose()?, allow_error })
    }
}

#[cfg(test)]
mod tests;
