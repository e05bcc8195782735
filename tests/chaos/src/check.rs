//! The promises of the contract, as a function from what was recorded to what was broken.

mod answers;
mod bytes;
mod end;
mod errors;
mod facts;
mod generations;

use std::fmt;

use crate::history::History;
pub use facts::Facts;

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub promise: Promise,
    /// What was seen.
    pub evidence: String,
    /// Whether it can seem so to a client that looks too late.
    pub by_time: bool,
}

/// What the contract promises, in the order of its paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// stdout carries the protocol and nothing else.
    OnlyProtocol,
    /// Bytes of a forwarded message are not changed.
    Bytes,
    /// Errors of the watchdog's own have the form and the fields that they should have.
    Errors,
    /// Every request gets exactly one answer, or the stream ends.
    OneAnswer,
    /// A request is written to at most one process, or two if it only reads.
    OneProcess,
    /// Nothing of an older generation once the next one has started.
    NothingOld,
    /// No answer to what was cancelled, no progress for what is finished.
    NothingLate,
    /// A death is answered at once.
    DeathAtOnce,
    /// Nothing of the tree outlives its generation, or the watchdog.
    NoSurvivors,
    /// A healthy server is not replaced.
    NoNeedlessRestart,
    /// What a server wrote before it ended reaches the client.
    LastWords,
    /// A fresh server hears the opening first, and nothing that was meant for another.
    Session,
    /// The exit code.
    ExitCode,
    /// No panic.
    NoPanic,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.evidence)
    }
}

/// What one or many runs have shown beside broken promises. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Runs.
    pub runs: u64,
    /// Deaths, hangs, and what was killed.
    pub faults: u64,
    /// Processes of servers.
    pub lives: u64,
    /// Requests that clients sent.
    pub requests: u64,
    /// Requests that a server answered.
    pub served: u64,
    /// From the death of a server to the answer to a request that it had.
    pub deaths: Vec<u64>,
    /// From the beginning of a hang, or the request if that came later, to the answer.
    pub hangs: Vec<u64>,
    /// Servers that were replaced although they did what they should, in runs whose probes have little time.
    pub hasty: u64,
    /// Requests without an answer from a server that hung and was taken for one that answers in order.
    pub in_order: u64,
    /// Runs that were made again, because the client got no processor for longer than time limits are.
    pub starved: u64,
    /// Runs of which that is true each time: their times say nothing.
    pub unjudged: u64,
}

impl Figures {
    /// Adds those of another run.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.faults += other.faults;
        self.lives += other.lives;
        self.requests += other.requests;
        self.served += other.served;
        self.deaths.extend(other.deaths);
        self.hangs.extend(other.hangs);
        self.hasty += other.hasty;
        self.in_order += other.in_order;
        self.starved += other.starved;
        self.unjudged += other.unjudged;
    }
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The broken promises.
    pub violations: Vec<Violation>,
    /// The rest.
    pub figures: Figures,
}

impl Verdict {
    fn break_promise(&mut self, promise: Promise, evidence: impl Into<String>) {
        self.violations.push(Violation { promise, evidence: evidence.into(), by_time: false });
    }

    /// The same, where the evidence is that something took too long.
    fn break_by_time(&mut self, promise: Promise, evidence: impl Into<String>) {
        self.violations.push(Violation { promise, evidence: evidence.into(), by_time: true });
    }
}

/// Holds a run against the promises. Times that a loaded machine stretches are multiplied by `slack`.
#[must_use]
pub fn check(history: &History, slack: u32) -> Verdict {
    let facts = Facts::new(history);
    let mut verdict = Verdict::default();
    bytes::check(&facts, &mut verdict);
    answers::check(&facts, slack, &mut verdict);
    generations::check(&facts, &mut verdict);
    errors::check(&facts, slack, &mut verdict);
    end::check(&facts, &mut verdict);
    facts.count(&mut verdict.figures);
    verdict
}

#[cfg(test)]
mod tests;
