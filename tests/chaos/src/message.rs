//! A line as it is recorded: what the checker has to know of it, and a hash instead of its bytes.

use std::hash::{DefaultHasher, Hasher as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::plan::Order;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Kind {
    /// No message.
    #[default]
    Junk,
    /// It has an id and a method.
    Request,
    /// It has a method.
    Notification,
    /// A result.
    Result,
    /// An error.
    Error,
}

/// What this harness puts into `_meta` of everything it writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stamp {
    /// The life that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<u64>,
    /// The number of the request or notification that it is, or is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// The number of the question that it is, or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<u64>,
    /// What the server is to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
}

/// A recorded line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// Its bytes without the line end.
    pub len: usize,
    /// A hash of them.
    pub hash: u64,
    /// The id as it is spelled.
    pub id: Option<String>,
    /// The method.
    pub method: Option<String>,
    /// A hash of `result`, `error` or `params`.
    pub body: u64,
    /// Its stamp.
    pub stamp: Stamp,
    /// `progressToken` of a notification, as spelled.
    pub token: Option<String>,
    /// `requestId`, as spelled.
    pub request_id: Option<String>,
    /// The error of an answer without a stamp: one that no server wrote.
    pub error: Option<Value>,
    /// How it begins, for those who read a report.
    pub head: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    jsonrpc: Option<String>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Body<'a> {
    #[serde(rename = "_meta")]
    meta: Meta,
    data: Data,
    #[serde(rename = "progressToken", borrow)]
    token: Option<&'a RawValue>,
    #[serde(rename = "requestId", borrow)]
    request_id: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    chaos: Stamp,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Data {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

impl Message {
    /// Reads a line.
    #[must_use]
    pub fn read(line: &[u8]) -> Self {
        let head = String::from_utf8_lossy(&line[..line.len().min(240)]).into_owned();
        let base = Self { len: line.len(), hash: hash(line), head, ..Self::default() };
        let Ok(parsed) = serde_json::from_slice::<Line<'_>>(line) else { return base };
        let id = parsed.id.map(|raw| raw.get().to_owned());
        let kind = match (&parsed.method, &id) {
            _ if parsed.jsonrpc.as_deref() != Some("2.0") => return base,
            (Some(_), Some(_)) => Kind::Request,
            (Some(_), None) => Kind::Notification,
            (None, _) if parsed.error.is_some() => Kind::Error,
            (None, _) if parsed.result.is_some() => Kind::Result,
            (None, _) => return base,
        };
        let raw = parsed.params.or(parsed.result).or(parsed.error).map_or("", RawValue::get);
        let body: Body<'_> = serde_json::from_str(raw).unwrap_or_default();
        let stamp = body.data.meta.map_or(body.meta.chaos, |meta| meta.chaos);
        let foreign = kind == Kind::Error && stamp == Stamp::default();
        Self {
            kind,
            id,
            method: parsed.method,
            body: hash(raw.as_bytes()),
            token: body.token.map(|raw| raw.get().to_owned()),
            request_id: body.request_id.map(|raw| raw.get().to_owned()),
            error: if foreign { serde_json::from_str(raw).ok() } else { None },
            stamp,
            ..base
        }
    }

    /// Whether it answers something.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        matches!(self.kind, Kind::Result | Kind::Error)
    }

    /// Its method, or nothing.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The members of a stamp, as they stand in `_meta`.
#[must_use]
pub fn meta(stamp: &Stamp) -> String {
    format!("\"chaos\":{}", serde_json::to_string(stamp).expect("plain data is JSON"))
}

/// So many bytes that no JSON string has to escape.
#[must_use]
pub fn padding(bytes: u32) -> String {
    "p".repeat(usize::try_from(bytes).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_wherever_they_stand() {
        let stamp = Stamp { life: Some(3), n: Some(7), ..Stamp::default() };
        let meta = meta(&stamp);
        for line in [
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{{\"_meta\":{{{meta}}}}}}}"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{{\"_meta\":{{{meta}}}}}}}"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{{\"code\":1,\"data\":{{\"_meta\":{{{meta}}}}}}}}}"),
        ] {
            let message = Message::read(line.as_bytes());
            assert_eq!(message.stamp, stamp, "{line}");
            assert_eq!((message.id.as_deref(), message.error), (Some("\"a\""), None));
        }
    }

    #[test]
    fn an_error_that_no_server_wrote_is_kept() {
        let line = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-31000,"message":"m","data":{"code":"x"}}}"#;
        let message = Message::read(line);
        assert_eq!(message.error.map(|error| error["data"]["code"].clone()), Some(Value::from("x")));
    }

    #[test]
    fn what_is_no_message_is_junk() {
        for line in [&b"hello"[..], b"{\"id\":1}", b"{\"jsonrpc\":\"2.0\",\"id\":1}", b"\xff"] {
            assert_eq!(Message::read(line).kind, Kind::Junk);
        }
    }
}
