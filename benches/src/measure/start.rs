//! From the start of a program to the answer to the client's first request.

use super::{Effort, millis, order};
use crate::book::{Book, What};
use crate::session::Session;
use crate::target::{DIRECT, Target};

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let mut broken = vec![false; targets.len()];
    for round in 0..effort.rounds {
        for at in order(targets.len(), round) {
            if broken[at] {
                continue;
            }
            match Session::open(&targets[at]) {
                Ok(session) => {
                    let what = What { table: "Start", name: "first answer", unit: "ms", reference: DIRECT };
                    book.note(what, &targets[at].name, round, millis(session.started_in));
                    session.close();
                }
                Err(error) => {
                    broken[at] = true;
                    book.failures.push(format!("{}: start: {error}", targets[at].name));
                }
            }
        }
    }
}
