//! What a scan has to find, by serde, and what has to hold of any bytes.

use serde_json::Value;

use super::super::ahead::Ahead;
use super::*;

/// Holds of any bytes: where serde reads them, the scan finds the same, and what it finds lies in the line. serde is stricter:
/// it wants sound text and finite numbers.
pub(crate) fn check(line: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<Value>(line) {
        agrees(line, &value);
    }
    for span in spans(line) {
        assert!(line.get(span).is_some_and(|raw| !raw.is_empty()), "{}", String::from_utf8_lossy(line));
    }
    for length in [1, 7, 64] {
        check_in_pieces(line, std::iter::repeat_n(length, line.len() / length));
    }
}

/// Of a line that comes in pieces of these lengths and a last one, the same is found as of the whole.
pub(crate) fn check_in_pieces(line: &[u8], lengths: impl IntoIterator<Item = usize>) {
    let mut ahead = Ahead::default();
    let mut there = 0_usize;
    for length in lengths {
        there = line.len().min(there.saturating_add(length));
        ahead.feed(&line[..there]);
    }
    let (scan, is_utf8) = (scan(line), is_utf8(line));
    let seen = ahead.end(line);
    assert_eq!((seen.scan, seen.is_utf8), (scan, is_utf8), "{}", String::from_utf8_lossy(line));
}

fn get<'a>(value: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    value?.get(name).filter(|value| !value.is_null())
}

/// Compares a scan with what serde found in the same line.
pub(crate) fn agrees(line: &[u8], value: &Value) {
    let shown = String::from_utf8_lossy(line);
    let method = value.get("method").filter(|method| method.is_string());
    let (id, result, error) = (value.get("id"), value.get("result"), value.get("error"));
    let same = |span: &Option<Span>, expected: Option<&Value>| {
        let found: Option<Value> =
            bytes_at(line, span.as_ref()).map(|raw| serde_json::from_slice(raw).expect("a value"));
        assert_eq!(found.as_ref(), expected, "{shown}");
        let tight = bytes_at(line, span.as_ref()).is_none_or(|raw| raw.trim_ascii() == raw);
        assert!(tight, "{shown}");
    };
    let head = match scan(line) {
        Scan::Message(head) => head,
        Scan::NotAMessage(span) => {
            assert!(value.is_object() && method.is_none() && result.is_none() && error.is_none(), "{shown}");
            return same(&span, id);
        }
        Scan::Batch => {
            assert!(value.is_array(), "{shown}");
            return;
        }
        Scan::NotJson => {
            assert!(!value.is_object() && !value.is_array(), "{shown}");
            return;
        }
    };
    let is_id = id.is_some_and(|id| id.is_string() || id.is_number());
    let kind = match (method, result, error) {
        (Some(_), ..) if is_id => Kind::Request,
        (Some(_), ..) => Kind::Notification,
        (None, Some(_), None | Some(Value::Null)) => Kind::Result,
        (None, _, Some(_)) => Kind::Error,
        (None, None, None) => panic!("no message: {shown}"),
    };
    assert_eq!(head.kind, kind, "{shown}");
    if kind == Kind::Request {
        assert!(id_at(line, head.id.as_ref()).is_some(), "{shown}");
    }
    let name = method.and_then(Value::as_str);
    assert_eq!(head.method, name.map_or(Method::None, |name| Method::from_name(name.as_bytes())));
    assert_eq!(method_name(&head, line), name.unwrap_or_default());
    same(&head.method_span, method);
    same(&head.id, id);
    same(&head.params, value.get("params"));
    let body = match kind {
        Kind::Result => result,
        Kind::Error => error,
        Kind::Request | Kind::Notification => None,
    };
    same(&head.body, body);
    let params = value.get("params");
    let meta = get(params, "_meta");
    let key = |name: &str| get(meta, &format!("io.modelcontextprotocol/{name}"));
    same(&head.meta_progress_token, get(meta, "progressToken"));
    same(&head.meta_protocol_version, key("protocolVersion").filter(|value| value.is_string()));
    same(&head.meta_subscription_id, key("subscriptionId"));
    assert_eq!(head.meta_client_capabilities, key("clientCapabilities").is_some_and(Value::is_object));
    same(&head.progress_token, get(params, "progressToken"));
    same(&head.request_id, get(params, "requestId"));
    same(&head.uri, get(params, "uri"));
    same(&head.name, get(params, "name"));
    same(&head.cursor, get(params, "cursor"));
    assert_eq!(head.task, get(params, "task").is_some());
    let continued = get(params, "inputResponses").is_some() || get(params, "requestState").is_some();
    assert_eq!(head.continued, continued);
}

fn spans(line: &[u8]) -> Vec<Span> {
    let mut spans = elements(line).unwrap_or_default();
    match scan(line) {
        Scan::Message(head) => {
            let Head { id, params, body, name, uri, cursor, request_id, progress_token, method_span, .. } = head;
            spans.extend(
                [id, params, body, name, uri, cursor, request_id, progress_token, method_span].into_iter().flatten(),
            );
            let meta = [head.meta_progress_token, head.meta_protocol_version, head.meta_subscription_id];
            spans.extend(meta.into_iter().flatten());
        }
        Scan::NotAMessage(id) => spans.extend(id),
        Scan::Batch | Scan::NotJson => {}
    }
    spans
}
