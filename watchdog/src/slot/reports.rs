//! What a probe chain found, for people.

use std::time::{Duration, SystemTime};

use probe_api::{Trigger, Verdict};

use crate::core::chain::{Heard, Outcome};
use crate::engine::meter::Tally;
use crate::engine::{LinkVerdict, ProbeReport};
use crate::probe::{LinkReport, Report};

/// Describes a chain that has ended.
pub(super) fn report(report: &Report, (trigger, outcome): &(Trigger, Outcome), ended: SystemTime) -> ProbeReport {
    let (verdict, reason) = match outcome {
        Outcome::Alive => ("alive", None),
        Outcome::Busy(reason) => ("busy", Some(reason)),
        Outcome::Dead(reason) => ("dead", Some(reason)),
        Outcome::Undecided(reason) => ("undecided", Some(reason)),
    };
    ProbeReport {
        at: ProbeReport::moment(ended),
        trigger: trigger_name(*trigger).to_owned(),
        verdict: verdict.to_owned(),
        reason: reason.cloned(),
        elapsed_ms: millis(report.elapsed),
        links: report.links.iter().map(link).collect(),
    }
}

fn link(report: &LinkReport) -> LinkVerdict {
    let (verdict, reason) = verdict(&report.verdict);
    LinkVerdict {
        name: report.name.clone(),
        verdict: verdict.to_owned(),
        reason: reason.cloned(),
        elapsed_ms: millis(report.elapsed),
        broken: report.broken,
    }
}

/// A verdict in a word, and its reason.
const fn verdict(verdict: &Verdict) -> (&'static str, Option<&String>) {
    match verdict {
        Verdict::Pass => ("pass", None),
        Verdict::Busy(reason) => ("busy", Some(reason)),
        Verdict::Fail(reason) => ("fail", Some(reason)),
        Verdict::Inconclusive(reason) => ("inconclusive", Some(reason)),
        Verdict::Unsupported => ("unsupported", None),
        // A verdict of a later probe-api counts as one that could not tell.
        _ => ("inconclusive", None),
    }
}

/// Counts what the links of a chain found, and what the chain meant unless it was stale.
pub(super) fn tally(tally: &mut Tally, links: &[LinkReport], found: Option<&(Trigger, Outcome)>) {
    let silent = |report: &LinkReport| report.heard == Heard::Silence;
    for report in links {
        tally.probed(&report.name, verdict(&report.verdict).0, silent(report), report.elapsed);
    }
    if matches!(found, Some((Trigger::Periodic, Outcome::Dead(_)))) {
        tally.check_failed(links.iter().any(silent));
    }
}

const fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::ToolTimeout => "tool_timeout",
        Trigger::Periodic => "periodic",
        _ => "manual",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
