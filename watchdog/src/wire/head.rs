//! The head of a message: what routing must know of it, found without building anything.
//!
//! The whole line is read, because keys come in any order: one SDK writes `id` behind a `params` of megabytes. A line that
//! was torn anywhere is [`Scan::NotJson`].

use std::borrow::Cow;

use super::Span;
use super::id::Id;
pub use super::method::Method;
use super::method::is_list_name;
use super::number::is_number;
use super::read::{AtOnce, Pass, Reader};
use super::text;

/// What one line is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every line is a message, and a box would cost more than the copy"
)]
pub enum Scan {
    /// One JSON-RPC message.
    Message(Head),
    /// A JSON array; [`elements`] takes it apart.
    Batch,
    /// A JSON object without `method`, `result` or `error`; its id, if it has one. A `method` that is not a string does
    /// not count.
    NotAMessage(Option<Span>),
    /// Something else, or not JSON.
    NotJson,
}

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `method`, and an `id` that is a string or a number.
    Request,
    /// `method` without `id`, or with one that MCP does not have (`null` above all; [`Head::id`] shows it).
    Notification,
    /// `result`. Where `error` stands beside it, `error` is `null`.
    Result,
    /// `error`. Where `result` stands beside it, `error` is not `null`.
    Error,
}

/// What the scan found. Spans are of values as they are spelled (strings with their quotes). Of duplicate keys the last
/// one counts, as for most JSON readers. All but `id`, `params` and `body` count as absent where they are `null`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Whether it says that it is JSON-RPC. Log lines in JSON may have members of the same names.
    pub jsonrpc: bool,
    /// What kind of message it is.
    pub kind: Kind,
    /// Its method; `Method::None` for responses.
    pub method: Method,
    /// The spelled method, with its quotes.
    pub method_span: Option<Span>,
    /// `id`, also when it is `null`.
    pub id: Option<Span>,
    /// `params`.
    pub params: Option<Span>,
    /// `result` or `error`.
    pub body: Option<Span>,
    /// `params._meta.progressToken`.
    pub meta_progress_token: Option<Span>,
    /// `params._meta."io.modelcontextprotocol/protocolVersion"`, where it is a string.
    pub meta_protocol_version: Option<Span>,
    /// Whether `params._meta."io.modelcontextprotocol/clientCapabilities"` is an object.
    pub meta_client_capabilities: bool,
    /// `params._meta."io.modelcontextprotocol/subscriptionId"`.
    pub meta_subscription_id: Option<Span>,
    /// `params.progressToken`.
    pub progress_token: Option<Span>,
    /// `params.requestId`.
    pub request_id: Option<Span>,
    /// `params.uri`.
    pub uri: Option<Span>,
    /// `params.name`.
    pub name: Option<Span>,
    /// `params.cursor`.
    pub cursor: Option<Span>,
    /// Whether `params.task` is there (2025-11-25: the call becomes a task).
    pub task: bool,
    /// Whether `params.inputResponses` or `params.requestState` is there (2026-07-28: a continued call).
    pub continued: bool,
}

/// Reads the head of a line (without its line end).
#[must_use]
pub fn scan(line: &[u8]) -> Scan {
    scan_by(line, AtOnce)
}

/// The same, with another way to pass over values.
pub(super) fn scan_by(line: &[u8], pass: impl Pass) -> Scan {
    let mut reader = Reader::by(line, pass);
    match reader.peek() {
        Some(b'{') => message(line, &mut reader).unwrap_or(Scan::NotJson),
        Some(b'[') if array(&mut reader, |_| ()).is_some() => Scan::Batch,
        _ => Scan::NotJson,
    }
}

/// Whether a line is UTF-8 as a whole, which MCP demands.
#[must_use]
pub fn is_utf8(line: &[u8]) -> bool {
    simdutf8::basic::from_utf8(line).is_ok()
}

/// The elements of a batch, each as it stands in the line; `None` when the array is malformed.
#[must_use]
pub fn elements(line: &[u8]) -> Option<Vec<Span>> {
    let mut spans = Vec::new();
    array(&mut Reader::new(line), |span| spans.push(span))?;
    Some(spans)
}

/// The bytes of a span, which has to be one of that line's.
#[must_use]
pub fn bytes_at<'a>(line: &'a [u8], span: Option<&Span>) -> Option<&'a [u8]> {
    line.get(span?.clone())
}

/// The id or token at a span of that line; `None` where there is none, or it is neither a string nor a number.
#[must_use]
pub fn id_at(line: &[u8], span: Option<&Span>) -> Option<Id> {
    Id::parse(bytes_at(line, span)?)
}

/// The text at a span of that line, unescaped; `None` where there is no string. What is not text becomes U+FFFD.
#[must_use]
pub fn text_at<'a>(line: &'a [u8], span: Option<&Span>) -> Option<Cow<'a, str>> {
    Some(text::read_lossy(text::unquote(bytes_at(line, span)?)?))
}

/// The name of a message's method, for people; empty for a response.
#[must_use]
pub fn method_name<'a>(head: &Head, line: &'a [u8]) -> Cow<'a, str> {
    match head.method.name() {
        Some(name) => Cow::Borrowed(name),
        None => text_at(line, head.method_span.as_ref()).unwrap_or_default(),
    }
}

