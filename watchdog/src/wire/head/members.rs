//! Reading the members of a message into its head.
//!
//! A short line is read for each call of a session, and little else is done with it: what matters here is how few instructions
//! that takes, and in how little code. So the head is filled in where it is, rare cases are functions of their own, and names are
//! compared as words.

use super::super::Span;
use super::super::method::Method;
use super::super::read::{AtOnce, Name, Pass, Reader};
use super::{Head, Kind, Scan, array, bytes_at};

/// What most messages begin with, the second as Python's `json` writes it.
const BEGINNINGS: [&[u8]; 2] = [br#"{"jsonrpc":"2.0","#, br#"{"jsonrpc": "2.0","#];

/// What nobody asks for and nearly every call has, with the colon behind it: found at once, since it is long for a name.
const ARGUMENTS: &[u8] = br#""arguments":"#;

/// What makes a call a continued one.
#[derive(Default)]
struct Continued {
    input_responses: bool,
    request_state: bool,
}

impl Scan {
    /// Of a line that is to be read.
    #[must_use]
    #[inline]
    pub const fn unread() -> Self {
        Self::Message(Head::unread())
    }

    /// Fills in the head of a message, or becomes what else the line is.
    #[inline(never)]
    pub(in crate::wire) fn read(&mut self, line: &[u8]) {
        self.read_by(line, AtOnce);
    }

    /// The same, with another way to pass over values.
    #[inline(always)]
    pub(super) fn read_by(&mut self, line: &[u8], pass: impl Pass) {
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

impl Head {
    /// Of a message of which nothing has been read.
    #[inline]
    pub(super) const fn unread() -> Self {
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
    // One function with that of `params`: each call would cost as much as some members.
    #[inline(always)]
    fn read(&mut self, line: &[u8], reader: &mut Reader<'_, impl Pass>) -> Option<bool> {
        let (mut result, mut error) = (None, None);
        self.jsonrpc = BEGINNINGS.iter().any(|text| reader.pass_over(text));
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
        let mut continued = Continued::default();
        let mut more = reader.enter(b'{', b'}')?;
        while more {
            if reader.pass_over_name(ARGUMENTS) {
                reader.skip_value()?;
                more = reader.goes_on(b'}')?;
                continue;
            }
            let name = reader.name()?;
            if name.is("name") {
                self.name = reader.value_if(not_null)?;
            } else if name.is("_meta") {
                reader.apart(|reader| self.read_meta(reader))?;
            } else {
                reader.apart(|reader| self.read_param(name, reader, &mut continued))?;
            }
            more = reader.goes_on(b'}')?;
        }
        self.continued = continued.input_responses || continued.request_state;
        Some(())
    }

    /// Reads the value of a member of `params` that few messages have.
    #[inline(never)]
    fn read_param(
        &mut self,
        name: Name<'_>,
        reader: &mut Reader<'_, impl Pass>,
        continued: &mut Continued,
    ) -> Option<()> {
        if name.is("progressToken") {
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
            continued.input_responses = reader.value_if(not_null)?.is_some();
        } else if name.is("requestState") {
            continued.request_state = reader.value_if(not_null)?.is_some();
        } else {
            reader.skip_value()?;
        }
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
pub(super) fn is_id(raw: &[u8]) -> bool {
    matches!(raw, [b'"' | b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..])
}
