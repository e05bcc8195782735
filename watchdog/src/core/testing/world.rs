//! A slot with all that is around it: a client, one fake server a generation, and time that passes when a test says so.
//!
//! The world carries out effects as the driver does, and it checks while it does so what must hold in every scenario: a
//! process starts only when no other one is left, and only a live one is written to.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use probe_api::{Trigger, Verdict};
use serde_json::{Map, Value};

use super::lines::{INITIALIZE, INITIALIZED, answer_line, call_line, cancel_line, stateless};
use super::script::{Reaction, Script};
use super::{base, server};
use crate::config::Server;
use crate::core::chain::{Chain, ChainPolicy, Heard, Latches, Link};
use crate::core::ending::Ending;
use crate::core::ids::{CallId, Generation};
use crate::core::slot::{Count, Effect, Lost, Outgoing, ProbeReply, Role, Slot};
use crate::events::EventKind;
use crate::exit::Exit;

/// More steps than this without rest are a livelock.
const RESTLESS: usize = 1000;

/// How far a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Running,
    Dying,
    Gone,
}

/// One process.
struct Process {
    generation: Generation,
    life: Life,
    script: Script,
    /// Lines that it was given and that the test has not looked at.
    got: Vec<String>,
    /// Lines that it has not reacted to.
    inbox: VecDeque<String>,
    started: bool,
    /// Whether the watchdog was told of its loss.
    lost: bool,
}

/// The world.
pub(crate) struct World {
    pub(crate) slot: Slot,
    pub(crate) now: Instant,
    pub(crate) exit: Option<Exit>,
    /// Probe chains that run: against which generation, and why.
    pub(crate) chain: Option<(Generation, Trigger)>,
    pub(crate) strays: Vec<String>,
    pub(crate) replies: Vec<(CallId, ProbeReply)>,
    /// Calls of the watchdog's own tools that run: which, of what, with what.
    pub(crate) managed: Vec<(u64, Box<str>, Map<String, Value>)>,
    /// Whether process trees take until [`World::gone`] to be gone.
    pub(crate) lingering: bool,
    /// How the processes to come behave, the next one first; after that as the default.
    pub(crate) next: VecDeque<Script>,
    /// How all others behave.
    pub(crate) script: Script,
    effects: Vec<Effect>,
    processes: Vec<Process>,
    client: Vec<String>,
    events: Vec<EventKind>,
    pub(crate) counts: Vec<Count>,
    /// What the process trees use.
    pub(crate) memory: Option<u64>,
    /// How often that was looked at.
    pub(crate) weighings: u32,
    /// Lines that the next loss reports as never written, by tag.
    unsent: Vec<(u64, Bytes)>,
}

impl World {
    /// A world in which the slot has begun.
    pub(crate) fn new(change: impl FnOnce(&mut Server)) -> Self {
        Self::with_servers([], change)
    }

    /// The same, with the behaviour of the first servers.
    pub(crate) fn with_servers(next: impl IntoIterator<Item = Script>, change: impl FnOnce(&mut Server)) -> Self {
        Self::built(next, change, Role::default())
    }

    /// The same with `on_permanent_failure: exit`.
    pub(crate) fn that_exits(next: impl IntoIterator<Item = Script>, change: impl FnOnce(&mut Server)) -> Self {
        Self::built(next, change, Role { exit_on_failure: true, served: false })
    }

    /// One of several servers, whose clients come and go.
    pub(crate) fn served(change: impl FnOnce(&mut Server)) -> Self {
        Self::built([], change, Role { exit_on_failure: false, served: true })
    }

    fn built(next: impl IntoIterator<Item = Script>, change: impl FnOnce(&mut Server), role: Role) -> Self {
        let mut config = server();
        change(&mut config);
        let mut world = Self {
            slot: Slot::new(Arc::new(config), role, 0),
            now: base(),
            exit: None,
            chain: None,
            strays: Vec::new(),
            replies: Vec::new(),
            managed: Vec::new(),
            lingering: false,
            next: next.into_iter().collect(),
            script: Script::default(),
            effects: Vec::new(),
            processes: Vec::new(),
            client: Vec::new(),
            events: Vec::new(),
            counts: Vec::new(),
            memory: None,
            weighings: 0,
            unsent: Vec::new(),
        };
        world.tell(|slot, now, out| slot.start(now, out));
        world
    }

