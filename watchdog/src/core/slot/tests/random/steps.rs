//! What may happen, and under which configuration.

use proptest::prelude::*;

use crate::config::{Delays, OnCall, OnProbeFailure, OnUnhealthy, RetryTools, Server};
use crate::core::testing::{secs, server};

/// What happens next. Numbers choose among what is there.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Open,
    Request(&'static str, bool),
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
    Pass(u64),
    Sleep(u64),
    Chain(u8),
    Probe,
    Disable,
    Enable,
    Retry,
}

const METHODS: &[&str] = &[
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

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let client = prop_oneof![
        1 => Just(Step::Open),
        8 => (prop::sample::select(METHODS), any::<bool>()).prop_map(|(method, token)| Step::Request(method, token)),
        1 => Just(Step::Listen),
        1 => Just(Step::Batch),
        2 => (0_usize..8).prop_map(Step::Cancel),
        1 => (0_usize..4).prop_map(Step::Reply),
        1 => Just(Step::Notify),
    ];
    let process = prop_oneof![
        6 => (0_usize..6, prop::bool::weighted(0.8)).prop_map(|(which, ok)| Step::Answer(which, ok)),
        3 => Just(Step::AnswerAll),
        1 => (0_usize..8).prop_map(Step::Stray),
        1 => (0_u8..3).prop_map(Step::Ask),
        1 => (0_usize..4).prop_map(Step::Progress),
        1 => Just(Step::Chatter),
        1 => (0_usize..3).prop_map(Step::Ghost),
        3 => Just(Step::Started),
        2 => (0_usize..3).prop_map(Step::Dies),
        4 => prop::bool::weighted(0.9).prop_map(Step::TornDown),
    ];
    let rest = prop_oneof![
        6 => prop::sample::select(vec![10_u64, 500, 1000, 3000, 11_000, 41_000]).prop_map(Step::Pass),
        1 => (1_u64..5000).prop_map(Step::Sleep),
        4 => (0_u8..4).prop_map(Step::Chain),
        1 => Just(Step::Probe),
        1 => prop::sample::select(vec![Step::Disable, Step::Enable, Step::Enable, Step::Retry]),
    ];
    prop::collection::vec(prop_oneof![4 => client, 4 => process, 2 => rest], 1..120)
}

pub(super) fn config() -> impl Strategy<Value = Server> {
    let delays = prop::sample::select(vec![vec![0], vec![0, 1, 2], vec![3]]);
    let on_call = prop::sample::select(vec![OnCall::Attempt, OnCall::Attempt, OnCall::Wait, OnCall::Error]);
    let on_failure = prop::sample::select(vec![
        OnProbeFailure::Restart,
        OnProbeFailure::Restart,
        OnProbeFailure::Warn,
        OnProbeFailure::Count,
        OnProbeFailure::Close,
    ]);
    let numbers = (prop::option::of(1_u32..4), prop::option::of(5_u64..50), 1_usize..6, any::<[bool; 4]>());
    (delays, on_call, on_failure, numbers).prop_map(|(delays, on_call, on_failure, (max, deadline, held, flags))| {
        let mut server = server();
        server.restart.delays = Delays::Schedule(delays.into_iter().map(secs).collect());
        server.restart.max_attempts = max;
        server.restart.on_call = on_call;
        server.restart.hold_max_requests = held;
        server.probe.on_failure = on_failure;
        server.request_deadline = deadline.map(secs);
        server.health.interval = flags[0].then_some(secs(20));
        server.health.threshold = 1;
        server.health.on_unhealthy = if flags[1] { OnUnhealthy::Restart } else { OnUnhealthy::Warn };
        server.catalog.serve_stale = flags[2];
        server.handshake.replay = flags[3];
        server.retry.tools = RetryTools::Never;
        server
    })
}
