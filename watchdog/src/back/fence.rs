//! What holds a tree together: what was asked for, as far as this place has it.

use crate::cgroup::{Home, Placement};
use crate::config::{Bounds, Isolation};

/// What a tree got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// What holds it.
    pub isolation: Isolation,
    /// What was asked for and is not there, why, and what would help.
    pub shortfall: Option<String>,
}

/// Finds a place for one more tree. Where there is none the guard alone has to do: a server that runs without a limit is of more
/// use than none.
pub(super) fn plan(bounds: &Bounds) -> (Fence, Option<Placement>) {
    match bounds.isolation {
        Isolation::Guard => (Fence { isolation: Isolation::Guard, shortfall: None }, None),
        Isolation::Cgroup => match Home::get() {
            Ok(home) => in_home(bounds, home),
            Err(why) => {
                let what = if bounds.memory_max.is_some() {
                    "`isolation: cgroup` and `limits.memory_max` are"
                } else {
                    "`isolation: cgroup` is"
                };
                (Fence { isolation: Isolation::Guard, shortfall: Some(format!("{what} not in force: {why}")) }, None)
            }
        },
    }
}

fn in_home(bounds: &Bounds, home: &Home) -> (Fence, Option<Placement>) {
    let unlimited = bounds.memory_max.and_then(|_| home.limit_memory().err());
    let memory_max = bounds.memory_max.filter(|_| unlimited.is_none());
    let shortfall = unlimited.map(|why| format!("`limits.memory_max` is not in force: {why}"));
    (Fence { isolation: Isolation::Cgroup, shortfall }, Some(home.place(memory_max)))
}
