use serde_json::json;

use super::super::head::{Kind, Method, Scan, id_at, scan};
use super::*;

fn value(line: &[u8]) -> Value {
    assert!(!line.contains(&b'\n'));
    serde_json::from_slice(line).expect("JSON")
}

#[test]
fn a_request_is_byte_for_byte_as_the_protocol_pages_show_it() {
    assert_eq!(request(&Id::from_int(5), "ping", None), &br#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#[..]);
    let raw = br#"{ "_meta":{} }"#;
    assert_eq!(
        request(&Id::text("a\"b"), "x\n", Some(raw)),
        &br#"{"jsonrpc":"2.0","id":"a\"b","method":"x\n","params":{ "_meta":{} }}"#[..]
    );
}

#[test]
fn an_answer_has_the_id_as_it_was_spelled() {
    let id = Id::parse(b"1.0").expect("an id");
    assert_eq!(result(&id, br#"{"a": 1e2}"#), &br#"{"jsonrpc":"2.0","id":1.0,"result":{"a": 1e2}}"#[..]);
}

#[test]
fn an_error_escapes_its_texts() {
    let data = json!({"reason": "line\nbreak \"quoted\" \u{1}"});
    let line = error(Some(&Id::from_int(1)), -31000, "a \"b\"\n\u{2028}", &data);
    assert_eq!(
        value(&line),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -31000, "message": "a \"b\"\n\u{2028}", "data": data}})
    );
    let line = error(None, -32700, "Parse error", &Value::Null);
    assert_eq!(line, &br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#[..]);
}

#[test]
fn what_is_composed_is_what_the_scan_finds() {
    let kind = |line: &Bytes| match scan(line) {
        Scan::Message(head) => (head.kind, head.method, id_at(line, head.id.as_ref())),
        other => panic!("no message: {other:?}"),
    };
    let id = Id::text("w");
    assert_eq!(kind(&request(&id, "ping", None)), (Kind::Request, Method::Ping, Some(id.clone())));
    assert_eq!(
        kind(&notification("notifications/cancelled", Some(b"{}"))),
        (Kind::Notification, Method::Cancelled, None)
    );
    assert_eq!(kind(&result(&id, b"{}")), (Kind::Result, Method::None, Some(id.clone())));
    assert_eq!(kind(&error(Some(&id), 1, "", &Value::Null)), (Kind::Error, Method::None, Some(id)));
}
