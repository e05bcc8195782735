//! What a host may say next. Pure.

use crate::probe_host::message::{CALLS, Report};

/// Reports that wait to be taken: all calls of a check, and its verdict. With [`LONGEST_REPORT`] this bounds their bytes.
///
/// [`LONGEST_REPORT`]: crate::probe_host::message::LONGEST_REPORT
pub(super) const REPORTS: usize = CALLS + 1;

/// What the last order makes due, besides lines for the log, which are not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing.
    Nothing,
    /// An answer to the order to load or to create.
    Answer,
    /// Calls of this check, and its verdict.
    Verdict(u64),
}

/// What is to be done with a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is handed on.
    Due,
    /// It came too late: a thread of the plugin asked when its check ended. The host has answered it already.
    Late,
    /// No host says this now: the plugin speaks in its place.
    Forged,
}

impl Due {
    /// Judges a report that is not for the log; what it settles is due no more.
    pub(super) fn admit(&mut self, report: &Report) -> Admission {
        match (report, *self) {
            (Report::Call { check, .. }, Self::Verdict(due)) if *check == due => return Admission::Due,
            (Report::Call { .. }, _) => return Admission::Late,
            (Report::Verdict { check, .. }, Self::Verdict(due)) if *check == due => {}
            (Report::Loaded(_) | Report::Created | Report::Refused(_), Self::Answer) => {}
            _ => return Admission::Forged,
        }
        *self = Self::Nothing;
        Admission::Due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(check: u64) -> Report {
        Report::Call { check, call: 1, method: "ping".into(), params: None, timeout_ms: 1 }
    }

    fn verdict(check: u64) -> Report {
        Report::Verdict { check, code: 2, detail: None }
    }

    #[test]
    fn an_order_is_answered_once() {
        let mut due = Due::Answer;
        assert_eq!(due.admit(&verdict(1)), Admission::Forged);
        assert_eq!(due.admit(&Report::Refused("no".into())), Admission::Due);
        assert_eq!(due.admit(&Report::Created), Admission::Forged);
    }

    #[test]
    fn a_verdict_counts_for_its_own_check_and_ends_it() {
        let mut due = Due::Verdict(2);
        for forged in [verdict(1), verdict(3), Report::Created] {
            assert_eq!(due.admit(&forged), Admission::Forged, "{forged:?}");
        }
        assert_eq!([due.admit(&call(2)), due.admit(&call(2))], [Admission::Due; 2]);
        assert_eq!(due.admit(&verdict(2)), Admission::Due);
        assert_eq!(due, Due::Nothing);
        assert_eq!(due.admit(&verdict(2)), Admission::Forged);
    }

    #[test]
    fn calls_without_a_check_of_theirs_are_kept_by_nobody() {
        for mut due in [Due::Nothing, Due::Answer, Due::Verdict(2)] {
            assert_eq!(due.admit(&call(1)), Admission::Late, "{due:?}");
        }
    }
}
