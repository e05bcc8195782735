//! A slot among a client, processes, an operator and time, of which any step may come next: for random walks and for fuzzing.
//!
//! A [`Book`] knows what is owed and who runs only from what goes in and comes out. After each step it has to agree with the
//! slot, and it holds the promises of contract.md against what the slot does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use probe_api::Verdict;

use super::{Effect, Outgoing, Role, Slot};
use crate::config::{ChainMode, OnProbeFailure, Server};
use crate::core::chain::{Chain, ChainPolicy, Heard, Latches, Link};
use crate::core::ids::CallId;
use crate::core::testing::{INITIALIZE, INITIALIZED, answer_line, base, cancel_line, millis, secs, stateless};

mod book;
mod lines;
mod process;
pub(crate) mod step;

use book::{Book, Entry};
use lines::{id_key, text};
use step::{HEAVY, METHODS, Setup, Step};

/// More wake-ups than this without rest are a livelock.
const RESTLESS: usize = 1000;

/// Plays a scenario to its end.
pub(crate) fn play(setup: &Setup, steps: &[Step]) {
    let mut play = Play::new(setup.server(), setup.stateless);
    play.tell(|slot, now, out| slot.start(now, out));
    for step in steps {
        play.step(step);
    }
    play.end();
}

struct Play {
    slot: Slot,
    now: Instant,
    book: Book,
    next_id: i64,
    stateless: bool,
    /// What the process tree uses, in bytes.
    memory: u64,
}

impl Play {
    fn new(server: Server, stateless: bool) -> Self {
        Self {
            slot: Slot::new(Arc::new(server), Role::default(), 0),
            now: base(),
            book: Book::default(),
            next_id: 0,
            stateless,
            memory: 0,
        }
    }

    fn tell(&mut self, what: impl FnOnce(&mut Slot, Instant, &mut Vec<Effect>)) {
        let mut out = Vec::new();
        what(&mut self.slot, self.now, &mut out);
        self.slot.settle(self.now, &mut out);
        while !out.is_empty() {
            for effect in std::mem::take(&mut out) {
                if let Effect::Weigh(generation) = effect {
                    self.slot.weighed(self.now, generation, Some(self.memory), &mut out);
                    self.slot.settle(self.now, &mut out);
                } else {
                    self.book.note(self.now, effect);
                }
            }
        }
        self.book.agrees_with(&self.slot);
    }

