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
use crate::session::Session;
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
    /// How long one row may take for a round: who is slow makes fewer calls.
    pub(crate) longest: Duration,
    /// How long a row may take for anything before it counts as stuck.
    pub(crate) patience: Duration,
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

/// One session of each row.
struct Field<'a> {
    rows: Vec<Row<'a>>,
    patience: Duration,
}

/// A target, and what there is of it.
struct Row<'a> {
    target: &'a Target,
    session: State,
}

enum State {
    Open(Session),
    /// It has failed, and another one may do better.
    Lost,
    /// None can be opened, and why.
    Never(String),
}

impl<'a> Field<'a> {
    fn of(targets: &'a [Target], effort: Effort) -> Self {
        let rows = targets.iter().map(|target| Row { target, session: State::Lost }).collect();
        Self { rows, patience: effort.patience }
    }

    /// Opens a session for each row that has none. For whom there can be none is noted as failed in this table.
    fn open(&mut self, table: &str, book: &mut Book) {
        for row in &mut self.rows {
            if matches!(row.session, State::Lost) {
                row.session = match Session::open(row.target, self.patience) {
                    Ok(session) => State::Open(session),
                    Err(error) => State::Never(format!("no session: {error}")),
                };
            }
            if let State::Never(why) = &row.session {
                book.fail(table, &row.target.name, why);
            }
        }
    }

    /// Does something with each session. What fails is noted, and that session is lost.
    fn round(
        &mut self,
        table: &str,
        round: usize,
        book: &mut Book,
        mut work: impl FnMut(&Target, &mut Session, &mut Book) -> io::Result<()>,
    ) {
        for at in order(self.rows.len(), round) {
            let Row { target, session: state } = &mut self.rows[at];
            let State::Open(session) = state else { continue };
            if let Err(error) = session.watched(self.patience, |session| work(target, session, book)) {
                book.fail(table, &target.name, &error.to_string());
                if let State::Open(session) = std::mem::replace(state, State::Lost) {
                    session.close();
                }
            }
        }
    }

    fn close(self) {
        for row in self.rows {
            if let State::Open(session) = row.session {
                session.close();
            }
        }
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
mod tests;
