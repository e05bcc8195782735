//! The measurements. All rows take turns within a round, each round in another order, so that what else the machine does
//! meets all of them alike.

mod idle;
mod recovery;
mod round_trip;
mod start;
mod throughput;

use std::io;
use std::time::Duration;

use crate::book::Book;
use crate::session::{STUCK, Session};
use crate::target::Target;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Area {
    Idle,
    Start,
    Recovery,
    RoundTrip,
    Throughput,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds of each measurement.
    pub(crate) rounds: usize,
    /// What the number of calls of a round is divided by.
    pub(crate) share: usize,
    /// How long nothing is done.
    pub(crate) idle: Duration,
}

impl Area {
    /// What is light comes first, so that what is heavy does not show in it.
    pub(crate) const ALL: [Self; 5] = [Self::Idle, Self::Start, Self::Recovery, Self::RoundTrip, Self::Throughput];

    /// Measures it.
    pub(crate) fn measure(self, targets: &[Target], effort: Effort, book: &mut Book) {
        match self {
            Self::Idle => idle::measure(targets, effort, book),
            Self::Start => start::measure(targets, effort, book),
            Self::Recovery => recovery::measure(targets, effort, book),
            Self::RoundTrip => round_trip::measure(targets, effort, book),
            Self::Throughput => throughput::measure(targets, effort, book),
        }
    }
}

/// The numbers from 0 below `count`, in an order that is another one each round.
fn order(count: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..count).map(|at| (at + round / 2) % count).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// One session of each row, for as long as it works.
struct Field<'a> {
    rows: Vec<(&'a Target, Session)>,
}

impl<'a> Field<'a> {
    fn open(targets: &'a [Target], book: &mut Book) -> Self {
        let mut rows = Vec::new();
        for target in targets {
            match Session::open(target) {
                Ok(session) => rows.push((target, session)),
                Err(error) => book.failures.push(format!("{}: no session: {error}", target.name)),
            }
        }
        Self { rows }
    }

    /// Does something with each row. What fails is noted, and that row is out.
    fn round(
        &mut self,
        what: &str,
        round: usize,
        book: &mut Book,
        mut work: impl FnMut(&Target, &mut Session, &mut Book) -> io::Result<()>,
    ) {
        let mut lost = Vec::new();
        for at in order(self.rows.len(), round) {
            let (target, session) = &mut self.rows[at];
            if let Err(error) = session.watched(STUCK, |session| work(target, session, book)) {
                book.failures.push(format!("{}: {what}: {error}", target.name));
                lost.push(at);
            }
        }
        lost.sort_unstable();
        for at in lost.into_iter().rev() {
            self.rows.remove(at).1.close();
        }
    }

    fn close(self) {
        self.rows.into_iter().for_each(|(_, session)| session.close());
    }
}

/// A time in microseconds.
fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A time in milliseconds.
fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_turn_each_round_and_leads_in_one() {
        let rounds: Vec<_> = (0..10).map(|round| order(5, round)).collect();
        for order in &rounds {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!((0..5).all(|row| rounds.iter().any(|order| order[0] == row)));
    }
}
