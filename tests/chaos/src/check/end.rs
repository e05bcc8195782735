//! How the watchdog ends, and what it says meanwhile.

use super::answers::IN_ORDER;
use super::{Facts, Promise, Verdict};
use crate::history::Did;
use crate::plan::End;

/// What a panic looks like.
const PANICS: [&str; 3] = ["panicked at", "RUST_BACKTRACE", "assertion failed"];

pub(super) fn check(facts: &Facts<'_>, verdict: &mut Verdict) {
    let history = facts.history;
    let began = history.client.iter().position(|event| event.what == Did::End);
    let ended = history.client.iter().position(|event| matches!(event.what, Did::StreamEnd { .. } | Did::Exit));
    if ended.is_some() && (began.is_none() || ended < began) {
        verdict.break_promise(Promise::ExitCode, format!("the watchdog ended by itself, with {:?}", history.exit));
    }
    let expected = match history.plan.end {
        End::Leave | End::LeaveAtOnce | End::CloseStdout => 0,
        End::Terminate => 143,
        End::Kill => 137,
    };
    // Who gave up on such a server may have lines that it has not taken, and leaves when they are written.
    let gave_up = history.client.iter().any(|event| event.what == Did::GaveUp);
    let cannot_leave = gave_up && history.stderr.contains(IN_ORDER);
    match history.exit {
        Some(code) if code == expected => {}
        None if cannot_leave && matches!(history.plan.end, End::Leave | End::LeaveAtOnce) => {}
        None => verdict.break_by_time(Promise::ExitCode, format!("no end in time, instead of {expected}")),
        Some(code) => verdict.break_promise(Promise::ExitCode, format!("{code} instead of {expected}")),
    }
    if history.plan.end != End::Kill {
        for event in &history.client {
            if let Did::StreamEnd { half: half @ 1.. } = event.what {
                verdict.break_by_time(Promise::OnlyProtocol, format!("stdout ends with {half} bytes of a line"));
            }
        }
    }
    for line in history.stderr.lines().filter(|line| PANICS.iter().any(|panic| line.contains(panic))) {
        verdict.break_promise(Promise::NoPanic, line);
    }
}
