//! What passes is what was written, byte for byte, and nothing else does.

use std::collections::{HashMap, HashSet};

use super::{Facts, Promise, Verdict};
use crate::journal::What;
use crate::message::{Kind, Message};

pub(super) fn check(facts: &Facts<'_>, verdict: &mut Verdict) {
    to_the_client(facts, verdict);
    to_the_server(facts, verdict);
}

/// Lines that the watchdog may write on its own behalf, beside errors.
const OWN: [&str; 1] = ["notifications/cancelled"];

fn to_the_client(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    let entries = history.lives.iter().flatten();
    let written: Vec<_> = entries
        .filter_map(|entry| match &entry.what {
            What::Writing(message) => Some(message),
            _ => None,
        })
        .collect();
    let lines: HashSet<_> = written.iter().map(|message| message.hash).collect();
    let bodies: HashSet<_> = written.iter().map(|message| message.body).collect();
    for (_, message) in history.received() {
        let as_written = lines.contains(&message.hash);
        let why = match message.kind {
            Kind::Junk => {
                verdict.break_promise(Promise::OnlyProtocol, format!("on stdout: {}", message.head));
                continue;
            }
            _ if message.error.is_some() || as_written => continue,
            // A question under an id that the client has still to answer goes out under another one.
            Kind::Request if bodies.contains(&message.body) => continue,
            _ if facts.is_cached(message) && bodies.contains(&message.body) => continue,
            Kind::Notification if message.stamp.life.is_none() && OWN.contains(&message.method()) => continue,
            _ if message.stamp.life.is_some() => "the server's line was changed",
            _ => "a line that nobody wrote",
        };
        verdict.break_promise(Promise::Bytes, format!("{why} (to the client): {}", message.head));
    }
}

fn to_the_server(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    let mut sent: HashMap<Option<u64>, Vec<&Message>> = HashMap::new();
    for (_, message) in history.sent() {
        sent.entry(message.stamp.n).or_default().push(message);
    }
    let none = Vec::new();
    for (life, _) in history.numbered() {
        for (_, message) in history.read_by(life) {
            let origin = sent.get(&message.stamp.n).unwrap_or(&none);
            let same = |other: &&Message| other.hash == message.hash;
            let same_body = |other: &&Message| other.kind == message.kind && other.body == message.body;
            let right = match (message.kind, message.stamp.n) {
                (Kind::Junk, _) => false,
                // The id of an answer to a question may have been ours.
                (Kind::Result | Kind::Error, _) => origin.iter().any(same_body),
                (_, Some(_)) => origin.iter().any(same),
                (Kind::Notification, None) => origin.iter().any(same),
                // The opening that is replayed, under an id of ours.
                (Kind::Request, None) if message.method() == "initialize" => origin.iter().any(same_body),
                // What the watchdog asks for itself.
                (Kind::Request, None) => harness::is_read_only(message.method()),
            };
            if !right {
                let evidence = format!("life {life} read what nobody sent: {}", message.head);
                verdict.break_promise(Promise::Bytes, evidence);
            }
        }
    }
}
