//! Lists that the client knows: given again while the server is down, and compared with those of its successor.

use std::time::Instant;

use super::{Effect, RequestOutcome, Slot};
use crate::core::catalog::{ListKind, Refreshed};
use crate::core::ledger::Request;
use crate::wire::compose;

impl Slot {
    /// Answers a list request from the catalog while the server is down.
    pub(super) fn serve_stale(&mut self, request: &Request, out: &mut Vec<Effect>) -> bool {
        let policy = self.config.catalog;
        let dropped = self.life.has_failed() && !policy.keep_on_permanent_failure;
        if !policy.serve_stale || request.cursor().is_some() || dropped {
            return false;
        }
        let list = ListKind::of(request.method).and_then(|kind| self.catalog.whole(kind));
        let Some(page) = list else { return false };
        let page = self.page_with_tools(request.method, page);
        self.deliver(compose::result(&request.id, &page), out);
        self.ended(self.clock, request, RequestOutcome::Cached, out);
        true
    }

    /// A page of a list that is asked for again after a restart.
    pub(super) fn list_refreshed(
        &mut self,
        now: Instant,
        kind: ListKind,
        ok: bool,
        body: &[u8],
        out: &mut Vec<Effect>,
    ) {
        if !ok {
            return;
        }
        if kind == ListKind::Tools {
            self.learn_names(body, out);
        }
        match self.catalog.refreshed(self.life.generation(), kind, body) {
            Refreshed::More(cursor) => self.request_list(now, kind, Some(&cursor), out),
            Refreshed::Done(true) => self.announce(kind, out),
            Refreshed::Done(false) | Refreshed::Unreadable => {}
        }
    }

    /// Tells the client that a list differs from the one it has seen, where it was told that this may happen.
    fn announce(&self, kind: ListKind, out: &mut Vec<Effect>) {
        let method = kind.notification();
        let (before, wanted) = (out.len(), self.config.catalog.announce);
        if wanted && self.session.knows().is_some_and(|told| told.list_changed(kind.capability())) {
            self.deliver(compose::notification(method, None), out);
        }
        for id in self.listens.hearing(method).filter(|_| wanted) {
            let mut params = br#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"#.to_vec();
            params.extend_from_slice(&id.raw());
            params.extend_from_slice(b"}}");
            self.deliver(compose::notification(method, Some(&params)), out);
        }
        self.emit_catalog_changed(kind, out.len() > before, out);
    }
}
