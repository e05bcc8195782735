//! Where in a line of a shape everything stands.

use super::super::super::Span;
use super::super::super::method::Method;
use super::super::{Head, Kind};

/// The most holes of a shape: one less than a power of two, so that the places in a line can be looked up without a check.
pub(super) const HOLES: usize = 7;

/// What is found in each line of a shape.
#[derive(Debug)]
pub(super) struct Places {
    jsonrpc: bool,
    kind: Kind,
    method: Method,
    id: Option<Between>,
    method_span: Option<Between>,
    params: Option<Between>,
    name: Option<Between>,
    body: Option<Between>,
    /// What few lines have.
    rest: Option<Box<Rest>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Rest {
    meta_progress_token: Option<Between>,
    meta_protocol_version: Option<Between>,
    meta_client_capabilities: bool,
    meta_subscription_id: Option<Between>,
    progress_token: Option<Between>,
    request_id: Option<Between>,
    uri: Option<Between>,
    cursor: Option<Between>,
    task: bool,
    continued: bool,
}

/// From one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Between {
    start: Place,
    end: Place,
}

/// A place that is as far behind the end of a hole, or the beginning of the line, in each line of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The holes before it.
    holes: u8,
    distance: u16,
}

impl Default for Places {
    /// Of a line in which nothing was found.
    fn default() -> Self {
        Self {
            jsonrpc: false,
            kind: Kind::Notification,
            method: Method::None,
            id: None,
            method_span: None,
            params: None,
            name: None,
            body: None,
            rest: None,
        }
    }
}

impl Places {
    /// Of what was found in a line with these holes.
    pub(super) fn of(head: &Head, holes: &[Span]) -> Option<Self> {
        // All of its fields, so that none that comes to be is forgotten here.
        let Head {
            jsonrpc,
            kind,
            method,
            method_span,
            id,
            params,
            body,
            meta_progress_token,
            meta_protocol_version,
            meta_client_capabilities,
            meta_subscription_id,
            progress_token,
            request_id,
            uri,
            name,
            cursor,
            task,
            continued,
        } = head;
        let between = |span: &Option<Span>| match span {
            Some(span) => Between::of(span, holes).map(Some),
            None => Some(None),
        };
        let rest = Rest {
            meta_progress_token: between(meta_progress_token)?,
            meta_protocol_version: between(meta_protocol_version)?,
            meta_client_capabilities: *meta_client_capabilities,
            meta_subscription_id: between(meta_subscription_id)?,
            progress_token: between(progress_token)?,
            request_id: between(request_id)?,
            uri: between(uri)?,
            cursor: between(cursor)?,
            task: *task,
            continued: *continued,
        };
        Some(Self {
            jsonrpc: *jsonrpc,
            kind: *kind,
            method: *method,
            id: between(id)?,
            method_span: between(method_span)?,
            params: between(params)?,
            name: between(name)?,
            body: between(body)?,
            rest: (rest != Rest::NONE).then(|| Box::new(rest)),
        })
    }

    /// Fills in the head of a line whose holes end here; the first of these is the beginning of the line.
    #[inline(always)]
    pub(super) fn fill_in(&self, head: &mut Head, ends: &[usize; HOLES + 1]) {
        (head.jsonrpc, head.kind, head.method) = (self.jsonrpc, self.kind, self.method);
        set(&mut head.id, self.id, ends);
        set(&mut head.method_span, self.method_span, ends);
        set(&mut head.params, self.params, ends);
        set(&mut head.name, self.name, ends);
        set(&mut head.body, self.body, ends);
        if let Some(rest) = &self.rest {
            rest.fill_in(head, ends);
        }
    }
}

impl Rest {
    const NONE: Self = Self {
        meta_progress_token: None,
        meta_protocol_version: None,
        meta_client_capabilities: false,
        meta_subscription_id: None,
        progress_token: None,
        request_id: None,
        uri: None,
        cursor: None,
        task: false,
        continued: false,
    };

    #[inline(never)]
    fn fill_in(&self, head: &mut Head, ends: &[usize; HOLES + 1]) {
        set(&mut head.meta_progress_token, self.meta_progress_token, ends);
        set(&mut head.meta_protocol_version, self.meta_protocol_version, ends);
        set(&mut head.meta_subscription_id, self.meta_subscription_id, ends);
        set(&mut head.progress_token, self.progress_token, ends);
        set(&mut head.request_id, self.request_id, ends);
        set(&mut head.uri, self.uri, ends);
        set(&mut head.cursor, self.cursor, ends);
        head.meta_client_capabilities = self.meta_client_capabilities;
        (head.task, head.continued) = (self.task, self.continued);
    }
}

/// Gives a span of a head that has none yet.
#[inline(always)]
fn set(span: &mut Option<Span>, between: Option<Between>, ends: &[usize; HOLES + 1]) {
    if let Some(Between { start, end }) = between {
        *span = Some(start.at(ends)..end.at(ends));
    }
}

impl Between {
    fn of(span: &Span, holes: &[Span]) -> Option<Self> {
        Some(Self { start: Place::of(span.start, holes)?, end: Place::of(span.end, holes)? })
    }
}

impl Place {
    /// `None` for a place in a hole.
    fn of(at: usize, holes: &[Span]) -> Option<Self> {
        let before = holes.iter().take_while(|hole| hole.end <= at).count();
        if holes.get(before).is_some_and(|hole| hole.start < at) {
            return None;
        }
        let end = before.checked_sub(1).and_then(|latest| holes.get(latest)).map_or(0, |hole| hole.end);
        Some(Self { holes: u8::try_from(before).ok()?, distance: u16::try_from(at - end).ok()? })
    }

    #[inline(always)]
    fn at(self, ends: &[usize; HOLES + 1]) -> usize {
        ends[usize::from(self.holes) % ends.len()] + usize::from(self.distance)
    }
}
