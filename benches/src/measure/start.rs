//! From the start of a program to the answer to the client's first request.

use std::time::Duration;

use super::{Effort, millis, order};
use crate::book::{Book, What};
use crate::session::Session;
use crate::target::{DIRECT, Target};

/// A row that has taken this many times the longest time of a round has started often enough.
const ENOUGH: u32 = 10;

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let mut spent = vec![Duration::ZERO; targets.len()];
    for round in 0..effort.rounds {
        for at in order(targets.len(), round) {
            if spent[at] > effort.longest * ENOUGH {
                continue;
            }
            match Session::open(&targets[at], effort.patience) {
                Ok(session) => {
                    let what = What { table: "Start", name: "first answer", unit: "ms", reference: DIRECT };
                    book.note(what, &targets[at].name, round, millis(session.started_in));
                    spent[at] += session.started_in;
                    session.close();
                }
                Err(error) => {
                    spent[at] = Duration::MAX;
                    book.fail("Start", &targets[at].name, &error.to_string());
                }
            }
        }
    }
}
