//! What a soak has shown.

use std::io::{self, Write};

use crate::client::Book;
use crate::sample::Sample;

/// What an engine may have more at the end than early on, in KiB: allocators do not give everything back, and rings fill.
const MEMORY: u64 = 512;
/// The same of descriptors, threads and processes: a restart may be under way at any look.
const FEW: u64 = 3;

/// What became of one subject.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) name: &'static str,
    pub(crate) book: Book,
    /// How many times its server was lost.
    pub(crate) faults: u64,
    pub(crate) samples: Vec<Sample>,
    pub(crate) exit: String,
    /// Processes of its tree that outlived it.
    pub(crate) survivors: usize,
    /// Lines of its log that must not be there.
    pub(crate) log: Vec<String>,
}

/// Early and late medians of one quantity, and its greatest value.
#[derive(Debug, Clone, Copy)]
struct Growth {
    early: u64,
    late: u64,
    most: u64,
}

impl Growth {
    fn of(samples: &[Sample], value: impl Fn(&Sample) -> u64) -> Self {
        let fifth = samples.len() / 5;
        let median = |samples: &[Sample]| {
            let mut values: Vec<u64> = samples.iter().map(&value).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        // The first fifth is for what is kept for good.
        let (early, late) = (samples.get(fifth..2 * fifth), samples.get(4 * fifth..));
        Self {
            early: median(early.unwrap_or_default()),
            late: median(late.unwrap_or_default()),
            most: samples.iter().map(&value).max().unwrap_or_default(),
        }
    }

    fn by_more_than(self, limit: u64) -> bool {
        self.late > self.early + limit
    }
}

impl Report {
    fn growths(&self) -> [(&'static str, Growth, u64); 5] {
        let of = |value: fn(&Sample) -> u64| Growth::of(&self.samples, value);
        [
            ("memory, KiB", of(|sample| sample.memory), MEMORY),
            ("descriptors", of(|sample| sample.descriptors), FEW),
            ("threads", of(|sample| sample.threads), FEW),
            ("processes", of(|sample| sample.processes), FEW),
            ("zombies", of(|sample| sample.zombies), FEW),
        ]
    }

    /// What must not be.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.book.broken.iter().chain(&self.log).take(20).cloned().collect();
        for (what, growth, limit) in self.growths() {
            if growth.by_more_than(limit) {
                faults.push(format!("{what} grew from {} to {}", growth.early, growth.late));
            }
        }
        if self.survivors > 0 {
            faults.push(format!("{} processes outlived the watchdog", self.survivors));
        }
        if self.samples.len() < 5 {
            faults.push("too short to tell: it takes half a minute at least".into());
        }
        if self.book.results == 0 {
            faults.push("no call was answered".into());
        }
        faults.into_iter().map(|fault| format!("{}: {fault}", self.name)).collect()
    }
}

/// All reports, as tables of Markdown.
pub(crate) fn table(out: &mut impl Write, reports: &[Report]) -> io::Result<()> {
    writeln!(
        out,
        "| subject | requests | results | errors by code | without its one answer | faults | survivors | end |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for report in reports {
        let Report { name, book, faults, survivors, exit, .. } = report;
        let errors: Vec<String> = book.errors.iter().map(|(code, count)| format!("{count} x {code}")).collect();
        let (sent, results, broken) = (book.sent, book.results, book.broken.len());
        let errors = errors.join(", ");
        writeln!(out, "| {name} | {sent} | {results} | {errors} | {broken} | {faults} | {survivors} | {exit} |")?;
    }
    writeln!(out, "\n| subject | quantity of the engine | early | late | most |\n|---|---|---|---|---|")?;
    for report in reports {
        for (what, growth, _) in report.growths() {
            writeln!(out, "| {} | {what} | {} | {} | {} |", report.name, growth.early, growth.late, growth.most)?;
        }
    }
    Ok(())
}
