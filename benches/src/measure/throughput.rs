//! Many calls in flight: how many get through, and what the processes in between spend on them.

use super::{Effort, Field, micros};
use crate::book::{Book, What};
use crate::message::Call;
use crate::process::Tree;
use crate::session::Flight;
use crate::target::{DIRECT, Target};

/// How many calls are in flight.
const WINDOWS: [u32; 4] = [1, 8, 64, 256];
/// How many calls make a round.
const CALLS: u32 = 30_000;
/// The length of their lines, in bytes.
const LENGTH: usize = 100;

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let mut field = Field::of(targets, effort);
    let calls = CALLS / u32::try_from(effort.share).unwrap_or(1);
    let mut call = Call::of_length(LENGTH);
    for window in WINDOWS {
        let table = format!("Calls of {LENGTH} B, {window} in flight");
        field.open(&table, book);
        let warm = Flight { calls: calls / 10, window, longest: effort.longest / 10 };
        let flight = Flight { calls, window, longest: effort.longest };
        for round in 0..effort.rounds {
            field.round(&table, round, book, |target, session, book| {
                session.pipelined(&mut call, warm)?;
                let tree = Tree::of(session.pid())?;
                let before = tree.cpu()?;
                let (calls, took) = session.pipelined(&mut call, flight)?;
                let used = tree.cpu()?.saturating_sub(before);
                let what = What { table: &table, name: "calls", unit: "k/s", reference: DIRECT };
                book.note(what, &target.name, round, f64::from(calls) / took.as_secs_f64() / 1e3);
                if !tree.between.is_empty() {
                    let what = What { name: "CPU a call", unit: "µs", reference: crate::target::COPY, ..what };
                    book.note(what, &target.name, round, micros(used) / f64::from(calls));
                }
                Ok(())
            });
        }
    }
    field.close();
}
