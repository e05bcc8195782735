//! What is remembered of a request until it is answered.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::Slot;
use super::client::key;
use crate::config::RetryTools;
use crate::core::catalog::Hints;
use crate::core::ledger::{Details, Request, ToolName};
use crate::core::session::Era;
use crate::wire::Span;
use crate::wire::head::{self, Head, Method};

impl Slot {
    /// Reads what the tables need to know of a request.
    pub(super) fn request(&mut self, now: Instant, line: &[u8], head: &Head) -> Option<Box<Request>> {
        let id = head::id_at(line, head.id.as_ref())?;
        let name = if head.method == Method::ToolsCall { text(line, head.name.clone()) } else { None };
        let patience = match head.method {
            // These wait by design; the opening has its own limit.
            Method::SubscriptionsListen | Method::TasksResult | Method::Initialize => None,
            Method::Discover if self.session.era() == Era::Probing => None,
            _ => Some(self.patience(name.as_deref())),
        };
        let deadline = match head.method {
            Method::SubscriptionsListen | Method::Initialize => None,
            _ => self.config.request_deadline.map(|limit| now + limit),
        };
        let read_only = head::is_read_only(head, line);
        // A continued call is bound to what the dead process said: whether it is worth asking again is the client's to decide.
        let repeatable =
            read_only && !head.continued || gives_state(head.method) || self.tool_may_repeat(name.as_deref(), head);
        let keep = repeatable || head.method == Method::Initialize;
        let has_details = keep || head.uri.is_some() || head.cursor.is_some();
        let seq = self.ledger.next_seq();
        Some(self.ledger.boxed(Request {
            seq,
            tag: seq,
            id,
            method: head.method,
            name,
            task: head.task,
            stateless: head.meta_client_capabilities && head.meta_protocol_version.is_some(),
            since: now,
            patience,
            suspect_at: None,
            reported: false,
            busy_since: None,
            deadline_at: deadline,
            read_only,
            repeatable,
            repeated: false,
            sent: false,
            token: key(line, head.meta_progress_token.as_ref()),
            details: has_details.then(|| details(line, head, keep)),
        }))
    }

    fn patience(&self, tool: Option<&[u8]>) -> Duration {
        let with_own = tool.filter(|_| !self.config.tool_timeouts.is_empty());
        with_own.and_then(|tool| self.own_patience(tool)).unwrap_or(self.config.tool_timeout)
    }

    #[inline(never)]
    fn own_patience(&self, tool: &[u8]) -> Option<Duration> {
        self.config.tool_timeouts.get(str::from_utf8(tool).ok()?).copied()
    }

    /// Whether the user allowed this call to be sent again: by annotation, and not a task or a continued call.
    fn tool_may_repeat(&self, tool: Option<&[u8]>, head: &Head) -> bool {
        let allows: fn(Hints) -> bool = match self.config.retry.tools {
            RetryTools::Never => return false,
            RetryTools::ReadOnly => |hints| hints.read_only,
            RetryTools::Idempotent => |hints| hints.read_only || hints.idempotent,
        };
        let tool = tool.filter(|_| !head.task && !head.continued).and_then(|tool| str::from_utf8(tool).ok());
        tool.is_some_and(|tool| allows(self.catalog.hints(tool)))
    }
}

/// Requests that give the session a state, which is replayed to every new process.
const fn gives_state(method: Method) -> bool {
    matches!(method, Method::LoggingSetLevel | Method::ResourcesSubscribe)
}

/// What this line has beside that; the line itself where it is to be kept.
#[cold]
#[inline(never)]
fn details(line: &[u8], head: &Head, keep: bool) -> Box<Details> {
    Box::new(Details {
        uri: text(line, head.uri.clone()).as_deref().and_then(|uri| Some(str::from_utf8(uri).ok()?.into())),
        cursor: head.cursor.clone().and_then(|span| line.get(span)).map(Into::into),
        line: keep.then(|| Bytes::copy_from_slice(line)),
    })
}

/// The text of a JSON string at this place. In UTF-8, as the line is: `client_says` lets no other through.
fn text(line: &[u8], span: Option<Span>) -> Option<ToolName> {
    let raw = line.get(span?)?;
    match raw {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => Some(ToolName::from_slice(inner)),
        _ => escaped_text(raw),
    }
}

#[cold]
#[inline(never)]
fn escaped_text(raw: &[u8]) -> Option<ToolName> {
    Some(serde_json::from_slice::<String>(raw).ok()?.as_bytes().into())
}