    /// Tells the slot something and lets everything react until nobody has anything to say.
    pub(crate) fn tell(&mut self, what: impl FnOnce(&mut Slot, Instant, &mut Vec<Effect>)) {
        what(&mut self.slot, self.now, &mut self.effects);
        self.step_until_idle();
    }

    /// Lets effects be carried out and servers react, until all is quiet. No time passes.
    pub(crate) fn step_until_idle(&mut self) {
        for _ in 0..RESTLESS {
            if !self.effects.is_empty() {
                self.slot.settle(self.now, &mut self.effects);
                for effect in std::mem::take(&mut self.effects) {
                    self.carry_out(effect);
                }
            } else if !self.server_step() {
                return;
            }
        }
        panic!("the world does not come to rest");
    }

    /// Lets time pass, with everything that happens meanwhile.
    pub(crate) fn advance(&mut self, time: Duration) {
        let until = self.now + time;
        let mut restless = 0;
        while let Some(at) = self.slot.next_wake().filter(|at| *at <= until) {
            restless = if at > self.now { 0 } else { restless + 1 };
            assert!(restless < RESTLESS, "the slot wants to be woken at a time that has passed, again and again");
            self.now = self.now.max(at);
            self.tell(|slot, now, out| slot.tick(now, out));
        }
        self.now = until;
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Deliver(Outgoing::Made(line)) => self.client.push(text(&line)),
            Effect::Forward { line: Outgoing::Made(line), tag, .. } => {
                let process = self.process().unwrap_or_else(|| panic!("nobody is there for {}", text(&line)));
                assert_eq!(process.life, Life::Running, "written to a process that was torn down: {}", text(&line));
                process.got.push(text(&line));
                process.inbox.push_back(text(&line));
                if tag != 0 {
                    self.unsent.push((tag, line));
                }
            }
            Effect::Deliver(Outgoing::Given) | Effect::Forward { line: Outgoing::Given, .. } => panic!("it was lent"),
            Effect::Spawn(generation) => {
                assert!(self.processes.iter().all(|process| process.life == Life::Gone), "two process trees");
                let script = self.next.pop_front().unwrap_or_else(|| self.script.clone());
                let (got, inbox) = (Vec::new(), VecDeque::new());
                let life = Life::Running;
                self.processes.push(Process { generation, life, script, got, inbox, started: false, lost: false });
                self.unsent.clear();
            }
            Effect::Tear { generation, .. } => {
                let process = self.process().filter(|process| process.generation == generation);
                let process = process.expect("what is torn down is there");
                // One that is gone already has nothing more to tell.
                if process.life == Life::Running {
                    process.life = Life::Dying;
                }
            }
            Effect::Kill => self.lingering = false,
            Effect::Weigh(generation) => {
                self.weighings += 1;
                let (now, memory) = (self.now, self.memory);
                self.slot.weighed(now, generation, memory, &mut self.effects);
            }
            Effect::StartChain { generation, trigger, .. } => {
                assert!(self.chain.is_none(), "two probe chains");
                self.chain = Some((generation, trigger));
            }
            Effect::EndChain => self.chain = None,
            Effect::ProbeReply(call, reply) => self.replies.push((call, reply)),
            Effect::Manage { call, tool, arguments } => self.managed.push((call, tool, arguments)),
            Effect::EndManage(call) => self.managed.retain(|(running, ..)| *running != call),
            Effect::Emit(kind) => self.events.push(*kind),
            Effect::Count(count) => self.counts.push(count),
            Effect::Stray(line) => self.strays.push(text(&line)),
            Effect::Exit(exit) => {
                assert!(self.processes.iter().all(|process| process.life == Life::Gone), "a process outlives the end");
                self.exit = Some(exit);
            }
        }
    }

    /// One thing that the latest process does by itself. `false` if it does nothing.
    fn server_step(&mut self) -> bool {
        let (now, lingering) = (self.now, self.lingering);
        let Some(process) = self.processes.last_mut() else {
            return false;
        };
        let generation = process.generation;
        match process.life {
            Life::Dying if !lingering => {
                process.life = Life::Gone;
                self.slot.torn_down(now, generation, &[], &mut self.effects);
            }
            Life::Running if !process.started && process.script.cannot_start => {
                (process.started, process.lost) = (true, true);
                let why = "no such program".to_owned();
                self.slot.cannot_start(now, generation, why, Exit::NotFound, false, &mut self.effects);
            }
            Life::Running if !process.started => {
                process.started = true;
                self.slot.started(now, generation, 100 + u32::try_from(generation.0).expect("few"), &mut self.effects);
                if process.script.dies_at_start {
                    self.lose(Lost { ending: Some(Ending::Code(1)), ..Lost::default() });
                }
            }
            Life::Running if !process.lost => {
                let Some(line) = process.inbox.pop_front() else {
                    return false;
                };
                match process.script.react(&line) {
                    None => {}
                    Some(Reaction::Dies) => self.lose(Lost { ending: Some(Ending::Code(1)), ..Lost::default() }),
                    Some(Reaction::Says(line)) => self.slot.server_told(now, generation, line, &mut self.effects),
                }
            }
            _ => return false,
        }
        true
    }

    fn process(&mut self) -> Option<&mut Process> {
        self.processes.last_mut()
    }

    /// The latest generation.
    pub(crate) fn generation(&self) -> Generation {
        self.processes.last().map_or(Generation(0), |process| process.generation)
    }

    fn lose(&mut self, lost: Lost) {
        let process = self.processes.last_mut().expect("there is a process");
        process.lost = true;
        let generation = process.generation;
        self.slot.lost(self.now, generation, lost, &mut self.effects);
    }

    // The client.

    /// The client sends a line.
    pub(crate) fn say(&mut self, line: &str) {
        self.tell(|slot, now, out| slot.client_told(now, line.to_owned(), out));
    }

    /// The client sends a request without parameters.
    pub(crate) fn request(&mut self, id: &str, method: &str) {
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#));
    }

    /// The client calls a tool.
    pub(crate) fn call(&mut self, id: &str, tool: &str) {
        self.say(&call_line(id, tool));
    }

    /// The client withdraws a request.
    pub(crate) fn cancel(&mut self, id: &str) {
        self.say(&cancel_line(id));
    }

    /// The client opens a session of the handshake era, and all that was said about it is out of sight.
    pub(crate) fn open(&mut self) {
        self.say(INITIALIZE);
        self.say(INITIALIZED);
        assert!(self.slot.lifecycle().is_connected(), "the handshake failed: {:?}", self.client);
        self.forget();
    }

    /// The client opens a session of the stateless era, and all that was said about it is out of sight.
    pub(crate) fn open_stateless(&mut self) {
        self.say(&stateless("0", "tools/list", ""));
        assert!(self.slot.lifecycle().is_connected());
        self.forget();
    }

    /// Puts everything that was said until now out of sight.
    pub(crate) fn forget(&mut self) {
        self.client.clear();
        self.events.clear();
        for process in &mut self.processes {
            process.got.clear();
        }
    }

    /// What the client got since this was asked last.
    pub(crate) fn client_got(&mut self) -> Vec<String> {
        std::mem::take(&mut self.client)
    }

    /// The one line that the client got since this was asked last.
    #[track_caller]
    pub(crate) fn client_got_one(&mut self) -> String {
        let mut got = self.client_got();
        assert_eq!(got.len(), 1, "one line: {got:?}");
        got.remove(0)
    }

    // The server.

    /// What the latest process was given since this was asked last.
    pub(crate) fn server_got(&mut self) -> Vec<String> {
        self.process().map(|process| std::mem::take(&mut process.got)).unwrap_or_default()
    }

    /// The methods of what the latest process was given since this was asked last.
    pub(crate) fn server_got_methods(&mut self) -> Vec<String> {
        let methods =
            self.server_got().into_iter().map(|line| super::value(&line)["method"].as_str().unwrap_or("-").to_owned());
        methods.collect()
    }

    /// The latest process writes a line.
    pub(crate) fn server_says(&mut self, line: &str) {
        self.server_of_says(self.generation(), line);
    }

    /// The process of that generation writes a line.
    pub(crate) fn server_of_says(&mut self, generation: Generation, line: &str) {
        self.tell(|slot, now, out| {
            slot.heard(now, generation);
            slot.server_told(now, generation, line.to_owned(), out);
        });
    }

    /// The latest process answers a request with an empty result.
    pub(crate) fn server_answers(&mut self, id: &str) {
        self.server_says(&answer_line(id));
    }

    /// The latest process is killed.
    pub(crate) fn server_dies(&mut self) {
        self.server_ends(Lost { ending: Some(Ending::Signal(9)), ..Lost::default() });
    }

    /// The latest process is lost in this way.
    pub(crate) fn server_ends(&mut self, lost: Lost) {
        self.lose(lost);
        self.step_until_idle();
    }

    /// The latest process is killed and was never given the last `count` lines with requests.
    pub(crate) fn server_dies_unread(&mut self, count: usize) {
        let first = self.unsent.len() - count;
        let unsent = self.unsent.split_off(first).into_iter().collect();
        self.server_ends(Lost { ending: Some(Ending::Signal(9)), unsent, ..Lost::default() });
    }

    /// The program of the latest process cannot be executed, and its guard ends.
    pub(crate) fn server_cannot_start(&mut self, exit: Exit) {
        let generation = self.generation();
        self.tell(|slot, now, out| slot.cannot_start(now, generation, "no such program".to_owned(), exit, false, out));
        let process = self.processes.last_mut().expect("there is a process");
        if process.life != Life::Gone {
            process.life = Life::Gone;
            self.tell(|slot, now, out| slot.torn_down(now, generation, &[], out));
        }
    }

    /// The process tree that lingers is gone.
    pub(crate) fn gone(&mut self) {
        self.lingering = false;
        self.step_until_idle();
        self.lingering = true;
    }

    // The probe chain, with the links `ping` and `tools_list`.

    /// The chain that runs ends with these verdicts.
    pub(crate) fn chain_ends(&mut self, verdicts: &[(Verdict, Heard)], cpu: Duration) {
        let (generation, _) = self.chain.take().expect("a chain runs");
        let link = |name: &str, skippable| Link { name: name.to_owned(), skippable };
        let probe = &self.slot.config().probe;
        let policy = ChainPolicy { mode: probe.mode, confirmations: probe.confirmations };
        let mut chain = Chain::new(policy, vec![link("ping", true), link("tools_list", false)], &Latches::default());
        for (verdict, heard) in verdicts {
            let link = chain.next_link().expect("a link is due");
            chain.record(link, verdict.clone(), *heard);
        }
        assert!(chain.next_link().is_none(), "the chain has ended");
        self.tell(|slot, now, out| drop(slot.chain_done(now, generation, &chain, cpu, out)));
    }

    /// The chain that runs is answered.
    pub(crate) fn probe_passes(&mut self) {
        self.chain_ends(&[(Verdict::Pass, Heard::Answer)], Duration::ZERO);
    }

    /// The chain that runs meets silence, for as long as its links wait.
    pub(crate) fn probe_meets_silence(&mut self) {
        self.probe_meets_silence_and(Duration::ZERO);
    }

    /// The same, while the server used so much processor time.
    pub(crate) fn probe_meets_silence_and(&mut self, cpu: Duration) {
        self.now += super::secs(6);
        let silence = || (Verdict::Fail("no answer".to_owned()), Heard::Silence);
        self.chain_ends(&[silence(), silence()], cpu);
    }

    // The operator.

    /// The data of the events of this name since everything was put out of sight.
    pub(crate) fn told(&self, name: &str) -> Vec<Value> {
        self.events.iter().filter(|kind| kind.name() == name).map(EventKind::data).collect()
    }
}

fn text(line: &Bytes) -> String {
    String::from_utf8(line.to_vec()).expect("the tests write text")
}
