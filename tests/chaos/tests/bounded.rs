//! As many runs as a build has time for. The seeds are fixed: a change that breaks one of these runs breaks it for everybody.

use std::path::PathBuf;
use std::sync::Mutex;

use chaos::History;
use chaos::check::Verdict;
use chaos::client::Programs;
use chaos::runner::{Campaign, report, summary};

#[test]
fn no_promise_is_broken_in_sixty_runs() {
    let chaos = PathBuf::from(env!("CARGO_BIN_EXE_chaos"));
    // The machine is shared with other tests.
    let programs = Programs { watchdog: chaos.clone(), chaos, slack: 3 };
    let told = Mutex::new(Vec::new());
    let campaign = Campaign { seeds: 1..61, faults: u64::MAX, failures: 3, jobs: 4, programs: &programs };
    let tell_failed = |history: &History, verdict: &Verdict| told.lock().unwrap().push(report(&history.plan, verdict));
    let (figures, failed) = campaign.run(&tell_failed, &|_| {});
    assert_eq!(failed, 0, "{}", told.into_inner().unwrap().join("\n"));
    assert!(figures.runs == 60 && figures.faults > 150 && figures.deaths.len() > 20, "{}", summary(&figures));
}
