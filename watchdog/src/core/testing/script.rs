//! A fake server: what it does by itself when it is spoken to. Everything else is said by the test.

use serde_json::Value;

use super::lines::{acknowledged, raw_id};

/// The behaviour of one server process.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// The version that it agrees to in the handshake.
    pub(crate) version: &'static str,
    /// Its capabilities, as JSON.
    pub(crate) capabilities: &'static str,
    /// Its tools, as a JSON array.
    pub(crate) tools: &'static str,
    /// Methods that it never answers.
    pub(crate) ignores: &'static [&'static str],
    /// Methods that it answers with an error.
    pub(crate) refuses: &'static [&'static str],
    /// A method that kills it.
    pub(crate) dies_on: Option<&'static str>,
    /// Whether its program cannot be executed.
    pub(crate) cannot_start: bool,
    /// Whether it ends with code 1 as soon as it runs.
    pub(crate) dies_at_start: bool,
}

/// What it does about a line.
pub(crate) enum Reaction {
    Says(String),
    Dies,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            version: "2025-06-18",
            capabilities: r#"{"tools":{"listChanged":true}}"#,
            tools: r#"[{"name":"a"}]"#,
            ignores: &[],
            refuses: &[],
            dies_on: None,
            cannot_start: false,
            dies_at_start: false,
        }
    }
}

impl Script {
    /// It answers nothing.
    pub(crate) fn deaf() -> Self {
        let ignores =
            &["initialize", "server/discover", "ping", "tools/list", "logging/setLevel", "subscriptions/listen"];
        Self { ignores, ..Self::default() }
    }

    pub(super) fn react(&self, line: &str) -> Option<Reaction> {
        let message: Value = serde_json::from_str(line).ok()?;
        let method = message["method"].as_str()?;
        if self.dies_on == Some(method) {
            return Some(Reaction::Dies);
        }
        if message["id"].is_null() || self.ignores.contains(&method) {
            return None;
        }
        let id = raw_id(line);
        if self.refuses.contains(&method) {
            return Some(Reaction::Says(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#
            )));
        }
        if method == "subscriptions/listen" {
            let filter = &message["params"]["notifications"];
            return Some(Reaction::Says(acknowledged(&id, filter)));
        }
        let result = self.result(method)?;
        Some(Reaction::Says(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)))
    }

    /// What it answers by itself; calls and reads are the test's to answer.
    fn result(&self, method: &str) -> Option<String> {
        Some(match method {
            "initialize" => format!(
                r#"{{"protocolVersion":"{}","capabilities":{},"serverInfo":{{"name":"s","version":"1"}}}}"#,
                self.version, self.capabilities
            ),
            "server/discover" => {
                format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#, self.capabilities)
            }
            "tools/list" => format!(r#"{{"tools":{}}}"#, self.tools),
            "prompts/list" => r#"{"prompts":[]}"#.to_owned(),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => "{}".to_owned(),
            _ => return None,
        })
    }
}
