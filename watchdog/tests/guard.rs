//! The process model with real processes: a guard, a child, and whatever the child leaves behind.
//!
//! Every child carries a variable of its own in its environment, which everything that it forks inherits; "nothing is left"
//! means that no living process of this system carries it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "guard/ends.rs"]
mod ends;
#[path = "guard/engine.rs"]
mod engine;
#[path = "guard/inherit.rs"]
mod inherit;
#[path = "guard/rig.rs"]
mod rig;
#[path = "guard/start.rs"]
mod start;
#[path = "guard/stop.rs"]
mod stop;
