use super::*;
use crate::core::testing::{base, call, key, secs};

fn held(seq: u64, id: &str, bytes: usize) -> Held {
    Held { line: vec![b'x'; bytes].into(), requests: vec![call(seq, id)], expires: Some(base() + secs(seq)) }
}

fn order(hold: &Hold) -> Vec<u64> {
    let order: Vec<u64> = hold.requests().map(|request| request.seq).collect();
    assert_eq!(order.len(), hold.count());
    order
}

#[test]
fn the_number_of_requests_is_bounded() {
    let mut hold = Hold::new(2, 1000);
    assert!(hold.push(held(1, "1", 1)).is_ok() && hold.push(held(2, "2", 1)).is_ok());
    let refused = hold.push(held(3, "3", 1)).expect_err("full");
    assert_eq!(refused.requests[0].seq, 3, "it comes back");
    hold.take_all();
    assert!(hold.push(held(3, "3", 1)).is_ok());
}

#[test]
fn the_bytes_are_bounded_but_one_large_line_is_taken() {
    let mut hold = Hold::new(64, 10);
    assert!(hold.push(held(1, "1", 4000)).is_ok(), "an empty queue takes it, or it could never be asked");
    assert!(hold.push(held(2, "2", 1)).is_err());
    assert!(hold.cancel(&key("1")).is_some());
    assert!(
        hold.push(held(2, "2", 6)).is_ok() && hold.push(held(3, "3", 5)).is_err() && hold.push(held(3, "3", 4)).is_ok()
    );
    assert_eq!(hold.take_first(|held| held.requests[0].seq == 2).map(|held| held.line.len()), Some(6));
    assert!(hold.push(held(4, "4", 6)).is_ok(), "what leaves makes room");
    hold.expired(base() + secs(3));
    assert!(hold.push(held(5, "5", 4)).is_ok());
}

#[test]
fn a_batch_counts_as_its_requests() {
    let mut hold = Hold::new(2, 1000);
    let batch = Held { requests: vec![call(1, "1"), call(2, "2"), call(3, "3")], ..held(1, "1", 9) };
    assert!(hold.push(batch).is_err());
}

#[test]
fn requests_that_were_in_flight_come_back_to_their_place() {
    let mut hold = Hold::new(64, 1000);
    for seq in [5, 7] {
        hold.push(held(seq, &seq.to_string(), 1)).expect("there is room");
    }
    for seq in [2, 6, 1] {
        hold.push_unbounded(held(seq, &seq.to_string(), 1));
    }
    assert_eq!(order(&hold), [1, 2, 5, 6, 7]);
    let taken: Vec<_> = hold.take_all().iter().map(|held| held.requests[0].seq).collect();
    assert_eq!(taken, [1, 2, 5, 6, 7]);
    assert!(hold.is_empty());
}

#[test]
fn lines_expire_each_at_its_time_and_some_never() {
    let mut hold = Hold::new(64, 1000);
    hold.push(Held { expires: None, ..held(1, "1", 1) }).expect("there is room");
    for seq in [9, 4] {
        hold.push(held(seq, &seq.to_string(), 1)).expect("there is room");
    }
    assert_eq!(hold.wake(), Some(base() + secs(4)));
    assert!(hold.expired(base() + secs(3)).is_empty());
    let gone: Vec<_> = hold.expired(base() + secs(9)).iter().map(|held| held.requests[0].seq).collect();
    assert_eq!(gone, [4, 9]);
    assert_eq!((order(&hold), hold.wake()), (vec![1], None));
}

#[test]
fn sleep_of_the_machine_moves_the_expiry() {
    let mut hold = Hold::new(64, 1000);
    hold.push(held(4, "4", 1)).expect("there is room");
    hold.postpone(secs(100));
    assert!(hold.expired(base() + secs(103)).is_empty());
    assert_eq!(hold.expired(base() + secs(104)).len(), 1);
}

#[test]
fn a_cancelled_request_leaves_the_queue_and_a_batch_its_others() {
    let mut hold = Hold::new(64, 1000);
    let line = r#"[{"method":"x", "id":1},{"method":"y"}, {"id":2,"method":"x"},{"id":1,"result":{}}]"#;
    let batch = Held { line: line.into(), requests: vec![call(1, "1"), call(2, "2")], expires: None };
    hold.push(batch).expect("there is room");
    assert_eq!(hold.cancel(&key("1.0")).map(|request| request.seq), Some(1));
    assert_eq!(order(&hold), [2]);
    assert!(hold.cancel(&key("1")).is_none());
    let left = hold.take_all().remove(0);
    assert_eq!(left.line, r#"[{"method":"y"},{"id":2,"method":"x"},{"id":1,"result":{}}]"#);
    hold.push(left).expect("there is room");
    assert!(hold.cancel(&key("2")).is_some() && hold.is_empty());
    assert_eq!(hold.bytes, 0);
}
