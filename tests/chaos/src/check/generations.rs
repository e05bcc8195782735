//! Which process gets what, and when there is another one.

use std::collections::HashSet;

use super::{Facts, Promise, Verdict};
use crate::journal::What;
use crate::message::{Kind, Message};
use crate::plan::Era;

pub(super) fn check(facts: &Facts<'_>, verdict: &mut Verdict) {
    one_process(facts, verdict);
    nothing_old(facts, verdict);
    sessions(facts, verdict);
    overlaps(facts, verdict);
    needless_restarts(facts, verdict);
}

fn one_process(facts: &Facts<'_>, verdict: &mut Verdict) {
    for (n, lives) in &facts.readers {
        let Some(asked) = facts.numbered(*n) else { continue };
        let most = if asked.is_read_only() { 2 } else { 1 };
        let once_each = lives.iter().collect::<HashSet<_>>().len() == lives.len();
        if lives.len() > most || !once_each {
            let evidence = format!("{} was read by the lives {lives:?}", asked.name());
            verdict.break_promise(Promise::OneProcess, evidence);
        }
        if asked.is_read_only() && lives.len() > 1 {
            // It was in flight at the death, so the first one has not answered it.
            let first = lives[0];
            let answered = asked.answers.iter().any(|(_, _, answer)| answer.stamp.life == Some(first));
            if answered {
                let evidence = format!("{} was sent again although life {first} had answered it", asked.name());
                verdict.break_promise(Promise::OneProcess, evidence);
            }
        }
    }
}

fn nothing_old(facts: &Facts<'_>, verdict: &mut Verdict) {
    let mut newest: Option<(u64, &Message)> = None;
    for (_, message) in facts.history.received() {
        let Some(life) = message.stamp.life.filter(|_| !facts.is_cached(message)) else { continue };
        match newest {
            Some((other, before)) if other > life => {
                let evidence = format!("life {life} after life {other}: {} after {}", message.head, before.head);
                verdict.break_promise(Promise::NothingOld, evidence);
            }
            _ => newest = Some((life, message)),
        }
    }
}

fn sessions(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    for (life, entries) in history.numbered() {
        let mut read = HashSet::new();
        let mut newest = 0;
        for (at, message) in history.read_by(life) {
            let first = read.is_empty();
            if first && history.plan.era == Era::Handshake && message.method() != "initialize" {
                let evidence = format!("the first word to life {life} was {}", message.head);
                verdict.break_promise(Promise::Session, evidence);
            }
            if message.method() == "notifications/cancelled" && !read.contains(&message.request_id) {
                let evidence = format!("life {life} never had what this takes back: {}", message.head);
                verdict.break_promise(Promise::Session, evidence);
            }
            read.insert(message.id.clone());
            order(facts, life, at, message, &mut newest, verdict);
        }
        for entry in entries {
            if let What::StrayAnswer(message) = &entry.what {
                let evidence = format!("life {life} got the answer to another's question: {}", message.head);
                verdict.break_promise(Promise::Session, evidence);
            }
        }
    }
}

/// What was sent to a life while it was there, and to no other, arrives in the order in which it was sent.
fn order(facts: &Facts<'_>, life: u64, _at: u64, message: &Message, newest: &mut u64, verdict: &mut Verdict) {
    let (Some(n), Kind::Request) = (message.stamp.n, message.kind) else { return };
    let Some(asked) = facts.numbered(n) else { return };
    let alone = facts.readers.get(&n).is_some_and(|lives| lives.as_slice() == [life]);
    if !alone || facts.history.start_of(life).is_none_or(|start| asked.at < start) {
        return;
    }
    if n < *newest {
        let evidence = format!("life {life} read {} after request {newest}", asked.name());
        verdict.break_promise(Promise::Session, evidence);
    }
    *newest = n.max(*newest);
}

fn overlaps(facts: &Facts<'_>, verdict: &mut Verdict) {
    for (life, entries) in facts.history.numbered() {
        for entry in entries {
            if let What::Overlap { life: earlier, process } = &entry.what {
                let evidence = format!("life {life} began while {process} of life {earlier} ran");
                verdict.break_promise(Promise::NoSurvivors, evidence);
            }
        }
    }
    if !facts.history.left.is_empty() {
        let left: Vec<_> = facts.history.left.iter().map(ToString::to_string).collect();
        verdict.break_promise(Promise::NoSurvivors, format!("after the end there was {}", left.join(", ")));
    }
}

fn needless_restarts(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    let last = history.lives.len() as u64;
    for life in 1..last {
        let excused = history.death_of(life).is_some() || history.failing_since(life).is_some();
        if excused || history.start_of(life + 1).is_some_and(|next| next >= history.end_at()) {
            continue;
        }
        if history.plan.patient {
            verdict.break_promise(Promise::NoNeedlessRestart, format!("life {life} had done nothing wrong"));
        } else {
            verdict.figures.hasty += 1;
        }
    }
}
