//! Counters that differ in one label whose values are known.

/// One counter for each of a few names. The last name takes what the others do not mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts<const N: usize> {
    names: &'static [&'static str; N],
    values: [u64; N],
}

impl<const N: usize> Counts<N> {
    /// All zero.
    #[must_use]
    pub const fn new(names: &'static [&'static str; N]) -> Self {
        Self { names, values: [0; N] }
    }

    /// Adds one.
    pub fn add(&mut self, name: &str) {
        let place = self.names.iter().position(|known| *known == name).unwrap_or(N - 1);
        if let Some(value) = self.values.get_mut(place) {
            *value += 1;
        }
    }

    /// The counter of this name; 0 if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| value)
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.values.iter().sum()
    }

    /// Each name with its counter.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.names.iter().copied().zip(self.values)
    }
}
