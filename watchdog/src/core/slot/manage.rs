//! Tools of the watchdog among the server's own: they are added to its list, and calls of them are answered here, whatever
//! the server's state. They never come near the server, and so they are neither held, repeated, nor counted as its requests.

use std::time::Instant;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::passing::{Outgoing, Passing};
use super::server::body_of;
use super::{Effect, Slot};
use crate::core::inject::{self, Injected, Injection};
use crate::core::ledger::Request;
use crate::events::EventKind;
use crate::wire::head::{Head, Kind, Method};
use crate::wire::id::IdKey;
use crate::wire::{compose, splice};

/// Calls that run at the same time: some wait for minutes, and each is a task.
const MOST: usize = 16;

/// The tools, and the calls of them that are not answered.
#[derive(Debug, Default)]
pub(super) struct Manage {
    injection: Injection,
    calls: Vec<Request>,
}

impl Manage {
    pub(super) fn successor(&self) -> Self {
        Self { injection: self.injection.successor(), calls: Vec::new() }
    }

    /// Whether somebody waits for an answer.
    pub(super) const fn is_busy(&self) -> bool {
        !self.calls.is_empty()
    }

    fn take(&mut self, which: impl Fn(&Request) -> bool) -> Option<Request> {
        let at = self.calls.iter().position(which)?;
        Some(self.calls.swap_remove(at))
    }
}

impl Slot {
    /// Adds these tools to the lists of the server from now on.
    pub fn inject(&mut self, tools: Vec<Injected>) {
        self.manage.injection = Injection::new(tools);
    }

    /// Only where the server has said that it has tools: another one would suddenly have some. In the stateless era a client
    /// need not ask what a server has, and one that answers `tools/list` has tools.
    fn may_inject(&self) -> bool {
        let announced = || {
            self.session.knows().and_then(|told| told.capabilities.get("tools")).is_some_and(|tools| !tools.is_null())
        };
        !self.manage.injection.is_empty() && (self.session.is_stateless() || announced())
    }

    /// Learns which names are the server's own.
    pub(super) fn learn_names(&mut self, result: &[u8], out: &mut Vec<Effect>) {
        if self.manage.injection.is_empty() {
            return;
        }
        for name in self.manage.injection.learn(result) {
            let reason = "the server has a tool of that name".into();
            out.push(Effect::emit(EventKind::InjectRefused { tool: name.into(), reason }));
        }
    }

    /// The server's answer to a request, with our tools at the end of a list of tools.
    pub(super) fn with_tools(
        &mut self,
        asked: Method,
        line: Passing<'_>,
        head: &Head,
        out: &mut Vec<Effect>,
    ) -> Outgoing {
        if asked != Method::ToolsList || head.kind != Kind::Result || !self.may_inject() {
            return line.into();
        }
        let Some(body) = head.body.clone() else { return line.into() };
        let result = body_of(&line, Some(body.clone()));
        self.learn_names(result, out);
        match self.manage.injection.offer(result) {
            Some((at, text)) => splice::replace(&line, body.start + at..body.start + at, &text).into(),
            None => line.into(),
        }
    }

    /// A page of an earlier list, with our tools at its end.
    pub(super) fn page_with_tools(&mut self, asked: Method, page: Bytes) -> Bytes {
        if asked != Method::ToolsList || !self.may_inject() {
            return page;
        }
        match self.manage.injection.offer(&page) {
            Some((at, text)) => splice::replace(&page, at..at, &text),
            None => page,
        }
    }

    /// Takes a call of one of our tools; gives back any other request.
    pub(super) fn manage(
        &mut self,
        line: &[u8],
        head: &Head,
        request: Box<Request>,
        out: &mut Vec<Effect>,
    ) -> Option<Box<Request>> {
        if self.manage.injection.is_empty() {
            return Some(request);
        }
        // A client that reuses an id breaks JSON-RPC; the newer request counts.
        self.cancel_managed(&request.id.key, out);
        let called = request.tool().filter(|_| request.method == Method::ToolsCall);
        let Some(tool) = called.and_then(|name| self.manage.injection.meant(name)) else { return Some(request) };
        let tool = tool.tool.clone();
        if request.task {
            self.protest(Some(&request.id), -32601, "Method not found: this tool does not run as a task", out);
            return None;
        }
        let Some(arguments) = arguments(head.params.clone().and_then(|span| line.get(span))) else {
            self.protest(Some(&request.id), -32602, "Invalid params: `arguments` has to be an object", out);
            return None;
        };
        if self.manage.calls.len() >= MOST {
            let why = format!("overloaded: {MOST} calls of the watchdog's tools run already; wait for one of them");
            self.answer_managed(&request, inject::failure(&why), out);
            return None;
        }
        out.push(Effect::Manage { call: request.seq, tool, arguments });
        self.manage.calls.push(*request);
        None
    }

    /// A call of one of our tools has ended.
    pub fn managed(&mut self, now: Instant, call: u64, result: Value, out: &mut Vec<Effect>) {
        if let Some(request) = self.manage.take(|request| request.seq == call) {
            self.answer_managed(&request, result, out);
            self.check_drain(now, out);
        }
    }

    /// The client does not want an answer any more. Whether it was about a call of one of our tools.
    pub(super) fn cancel_managed(&mut self, id: &IdKey, out: &mut Vec<Effect>) -> bool {
        let request = self.manage.take(|request| request.id.key == *id);
        out.extend(request.as_ref().map(|request| Effect::EndManage(request.seq)));
        request.is_some()
    }

    /// The end has come for calls that nothing has answered.
    pub(super) fn end_managed(&mut self, out: &mut Vec<Effect>) {
        for request in std::mem::take(&mut self.manage.calls) {
            out.push(Effect::EndManage(request.seq));
            self.answer_managed(&request, inject::failure("closing: the watchdog is shutting down"), out);
        }
    }

    fn answer_managed(&self, request: &Request, mut result: Value, out: &mut Vec<Effect>) {
        if let Value::Object(members) = &mut result {
            members.remove("resultType");
            if request.stateless {
                members.insert("resultType".to_owned(), "complete".into());
            }
        }
        self.deliver(compose::result(&request.id, result.to_string().as_bytes()), out);
    }
}

/// The arguments of a call; `None` where they are no object.
fn arguments(params: Option<&[u8]>) -> Option<Map<String, Value>> {
    let mut params: Value = serde_json::from_slice(params?).ok()?;
    match params.get_mut("arguments").map(Value::take) {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(arguments)) => Some(arguments),
        Some(_) => None,
    }
}
