//! The earliest of some times. Looked for with each message: a list of them, made first, took three times as much code.

use std::time::Instant;

/// The earliest of the times so far, if there is one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Soonest(Option<Instant>);

impl Soonest {
    /// Of this one.
    #[inline(always)]
    pub(crate) const fn of(at: Option<Instant>) -> Self {
        Self(at)
    }

    /// Of this one too.
    #[inline(always)]
    #[must_use]
    pub(crate) fn and(self, at: Option<Instant>) -> Self {
        match at {
            Some(at) if self.0.is_none_or(|soonest| at < soonest) => Self(Some(at)),
            _ => self,
        }
    }

    /// Of all of these too.
    #[inline(always)]
    #[must_use]
    pub(crate) fn and_all(self, all: impl IntoIterator<Item = Option<Instant>>) -> Self {
        all.into_iter().fold(self, Self::and)
    }

    /// The earliest.
    #[inline(always)]
    pub(crate) const fn get(self) -> Option<Instant> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn none_is_later_than_any_time() {
        let start = Instant::now();
        let at = |seconds| Some(start + Duration::from_secs(seconds));
        assert_eq!(Soonest::default().and(None).get(), None);
        assert_eq!(Soonest::of(at(3)).and(None).get(), at(3));
        assert_eq!(Soonest::default().and(at(3)).and(at(2)).and(at(2)).and(at(4)).get(), at(2));
        assert_eq!(Soonest::of(at(5)).and_all([None, at(7), at(1), at(6)]).get(), at(1));
    }
}
