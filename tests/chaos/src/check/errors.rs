//! The watchdog's own answers: their form, what they say, and how soon they come.

use serde_json::Value;

use super::facts::Asked;
use super::{Facts, Promise, Verdict};
use crate::journal::What;

/// A death is answered within 100 ms. A machine under load may be late, but not as late as any time limit there is.
const DEATH: u64 = 1_000_000_000;
/// A hang is found within the time limits of the plans, which add up to less.
const HANG: u64 = 10_000_000_000;

/// What may be answered in these runs, where nothing is disabled, too large or given up for good.
const CODES: [&str; 6] = [
    "server_disconnected",
    "request_timeout",
    "mcp_restart_in_progress",
    "mcp_restart_failed",
    "server_reconnecting",
    "overloaded",
];

pub(super) fn check(facts: &Facts<'_>, slack: u32, verdict: &mut Verdict) {
    for asked in facts.in_order() {
        for (at, _, answer) in &asked.answers {
            if let Some(error) = &answer.error {
                one(facts, asked, *at, error, slack, verdict);
            }
        }
    }
    last_words(facts, verdict);
}

fn one(facts: &Facts<'_>, asked: &Asked<'_>, at: u64, error: &Value, slack: u32, verdict: &mut Verdict) {
    let evidence = |why: &str| format!("{}: {why}: {error}", asked.name());
    let mut broken = |promise, why: &str| verdict.break_promise(promise, evidence(why));
    if let Err(why) = harness::check_own_error(asked.message.method(), error) {
        broken(Promise::Errors, &why);
    }
    let data = &error["data"];
    let (code, reason) = (data["code"].as_str().unwrap_or_default(), data["reason"].as_str().unwrap_or_default());
    if !CODES.contains(&code) {
        broken(Promise::Errors, "nothing in the plan leads to this code");
    }
    let none = Vec::new();
    let n = asked.message.stamp.n;
    let readers = n.and_then(|n| facts.readers.get(&n)).unwrap_or(&none);
    if data["sent"] == false && !readers.is_empty() {
        broken(Promise::Errors, &format!("it was not sent, it says, and life {readers:?} read it"));
    }
    let generation = data["generation"].as_u64().unwrap_or(0);
    let said = facts.life_of(generation);
    if let (Some(said), Some(last)) = (said, readers.last()) {
        if said < *last {
            broken(Promise::Errors, &format!("generation {generation} is life {said}, and life {last} read it"));
        }
        let gone = code == "server_disconnected" && said != *last && !reason.is_empty();
        if gone && data["sent"] == true && !asked.is_read_only() {
            broken(Promise::Errors, &format!("generation {generation} is life {said}, but life {last} had it"));
        }
    }
    if facts.history.plan.patient && reason == "probe-failure" {
        broken(Promise::NoNeedlessRestart, "no server hung");
    }
    let Some(life) = readers.last().copied().or(said) else { return };
    let reading_since = |from: u64| facts.was_reading(from, at);
    if let Some((died, how)) = facts.history.death_of(life).filter(|(died, _)| *died < at)
        && code == "server_disconnected"
        && facts.history.failing_since(life).is_none()
        && died < facts.history.end_at()
    {
        let since = died.max(asked.at);
        if reading_since(since) {
            // What the client saw late for want of a processor is not the watchdog's.
            let took = (at - since).saturating_sub(facts.stalled(since, at));
            if took > DEATH * u64::from(slack) {
                let ms = took / 1_000_000;
                let why = format!("{ms} ms after life {life} ended ({how})");
                verdict.break_by_time(Promise::DeathAtOnce, evidence(&why));
            } else if reason == "probe-failure" && took > DEATH / 5 {
                let why = format!("a probe found that life {life} had ended ({how})");
                verdict.break_by_time(Promise::DeathAtOnce, evidence(&why));
            }
            verdict.figures.deaths.push(took);
        }
        check_exit(facts, asked, life, error, verdict);
    } else if let Some(failing) = facts.history.failing_since(life).filter(|failing| *failing < at) {
        let since = failing.max(asked.at);
        if readers.contains(&life) && reading_since(since) && at < facts.history.end_at() {
            let took = (at - since).saturating_sub(facts.stalled(since, at));
            if took > HANG * u64::from(slack) {
                let why = format!("{} ms after life {life} hung", took / 1_000_000);
                verdict.break_by_time(Promise::OneAnswer, evidence(&why));
            }
            verdict.figures.hangs.push(took);
        }
    }
}

/// `data.exit` tells how the process ended.
fn check_exit(facts: &Facts<'_>, asked: &Asked<'_>, life: u64, error: &Value, verdict: &mut Verdict) {
    let data = &error["data"];
    let told = data["generation"].as_u64().and_then(|generation| facts.life_of(generation));
    let Some(exit) = data.get("exit").filter(|_| told == Some(life)) else { return };
    let is_told = |how: &str| match how.strip_prefix("exit ").and_then(|code| code.parse::<i64>().ok()) {
        Some(code) => exit["code"] == code,
        None => exit["signal"] == how,
    };
    let deaths = facts.history.deaths_of(life);
    if !deaths.iter().any(|(_, how)| is_told(how)) {
        let evidence = format!("{}: life {life} ended with {deaths:?}, and the error says {exit}", asked.name());
        verdict.break_promise(Promise::Errors, evidence);
    }
}

/// What a server had answered in full before it ended is the client's.
fn last_words(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    for (life, entries) in history.numbered() {
        let Some((died, _)) = history.death_of(life) else { continue };
        // One that hung, or that a probe with little time has condemned, is heard no more.
        let failing = history.failing_since(life).or_else(|| facts.was_killed(life).then_some(0));
        let in_time = history.plan.end.is_drained() || died + 1_000_000_000 < history.end_at();
        if !in_time || failing.is_some_and(|failing| failing < died) {
            continue;
        }
        for entry in entries.iter().filter(|entry| entry.at < died) {
            let What::Answered(n) = entry.what else { continue };
            let Some(asked) = facts.numbered(n).filter(|asked| asked.cancelled.is_none()) else { continue };
            let served = asked.answers.iter().any(|(_, _, answer)| answer.error.is_none());
            if !served {
                let heads: Vec<_> = asked.answers.iter().map(|(_, _, answer)| answer.head.as_str()).collect();
                let evidence = format!("life {life} had answered {}; the client got {heads:?}", asked.name());
                verdict.break_promise(Promise::LastWords, evidence);
            }
        }
    }
}
