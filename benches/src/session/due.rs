//! Which answers of many calls are still to come.

use std::collections::BTreeSet;

/// The calls from one id on.
#[derive(Debug)]
pub(super) struct Due {
    /// All before this one are answered.
    first: u64,
    /// Those behind it that are answered.
    early: BTreeSet<u64>,
}

impl Due {
    pub(super) fn from(first: u64) -> Self {
        Self { first, early: BTreeSet::new() }
    }

    /// The first call without an answer.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The answer of the first one has come.
    pub(super) fn has_come(&mut self) {
        self.first += 1;
        while self.early.remove(&self.first) {
            self.first += 1;
        }
    }

    /// The answer of a later one has come. `false` if it had come already.
    pub(super) fn has_come_early(&mut self, id: u64) -> bool {
        id > self.first && self.early.insert(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_may_come_in_any_order_and_none_of_them_twice() {
        let mut due = Due::from(10);
        assert!(due.has_come_early(12));
        assert!(due.has_come_early(11));
        assert!(!due.has_come_early(12), "twice");
        assert_eq!(due.first(), 10);
        due.has_come();
        assert_eq!(due.first(), 13);
        assert!(!due.has_come_early(12), "twice, once all before it are here");
    }
}
