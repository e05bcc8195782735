//! What the watchdog has to keep to.

use crate::book::{Book, Spread};
use crate::target::{COPY, DIRECT, WATCHDOG};

/// What a goal limits.
#[derive(Clone, Copy)]
enum Limit {
    /// At most so many times what another row takes.
    Times(f64, &'static str),
    /// At least so many times what another row does.
    AtLeastTimes(f64, &'static str),
    /// At most so much.
    Value(f64),
    /// Above what another row takes, at most so many times that plus so much.
    Above(f64, &'static str, f64),
    /// At most so many times what another row takes, plus so much.
    TimesPlus(f64, &'static str, f64),
}

/// Table, column, limit.
const GOALS: [(&str, &str, Limit); 10] = [
    ("Round trip, 100 B", "p50", Limit::Times(1.15, COPY)),
    ("Round trip, 100 B", "p99", Limit::Times(1.25, COPY)),
    ("Round trip, 100 B", "CPU a call", Limit::Times(1.2, COPY)),
    ("Round trip, 1 MiB", "p50", Limit::Times(1.3, COPY)),
    ("Round trip, 16 MiB", "p50", Limit::Times(1.6, COPY)),
    ("Calls of 100 B, 64 in flight", "calls", Limit::AtLeastTimes(0.7, DIRECT)),
    ("Start", "first answer", Limit::Above(1.0, DIRECT, 5.0)),
    ("Recovery after kill -9", "first answer", Limit::TimesPlus(1.5, DIRECT, 5.0)),
    ("Memory", "idle, own", Limit::Value(6.0)),
    ("Idle", "wake-ups", Limit::Value(1.0)),
];

/// A goal, and what came of it.
pub(crate) struct Outcome {
    pub(crate) what: String,
    pub(crate) limit: String,
    /// `None` where the watchdog has failed.
    pub(crate) measured: Option<f64>,
    pub(crate) met: bool,
}

/// All goals of which something was measured.
pub(crate) fn check(book: &Book) -> Vec<Outcome> {
    let outcome = |(table, name, limit): &(&str, &str, Limit)| {
        let what = format!("{table}: {name}");
        if book.has_failed(table, WATCHDOG) {
            return Some(Outcome { what, limit: "no failure".to_owned(), measured: None, met: false });
        }
        let figure = book.figure(table, name)?;
        let of = |row: &str| figure.values(row).map(|spread| spread.median);
        let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
        let unit = figure.unit;
        let (measured, bound, limit) = match *limit {
            Limit::Times(times, row) => {
                (median(figure.ratio_to(WATCHDOG, row))?, times, format!("at most {times} x {row}"))
            }
            Limit::AtLeastTimes(times, row) => {
                let measured = median(figure.ratio_to(WATCHDOG, row))?;
                let limit = format!("at least {times} x {row}");
                return Some(Outcome { what, limit, measured: Some(measured), met: measured >= times });
            }
            Limit::Value(most) => (of(WATCHDOG)?, most, format!("at most {most} {unit}")),
            Limit::Above(times, row, plus) => (
                median(figure.above(WATCHDOG, row))?,
                of(row)? * times + plus,
                format!("at most {times} x {row} + {plus} {unit} above {row}"),
            ),
            Limit::TimesPlus(times, row, plus) => {
                (of(WATCHDOG)?, of(row)? * times + plus, format!("at most {times} x {row} + {plus} {unit}"))
            }
        };
        Some(Outcome { what, limit, measured: Some(measured), met: measured <= bound })
    };
    GOALS.iter().filter_map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::What;

    #[test]
    fn goals_are_met_up_to_their_limit_and_missed_beyond() {
        let mut book = Book::default();
        let mut note = |table: &str, name: &str, values: [(&str, f64); 2]| {
            for (row, value) in values {
                book.note(What { table, name, unit: "ms", reference: COPY }, row, 0, value);
            }
        };
        note("Round trip, 100 B", "p50", [(COPY, 100.0), (WATCHDOG, 114.0)]);
        note("Round trip, 100 B", "p99", [(COPY, 100.0), (WATCHDOG, 126.0)]);
        note("Calls of 100 B, 64 in flight", "calls", [(DIRECT, 100.0), (WATCHDOG, 69.0)]);
        note("Start", "first answer", [(DIRECT, 1.0), (WATCHDOG, 6.5)]);
        note("Recovery after kill -9", "first answer", [(DIRECT, 2.0), (WATCHDOG, 8.1)]);
        let met: Vec<_> = check(&book).iter().map(|outcome| outcome.met).collect();
        assert_eq!(met, [true, false, false, true, false]);
        book.fail("Start", WATCHDOG, "no session");
        let failed: Vec<_> = check(&book).into_iter().filter(|outcome| outcome.measured.is_none()).collect();
        assert_eq!(failed.len(), 1);
        assert!(
            failed[0].what.starts_with("Start") && !failed[0].met,
            "what was measured before it failed does not count"
        );
    }
}
