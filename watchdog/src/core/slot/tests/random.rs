//! Random scenarios, watched by a book of requests that knows the slot only from what goes in and comes out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe_api::Verdict;
use proptest::prelude::*;

use crate::config::{ChainMode, Server};
use crate::core::chain::{Chain, ChainPolicy, Heard, Latches, Link};
use crate::core::ending::Ending;
use crate::core::ids::{CallId, Generation};
use crate::core::slot::{Effect, Lost, Role, Slot};
use crate::core::testing::{
    INITIALIZE, INITIALIZED, acknowledged, answer_line, base, cancel_line, millis, raw_id, secs, stateless, value,
};

mod book;
mod steps;

use book::{Book, Checked, Entry, elements, text};
use steps::{Step, config, steps};

struct Play {
    slot: Slot,
    now: Instant,
    book: Book,
    next_id: i64,
    stateless: bool,
}

impl Play {
    fn new(server: Server, stateless: bool) -> Self {
        Self {
            slot: Slot::new(Arc::new(server), Role::default(), 0),
            now: base(),
            book: Book::default(),
            next_id: 0,
            stateless,
        }
    }

    fn tell(&mut self, what: impl FnOnce(&mut Slot, Instant, &mut Vec<Effect>)) -> Checked {
        let mut out = Vec::new();
        what(&mut self.slot, self.now, &mut out);
        self.slot.settle(self.now, &mut out);
        for effect in out {
            self.book.note(effect)?;
        }
        self.book.agrees_with(&self.slot)
    }

    fn say(&mut self, line: String) -> Checked {
        self.tell(|slot, now, out| slot.client_line(now, line.into(), out))
    }

    /// The live process writes a line.
    fn hear(&mut self, line: String) -> Checked {
        let Some(live) = self.book.live else { return Ok(()) };
        self.tell(|slot, now, out| {
            slot.heard(now, live);
            slot.server_line(now, live, line.into(), out);
        })
    }

    /// Ids of several spellings, one of them where the watchdog's own are.
    fn fresh_id(&mut self) -> String {
        self.next_id += 1;
        let n = self.next_id;
        match n % 6 {
            0 => format!("\"s{n}\""),
            1 => format!("{n}.0"),
            2 => format!("-{n}"),
            3 => (2_000_000_000 + n).to_string(),
            _ => n.to_string(),
        }
    }

