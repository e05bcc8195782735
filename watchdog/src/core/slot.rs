//! The slot: everything that is known of one server and its client, and the decisions that follow from what happens.
//!
//! The slot composes the lifecycle, the session, the tables of requests and the catalog. It is fed with lines, with news
//! of processes and with the time; it answers with [`Effect`]s, which the driver (`crate::slot`) carries out in order. It
//! reads no clock, does no I/O and logs nothing.

mod act;
mod answer;
mod batch;
mod client;
mod closing;
mod effect;
mod idle;
mod learning;
mod lists;
mod manage;
mod notices;
mod opening;
mod operator;
mod oversized;
mod parked;
mod passing;
mod planned;
mod probing;
mod process;
mod requests;
mod server;
mod snapshot;
mod times;

pub use effect::{Count, Effect, ProbeReply, RequestOutcome};
pub use passing::{Outgoing, keep_given};
pub use process::Lost;
pub use snapshot::SlotSnapshot;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::asks::Asks;
use super::catalog::Catalog;
use super::chain::Latches;
use super::ending::Ending;
use super::hold::Hold;
use super::ids::{Generation, Token};
use super::ledger::{Ledger, Request};
use super::lifecycle::{Action, Event, Lifecycle, Policy};
use super::listens::Listens;
use super::own::Own;
use super::session::{Session, Told};
use crate::config::{RetryTools, Server};
use crate::events::Throttle;
use crate::exit::Exit;
use crate::wire::head::Shapes;
use manage::Manage;
use planned::Planned;
use probing::ChainRun;

/// How far the session with the live process is established.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Opening {
    /// No live process.
    None,
    /// The client's own opening goes through; the first answer makes the slot connected.
    Transparent,
    /// An opening of ours is unanswered; what the client sends waits.
    Replaying,
    /// The client's `initialize` went to a process that died, and was sent again; everything else waits for its answer.
    Repeating,
    /// It is.
    Done,
}

/// What went wrong last, for those who ask.
#[derive(Debug, Clone, Default)]
struct Failure {
    error: Option<String>,
    ending: Option<Ending>,
    tail: Vec<String>,
}

/// The end waits for the client's first request.
#[derive(Debug, Clone, Copy)]
struct FirstWord {
    until: Instant,
    /// Whether nothing else is waited for.
    over: bool,
}

/// The end has begun.
#[derive(Debug, Clone, Copy)]
struct Closing {
    exit: Exit,
    /// Until when requests in flight are waited for.
    drain_until: Option<Instant>,
    /// Whether the client may have written something that is not read yet.
    unread: bool,
    /// Whether anybody reads what we write.
    client_gone: bool,
}

/// How a slot's life and that of the program hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Role {
    /// `on_permanent_failure: exit`.
    pub exit_on_failure: bool,
    /// Whether it is one of several, whose clients come and go. The program outlives a command that cannot be executed, and
    /// a server is there without a client.
    pub served: bool,
}

/// One server and its client.
#[derive(Debug)]
pub struct Slot {
    config: Arc<Server>,
    role: Role,
    /// Whether an operator or the configuration has switched it off.
    switched_off: bool,
    life: Lifecycle,
    session: Session,
    ledger: Ledger,
    hold: Hold,
    listens: Listens,
    asks: Asks,
    own: Own,
    manage: Manage,
    catalog: Catalog,
    latches: Latches,
    opening: Opening,
    /// The generation whose output is heard.
    hearing: Option<Generation>,
    /// Whether its program was executed.
    started: Option<StartedProcess>,
    /// Whether the first answer is not needed to call the slot connected.
    connect_on_start: bool,
    /// When a process that nobody speaks to counts as connected.
    alone_until: Option<Instant>,
    opening_deadline: Option<Instant>,
    timers: Vec<(Token, Instant)>,
    health_at: Option<Instant>,
    planned: Planned,
    chain: Option<ChainRun>,
    /// Whether the server answers in order, as far as that is known. That it does not is known for good.
    serial: Option<bool>,
    last_client_answer: Option<Instant>,
    last_byte: Option<Instant>,
    /// Overdue calls of a replaced server, which wait for the outcome of the first attempt.
    overdue: Vec<Request>,
    /// Lines under an id that a request of ours has in flight.
    parked: Vec<Bytes>,
    /// Until when they wait.
    parked_until: Option<Instant>,
    /// Lines that the lost process was never given, by tag.
    unsent: HashMap<u64, Bytes>,
    /// The same for the process that is being started, as long as its program does not run.
    early: HashMap<u64, Bytes>,
    /// What was decided and waits for news of the process that is being torn down.
    deferred: VecDeque<Action>,
    tearing: Option<Generation>,
    failure: Failure,
    /// What had gone wrong before the present connection.
    past_failure: Failure,
    /// When the latest process was lost or given up.
    failed_at: Option<Instant>,
    /// When the latest connection was lost, however many attempts have failed since.
    down_since: Option<Instant>,
    connected_at: Option<Instant>,
    /// Whether something happened that a picture shows.
    changed: bool,
    /// The time of the latest event.
    clock: Option<Instant>,
    /// Whether the latest handshake differed from what the client was told.
    capabilities_changed: bool,
    /// What the latest process answered to the replayed handshake.
    latest: Option<Told>,
    /// Methods that were replayed to the live process, and that it refused.
    refused_replays: Vec<Box<str>>,
    throttle: Throttle,
    closing: Option<Closing>,
    first_word: Option<FirstWord>,
    /// Whether this process's stray lines were told of.
    stray_told: bool,
    random: fastrand::Rng,
    /// What the client's lines have looked like.
    client_shapes: Shapes,
    /// What the server's lines have looked like, whichever process it was.
    server_shapes: Shapes,
}

