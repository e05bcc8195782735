//! Nothing happens: what is in memory, and how often something wakes nevertheless.

use std::thread;
use std::time::{Duration, Instant};

use super::{Effort, Field};
use crate::book::{Book, What};
use crate::message::Call;
use crate::process::Tree;
use crate::target::{COPY, Target};

/// After the start, before it counts.
const SETTLES: Duration = Duration::from_secs(3);

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let mut field = Field::of(targets, effort);
    field.open("Idle", book);
    let mut call = Call::of_length(100);
    field.round("Idle", 0, book, |_, session, _| session.round_trip(&mut call).map(drop));
    thread::sleep(SETTLES);
    let mut before = Vec::new();
    field.round("Idle", 0, book, |target, session, _| {
        let tree = Tree::of(session.pid())?;
        if !tree.between.is_empty() {
            before.push((target.name.clone(), tree.wakeups()?, Instant::now()));
        }
        Ok(())
    });
    thread::sleep(effort.idle);
    field.round("Idle", 0, book, |target, session, book| {
        let Some((_, wakeups, since)) = before.iter().find(|(name, ..)| *name == target.name) else { return Ok(()) };
        let tree = Tree::of(session.pid())?;
        let more = u32::try_from(tree.wakeups()?.saturating_sub(*wakeups)).map_or(f64::INFINITY, f64::from);
        let what = What { table: "Idle", name: "wake-ups", unit: "/s", reference: COPY };
        book.note(what, &target.name, 0, more / since.elapsed().as_secs_f64());
        let memory = tree.memory()?;
        for (name, bytes) in [("idle, resident", memory.resident), ("idle, own", memory.own)] {
            let what = What { table: "Memory", name, unit: "MiB", reference: COPY };
            book.note(what, &target.name, 0, mebibytes(bytes));
        }
        Ok(())
    });
    field.close();
}

/// Bytes in MiB.
pub(super) fn mebibytes(bytes: u64) -> f64 {
    u32::try_from(bytes >> 10).map_or(f64::NAN, f64::from) / 1024.0
}