    fn request(&mut self, method: &'static str, token: bool) -> (String, String) {
        let id = self.fresh_id();
        let meta = if token { format!(r#""_meta":{{"progressToken":{id}}},"#) } else { String::new() };
        let line = if self.stateless {
            stateless(&id, method, r#""name":"t","#)
        } else {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{meta}"name":"t","uri":"u"}}}}"#)
        };
        self.enter(&id, method, token && !self.stateless);
        (id, line)
    }

    fn enter(&mut self, id: &str, method: &'static str, token: bool) {
        let entry = Entry { method, answered: false, cancelled: false, written: Vec::new(), token };
        self.book.requests.insert(id.to_owned(), entry);
    }

    fn open_requests(&self) -> Vec<String> {
        self.book.requests.iter().filter(|(_, entry)| entry.is_open()).map(|(id, _)| id.clone()).collect()
    }

    fn step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Open if self.stateless || self.slot.session().awaits_handshake() => Ok(()),
            Step::Open => {
                let id = self.fresh_id();
                self.enter(&id, "initialize", false);
                self.say(INITIALIZE.replace("0.0", &id))?;
                self.say(INITIALIZED.to_owned())
            }
            Step::Request(method, token) => {
                let (_, line) = self.request(method, *token);
                self.say(line)
            }
            Step::Listen if !self.stateless => Ok(()),
            Step::Listen => {
                let id = self.fresh_id();
                self.enter(&id, "subscriptions/listen", false);
                self.say(stateless(&id, "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#))
            }
            Step::Batch if self.stateless || !self.slot.session().batches() => Ok(()),
            Step::Batch => {
                let (_, call) = self.request("tools/call", false);
                let (_, read) = self.request("resources/read", false);
                self.say(format!("[{call},{read}]"))
            }
            Step::Cancel(which) => {
                let open: Vec<_> = self.book.requests.keys().cloned().collect();
                let Some(id) = open.iter().rev().nth(*which) else {
                    return Ok(());
                };
                if let Some(entry) = self.book.requests.get_mut(id).filter(|entry| !entry.answered) {
                    entry.cancelled = true;
                }
                self.say(cancel_line(id))
            }
            Step::Reply(which) => {
                if self.book.questions.is_empty() {
                    return Ok(());
                }
                let which = which % self.book.questions.len();
                let (id, generation, asked) = self.book.questions.remove(which);
                let mut out = Vec::new();
                self.slot.client_line(self.now, answer_line(&id).into(), &mut out);
                self.slot.settle(self.now, &mut out);
                let forwarded: Vec<_> = out
                    .iter()
                    .filter_map(|effect| match effect {
                        Effect::Forward { line, .. } => Some(text(line)),
                        _ => None,
                    })
                    .collect();
                let expected = if Some(generation) == self.book.live { vec![answer_line(&asked)] } else { vec![] };
                prop_assert_eq!(
                    forwarded,
                    expected,
                    "the answer to a question of {} while {:?} lives",
                    generation,
                    self.book.live
                );
                Ok(())
            }
            Step::Notify => self.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned()),
            _ => self.server_step(step),
        }
    }

    fn server_step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Answer(which, ok) => {
                if self.book.inbox.is_empty() {
                    return Ok(());
                }
                self.answer(which % self.book.inbox.len(), *ok)
            }
            Step::AnswerAll => {
                while !self.book.inbox.is_empty() && self.book.live.is_some() {
                    self.answer(0, true)?;
                }
                Ok(())
            }
            Step::Stray(which) => {
                let given: BTreeSet<_> = self.book.inbox.iter().map(|(line, _)| raw_id(line)).collect();
                let others = self.book.requests.iter().filter(|(id, entry)| !given.contains(*id) && !entry.is_listen());
                let id = others.rev().nth(*which).map_or_else(|| "12345".to_owned(), |(id, _)| id.clone());
                let open = self.open_requests();
                self.hear(answer_line(&id))?;
                prop_assert!(!open.contains(&id) || self.book.requests[&id].is_open(), "an answer that nobody gave");
                Ok(())
            }
            Step::Ask(id) => {
                let (Some(live), id) = (self.book.live, id.to_string()) else {
                    return Ok(());
                };
                if self.stateless || self.book.questions.iter().any(|(_, from, asked)| *from == live && *asked == id) {
                    return Ok(());
                }
                self.book.asking = Some(id.clone());
                self.hear(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"from":{live}}}}}"#
                ))
            }
            Step::Progress(which) => {
                let tokens: Vec<_> =
                    self.book.requests.iter().filter(|(_, entry)| entry.token).map(|(id, _)| id.clone()).collect();
                let Some(id) = tokens.iter().rev().nth(*which) else {
                    return Ok(());
                };
                self.hear(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id}}}}}"#
                ))
            }
            Step::Chatter => {
                let from = self.book.live.unwrap_or_default();
                self.hear("Listening on stdio".to_owned())?;
                self.hear(format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"from":{from}}}}}"#))
            }
            Step::Ghost(which) => self.haunt(*which),
            Step::Started => {
                let Some(live) = self.book.live else { return Ok(()) };
                self.tell(|slot, now, out| slot.started(now, live, 77, out))
            }
            Step::Dies(unread) => self.die(*unread),
            Step::TornDown(clean) => {
                let Some(dying) = self.book.dying.take() else {
                    return Ok(());
                };
                let survivors: &[u32] = if *clean { &[] } else { &[7] };
                self.tell(|slot, now, out| slot.torn_down(now, dying, survivors, out))
            }
            _ => self.other_step(step),
        }
    }

    /// The live process answers this line of its inbox.
    fn answer(&mut self, which: usize, ok: bool) -> Checked {
        let (line, tag) = self.book.inbox.remove(which);
        self.book.lines.remove(&tag);
        self.hear(reaction(&line, ok))
    }

    /// A process that is not live says something about a request that is open. Nobody hears it.
    fn haunt(&mut self, which: usize) -> Checked {
        let ghost = self.book.dying.unwrap_or_else(|| Generation(self.book.latest.0.saturating_sub(1)));
        let id = self.open_requests().into_iter().rev().nth(which).unwrap_or_else(|| "12345".to_owned());
        for line in [
            answer_line(&id),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"from":{ghost}}}}}"#),
        ] {
            let mut out = Vec::new();
            self.slot.heard(self.now, ghost);
            self.slot.server_line(self.now, ghost, line.into(), &mut out);
            self.slot.settle(self.now, &mut out);
            self.slot.lost(self.now, ghost, Lost::default(), &mut out);
            self.slot.settle(self.now, &mut out);
            prop_assert!(out.iter().all(|effect| matches!(effect, Effect::Emit(_))), "{:?}", out);
        }
        self.book.agrees_with(&self.slot)
    }

    /// The live process ends. The last `unread` lines with requests were never given to it.
    fn die(&mut self, unread: usize) -> Checked {
        let Some(live) = self.book.live else { return Ok(()) };
        let mut lost = Lost { ending: Some(Ending::Signal(9)), ..Lost::default() };
        let tags: Vec<u64> = self.book.lines.keys().copied().collect();
        for tag in tags.iter().rev().take(unread) {
            let Some(line) = self.book.lines.remove(tag) else {
                continue;
            };
            for element in elements(&text(&line)) {
                if let Some(entry) = self.book.requests.get_mut(&raw_id(&element)) {
                    entry.written.retain(|generation| *generation != live);
                }
            }
            lost.unsent.insert(*tag, line);
        }
        self.tell(|slot, now, out| slot.lost(now, live, lost, out))
    }

    fn other_step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Pass(time) => self.pass(millis(*time)),
            Step::Sleep(time) => {
                let gap = secs(*time);
                self.now += gap;
                self.tell(|slot, now, out| {
                    slot.stood_still(gap);
                    slot.wake(now, gap, out);
                })?;
                self.tell(|slot, now, out| slot.tick(now, out))
            }
            Step::Chain(outcome) => {
                let Some(generation) = self.book.chain.take() else {
                    return Ok(());
                };
                let chain = ended_chain(*outcome);
                self.tell(|slot, now, out| drop(slot.chain_done(now, generation, &chain, Duration::ZERO, out)))
            }
            Step::Probe => {
                let Some(live) = self.book.live else { return Ok(()) };
                self.tell(|slot, now, out| slot.probe_call(now, live, CallId(1), "ping", None, out))
            }
            Step::Disable => self.tell(|slot, now, out| slot.disable(now, out)),
            Step::Enable => self.tell(|slot, now, out| slot.enable(now, out)),
            Step::Retry => self.tell(|slot, now, out| {
                let _ = slot.retry(now, out);
            }),
            _ => Ok(()),
        }
    }

    fn pass(&mut self, time: Duration) -> Checked {
        let until = self.now + time;
        let mut turns = 0;
        while let Some(at) = self.slot.next_wake().filter(|at| *at <= until) {
            turns += 1;
            prop_assert!(turns < 1000, "the slot wants to be woken again and again");
            self.now = self.now.max(at);
            self.tell(|slot, now, out| slot.tick(now, out))?;
        }
        self.now = until;
        Ok(())
    }

    /// A signal ends it all.
    fn end(&mut self) -> Checked {
        self.tell(|slot, now, out| slot.signal(now, 15, out))?;
        if let Some(dying) = self.book.dying.take() {
            self.tell(|slot, now, out| slot.torn_down(now, dying, &[], out))?;
        }
        prop_assert!(self.book.exited, "the end comes");
        let owed: Vec<_> = self.open_requests().into_iter().filter(|id| !self.book.acknowledged.contains(id)).collect();
        prop_assert_eq!(owed, Vec::<String>::new(), "every request has its answer");
        let ended = |done: fn(&Entry) -> bool| {
            self.book.requests.values().filter(|entry| !entry.is_listen() && done(entry)).count()
        };
        let (answered, cancelled) = self.book.counted;
        prop_assert_eq!(answered, ended(|entry| entry.answered), "every answer is counted once");
        prop_assert!(cancelled <= ended(|entry| entry.cancelled), "more is counted than was cancelled");
        Ok(())
    }
}

