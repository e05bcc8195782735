//! What may happen, and under which configuration, by chance.

use proptest::prelude::*;

use crate::core::slot::play::step::{METHODS, PASSES, Setup, Step};

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let client = prop_oneof![
        1 => Just(Step::Open),
        8 => (0..METHODS.len(), any::<bool>()).prop_map(|(method, token)| Step::Request(method, token)),
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
        6 => prop::sample::select(PASSES.to_vec()).prop_map(Step::Pass),
        1 => (1_u64..5000).prop_map(Step::Sleep),
        4 => (0_u8..4).prop_map(Step::Chain),
        1 => Just(Step::Probe),
        1 => prop::sample::select(vec![Step::Disable, Step::Enable, Step::Enable, Step::Retry]),
        2 => Just(Step::Edit),
        1 => any::<bool>().prop_map(Step::Heavy),
    ];
    prop::collection::vec(prop_oneof![4 => client, 4 => process, 2 => rest], 1..120)
}

pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let on_call = prop::sample::select(vec![0, 0, 1, 2]);
    let on_failure = prop::sample::select(vec![0, 0, 1, 2, 3]);
    let numbers =
        (prop::option::of(1_u32..4), prop::option::of(5_u64..50), 1_usize..6, any::<[bool; 4]>(), any::<[bool; 3]>());
    (prop::bool::weighted(0.3), 0_usize..3, on_call, on_failure, numbers).prop_map(
        |(stateless, delays, on_call, on_failure, (max_attempts, deadline, held, flags, plans))| Setup {
            stateless,
            delays,
            on_call,
            on_failure,
            max_attempts,
            deadline,
            held,
            checks: flags[0],
            restarts_unhealthy: flags[1],
            serves_stale: flags[2],
            replays: flags[3],
            plans,
        },
    )
}
