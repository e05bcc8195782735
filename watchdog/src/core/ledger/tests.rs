use proptest::prelude::*;

use super::*;
use crate::core::testing::{base, call, key, secs};

fn at(seconds: u64) -> Instant {
    base() + secs(seconds)
}

fn ledger(requests: impl IntoIterator<Item = Request>) -> Ledger {
    let mut ledger = Ledger::default();
    for request in requests {
        ledger.insert(request);
    }
    ledger
}

fn with_token(seq: u64, id: &str, token: &str) -> Request {
    Request { token: Some(key(token)), ..call(seq, id) }
}

#[test]
fn an_answer_belongs_to_the_request_of_its_id() {
    let mut ledger = ledger([call(1, "1"), call(2, "\"1\""), call(3, "2.0")]);
    assert_eq!(ledger.answered(&key("1")).map(|r| r.seq), Some(1));
    assert_eq!(ledger.answered(&key("2")).map(|r| r.seq), Some(3), "by value, not by spelling");
    assert_eq!(ledger.answered(&key("3")).map(|r| r.seq), None);
    assert_eq!(ledger.answered(&key("\"1\"")).map(|r| r.seq), Some(2));
    assert!(ledger.is_empty());
}

/// Of a client's megabytes nothing may be kept for a request that is over, and the next one in its box has nothing of it.
#[test]
fn a_box_that_is_kept_holds_nothing_and_only_so_many_are() {
    let long = "x".repeat(1000);
    let details = Details { uri: Some(long.clone().into()), line: Some(vec![0; 1000].into()), ..Details::default() };
    let full = Request {
        name: Some(long.as_bytes().into()),
        token: Some(key(&format!("\"{long}\""))),
        details: Some(Box::new(details)),
        ..call(1, &format!("\"{long}\""))
    };
    let mut ledger = Ledger::default();
    for _ in 0..=SPARE {
        ledger.over(Box::new(full.clone()));
    }
    assert_eq!(ledger.spare.len(), SPARE);
    for kept in &ledger.spare {
        assert_eq!(kept.id, Id::from_int(0));
        assert!(kept.name.is_none() && kept.token.is_none() && kept.details.is_none());
    }
    let next = call(2, "2");
    assert_eq!(format!("{:?}", ledger.boxed(next.clone())), format!("{next:?}"));
    assert_eq!(ledger.spare.len(), SPARE - 1);
}

#[test]
fn progress_gives_a_call_its_whole_time_again_and_dies_with_it() {
    let mut ledger = ledger([with_token(1, "1", "\"t\"")]);
    assert!(ledger.progress(&key("\"t\""), at(30)));
    assert!(!ledger.due(at(69)).1, "70 s is 30 s and its patience");
    assert!(ledger.due(at(70)).1);
    ledger.answered(&key("1"));
    assert!(!ledger.progress(&key("\"t\""), at(71)), "the token of a finished call");
}

#[test]
fn progress_of_an_overdue_call_sets_its_next_suspicion() {
    let mut ledger = ledger([with_token(1, "1", "5")]);
    assert!(ledger.due(at(40)).1, "overdue: the chain runs");
    assert!(ledger.progress(&key("5"), at(41)));
    ledger.rearm(at(42), None);
    assert_eq!(ledger.wake(), Some(at(81)));
    assert!(ledger.due(at(81)).1);
}

#[test]
fn a_task_reports_progress_after_its_answer() {
    let mut ledger = ledger([Request { task: true, ..with_token(1, "1", "5") }]);
    ledger.answered(&key("1"));
    assert!(ledger.progress(&key("5"), at(1)));
    ledger.drain();
    assert!(!ledger.progress(&key("5"), at(1)), "but not into another generation");
}

#[test]
fn a_deadline_takes_the_request_out_once() {
    let mut ledger = ledger([
        Request { deadline_at: Some(at(20)), ..call(1, "1") },
        Request { deadline_at: Some(at(10)), ..call(2, "2") },
        call(3, "3"),
    ]);
    assert_eq!(ledger.wake(), Some(at(10)));
    assert_eq!(ledger.due(at(9)).0.len(), 0);
    let expired: Vec<_> = ledger.due(at(25)).0.iter().map(|r| r.seq).collect();
    assert_eq!(expired, [1, 2], "in the order of the requests");
    assert_eq!(ledger.due(at(26)).0.len(), 0);
    assert_eq!((ledger.len(), ledger.wake()), (1, Some(at(40))));
}

#[test]
fn an_overdue_call_is_not_looked_at_again_until_it_has_a_new_time() {
    let mut ledger = ledger([call(1, "1")]);
    assert!(ledger.due(at(40)).1);
    assert_eq!(ledger.wake(), None, "the chain is on its way");
    ledger.rearm(at(43), None);
    assert_eq!(ledger.wake(), Some(at(83)));
}