/// What a server says to a line: its answer, well or as an error.
fn reaction(line: &str, ok: bool) -> String {
    let (message, id) = (value(line), raw_id(line));
    let result = match message["method"].as_str() {
        _ if !ok => return format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#),
        Some("subscriptions/listen") => return acknowledged(&id, &message["params"]["notifications"]),
        Some("initialize") => r#"{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":true}}}"#,
        Some("tools/list") => r#"{"tools":[{"name":"t"}]}"#,
        _ => "{}",
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// A chain that has ended as one of the four outcomes.
fn ended_chain(outcome: u8) -> Chain {
    let (verdict, heard) = match outcome {
        0 => (Verdict::Pass, Heard::Answer),
        1 => (Verdict::Busy("at work".to_owned()), Heard::Answer),
        2 => (Verdict::Fail("no answer".to_owned()), Heard::Silence),
        _ => (Verdict::Unsupported, Heard::Nothing),
    };
    let policy = ChainPolicy { mode: ChainMode::Any, confirmations: 1 };
    let links = vec![Link { name: "ping".to_owned(), skippable: true }];
    let mut chain = Chain::new(policy, links, &Latches::default());
    if let Some(link) = chain.next_link() {
        chain.record(link, verdict, heard);
    }
    chain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Every request is answered exactly once, or is cancelled, or is still waited for; a call is written to one process
    /// at most; nothing comes from a process that is not live, and nothing goes to one.
    #[test]
    fn the_book_of_requests_agrees(server in config(), stateless in prop::bool::weighted(0.3), steps in steps()) {
        let mut play = Play::new(server, stateless);
        play.tell(|slot, now, out| slot.start(now, out))?;
        for step in &steps {
            play.step(step)?;
        }
        play.end()?;
    }
}
