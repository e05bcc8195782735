use serde_json::json;

use super::*;
use crate::core::testing::{id, key};

fn line(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[test]
fn the_second_acknowledgement_is_swallowed_and_the_first_filter_stays() {
    let mut listens = Listens::default();
    listens.opened(1, id("\"l\""), line("first"));
    let filter = json!({"toolsListChanged": true});
    assert_eq!(listens.acknowledged(&key("\"l\""), filter), Some(Acknowledgement::Deliver));
    listens.lost();
    assert_eq!(listens.acknowledged(&key("\"l\""), json!({})), Some(Acknowledgement::Swallow));
    assert_eq!(listens.hearing("notifications/tools/list_changed").count(), 1);
    assert_eq!(listens.acknowledged(&key("\"m\""), json!({})), None, "nobody listens there");
}

#[test]
fn only_an_acknowledged_filter_hears_and_only_its_types() {
    let mut listens = Listens::default();
    listens.opened(1, id("1"), line("a"));
    listens.opened(2, id("2"), line("b"));
    assert_eq!(listens.hearing("notifications/tools/list_changed").count(), 0);
    listens.acknowledged(&key("1"), json!({"toolsListChanged": true, "promptsListChanged": false}));
    listens.acknowledged(&key("2"), json!({"resourcesListChanged": true}));
    let hearing = |method| listens.hearing(method).map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(hearing("notifications/tools/list_changed"), ["1"]);
    assert_eq!(hearing("notifications/resources/list_changed"), ["2"]);
    assert!(hearing("notifications/prompts/list_changed").is_empty() && hearing("notifications/message").is_empty());
}

#[test]
fn a_refusal_by_a_new_server_ends_the_stream_at_the_client() {
    let mut listens = Listens::default();
    listens.opened(1, id("1.0"), line("a"));
    listens.acknowledged(&key("1"), json!({}));
    listens.lost();
    assert_eq!(listens.answered(&key("1"), true), Some(End::Withdraw(id("1.0"))));
    assert_eq!(listens.answered(&key("1"), true), None);
}

#[test]
fn any_other_answer_is_the_clients() {
    let mut listens = Listens::default();
    listens.opened(1, id("1"), line("a"));
    assert_eq!(listens.answered(&key("1"), true), Some(End::Deliver), "refused at the first time");
    listens.opened(2, id("2"), line("b"));
    listens.acknowledged(&key("2"), json!({}));
    listens.lost();
    assert_eq!(listens.answered(&key("2"), false), Some(End::Deliver), "it ends well");
    listens.opened(3, id("3"), line("c"));
    listens.acknowledged(&key("3"), json!({}));
    assert_eq!(listens.answered(&key("3"), true), Some(End::Deliver), "the server that acknowledged it ends it");
}

#[test]
fn open_streams_are_replayed_in_order_and_closed_ones_are_not() {
    let mut listens = Listens::default();
    for (seq, raw, text) in [(5, "\"b\"", "second"), (9, "\"c\"", "closed"), (3, "\"z\"", "first")] {
        listens.opened(seq, id(raw), line(text));
    }
    assert!(listens.closed(&key("\"c\"")) && !listens.closed(&key("\"c\"")));
    assert_eq!(listens.replay(), [line("first"), line("second")]);
}

#[test]
fn what_the_client_never_saw_acknowledged_can_be_refused() {
    let mut listens = Listens::default();
    listens.opened(1, id("1"), line("a"));
    listens.opened(2, id("2"), line("b"));
    listens.acknowledged(&key("2"), json!({}));
    assert_eq!(listens.take_unacknowledged(), [id("1")]);
    assert!(!listens.contains(&key("1")) && listens.contains(&key("2")) && !listens.is_empty());
    assert_eq!(listens.take_acknowledged(), [id("2")]);
    assert!(listens.is_empty());
}