/// Whether the contract lets this request be written to a second server process, unknown `*/list` methods included.
#[must_use]
pub fn is_read_only(head: &Head, line: &[u8]) -> bool {
    match head.method {
        Method::Other => is_list_name(&method_name(head, line)),
        method => method.is_read_only(),
    }
}

fn array(reader: &mut Reader<'_, impl Pass>, element: impl FnMut(Span)) -> Option<()> {
    reader.array(element)?;
    reader.end()
}

/// The members of a message that were found.
#[derive(Default)]
struct Members {
    jsonrpc: bool,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
}

/// The members of `params` that were found.
#[derive(Default)]
struct Params {
    progress_token: Option<Span>,
    request_id: Option<Span>,
    uri: Option<Span>,
    name: Option<Span>,
    cursor: Option<Span>,
    task: bool,
    input_responses: bool,
    request_state: bool,
    meta: Meta,
}

/// The members of `params._meta` that were found.
#[derive(Default)]
struct Meta {
    progress_token: Option<Span>,
    protocol_version: Option<Span>,
    client_capabilities: bool,
    subscription_id: Option<Span>,
}

fn message(line: &[u8], reader: &mut Reader<'_, impl Pass>) -> Option<Scan> {
    let mut members = Members::default();
    let mut params = Params::default();
    reader.object(|reader, name| {
        match name {
            b"jsonrpc" => {
                reader.skip_value()?;
                members.jsonrpc = true;
            }
            b"id" => members.id = Some(reader.value()?),
            b"method" => members.method = reader.value_if(|first| first == b'"')?,
            b"params" => {
                let (span, found) = reader.spanned(Params::read)?;
                members.params = Some(span);
                params = found;
            }
            b"result" => members.result = Some(reader.value()?),
            b"error" => members.error = Some(reader.value()?),
            _ => reader.skip_value()?,
        }
        Some(())
    })?;
    reader.end()?;
    Some(assemble(line, members, params))
}

impl Params {
    fn read(reader: &mut Reader<'_, impl Pass>) -> Option<Self> {
        let mut found = Self::default();
        if reader.peek() != Some(b'{') {
            reader.skip_value()?;
            return Some(found);
        }
        reader.object(|reader, name| {
            match name {
                b"_meta" => found.meta = Meta::read(reader)?,
                b"progressToken" => found.progress_token = reader.value_if(not_null)?,
                b"requestId" => found.request_id = reader.value_if(not_null)?,
                b"uri" => found.uri = reader.value_if(not_null)?,
                b"name" => found.name = reader.value_if(not_null)?,
                b"cursor" => found.cursor = reader.value_if(not_null)?,
                b"task" => found.task = reader.value_if(not_null)?.is_some(),
                b"inputResponses" => found.input_responses = reader.value_if(not_null)?.is_some(),
                b"requestState" => found.request_state = reader.value_if(not_null)?.is_some(),
                _ => reader.skip_value()?,
            }
            Some(())
        })?;
        Some(found)
    }
}

impl Meta {
    fn read(reader: &mut Reader<'_, impl Pass>) -> Option<Self> {
        let mut found = Self::default();
        if reader.peek() != Some(b'{') {
            reader.skip_value()?;
            return Some(found);
        }
        reader.object(|reader, name| {
            match name {
                b"progressToken" => found.progress_token = reader.value_if(not_null)?,
                b"io.modelcontextprotocol/protocolVersion" => {
                    found.protocol_version = reader.value_if(|first| first == b'"')?;
                }
                b"io.modelcontextprotocol/clientCapabilities" => {
                    found.client_capabilities = reader.value_if(|first| first == b'{')?.is_some();
                }
                b"io.modelcontextprotocol/subscriptionId" => found.subscription_id = reader.value_if(not_null)?,
                _ => reader.skip_value()?,
            }
            Some(())
        })?;
        Some(found)
    }
}

/// Whether a value that begins so is not `null`: of the literals only `null` begins so (NaN has a capital).
fn not_null(first: u8) -> bool {
    first != b'n'
}

fn assemble(line: &[u8], members: Members, params: Params) -> Scan {
    let Members { jsonrpc, id, method, params: params_span, result, error } = members;
    let error_is_null = bytes_at(line, error.as_ref()) == Some(b"null");
    let (kind, body) = match (&method, result, error) {
        (Some(_), ..) if bytes_at(line, id.as_ref()).is_some_and(is_id) => (Kind::Request, None),
        (Some(_), ..) => (Kind::Notification, None),
        (None, Some(result), error) if error.is_none() || error_is_null => (Kind::Result, Some(result)),
        (None, _, Some(error)) => (Kind::Error, Some(error)),
        (None, _, None) => return Scan::NotAMessage(id),
    };
    Scan::Message(Head {
        jsonrpc,
        kind,
        method: bytes_at(line, method.as_ref()).map_or(Method::None, Method::from_raw),
        method_span: method,
        id,
        params: params_span,
        body,
        meta_progress_token: params.meta.progress_token,
        meta_protocol_version: params.meta.protocol_version,
        meta_client_capabilities: params.meta.client_capabilities,
        meta_subscription_id: params.meta.subscription_id,
        progress_token: params.progress_token,
        request_id: params.request_id,
        uri: params.uri,
        name: params.name,
        cursor: params.cursor,
        task: params.task,
        continued: params.input_responses || params.request_state,
    })
}

/// Whether this is the spelling of an id as MCP has them.
fn is_id(raw: &[u8]) -> bool {
    raw.first() == Some(&b'"') || is_number(raw)
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;
