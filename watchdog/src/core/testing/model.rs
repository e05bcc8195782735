//! Models that are compared with the product step by step, for as long as is asked for.

use std::cell::Cell;

/// Says how many steps a model takes, where that is not the number of each test run: `MODEL_STEPS=1000000`.
const VARIABLE: &str = "MODEL_STEPS";

/// Steps that were taken.
#[derive(Debug, Default)]
pub(crate) struct Steps(Cell<usize>);

impl Steps {
    pub(crate) fn add(&self, steps: usize) {
        self.0.set(self.0.get() + steps);
    }
}

/// Plays some scenarios of a model again and again until `least` steps were taken, and says how many it were.
pub(crate) fn model(name: &str, least: usize, some: impl Fn(&Steps)) {
    let wanted = std::env::var(VARIABLE).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{VARIABLE}={text}")));
    let steps = Steps::default();
    while steps.0.get() < wanted.unwrap_or(least) {
        let before = steps.0.get();
        some(&steps);
        assert!(steps.0.get() > before, "the model of the {name} stands still");
    }
    println!("the model of the {name}: {} steps", steps.0.get());
}
