//! What a client writes.

use serde_json::{Value, json};

/// The prefix of the protocol's own keys in `_meta`.
pub const META: &str = "io.modelcontextprotocol/";

/// The first revision without a handshake.
pub const STATELESS: &str = "2026-07-28";

/// A request; `params` of `null` are left out. The id is written as JSON writes the value: `1`, `"a"`, `1.0`.
#[must_use]
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> String {
    message(json!({ "jsonrpc": "2.0", "id": id.into(), "method": method }), params)
}

/// A notification; `params` of `null` are left out.
#[must_use]
pub fn notification(method: &str, params: Value) -> String {
    message(json!({ "jsonrpc": "2.0", "method": method }), params)
}

/// A call of a tool.
#[must_use]
pub fn tool_call(id: impl Into<Value>, tool: &str, arguments: Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// The opening of a session with a handshake.
#[must_use]
pub fn initialize(id: impl Into<Value>, version: &str) -> String {
    let client = json!({ "name": "harness", "version": "1" });
    request(id, "initialize", json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }))
}

/// Takes a request back.
#[must_use]
pub fn cancelled(id: impl Into<Value>) -> String {
    notification("notifications/cancelled", json!({ "requestId": id.into() }))
}

fn message(mut message: Value, params: Value) -> String {
    if !params.is_null() {
        message["params"] = params;
    }
    message.to_string()
}