#[test]
fn being_busy_excuses_a_call_for_a_while_only() {
    let mut ledger = ledger([call(1, "1")]);
    let limit = secs(600);
    for round in 0..10 {
        let now = at(40 + 60 * round);
        assert!(ledger.due(now).1);
        assert!(!ledger.busy_too_long(now, limit), "round {round}");
        ledger.rearm(now, Some(secs(60)));
    }
    assert!(ledger.busy_too_long(at(640), limit));
    ledger.rearm(at(640), None);
    assert!(!ledger.busy_too_long(at(680), limit), "a sign of life starts anew");
}

#[test]
fn sleep_of_the_machine_moves_all_times() {
    let mut ledger = ledger([Request { deadline_at: Some(at(10)), ..call(1, "1") }]);
    ledger.postpone(secs(1000));
    assert_eq!(ledger.wake(), Some(at(1010)));
    assert_eq!(ledger.due(at(1009)).0.len(), 0);
    assert_eq!(ledger.due(at(1010)).0.len(), 1);
}

#[test]
fn silence_may_come_from_being_in_line_until_a_later_request_was_answered() {
    let mut ledger = ledger([call(1, "1"), call(3, "3")]);
    assert!(ledger.may_be_in_line());
    ledger.answered(&key("3"));
    assert!(!ledger.may_be_in_line(), "the server does not answer in order");
    ledger.insert(call(4, "4"));
    assert!(ledger.may_be_in_line());
    ledger.own_answered(5);
    assert!(!ledger.may_be_in_line());
}

#[test]
fn draining_gives_everything_in_order_and_leaves_nothing() {
    let mut ledger = ledger([with_token(3, "a3".trim_start_matches('a'), "9"), call(1, "1"), call(2, "\"x\"")]);
    let order: Vec<_> = ledger.drain().iter().map(|r| (r.seq, r.sent)).collect();
    assert_eq!(order, [(1, true), (2, true), (3, true)]);
    assert!(ledger.is_empty() && ledger.wake().is_none() && !ledger.progress(&key("9"), at(0)));
}

/// What may happen to the times of a ledger.
#[derive(Debug, Clone)]
enum Step {
    Insert(u64, Option<u64>),
    Answer(u64),
    Progress(u64),
    Rearm(Option<u64>),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (1_u64..60, prop::option::of(1_u64..90)).prop_map(|(patience, deadline)| Step::Insert(patience, deadline)),
        (0_u64..12).prop_map(Step::Answer),
        (0_u64..12).prop_map(Step::Progress),
        prop::option::of(1_u64..60).prop_map(Step::Rearm),
        (0_u64..50).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    /// The wake is a promise: nothing becomes due before it, whatever was done.
    #[test]
    fn nothing_is_due_before_the_wake_and_nothing_is_missed(steps in steps()) {
        let (mut ledger, mut now, mut seq) = (Ledger::default(), at(0), 0);
        // A suspicion that was told and not yet settled.
        let mut told = false;
        for step in steps {
            match step {
                Step::Insert(patience, deadline) => {
                    seq += 1;
                    ledger.insert(Request {
                        patience: Some(secs(patience)),
                        suspect_at: Some(now + secs(patience)),
                        deadline_at: deadline.map(|deadline| now + secs(deadline)),
                        token: Some(key(&seq.to_string())),
                        ..call(seq, &seq.to_string())
                    });
                }
                Step::Answer(id) => drop(ledger.answered(&key(&id.to_string()))),
                Step::Progress(token) => drop(ledger.progress(&key(&token.to_string()), now)),
                Step::Rearm(grace) => {
                    ledger.rearm(now, grace.map(secs));
                    told = false;
                }
                Step::Pass(seconds) => {
                    now += secs(seconds);
                    let is_due = ledger.iter().any(|r| passed(r.deadline_at, now));
                    let is_overdue = ledger.iter().any(|r| passed(r.suspect_at, now));
                    if ledger.wake().is_none_or(|wake| wake > now) {
                        prop_assert!(!is_due && (!is_overdue || told), "due before the wake");
                        continue;
                    }
                    let (expired, overdue) = ledger.due(now);
                    prop_assert_eq!(expired.is_empty(), !is_due);
                    told |= overdue;
                    prop_assert!(ledger.iter().all(|r| !passed(r.deadline_at, now)));
                    prop_assert!(ledger.wake().is_none_or(|wake| wake > now), "the wake moves on");
                }
            }
        }
    }
}

#[test]
fn the_overdue_are_told_oldest_first() {
    let mut ledger = Ledger::default();
    (1..=20).for_each(|seq| ledger.insert(call(seq, &seq.to_string())));
    let told: Vec<_> = ledger.report_overdue(base() + secs(40)).iter().map(|request| request.seq).collect();
    assert_eq!(told, (1..=20).collect::<Vec<_>>());
}
