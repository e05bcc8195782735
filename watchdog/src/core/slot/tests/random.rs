//! Random scenarios, watched by a book of requests that knows the slot only from what goes in and comes out.

use proptest::prelude::*;

use crate::core::slot::play::play;
use crate::core::testing::model;

mod steps;

use steps::{setup, steps};

/// Every request is answered exactly once, or is cancelled, or is still waited for; a call is written to one process
/// at most; nothing comes from a process that is not live, and nothing goes to one. `MODEL_STEPS` makes it longer.
#[test]
fn the_book_of_requests_agrees() {
    model("slot", 18_000, |steps_done| {
        proptest!(ProptestConfig::with_cases(50), |(setup in setup(), steps in steps())| {
            steps_done.add(steps.len());
            play(&setup, &steps);
        });
    });
}
