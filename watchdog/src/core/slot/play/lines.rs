//! Lines, to look into and to say.

use bytes::Bytes;

use crate::core::testing::{acknowledged, raw_id, value};
use crate::wire::Span;
use crate::wire::head::{Head, Scan, elements as elements_of, scan};
use crate::wire::id::{Id, IdKey};

pub(super) fn text(line: &Bytes) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// The messages in a line.
pub(super) fn elements(line: &str) -> Vec<String> {
    if !line.trim_start().starts_with('[') {
        return vec![line.to_owned()];
    }
    elements_of(line.as_bytes()).unwrap_or_default().into_iter().map(|span| line[span].to_owned()).collect()
}

/// The value of an id that is spelled like this.
pub(super) fn id_key(raw: &str) -> IdKey {
    Id::parse(raw.as_bytes()).unwrap_or_else(|| panic!("no id: {raw}")).key
}

/// The value at a place that the head scan finds, as it is spelled.
pub(super) fn span_text(line: &str, pick: impl Fn(Head) -> Option<Span>) -> String {
    let Scan::Message(head) = scan(line.as_bytes()) else { panic!("no message: {line}") };
    pick(head).map(|span| line[span].to_owned()).unwrap_or_default()
}

/// What a server says to a line: its answer, well or as an error.
pub(super) fn reaction(line: &str, ok: bool) -> String {
    let (message, id) = (value(line), raw_id(line));
    let result = match message["method"].as_str() {
        _ if !ok => return format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#),
        Some("subscriptions/listen") => return acknowledged(&id, &message["params"]["notifications"]),
        Some("initialize") => r#"{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true}}}"#,
        Some("tools/list") => r#"{"tools":[{"name":"t"}]}"#,
        _ => "{}",
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
