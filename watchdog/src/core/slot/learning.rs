//! What the server's answers teach.

use std::time::Instant;

use super::Slot;
use crate::core::catalog::ListKind;
use crate::core::ledger::Request;
use crate::wire::head::Method;

impl Slot {
    /// What an answer teaches about the session and the lists.
    pub(super) fn learn(&mut self, now: Instant, request: &Request, ok: bool, body: &[u8]) {
        self.used(now);
        if ok {
            self.planned.tasks.answered(now, request, body);
        }
        if request.method != Method::ToolsCall {
            self.learn_more(request, ok, body);
        }
    }

    /// The same of requests that are less frequent than calls.
    #[inline(never)]
    fn learn_more(&mut self, request: &Request, ok: bool, body: &[u8]) {
        match (request.method, ok) {
            (Method::Initialize, true) => self.session.told(body),
            (Method::Initialize, false) => self.session.refused(),
            (Method::Discover, true) => self.session.discovered(),
            (Method::LoggingSetLevel, true) => {
                if let Some(line) = request.line().cloned() {
                    self.session.set_level(line);
                }
            }
            (Method::ResourcesSubscribe, true) => {
                if let (Some(uri), Some(line)) = (request.uri(), request.line().cloned()) {
                    self.session.subscribed(uri, line);
                }
            }
            (Method::ResourcesUnsubscribe, true) => {
                if let Some(uri) = request.uri() {
                    self.session.unsubscribed(uri);
                }
            }
            (method, true) => {
                if let Some(kind) = ListKind::of(method) {
                    self.catalog.learn(self.life.generation(), kind, request.cursor(), body);
                }
            }
            _ => {}
        }
    }
}
