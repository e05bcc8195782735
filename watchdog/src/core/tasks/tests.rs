use super::*;
use crate::core::testing::{base, secs};

fn tasks(news: &[&str]) -> Tasks {
    let mut tasks = Tasks::default();
    for body in news {
        tasks.told(base(), body.as_bytes());
    }
    tasks
}

const MADE: &str = r#"{"task":{"taskId":"t","status":"working","ttl":30000,"createdAt":"x"}}"#;

#[test]
fn a_task_is_open_until_its_end_is_told_or_its_time_is_over() {
    let open = tasks(&[MADE]);
    assert!(open.is_any_open(base() + secs(29)) && !open.is_any_open(base() + secs(30)));
    assert_eq!(open.wake(base()), Some(base() + secs(30)));
    for status in ["failed", "cancelled"] {
        let told = format!(r#"{{"taskId":"t","status":"{status}"}}"#);
        assert!(!tasks(&[MADE, &told]).is_any_open(base()), "{status}");
    }
    let other = tasks(&[MADE, r#"{"taskId":"u","status":"cancelled"}"#]);
    assert!(other.is_any_open(base()));
}

#[test]
fn a_question_for_the_client_keeps_it_open() {
    assert!(tasks(&[r#"{"taskId":"t","status":"input_required","ttl":null}"#]).is_any_open(base() + secs(3599)));
}

#[test]
fn a_task_of_the_extension_has_its_members_at_the_top() {
    let open = tasks(&[r#"{"resultType":"task","taskId":"t","ttlMs":5000,"pollIntervalMs":1}"#]);
    assert!(open.is_any_open(base() + secs(4)) && !open.is_any_open(base() + secs(5)));
}

#[test]
fn a_result_is_kept_for_a_minute_or_until_it_was_fetched() {
    let made = r#"{"task":{"taskId":"t","status":"working","ttl":null}}"#;
    let mut done = tasks(&[made, r#"{"taskId":"t","status":"completed"}"#]);
    assert!(done.is_any_open(base() + secs(59)) && !done.is_any_open(base() + secs(60)));
    done.fetched(br#"{"content":[],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#);
    assert!(!done.is_any_open(base()));
    assert!(!tasks(&[r#"{"taskId":"t","status":"completed"}"#]).is_any_open(base()), "nobody knew of it");
}

#[test]
fn what_says_nothing_of_tasks_changes_nothing() {
    let none = tasks(&["{}", "null", r#"{"task":"t"}"#, r#"{"taskId":7}"#, r#"{"content":[]}"#]);
    assert!(!none.is_any_open(base()));
}

#[test]
fn absurd_times_to_live_are_read_as_none() {
    for ttl in ["-1", "1e300", "9e18"] {
        let open = tasks(&[&format!(r#"{{"taskId":"t","ttl":{ttl}}}"#)]);
        assert!(open.is_any_open(base() + secs(3599)), "{ttl}");
    }
}

#[test]
fn a_flood_of_tasks_is_not_remembered_for_ever() {
    let mut tasks = Tasks::default();
    for n in 0..5 * MAX_TASKS {
        tasks.told(base(), format!(r#"{{"taskId":"{n}"}}"#).as_bytes());
    }
    assert!(tasks.open.len() <= MAX_TASKS);
}
