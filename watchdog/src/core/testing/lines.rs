//! Lines that scenarios are made of.

use serde_json::Value;

use crate::wire::head::{Scan, bytes_at, scan};

/// The client's `initialize`, spelled in a way that nobody would make up.
pub(crate) const INITIALIZE: &str = r#"{ "method" : "initialize","id":0.0, "params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1e0"}},"jsonrpc":"2.0"}"#;

/// The notification that follows it.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0", "method":"notifications/initialized"}"#;

/// A tool call.
pub(crate) fn call_line(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

/// A cancellation.
pub(crate) fn cancel_line(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

/// An answer with an empty result.
pub(crate) fn answer_line(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// A request of 2026-07-28. `more` are further members of `params`, each with a comma behind it.
pub(crate) fn stateless(id: &str, method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{more}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

/// The ids of these messages, as they are spelled.
pub(crate) fn ids(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| raw_id(line)).collect()
}

/// The acknowledgement of a listen request.
pub(crate) fn acknowledged(id: &str, filter: &Value) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}}}"#
    )
}

/// The id of a message, as it is spelled.
pub(crate) fn raw_id(line: &str) -> String {
    let Scan::Message(head) = scan(line.as_bytes()) else { panic!("no message: {line}") };
    let raw = bytes_at(line.as_bytes(), head.id.as_ref()).unwrap_or_else(|| panic!("no id: {line}"));
    String::from_utf8_lossy(raw).into_owned()
}
