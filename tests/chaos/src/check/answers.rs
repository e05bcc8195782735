//! Every request gets one answer and it is its own; what is cancelled or finished is silent.

use std::collections::HashSet;

use super::facts::Asked;
use super::{Facts, Promise, Verdict};
use crate::history::Did;
use crate::journal::What;
use crate::message::Kind;

/// An answer so long after the request was taken back was not under way.
const UNDER_WAY: u64 = 2_000_000_000;

/// What the watchdog says of such a server.
pub(super) const IN_ORDER: &str = "the server answers in order";

pub(super) fn check(facts: &Facts<'_>, slack: u32, verdict: &mut Verdict) {
    for message in &facts.unasked {
        // An error without an id is for a line that could not be read, of which there are none.
        verdict.break_promise(Promise::OneAnswer, format!("nobody asked for {}", message.head));
    }
    let gave_up = facts.history.client.iter().any(|event| event.what == Did::GaveUp);
    for asked in facts.in_order() {
        count(facts, asked, gave_up, verdict);
        cancelled(asked, slack, verdict);
    }
    after_the_cancel(facts, verdict);
    progress(facts, verdict);
}

fn count(facts: &Facts<'_>, asked: &Asked<'_>, gave_up: bool, verdict: &mut Verdict) {
    match asked.answers.as_slice() {
        [] if asked.cancelled.is_some() => {}
        // Else the stream has ended first.
        // A server that is taken for one that answers in order is not condemned by silence (promise 7 decides).
        [] if gave_up && facts.history.stderr.contains(IN_ORDER) => verdict.figures.in_order += 1,
        [] if facts.history.plan.end.is_drained() || gave_up => {
            verdict.break_by_time(Promise::OneAnswer, format!("no answer to {}", asked.name()));
        }
        [] => {}
        [(_, _, answer)] => {
            let own = answer.error.is_some() || facts.is_cached(answer);
            if !own && answer.stamp.n != asked.message.stamp.n {
                let evidence = format!("{} got the answer of another: {}", asked.name(), answer.head);
                verdict.break_promise(Promise::OneAnswer, evidence);
            }
        }
        more => {
            let heads: Vec<_> = more.iter().map(|(_, _, answer)| answer.head.as_str()).collect();
            let evidence = format!("{} answers to {}: {}", more.len(), asked.name(), heads.join(" | "));
            verdict.break_promise(Promise::OneAnswer, evidence);
        }
    }
}

fn cancelled(asked: &Asked<'_>, slack: u32, verdict: &mut Verdict) {
    let Some(cancelled) = asked.cancelled else { return };
    for (at, _, answer) in &asked.answers {
        if at.saturating_sub(cancelled) > UNDER_WAY * u64::from(slack) {
            let ms = (at - cancelled) / 1_000_000;
            let evidence = format!("{} was answered {ms} ms after it was taken back: {}", asked.name(), answer.head);
            verdict.break_by_time(Promise::NothingLate, evidence);
        }
    }
}

/// What a server wrote after it had read the cancel was behind the cancel in the watchdog too.
fn after_the_cancel(facts: &Facts<'_>, verdict: &mut Verdict) {
    let received: HashSet<_> = facts.history.received().map(|(_, message)| message.hash).collect();
    for (life, entries) in facts.history.numbered() {
        let mut cancelled = HashSet::new();
        for entry in entries {
            match &entry.what {
                What::Read(message) if message.method() == "notifications/cancelled" => {
                    let id = message.request_id.as_deref();
                    let n = id.and_then(|id| facts.asked.get(id)).and_then(|asked| asked.message.stamp.n);
                    cancelled.extend(n);
                }
                What::Writing(message) => {
                    let late = message.stamp.n.is_some_and(|n| cancelled.contains(&n));
                    let about = message.is_answer() || message.method() == "notifications/progress";
                    if late && about && received.contains(&message.hash) && !is_repeated(entries, message.hash) {
                        let evidence = format!("life {life} wrote it after it had read the cancel: {}", message.head);
                        verdict.break_promise(Promise::NothingLate, evidence);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether the same bytes were written more than once: then the earlier one may have been under way.
fn is_repeated(entries: &[crate::journal::Entry], hash: u64) -> bool {
    let same = |entry: &&crate::journal::Entry| matches!(&entry.what, What::Writing(message) if message.hash == hash);
    entries.iter().filter(same).count() > 1
}

/// Progress comes before the answer.
fn progress(facts: &Facts<'_>, verdict: &mut Verdict) {
    let mut finished = HashSet::new();
    for (_, message) in facts.history.received() {
        if message.is_answer() {
            finished.extend(message.id.as_deref());
        }
        let late = message.kind == Kind::Notification
            && message.token.as_deref().is_some_and(|token| finished.contains(token));
        if late {
            verdict.break_promise(Promise::NothingLate, format!("progress for a finished request: {}", message.head));
        }
    }
}
