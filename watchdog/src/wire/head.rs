//! The head of a message: what routing must know of it, found without building anything.
//!
//! The whole line is read, because keys come in any order: one SDK writes `id` behind a `params` of megabytes. A line that
//! was torn anywhere is [`Scan::NotJson`].

use std::borrow::Cow;

use super::Span;
use super::id::Id;
pub use super::method::Method;
use super::method::is_list_name;
use super::read::{AtOnce, Pass, Reader};
use super::text;

/// What most messages begin with.
const BEGIN: &[u8] = br#"{"jsonrpc":"2.0","#;
/// Lines up to this length are looked at for ASCII first; in bytes.
const SHORT: usize = 256;

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
    // Filled in where it is to be: a head takes as long to move as some members to read.
    let mut scan = Scan::Message(Head::unread());
    scan.read(line);
    scan
}

/// The same, with another way to pass over values.
pub(super) fn scan_by(line: &[u8], pass: impl Pass) -> Scan {
    let mut scan = Scan::Message(Head::unread());
    scan.read_by(line, pass);
    scan
}

impl Scan {
    #[inline(never)]
    fn read(&mut self, line: &[u8]) {
        self.read_by(line, AtOnce);
    }

    /// Fills in the head of a message, or becomes what else the line is.
    #[inline(always)]
    fn read_by(&mut self, line: &[u8], pass: impl Pass) {
        let Self::Message(head) = self else { return };
        let mut reader = Reader::by(line, pass);
        let other = match reader.peek() {
            Some(b'{') => match head.read(line, &mut reader) {
                Some(true) => return,
                Some(false) => Self::NotAMessage(head.id.take()),
                None => Self::NotJson,
            },
            Some(b'[') if array(&mut reader, |_| ()).is_some() => Self::Batch,
            _ => Self::NotJson,
        };
        *self = other;
    }
}

/// Whether a line is UTF-8 as a whole, which MCP demands.
#[must_use]
pub fn is_utf8(line: &[u8]) -> bool {
    // Nearly all lines are ASCII, and short: to see that takes less than to begin the search that is faster.
    (line.len() <= SHORT && is_ascii(line)) || simdutf8::basic::from_utf8(line).is_ok()
}

