//! The head of a message: what routing must know of it, found without building anything.
//!
//! The whole line is read, because keys come in any order: one SDK writes `id` behind a `params` of megabytes. A line that
//! was torn anywhere is [`Scan::NotJson`].

use std::borrow::Cow;

use super::Span;
use super::id::Id;
pub use super::method::Method;
use super::method::is_list_name;
use super::read::{Pass, Reader};
use super::{text, utf8};
pub use shapes::Shapes;

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
#[inline]
pub fn scan(line: &[u8]) -> Scan {
    let mut scan = Scan::unread();
    scan.read(line);
    scan
}

/// The same, with another way to pass over values.
pub(super) fn scan_by(line: &[u8], pass: impl Pass) -> Scan {
    let mut scan = Scan::unread();
    scan.read_by(line, pass);
    scan
}

/// Whether a line is UTF-8 as a whole, which MCP demands.
#[must_use]
pub fn is_utf8(line: &[u8]) -> bool {
    utf8::is_utf8(line)
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
#[inline]
pub fn id_at(line: &[u8], span: Option<&Span>) -> Option<Id> {
    Id::at(line, span?)
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

#[inline(never)]
fn array(reader: &mut Reader<'_, impl Pass>, element: impl FnMut(Span)) -> Option<()> {
    reader.array(element)?;
    reader.end()
}

mod members;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod oracle;
pub(crate) mod shapes;
#[cfg(test)]
mod tests;
