use super::*;
use crate::core::testing::{base, key};

fn request(purpose: Purpose) -> OwnRequest {
    OwnRequest { purpose, seq: 1, since: base(), behind: 0, passed: false }
}

#[test]
fn ids_are_of_the_clients_kind_inside_i32_and_far_from_where_clients_count() {
    let mut own = Own::new(u64::MAX);
    for _ in 0..1000 {
        let id = own.id(false, |_| false);
        assert!(matches!(id.key, IdKey::Int(n) if (BASE..i64::from(i32::MAX)).contains(&n)), "{id}");
    }
    let text = own.id(true, |_| false);
    assert!(text.to_string().starts_with("\"mcp-watchdog/"));
}

#[test]
fn an_id_that_is_in_flight_on_either_side_is_skipped() {
    let mut own = Own::new(0);
    let first = own.id(false, |_| false);
    own.sent(&first, request(Purpose::Handshake));
    own.next -= 1;
    let second = own.id(false, |_| false);
    assert_ne!(first.key, second.key, "ours is in flight");
    let taken = Id::from_int(BASE + own.next + 1);
    let third = own.id(false, |id| *id == taken.key);
    assert_ne!(third.key, taken.key, "the client's is in flight");
}

#[test]
fn the_range_never_leaves_i32() {
    let mut own = Own::new(0);
    own.next = RANGE - 2;
    for _ in 0..5 {
        let id = own.id(false, |_| false);
        assert!(matches!(id.key, IdKey::Int(n) if (BASE..=i64::from(i32::MAX)).contains(&n)), "{id}");
    }
}

#[test]
fn we_move_when_a_client_counts_into_our_range() {
    let mut own = Own::new(0);
    let before = own.next;
    own.avoid(&key("5"));
    own.avoid(&key("\"2000000001\""));
    assert_eq!(own.next, before, "nowhere near");
    own.avoid(&IdKey::Int(BASE + before + 10));
    let id = own.id(false, |_| false);
    assert!(matches!(id.key, IdKey::Int(n) if n > BASE + before + 1000), "{id}");
    own.avoid(&IdKey::Int(i64::MAX));
    own.avoid(&IdKey::Int(i64::MIN));
}

#[test]
fn an_answer_is_taken_once() {
    let mut own = Own::new(0);
    let id = own.id(false, |_| false);
    own.sent(&id, request(Purpose::Readiness));
    assert!(own.contains(&id.key) && !own.is_empty());
    assert_eq!(own.answered(&id.key).map(|own| own.purpose), Some(Purpose::Readiness));
    assert!(own.answered(&id.key).is_none() && !own.contains(&id.key) && own.is_empty());
}

#[test]
fn a_lost_server_gives_back_the_calls_of_probes_alone() {
    let mut own = Own::new(0);
    for purpose in [Purpose::Probe(CallId(4)), Purpose::Refresh(ListKind::Tools), Purpose::Replay("ping".into())] {
        let id = own.id(false, |_| false);
        own.sent(&id, request(purpose));
    }
    assert_eq!(own.lost(), [CallId(4)]);
    assert!(own.lost().is_empty());
}

#[test]
fn the_calls_of_probes_are_lost_in_their_order() {
    let mut own = Own::new(0);
    for call in 1..=20 {
        let id = own.id(false, |_| false);
        own.sent(&id, request(Purpose::Probe(CallId(call))));
    }
    assert_eq!(own.lost(), (1..=20).map(CallId).collect::<Vec<_>>());
}