/// A process whose program runs.
#[derive(Debug, Clone, Copy)]
struct StartedProcess {
    pid: u32,
    since: Instant,
}

impl Slot {
    /// A slot in which nothing has happened. `seed` makes jitter and our own ids.
    #[must_use]
    pub fn new(config: Arc<Server>, role: Role, seed: u64) -> Self {
        Self {
            role,
            switched_off: !config.enabled,
            life: Lifecycle::new(Policy::new(&config), config.enabled, seed),
            session: Session::default(),
            ledger: Ledger::default(),
            hold: Hold::new(config.restart.hold_max_requests, config.restart.hold_max_bytes),
            listens: Listens::default(),
            asks: Asks::default(),
            own: Own::new(seed),
            manage: Manage::default(),
            catalog: Catalog::new(config.retry.tools != RetryTools::Never),
            latches: Latches::default(),
            opening: Opening::None,
            hearing: None,
            started: None,
            connect_on_start: false,
            alone_until: None,
            opening_deadline: None,
            timers: Vec::new(),
            health_at: None,
            planned: Planned::default(),
            chain: None,
            serial: None,
            last_client_answer: None,
            last_byte: None,
            overdue: Vec::new(),
            parked: Vec::new(),
            parked_until: None,
            unsent: HashMap::new(),
            early: HashMap::new(),
            deferred: VecDeque::new(),
            tearing: None,
            failure: Failure::default(),
            past_failure: Failure::default(),
            failed_at: None,
            down_since: None,
            connected_at: None,
            changed: true,
            clock: None,
            capabilities_changed: false,
            latest: None,
            refused_replays: Vec::new(),
            throttle: Throttle::off(),
            closing: None,
            first_word: None,
            stray_told: false,
            random: fastrand::Rng::with_seed(seed ^ 0x9E37_79B9_7F4A_7C15),
            client_shapes: Shapes::default(),
            server_shapes: Shapes::default(),
            config,
        }
    }

    /// The slot for the next client: nothing of the last one's session is left, and neither is its process. Generations go on
    /// counting, and what was switched off stays so.
    #[must_use]
    pub fn successor(&self, seed: u64) -> Self {
        let mut next = Self::new(self.config.clone(), self.role, seed);
        next.switched_off = self.switched_off;
        next.throttle = self.throttle.afresh();
        next.manage = self.manage.successor();
        next.life = self.life.successor(!self.switched_off, seed);
        next.past_failure = if self.failure.error.is_some() { self.failure.clone() } else { self.past_failure.clone() };
        next
    }

    /// Begins: a server that is neither lazy nor disabled is started.
    pub fn start(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if !self.switched_off {
            self.event(now, Event::Start, out);
        }
    }

    /// The configuration that the slot works by.
    #[must_use]
    pub const fn config(&self) -> &Arc<Server> {
        &self.config
    }

    /// The lifecycle, to look at.
    #[must_use]
    pub const fn lifecycle(&self) -> &Lifecycle {
        &self.life
    }

    /// The session, to look at.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What earlier probe chains have taught.
    #[must_use]
    pub const fn latches(&self) -> &Latches {
        &self.latches
    }

    /// How many requests the server owes an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.ledger.len()
    }

    /// The machine slept, or this process was stopped for long, by `jump`: delays mean nothing any more, and the server may be
    /// gone without a word.
    pub fn wake(&mut self, now: Instant, jump: Duration, out: &mut Vec<Effect>) {
        self.used(now);
        self.emit_clock_jump(jump, out);
        self.event(now, Event::Wake, out);
    }

    /// Feeds the lifecycle and carries out what it decides.
    fn event(&mut self, now: Instant, event: Event, out: &mut Vec<Effect>) -> Option<super::lifecycle::Admission> {
        self.clock = Some(now);
        self.changed = true;
        let mut actions: Vec<Action> = Vec::new();
        let admission = self.life.on(now, event, &mut actions);
        self.deferred.extend(actions);
        self.go_on(now, out);
        admission
    }

    /// Carries out what was decided, up to a `Tear`: what follows depends on what the process was never given, which
    /// [`Self::torn`] tells.
    fn go_on(&mut self, now: Instant, out: &mut Vec<Effect>) {
        while self.tearing.is_none() {
            let Some(action) = self.deferred.pop_front() else { return };
            self.act(now, action, out);
        }
    }

    /// As a driver that tears down at once what was given everything.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn settle(&mut self, now: Instant, out: &mut Vec<Effect>) {
        while let Some(generation) = self.tearing {
            self.torn(now, generation, HashMap::new(), out);
        }
    }

    /// The driver has begun to tear a process down; `unsent` are the lines that it was never given, by tag.
    pub fn torn(&mut self, now: Instant, generation: Generation, unsent: HashMap<u64, Bytes>, out: &mut Vec<Effect>) {
        if self.tearing == Some(generation) {
            self.tearing = None;
            self.unsent.extend(unsent);
            self.go_on(now, out);
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod play;
#[cfg(test)]
mod tests;
