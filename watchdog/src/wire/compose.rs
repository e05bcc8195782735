//! Messages that the watchdog writes itself, as lines without their line end.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;

use super::id::{Id, quote};

const BEGIN: &[u8] = br#"{"jsonrpc":"2.0""#;

/// A request. `params` is JSON text and is put in as it is.
#[must_use]
pub fn request(id: &Id, method: &str, params: Option<&[u8]>) -> Bytes {
    let mut line = begin();
    member(&mut line, "id", &id.raw());
    call(line, method, params)
}

/// A notification. `params` is JSON text and is put in as it is.
#[must_use]
pub fn notification(method: &str, params: Option<&[u8]>) -> Bytes {
    call(begin(), method, params)
}

/// `notifications/cancelled` for this request. In its sender's name: clients and servers may only cancel their own.
#[must_use]
pub fn cancelled(id: &Id, reason: &str) -> Bytes {
    let mut params = br#"{"requestId":"#.to_vec();
    params.extend_from_slice(&id.raw());
    params.extend_from_slice(br#","reason":"#);
    params.extend_from_slice(&quote(reason));
    params.push(b'}');
    notification("notifications/cancelled", Some(&params))
}

/// A response with a result, which is JSON text and is put in as it is.
#[must_use]
pub fn result(id: &Id, result: &[u8]) -> Bytes {
    let mut line = begin();
    member(&mut line, "id", &id.raw());
    member(&mut line, "result", result);
    end(line)
}

/// A response with an error, with a null id where the request's is not known. Null `data` is left out.
#[must_use]
pub fn error(id: Option<&Id>, code: i64, message: &str, data: &Value) -> Bytes {
    let mut body = BytesMut::from(&b"{"[..]);
    body.put_slice(br#""code":"#);
    body.put_slice(code.to_string().as_bytes());
    member(&mut body, "message", &quote(message));
    if !data.is_null() {
        member(&mut body, "data", data.to_string().as_bytes());
    }
    body.put_u8(b'}');
    let mut line = begin();
    match id {
        Some(id) => member(&mut line, "id", &id.raw()),
        None => member(&mut line, "id", b"null"),
    }
    member(&mut line, "error", &body);
    end(line)
}

fn begin() -> BytesMut {
    BytesMut::from(BEGIN)
}

fn call(mut line: BytesMut, method: &str, params: Option<&[u8]>) -> Bytes {
    member(&mut line, "method", &quote(method));
    if let Some(params) = params {
        member(&mut line, "params", params);
    }
    end(line)
}

fn end(mut line: BytesMut) -> Bytes {
    line.put_u8(b'}');
    line.freeze()
}

/// Appends a member, not the first one of its object. `name` needs no escapes.
fn member(line: &mut BytesMut, name: &str, value: &[u8]) {
    line.put_slice(b",\"");
    line.put_slice(name.as_bytes());
    line.put_slice(b"\":");
    line.put_slice(value);
}

#[cfg(test)]
mod tests;
