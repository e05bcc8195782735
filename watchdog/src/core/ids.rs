//! Small identities that keep late news from being taken for fresh ones.

use std::collections::HashMap;
use std::fmt;

use crate::wire::id::IdKey;

/// What is in flight, by its id. Every message is looked up in one: the hash is a fast one, seeded so that ids that
/// collide cannot be prepared beforehand.
pub(super) type InFlight<T> = HashMap<IdKey, T, foldhash::fast::RandomState>;

/// Counts the attempts to start a slot's server, from 1. Whatever a process says carries its generation; what does not
/// carry the current one is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl Generation {
    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one armed timer; a timer that was replaced rings with a token that is no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Names one request that a probe sent through its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);
