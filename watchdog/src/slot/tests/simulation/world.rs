//! What is true in a simulation, whoever knows it, and what has to hold of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use crate::core::testing::{millis, secs};

/// One thread has it; the lock is there because runtimes can be sent.
pub(super) type Shared = Arc<Mutex<World>>;

/// A death is answered within this time (contract.md, promise 5).
const TOLD: Duration = millis(100);
/// What a command of an operator causes happens within this time.
const COMMAND: Duration = secs(1);

/// How much has happened.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    /// Answers of servers.
    pub(super) answers: u64,
    /// Errors of the watchdog.
    pub(super) errors: u64,
    pub(super) cancelled: u64,
    pub(super) processes: u64,
    pub(super) deaths: u64,
    pub(super) hangs: u64,
    pub(super) slow: u64,
    pub(super) commands: u64,
    pub(super) suspensions: u64,
    /// Servers that were well and had nothing to do, and were replaced for their age or stopped for want of work.
    pub(super) planned: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.answers += other.answers;
        self.errors += other.errors;
        self.cancelled += other.cancelled;
        self.processes += other.processes;
        self.deaths += other.deaths;
        self.hangs += other.hangs;
        self.slow += other.slow;
        self.commands += other.commands;
        self.suspensions += other.suspensions;
        self.planned += other.planned;
    }
}

/// A request of the client.
#[derive(Debug)]
struct Request {
    method: &'static str,
    /// The processes that have read it.
    given: Vec<u64>,
    answered: bool,
    cancelled: bool,
}

pub(super) struct World {
    began: Instant,
    pub(super) log: String,
    pub(super) rng: Rng,
    pub(super) counts: Counts,
    requests: BTreeMap<String, Request>,
    /// The process that is alive, or is dying.
    alive: Option<u64>,
    /// When processes ended by themselves.
    deaths: BTreeMap<u64, Instant>,
    /// The latest process that the client has heard of.
    heard: u64,
    /// Whether the configuration has servers replaced and stopped that are well.
    plans: bool,
    /// Until when a server that is well may be stopped.
    excused: Option<Instant>,
    /// Whether the client has closed its end.
    pub(super) closing: bool,
    /// Whether a process has ever answered the client's handshake.
    pub(super) connected: bool,
}

impl World {
    pub(super) fn new(seed: u64, plans: bool) -> Shared {
        Arc::new(Mutex::new(Self {
            began: Instant::now(),
            log: String::new(),
            rng: Rng::with_seed(seed),
            counts: Counts::default(),
            requests: BTreeMap::new(),
            alive: None,
            deaths: BTreeMap::new(),
            heard: 0,
            plans,
            excused: None,
            closing: false,
            connected: false,
        }))
    }

    pub(super) fn say(&mut self, who: &str, what: &str) {
        let at = self.began.elapsed().as_millis();
        writeln!(self.log, "{at} {who} {what}").expect("a String takes everything");
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    // Processes.

    /// A new process. It is the only one.
    pub(super) fn spawned(&mut self) -> u64 {
        assert_eq!(self.alive, None, "a second process tree");
        self.counts.processes += 1;
        let generation = self.counts.processes;
        self.alive = Some(generation);
        self.say("server", &format!("{generation} is made"));
        generation
    }

    pub(super) fn died(&mut self, generation: u64) {
        self.counts.deaths += 1;
        self.deaths.insert(generation, Instant::now());
    }

    pub(super) fn gone(&mut self, generation: u64) {
        assert_eq!(self.alive.take(), Some(generation), "gone is what was there");
        self.say("server", &format!("{generation} is gone"));
    }

    /// A process has read a request. Whether it is the client's, and not the watchdog's own.
    pub(super) fn given(&mut self, generation: u64, id: &str, method: &str) -> bool {
        let Some(request) = self.requests.get_mut(id).filter(|request| request.method == method) else { return false };
        assert!(!request.answered, "{id} is sent after its answer");
        request.given.push(generation);
        let most = if method == "tools/call" { 1 } else { 2 };
        assert!(request.given.len() <= most || method == "initialize", "{id} ({method}) went to {:?}", request.given);
        true
    }

    /// A server that is well is told to end. Somebody has to have wanted it (contract.md, promise 7), or it was planned, and then
    /// it owes nobody an answer.
    pub(super) fn stopped_well(&mut self, generation: u64, owed: &BTreeSet<String>) {
        let mut excused = self.closing || self.excused.is_some_and(|until| Instant::now() <= until);
        if !excused && self.plans && owed.is_empty() {
            self.counts.planned += 1;
            excused = true;
        }
        assert!(excused, "{generation} is well and is stopped; the last lines:\n{}", self.last_lines());
    }

    fn last_lines(&self) -> String {
        let lines: Vec<_> = self.log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    // The operator.

    pub(super) fn commanded(&mut self, what: &str) {
        self.counts.commands += 1;
        self.excused = Some(Instant::now() + COMMAND);
        self.say("operator", what);
    }

    // The client.

    pub(super) fn asked(&mut self, id: &str, method: &'static str) {
        self.counts.requests += 1;
        let request = Request { method, given: Vec::new(), answered: false, cancelled: false };
        assert!(self.requests.insert(id.to_owned(), request).is_none(), "the client counts");
    }

    /// A request that has no answer yet, the latest first.
    pub(super) fn open(&self) -> Option<String> {
        let open = self.requests.iter().rev().find(|(_, request)| !request.answered && !request.cancelled);
        open.map(|(id, _)| id.clone())
    }

    pub(super) fn cancelled(&mut self, id: &str) {
        self.counts.cancelled += 1;
        self.requests.get_mut(id).expect("it was asked").cancelled = true;
    }

    /// The client has an answer.
    pub(super) fn answered(&mut self, id: &str, error: &serde_json::Value) {
        let request = self.requests.get_mut(id).unwrap_or_else(|| panic!("an answer to nothing: {id}"));
        assert!(!std::mem::replace(&mut request.answered, true), "a second answer to {id}");
        if error["data"]["source"] != "mcp-watchdog" {
            self.counts.answers += 1;
            // Lists are answered from the latest ones while there is no server.
            assert!(!request.given.is_empty() || request.method == "tools/list", "{id} was answered by nobody");
            return;
        }
        self.counts.errors += 1;
        assert_eq!(error["data"]["sent"], !request.given.is_empty(), "whether a process has {id}: {error}");
        let dead = request.given.last().and_then(|last| self.deaths.get(last));
        if let (-31000, Some(died)) = (error["code"].as_i64().unwrap_or_default(), dead) {
            assert!(died.elapsed() <= TOLD, "{id} was told of a death after {:?}", died.elapsed());
        }
    }

    /// The client hears of a process: never of an older one than before (contract.md, promise 3).
    pub(super) fn heard_of(&mut self, generation: u64) {
        assert!(generation >= self.heard, "{generation} speaks after {}", self.heard);
        self.heard = generation;
    }

    pub(super) fn check_end(&self) {
        assert_eq!(self.alive, None, "a process outlives the watchdog");
        let forgotten: Vec<_> =
            self.requests.iter().filter(|(_, request)| !request.answered && !request.cancelled).collect();
        assert!(forgotten.is_empty(), "without an answer: {forgotten:?}");
    }
}