    fn step(&mut self, step: &Step) {
        self.book.excused = false;
        match step {
            Step::Open | Step::Request(..) | Step::Listen | Step::Batch | Step::Cancel(_) | Step::Reply(_) => {
                self.client_step(step);
            }
            Step::Notify => self.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned()),
            Step::Pass(time) => {
                // Where nothing is probed, an overdue call is enough; and a handshake has its time, whatever else is answered.
                let on_failure = self.slot.config().probe.on_failure;
                self.book.excused = on_failure == OnProbeFailure::Close || self.book.is_opening();
                self.pass(millis(*time));
            }
            Step::Sleep(time) => {
                let gap = secs(*time);
                self.now += gap;
                self.book.postpone(gap);
                self.tell(|slot, now, out| {
                    slot.stood_still(gap);
                    slot.wake(now, gap, out);
                });
                self.tell(|slot, now, out| slot.tick(now, out));
            }
            Step::Chain(outcome) => {
                let Some(generation) = self.book.chain.take() else { return };
                let chain = ended_chain(*outcome);
                self.book.excused = *outcome == SILENCE;
                self.tell(|slot, now, out| drop(slot.chain_done(now, generation, &chain, Duration::ZERO, out)));
            }
            Step::Probe => {
                let Some(live) = self.book.live else { return };
                self.tell(|slot, now, out| slot.probe_call(now, live, CallId(1), "ping", None, out));
            }
            Step::Edit => self.tell(|slot, now, _| slot.file_changed(now, "a.py".to_owned())),
            Step::Heavy(heavy) => self.memory = if *heavy { HEAVY } else { 0 },
            Step::Disable | Step::Enable | Step::Retry => self.operate(step),
            _ => self.process_step(step),
        }
    }

    fn operate(&mut self, step: &Step) {
        self.book.excused = true;
        match step {
            Step::Disable => {
                self.book.disabled = true;
                self.tell(|slot, now, out| slot.disable(now, out));
            }
            Step::Enable => {
                self.book.disabled = false;
                self.tell(|slot, now, out| slot.enable(now, out));
            }
            _ => self.tell(|slot, now, out| _ = slot.retry(now, out)),
        }
    }

    fn client_step(&mut self, step: &Step) {
        match step {
            Step::Open if !self.stateless && !self.slot.session().awaits_handshake() => {
                let id = self.fresh_id();
                self.enter(&id, "initialize", false);
                self.say(INITIALIZE.replace("0.0", &id));
                self.say(INITIALIZED.to_owned());
            }
            Step::Request(method, token) => {
                let (_, line) = self.request(METHODS[method % METHODS.len()], *token);
                self.say(line);
            }
            Step::Listen if self.stateless => {
                let id = self.fresh_id();
                self.enter(&id, "subscriptions/listen", false);
                self.say(stateless(&id, "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#));
            }
            Step::Batch if !self.stateless && self.slot.session().batches() => {
                let (_, call) = self.request("tools/call", false);
                let (_, read) = self.request("resources/read", false);
                self.say(format!("[{call},{read}]"));
            }
            Step::Cancel(which) => {
                let Some(id) = self.book.requests.keys().rev().nth(*which).cloned() else { return };
                if let Some(entry) = self.book.requests.get_mut(&id).filter(|entry| !entry.answered) {
                    entry.cancelled = true;
                }
                self.say(cancel_line(&id));
            }
            Step::Reply(which) if !self.book.questions.is_empty() => self.reply(which % self.book.questions.len()),
            _ => {}
        }
    }

    fn say(&mut self, line: String) {
        self.tell(|slot, now, out| slot.client_told(now, line, out));
    }

    /// The client answers a question: whoever asked it hears that, and nobody else.
    fn reply(&mut self, which: usize) {
        let (id, generation, asked, _) = self.book.questions.remove(which);
        let mut out = Vec::new();
        self.slot.client_told(self.now, answer_line(&id), &mut out);
        self.slot.settle(self.now, &mut out);
        let forwarded = out.iter().filter_map(|effect| match effect {
            Effect::Forward { line: Outgoing::Made(line), .. } => Some(text(line)),
            _ => None,
        });
        let expected = if Some(generation) == self.book.live { vec![answer_line(&asked)] } else { vec![] };
        let live = self.book.live;
        assert_eq!(
            forwarded.collect::<Vec<_>>(),
            expected,
            "the answer to a question of {generation} while {live:?} lives"
        );
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
        let (answered, cancelled, written) = (false, false, Vec::new());
        let (key, waits_since) = (id_key(id), Some(self.now));
        let entry = Entry { key, method, answered, cancelled, written, token, waits_since };
        self.book.requests.insert(id.to_owned(), entry);
    }

    fn open_requests(&self) -> Vec<String> {
        self.book.requests.iter().filter(|(_, entry)| entry.is_open()).map(|(id, _)| id.clone()).collect()
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let mut turns = 0;
        while let Some(at) = self.slot.next_wake().filter(|at| *at <= until) {
            turns += 1;
            assert!(turns < RESTLESS, "the slot wants to be woken again and again");
            self.now = self.now.max(at);
            self.tell(|slot, now, out| slot.tick(now, out));
        }
        self.now = until;
        self.book.nobody_waits_too_long(until);
    }

    /// A signal ends it all.
    fn end(&mut self) {
        self.book.excused = true;
        self.tell(|slot, now, out| slot.signal(now, 15, out));
        if let Some(dying) = self.book.dying.take() {
            self.tell(|slot, now, out| slot.torn_down(now, dying, &[], out));
        }
        assert!(self.book.exited, "the end comes");
        let owed: Vec<_> = self.open_requests().into_iter().filter(|id| !self.book.acknowledged.contains(id)).collect();
        assert_eq!(owed, Vec::<String>::new(), "every request has its answer");
        let ended = |done: fn(&Entry) -> bool| {
            self.book.requests.values().filter(|entry| !entry.is_listen() && done(entry)).count()
        };
        let (answered, cancelled) = self.book.counted;
        assert_eq!(answered, ended(|entry| entry.answered), "every answer is counted once");
        assert!(cancelled <= ended(|entry| entry.cancelled), "more is counted than was cancelled");
    }
}

/// The outcome of a chain that condemns.
const SILENCE: u8 = 2;

/// A chain that has ended as one of the four outcomes.
fn ended_chain(outcome: u8) -> Chain {
    let (verdict, heard) = match outcome {
        0 => (Verdict::Pass, Heard::Answer),
        1 => (Verdict::Busy("at work".to_owned()), Heard::Answer),
        SILENCE => (Verdict::Fail("no answer".to_owned()), Heard::Silence),
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
