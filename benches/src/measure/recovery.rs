//! The server is killed: how long until a call is answered again, beside what the server's own start takes.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};

use super::{Effort, millis, order};
use crate::book::{Book, What};
use crate::message::Call;
use crate::process::Tree;
use crate::session::{Attempt, Session};
use crate::target::{DIRECT, Target};

/// Calls before the kill, which make it a session in use.
const BEFORE: usize = 20;
/// How long calls may be refused, or go unanswered.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn measure(targets: &[Target], effort: Effort, book: &mut Book) {
    let what = What { table: "Recovery after kill -9", name: "first answer", unit: "ms", reference: DIRECT };
    let mut rows: Vec<_> = targets.iter().filter(|target| target.recovers || target.name == DIRECT).collect();
    for round in 0..effort.rounds {
        let mut broken = Vec::new();
        for at in order(rows.len(), round) {
            let target = rows[at];
            let measured = if target.recovers {
                recover(target, effort)
            } else {
                // Without anything in between, it is the client that has to start the server.
                own_start(target, effort).map(|took| Recovered { took, refused: 0 })
            };
            match measured {
                Ok(recovered) => {
                    book.note(what, &target.name, round, millis(recovered.took));
                    let what = What { name: "refused calls", unit: "", ..what };
                    book.note(what, &target.name, round, f64::from(recovered.refused));
                }
                Err(error) => {
                    book.fail(what.table, &target.name, &error.to_string());
                    broken.push(&target.name);
                }
            }
        }
        rows.retain(|target| !broken.contains(&&target.name));
    }
}

/// Until the first answer, and how many calls got an error before that. Each call got something: otherwise this is an error.
struct Recovered {
    took: Duration,
    refused: u32,
}

fn own_start(target: &Target, effort: Effort) -> io::Result<Duration> {
    let session = Session::open(target, effort.patience)?;
    let took = session.started_in;
    session.close();
    Ok(took)
}

fn recover(target: &Target, effort: Effort) -> io::Result<Recovered> {
    let mut session = Session::open(target, effort.patience)?;
    let recovered = session.watched(PATIENCE * 2, |session| {
        let mut call = Call::of_length(100);
        for _ in 0..BEFORE {
            session.round_trip(&mut call)?;
        }
        let server = Tree::of(session.pid())?.server.ok_or_else(|| io::Error::other("its server is not found"))?;
        let killed = Instant::now();
        kill(server, Signal::SIGKILL)?;
        let mut refused = 0;
        while session.attempt(&mut call)? == Attempt::Refused {
            refused += 1;
            if killed.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{refused} calls were refused in {PATIENCE:?}")));
            }
        }
        Ok(Recovered { took: killed.elapsed(), refused })
    });
    session.close();
    recovered
}
