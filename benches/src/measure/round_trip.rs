//! One call after the other: how long each takes, and what the processes in between spend on it.

use std::io;
use std::time::{Duration, Instant};

use super::{Effort, Field, micros};
use crate::book::{Book, What, per_mille};
use crate::message::Call;
use crate::process::Tree;
use crate::session::Session;
use crate::target::{COPY, Target};

/// Lengths of a line, and how many calls of it make a round.
const SIZES: [(&str, usize, usize); 5] = [
    ("100 B", 100, 4000),
    ("1 KiB", 1 << 10, 2000),
    ("64 KiB", 1 << 16, 400),
    ("1 MiB", 1 << 20, 50),
    ("16 MiB", 16 << 20, 4),
];
/// Columns, with the calls that a round needs for the column to mean something.
const COLUMNS: [(&str, usize, usize); 3] = [("p50", 500, 1), ("p99", 990, 300), ("p99.9", 999, 2000)];

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let mut field = Field::of(targets, effort);
    for (size, length, calls) in SIZES {
        let mut call = Call::of_length(length);
        let calls = (calls / effort.share).max(2);
        let table = format!("Round trip, {size}");
        field.open(&table, book);
        for round in 0..effort.rounds {
            field.round(&table, round, book, |target, session, book| {
                let sample = Sample { table: &table, call: &mut call, calls, longest: effort.longest, round };
                take(target, session, book, sample)
            });
        }
    }
    field.round("Memory, peak", 0, book, |target, session, book| {
        let tree = Tree::of(session.pid())?;
        if !tree.between.is_empty() {
            let what = What { table: "Memory", name: "peak, resident", unit: "MiB", reference: COPY };
            book.note(what, &target.name, 0, super::idle::mebibytes(tree.memory()?.peak));
        }
        Ok(())
    });
    field.close();
}

struct Sample<'a> {
    table: &'a str,
    call: &'a mut Call,
    calls: usize,
    /// When there are no more of them.
    longest: Duration,
    round: usize,
}

fn take(target: &Target, session: &mut Session, book: &mut Book, sample: Sample<'_>) -> io::Result<()> {
    let Sample { table, call, calls, longest, round } = sample;
    // The caches are somebody else's at first.
    several(session, call, calls.div_ceil(10), longest / 10)?;
    let tree = Tree::of(session.pid())?;
    let before = tree.cpu()?;
    let mut times = several(session, call, calls, longest)?;
    let calls = times.len();
    let used = tree.cpu()?.saturating_sub(before);
    times.sort_by(f64::total_cmp);
    for (name, part, needed) in COLUMNS {
        if calls >= needed {
            let what = What { table, name, unit: "µs", reference: COPY };
            book.note(what, &target.name, round, per_mille(&times, part));
        }
    }
    if !tree.between.is_empty() {
        let what = What { table, name: "CPU a call", unit: "µs", reference: COPY };
        book.note(what, &target.name, round, micros(used) / count(calls));
    }
    Ok(())
}

/// Makes so many calls, or fewer if they take longer than that. Returns what each of them took, in microseconds.
fn several(session: &mut Session, call: &mut Call, calls: usize, longest: Duration) -> io::Result<Vec<f64>> {
    let begin = Instant::now();
    let mut times = Vec::with_capacity(calls);
    while times.len() < calls && (times.is_empty() || begin.elapsed() < longest) {
        times.push(micros(session.round_trip(call)?));
    }
    Ok(times)
}

/// A number of calls, to calculate with.
fn count(calls: usize) -> f64 {
    u32::try_from(calls).map_or(f64::NAN, f64::from)
}