fn is_ascii(line: &[u8]) -> bool {
    let Some(last) = line.last_chunk() else { return line.is_ascii() };
    let (words, _) = line.as_chunks();
    let all = words.iter().fold(u64::from_le_bytes(*last), |all, word| all | u64::from_le_bytes(*word));
    all & 0x8080_8080_8080_8080 == 0
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

#[inline(never)]
fn array(reader: &mut Reader<'_, impl Pass>, element: impl FnMut(Span)) -> Option<()> {
    reader.array(element)?;
    reader.end()
}

impl Head {
    const fn unread() -> Self {
        Self {
            jsonrpc: false,
            kind: Kind::Notification,
            method: Method::None,
            method_span: None,
            id: None,
            params: None,
            body: None,
            meta_progress_token: None,
            meta_protocol_version: None,
            meta_client_capabilities: false,
            meta_subscription_id: None,
            progress_token: None,
            request_id: None,
            uri: None,
            name: None,
            cursor: None,
            task: false,
            continued: false,
        }
    }

    /// Reads an object to the end of the line; whether it is a message.
    #[inline(always)]
    fn read(&mut self, line: &[u8], reader: &mut Reader<'_, impl Pass>) -> Option<bool> {
        let (mut result, mut error) = (None, None);
        self.jsonrpc = reader.pass_over(BEGIN);
        let mut more = self.jsonrpc || reader.enter(b'{', b'}')?;
        while more {
            let name = reader.name()?;
            if name.is("jsonrpc") {
                reader.skip_value()?;
                self.jsonrpc = true;
            } else if name.is("id") {
                self.id = Some(reader.value()?);
            } else if name.is("method") {
                self.method_span = reader.value_if(|first| first == b'"')?;
            } else if name.is("params") {
                self.params = Some(reader.spanned(|reader| self.read_params(reader))?);
            } else if name.is("result") {
                result = Some(reader.value()?);
            } else if name.is("error") {
                error = Some(reader.value()?);
            } else {
                reader.skip_value()?;
            }
            more = reader.goes_on(b'}')?;
        }
        reader.end()?;
        Some(self.decide(line, result, error))
    }

    /// Decides what kind of message it is, if it is one.
    #[inline(always)]
    fn decide(&mut self, line: &[u8], result: Option<Span>, error: Option<Span>) -> bool {
        if let Some(method) = bytes_at(line, self.method_span.as_ref()) {
            self.method = Method::from_raw(method);
            self.kind = match bytes_at(line, self.id.as_ref()) {
                Some(id) if is_id(id) => Kind::Request,
                _ => Kind::Notification,
            };
            return true;
        }
        let error_is_null = || bytes_at(line, error.as_ref()).is_none_or(|error| error == b"null");
        (self.kind, self.body) =
            if result.is_some() && error_is_null() { (Kind::Result, result) } else { (Kind::Error, error) };
        self.body.is_some()
    }

    /// Reads the value of `params`. What an earlier member of that name said is forgotten, as of any other name.
    #[inline(always)]
    fn read_params(&mut self, reader: &mut Reader<'_, impl Pass>) -> Option<()> {
        if self.params.is_some() {
            self.forget_params();
        }
        if reader.peek() != Some(b'{') {
            return reader.skip_value();
        }
        let (mut input_responses, mut request_state) = (false, false);
        let mut more = reader.enter(b'{', b'}')?;
        while more {
            let name = reader.name()?;
            if name.is("name") {
                self.name = reader.value_if(not_null)?;
            } else if name.is("_meta") {
                reader.apart(|reader| self.read_meta(reader))?;
            } else if name.is("progressToken") {
                self.progress_token = reader.value_if(not_null)?;
            } else if name.is("requestId") {
                self.request_id = reader.value_if(not_null)?;
            } else if name.is("uri") {
                self.uri = reader.value_if(not_null)?;
            } else if name.is("cursor") {
                self.cursor = reader.value_if(not_null)?;
            } else if name.is("task") {
                self.task = reader.value_if(not_null)?.is_some();
            } else if name.is("inputResponses") {
                input_responses = reader.value_if(not_null)?.is_some();
            } else if name.is("requestState") {
                request_state = reader.value_if(not_null)?.is_some();
            } else {
                reader.skip_value()?;
            }
            more = reader.goes_on(b'}')?;
        }
        self.continued = input_responses || request_state;
        Some(())
    }

    #[cold]
    fn forget_params(&mut self) {
        let Self { jsonrpc, method_span, id, .. } = std::mem::replace(self, Self::unread());
        *self = Self { jsonrpc, method_span, id, ..Self::unread() };
    }

    /// Reads the value of `params._meta`, and forgets an earlier one.
    #[inline(never)]
    fn read_meta(&mut self, reader: &mut Reader<'_, impl Pass>) -> Option<()> {
        (self.meta_progress_token, self.meta_protocol_version, self.meta_subscription_id) = (None, None, None);
        self.meta_client_capabilities = false;
        if reader.peek() != Some(b'{') {
            return reader.skip_value();
        }
        let mut more = reader.enter(b'{', b'}')?;
        while more {
            let name = reader.name()?;
            if name.is("progressToken") {
                self.meta_progress_token = reader.value_if(not_null)?;
            } else if name.is("io.modelcontextprotocol/protocolVersion") {
                self.meta_protocol_version = reader.value_if(|first| first == b'"')?;
            } else if name.is("io.modelcontextprotocol/clientCapabilities") {
                self.meta_client_capabilities = reader.value_if(|first| first == b'{')?.is_some();
            } else if name.is("io.modelcontextprotocol/subscriptionId") {
                self.meta_subscription_id = reader.value_if(not_null)?;
            } else {
                reader.skip_value()?;
            }
            more = reader.goes_on(b'}')?;
        }
        Some(())
    }
}

/// Whether a value that begins so is not `null`: of the literals only `null` begins so (NaN has a capital).
fn not_null(first: u8) -> bool {
    first != b'n'
}

/// Whether a value is an id as MCP has them: a string, or a number, which no literal begins like (`-Infinity` goes on otherwise).
fn is_id(raw: &[u8]) -> bool {
    matches!(raw, [b'"' | b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..])
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod oracle;
#[cfg(test)]
mod tests;
