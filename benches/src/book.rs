//! What was measured, by figure, target and round; and what is made of it.

use std::collections::BTreeMap;

/// All figures, in the order in which they were first noted.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) figures: Vec<Figure>,
    /// What could not be measured.
    pub(crate) failures: Vec<Failure>,
}

/// Something that could not be measured, or not to the end.
pub(crate) struct Failure {
    pub(crate) target: String,
    /// The table it is missing in.
    pub(crate) table: String,
    pub(crate) why: String,
}

/// One thing that is measured of all targets.
pub(crate) struct Figure {
    /// The table it belongs to.
    pub(crate) table: String,
    /// Its column there.
    pub(crate) name: String,
    /// What its values are in.
    pub(crate) unit: &'static str,
    /// The target whose value of the same round a value is divided by.
    pub(crate) reference: &'static str,
    /// Values by target and round.
    values: BTreeMap<String, BTreeMap<usize, f64>>,
}

/// The median of some values, and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Book {
    /// Notes a value. All values of a figure are noted with the same unit and reference.
    pub(crate) fn note(&mut self, what: What<'_>, target: &str, round: usize, value: f64) {
        let found = self.figures.iter().position(|figure| figure.table == what.table && figure.name == what.name);
        let at = found.unwrap_or_else(|| {
            self.figures.push(Figure {
                table: what.table.to_owned(),
                name: what.name.to_owned(),
                unit: what.unit,
                reference: what.reference,
                values: BTreeMap::new(),
            });
            self.figures.len() - 1
        });
        self.figures[at].values.entry(target.to_owned()).or_default().insert(round, value);
    }

    /// Notes that a target has failed. What was noted of it in this table before does not count: it may be its better half.
    pub(crate) fn fail(&mut self, table: &str, target: &str, why: &str) {
        self.failures.push(Failure { target: target.to_owned(), table: table.to_owned(), why: why.to_owned() });
    }

    /// Whether a target has failed in a table.
    pub(crate) fn has_failed(&self, table: &str, target: &str) -> bool {
        self.failures.iter().any(|failure| failure.table == table && failure.target == target)
    }

    /// A figure.
    pub(crate) fn figure(&self, table: &str, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.table == table && figure.name == name)
    }
}

/// Which figure a value belongs to.
#[derive(Clone, Copy)]
pub(crate) struct What<'a> {
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
    pub(crate) unit: &'static str,
    pub(crate) reference: &'static str,
}

impl Figure {
    /// The values of a target.
    pub(crate) fn values(&self, target: &str) -> Option<Spread> {
        Spread::of(self.values.get(target)?.values().copied())
    }

    /// What a target's values are of those of another target in the same round.
    pub(crate) fn ratio_to(&self, target: &str, reference: &str) -> Option<Spread> {
        let (ours, theirs) = (self.values.get(target)?, self.values.get(reference)?);
        Spread::of(ours.iter().filter_map(|(round, value)| Some(value / theirs.get(round)?)))
    }

    /// What a target's values are above those of another target in the same round.
    pub(crate) fn above(&self, target: &str, reference: &str) -> Option<Spread> {
        let (ours, theirs) = (self.values.get(target)?, self.values.get(reference)?);
        Spread::of(ours.iter().filter_map(|(round, value)| Some(value - theirs.get(round)?)))
    }

    /// The values of all targets, in the order of the rounds.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = (&str, Vec<f64>)> {
        self.values.iter().map(|(target, values)| (target.as_str(), values.values().copied().collect()))
    }
}

impl Spread {
    /// `None` where there are no values.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| {
            let place = (values.len() - 1) * quarter;
            let (below, rest) = (place / 4, place % 4);
            let above = values[(below + 1).min(values.len() - 1)];
            values[below] + (above - values[below]) * [0.0, 0.25, 0.5, 0.75][rest]
        };
        (!values.is_empty()).then(|| Self { low: at(1), median: at(2), high: at(3) })
    }
}

/// The value that so many of a thousand are at or below; `sorted` is not empty.
pub(crate) fn per_mille(sorted: &[f64], part: usize) -> f64 {
    let rank = (sorted.len() * part).div_ceil(1000).max(1);
    sorted[rank.min(sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_the_values() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0].into_iter());
        assert_eq!(spread, Some(Spread { low: 1.75, median: 2.5, high: 3.25 }));
        assert_eq!(Spread::of([7.0].into_iter()), Some(Spread { low: 7.0, median: 7.0, high: 7.0 }));
        assert_eq!(Spread::of([f64::NAN].into_iter()), None);
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!([500, 990, 999].map(|part| per_mille(&sorted, part)), [500.0, 990.0, 999.0]);
        assert_eq!(per_mille(&[3.0], 999), 3.0);
    }

    #[test]
    fn ratios_are_paired_by_round() {
        let mut book = Book::default();
        let what = What { table: "t", name: "n", unit: "µs", reference: "b" };
        for (round, (ours, theirs)) in [(2.0, 1.0), (20.0, 10.0), (300.0, 100.0)].into_iter().enumerate() {
            book.note(what, "a", round, ours);
            book.note(what, "b", round, theirs);
        }
        book.note(what, "a", 3, 1.0);
        let figure = book.figure("t", "n").unwrap();
        assert_eq!(figure.ratio_to("a", "b").unwrap().median, 2.0);
        assert_eq!(figure.above("a", "b").unwrap().median, 10.0);
        assert_eq!(figure.ratio_to("a", "c"), None);
    }
}
