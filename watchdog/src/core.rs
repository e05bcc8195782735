//! The pure core: decisions about one server and its client, as data and functions.
//!
//! Nothing in here reads a clock, does I/O, logs, or is async; time comes in as an argument and randomness from a seed. What
//! is to be done comes out as [`slot::Effect`]s, which the driver in `crate::slot` carries out.

pub mod asks;
pub mod backoff;
pub mod catalog;
pub mod chain;
pub mod ending;
pub mod hold;
pub mod ids;
pub mod inject;
pub mod ledger;
pub mod lifecycle;
pub mod listens;
pub mod own;
pub mod refusal;
pub mod session;
pub mod slot;
pub(crate) mod soonest;
pub mod tasks;

#[cfg(any(test, feature = "fuzzing"))]
#[cfg_attr(not(test), expect(dead_code, unused_imports, reason = "fuzzing needs a part of it"))]
pub(crate) mod testing;
