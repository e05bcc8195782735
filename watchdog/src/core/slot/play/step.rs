//! What may happen, and under which configuration.

use std::time::Duration;

use crate::config::{Delays, OnCall, OnProbeFailure, OnUnhealthy, RetryTools, Server};
use crate::core::testing::{secs, server};

/// What happens next. Numbers choose among what is there.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Open,
    /// A request with this one of [`METHODS`], with a progress token or without.
    Request(usize, bool),
    Listen,
    Batch,
    Cancel(usize),
    /// The client answers a question of a server.
    Reply(usize),
    Notify,
    /// The live server answers one of the lines it was given: well or with an error.
    Answer(usize, bool),
    /// It answers everything.
    AnswerAll,
    /// Something answers under an id that is not in flight there.
    Stray(usize),
    Ask(u8),
    Progress(usize),
    Chatter,
    /// A process that is not live any more says something.
    Ghost(usize),
    Started,
    /// It ends, with so many of its last lines unread.
    Dies(usize),
    TornDown(bool),
    /// So many milliseconds.
    Pass(u64),
    /// The machine is suspended for so many seconds.
    Sleep(u64),
    Chain(u8),
    Probe,
    Disable,
    Enable,
    Retry,
    /// A file of the server has changed.
    Edit,
    /// The process tree is too large from now on, or is not.
    Heavy(bool),
}

pub(crate) const METHODS: &[&str] = &[
    "tools/call",
    "tools/call",
    "tools/call",
    "tools/list",
    "resources/read",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "x/y",
    "tasks/result",
    "prompts/list",
];

/// Times that pass at once, in milliseconds: a moment, the next attempts, a hold and a half, a call that is suspect.
pub(crate) const PASSES: [u64; 6] = [10, 500, 1000, 3000, 11_000, 41_000];

/// The memory of a process tree that is too large, in bytes.
pub(super) const HEAVY: u64 = 1 << 30;

const DELAYS: [&[u64]; 3] = [&[0], &[0, 1, 2], &[3]];
const ON_CALL: [OnCall; 3] = [OnCall::Attempt, OnCall::Wait, OnCall::Error];
const ON_FAILURE: [OnProbeFailure; 4] =
    [OnProbeFailure::Restart, OnProbeFailure::Warn, OnProbeFailure::Count, OnProbeFailure::Close];

/// A configuration, in numbers that choose.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) stateless: bool,
    pub(crate) delays: usize,
    pub(crate) on_call: usize,
    pub(crate) on_failure: usize,
    pub(crate) max_attempts: Option<u32>,
    /// In seconds.
    pub(crate) deadline: Option<u64>,
    pub(crate) held: usize,
    pub(crate) checks: bool,
    pub(crate) restarts_unhealthy: bool,
    pub(crate) serves_stale: bool,
    pub(crate) replays: bool,
    /// Whether an idle server is stopped, an old process replaced, and a large one.
    pub(crate) plans: [bool; 3],
}

impl Setup {
    pub(super) fn server(&self) -> Server {
        let mut server = server();
        let delays = DELAYS[self.delays % DELAYS.len()];
        server.restart.delays = Delays::Schedule(delays.iter().copied().map(secs).collect());
        server.restart.max_attempts = self.max_attempts;
        server.restart.on_call = ON_CALL[self.on_call % ON_CALL.len()];
        server.restart.hold_max_requests = self.held.max(1);
        server.probe.on_failure = ON_FAILURE[self.on_failure % ON_FAILURE.len()];
        server.request_deadline = self.deadline.map(Duration::from_secs);
        server.health.interval = self.checks.then_some(secs(20));
        server.health.threshold = 1;
        server.health.on_unhealthy = if self.restarts_unhealthy { OnUnhealthy::Restart } else { OnUnhealthy::Warn };
        server.catalog.serve_stale = self.serves_stale;
        server.handshake.replay = self.replays;
        server.retry.tools = RetryTools::Never;
        let [idle, old, large] = self.plans;
        server.idle_stop = idle.then_some(secs(12));
        server.limits.max_lifetime = old.then_some(secs(60));
        server.limits.memory = large.then_some(HEAVY - 1);
        server
    }
}

/// The scenario that bytes stand for: one byte a step, and one more where it chooses. Any bytes are a scenario.
pub(crate) fn read(bytes: &[u8]) -> (Setup, Vec<Step>) {
    let mut bytes = bytes.iter().copied();
    let mut next = || bytes.next().unwrap_or_default();
    let (flags, numbers, more, plans) = (next(), usize::from(next()), next(), next());
    let flag = |at: u8| flags >> at & 1 == 1;
    let setup = Setup {
        stateless: flag(0),
        delays: numbers % 3,
        on_call: numbers / 3 % 3,
        on_failure: numbers / 9 % 4,
        max_attempts: flag(1).then_some(1 + u32::from(more % 3)),
        deadline: flag(2).then_some(5 + u64::from(more / 3 % 45)),
        held: numbers / 36 % 5 + 1,
        checks: flag(3),
        restarts_unhealthy: flag(4),
        serves_stale: flag(5),
        replays: flag(6),
        plans: [0, 1, 2].map(|at| plans >> at & 1 == 1),
    };
    let mut steps = Vec::new();
    while let Some(kind) = bytes.next() {
        let mut chosen = || bytes.next().unwrap_or_default();
        steps.push(step(kind, &mut chosen));
    }
    (setup, steps)
}

fn step(kind: u8, next: &mut impl FnMut() -> u8) -> Step {
    match kind % 34 {
        0 => Step::Open,
        1..=5 => {
            let chosen = next();
            Step::Request(usize::from(chosen / 2) % METHODS.len(), chosen % 2 == 1)
        }
        6 => Step::Listen,
        7 => Step::Batch,
        8 => Step::Cancel(usize::from(next() % 8)),
        9 => Step::Reply(usize::from(next() % 4)),
        10 => Step::Notify,
        11..=13 => {
            let chosen = next();
            Step::Answer(usize::from(chosen / 4 % 6), !chosen.is_multiple_of(4))
        }
        14 => Step::AnswerAll,
        15 => Step::Stray(usize::from(next() % 8)),
        16 => Step::Ask(next() % 3),
        17 => Step::Progress(usize::from(next() % 4)),
        18 => Step::Chatter,
        19 => Step::Ghost(usize::from(next() % 3)),
        20 => Step::Started,
        21 => Step::Dies(usize::from(next() % 3)),
        22 => Step::TornDown(true),
        23 => Step::TornDown(false),
        24..=26 => Step::Pass(PASSES[usize::from(next()) % PASSES.len()]),
        27 => Step::Sleep(u64::from(next()) * 20 + 1),
        28 => Step::Chain(next() % 4),
        29 => Step::Probe,
        30 => Step::Disable,
        31 => Step::Edit,
        32 => Step::Heavy(next().is_multiple_of(2)),
        _ => match next() % 3 {
            0 => Step::Retry,
            _ => Step::Enable,
        },
    }
}
