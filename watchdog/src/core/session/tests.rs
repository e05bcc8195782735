use super::*;
use crate::wire::head::{Scan, scan};

const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{}}"#;
const DISCOVER: &str = r#"{"id":2,"method":"server/discover"}"#;
const LIST: &str = r#"{"id":"a","method":"tools/list"}"#;
const STATELESS: &str = r#"{"id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn observe(session: &mut Session, line: &str) {
    let Scan::Message(head) = scan(line.as_bytes()) else { panic!("{line}") };
    session.observe(&Bytes::copy_from_slice(line.as_bytes()), &head);
}

fn after(lines: &[&str]) -> Session {
    let mut session = Session::default();
    for line in lines {
        observe(&mut session, line);
    }
    session
}

fn told(version: &str) -> Session {
    let mut session = after(&[INITIALIZE]);
    session.told(
        format!(r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}}}}"#).as_bytes(),
    );
    session
}

#[test]
fn the_first_request_decides_the_era() {
    assert_eq!(Session::default().era(), Era::Unknown);
    assert_eq!(after(&[INITIALIZE]).era(), Era::Handshake);
    assert_eq!(after(&[LIST]).era(), Era::Handshake);
    assert_eq!(after(&[STATELESS]).era(), Era::Stateless);
    assert_eq!(after(&[STATELESS, LIST]).era(), Era::Stateless, "the first one");
    assert_eq!(after(&[DISCOVER]).era(), Era::Probing, "still open");
    assert_eq!(after(&[DISCOVER, INITIALIZE]).era(), Era::Handshake);
    assert_eq!(after(&[DISCOVER, STATELESS]).era(), Era::Stateless);
    assert_eq!(after(&[STATELESS, INITIALIZE]).era(), Era::Handshake, "a dual-era client may fall back");
}

#[test]
fn initialize_means_the_handshake_era_even_with_modern_meta() {
    let line = STATELESS.replace("tools/list", "initialize");
    assert_eq!(after(&[&line]).era(), Era::Handshake);
}

#[test]
fn a_fresh_server_hears_nothing_of_ours_before_the_era_is_fixed() {
    assert!(!Session::default().is_open());
    let mut session = after(&[DISCOVER]);
    assert!(!session.is_open() && !session.is_stateless());
    session.discovered();
    assert!(session.is_open() && session.is_stateless());
    assert!(after(&[INITIALIZE]).is_open() && after(&[STATELESS]).is_open());
}

#[test]
fn ids_and_version_are_the_clients_last() {
    assert!(!after(&[INITIALIZE]).text_ids() && after(&[INITIALIZE, LIST]).text_ids());
    assert_eq!(after(&[STATELESS]).version(), Some("2026-07-28"));
    assert_eq!(told("2025-06-18").version(), Some("2025-06-18"));
}

#[test]
fn batches_exist_in_2025_03_26_alone() {
    assert!(told("2025-03-26").batches());
    assert!(!told("2025-06-18").batches() && !told("2024-11-05").batches());
    assert!(after(&[INITIALIZE]).batches(), "not negotiated yet");
    assert!(!after(&[STATELESS]).batches());
}

#[test]
fn the_opening_is_replayed_only_once_it_was_answered() {
    let mut session = after(&[INITIALIZE]);
    assert!(session.awaits_handshake() && session.knows().is_none() && session.replay_opening().is_none());
    session.told(br#"{"protocolVersion":"x","capabilities":{}}"#);
    assert!(!session.awaits_handshake() && session.knows().is_some());
    assert_eq!(session.replay_opening().map(|line| &line[..]), Some(INITIALIZE.as_bytes()));
    assert!(session.replay_initialized().is_none());
    session.initialized(&Bytes::from_static(b"as spelled"));
    assert_eq!(session.replay_initialized().map(|line| &line[..]), Some(&b"as spelled"[..]));
}

#[test]
fn only_the_answer_to_a_second_initialize_replaces_the_first() {
    let mut session = told("2025-06-18");
    let first = session.replay_opening().cloned();
    let second = after(&[INITIALIZE]);
    assert!(second.awaits_handshake());
    let head = match scan(INITIALIZE.as_bytes()) {
        Scan::Message(head) => head,
        other => panic!("{other:?}"),
    };
    for end in ["asked", "refused"] {
        session.observe(&Bytes::from_static(INITIALIZE.as_bytes()), &head);
        assert!(!session.awaits_handshake(), "{end}");
        assert_eq!(session.replay_opening(), first.as_ref(), "{end}");
        assert_eq!(session.knows().map(|told| &told.protocol_version[..]), Some("2025-06-18"), "{end}");
        session.refused();
    }
    session.observe(&Bytes::from_static(INITIALIZE.as_bytes()), &head);
    session.told(br#"{"protocolVersion":"2025-11-25","capabilities":{}}"#);
    assert_eq!(session.knows().map(|told| &told.protocol_version[..]), Some("2025-11-25"));
}

#[test]
fn an_answer_that_cannot_be_read_is_a_session_all_the_same() {
    let odd = br#"{"protocolVersion":20251125}"#;
    let mut session = after(&[INITIALIZE]);
    session.told(odd);
    assert!(!session.awaits_handshake() && session.replay_opening().is_some());
    assert!(matches!(session.compare(odd), Compatibility::Same { .. }));
    let sound = br#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
    assert!(matches!(session.compare(sound), Compatibility::Same { .. }), "nothing is known that it could differ from");
}

#[test]
fn the_state_of_the_session_is_the_last_level_and_the_live_subscriptions_in_order() {
    let line = |text: &'static str| Bytes::from_static(text.as_bytes());
    let mut session = told("2025-06-18");
    session.subscribed("file:///a", line("a"));
    session.subscribed("file:///b", line("b"));
    session.set_level(line("debug"));
    session.set_level(line("error"));
    session.subscribed("file:///a", line("a again"));
    session.unsubscribed("file:///b");
    session.unsubscribed("file:///never");
    assert_eq!(session.replay_state().collect::<Vec<_>>(), [&line("error"), &line("a again")]);
}

#[test]
fn a_new_handshake_is_compared_with_what_the_client_was_told() {
    let session = told("2025-06-18");
    let compare = |version: &str, capabilities: &str| {
        session.compare(format!(r#"{{"protocolVersion":"{version}","capabilities":{capabilities}}}"#).as_bytes())
    };
    let same = compare("2025-06-18", r#"{"tools":{"listChanged":true}}"#);
    assert!(matches!(same, Compatibility::Same { capabilities_changed: false, .. }));
    let changed = compare("2025-06-18", "{}");
    assert!(matches!(changed, Compatibility::Same { capabilities_changed: true, .. }));
    let other = Compatibility::OtherVersion { told: "2025-06-18".to_owned(), now: "2024-11-05".to_owned() };
    assert_eq!(compare("2024-11-05", "{}"), other);
    assert_eq!(session.compare(b"[1]"), Compatibility::Unreadable);
}

#[test]
fn list_changes_are_announced_by_kind() {
    let session = told("2025-06-18");
    let knows = session.knows().expect("it was told");
    assert!(knows.list_changed("tools") && !knows.list_changed("prompts") && !knows.list_changed("resources"));
    assert_eq!(knows.hash(), knows.clone().hash());
    assert_ne!(knows.hash(), Told::default().hash());
}

#[test]
fn a_client_whose_initialize_was_refused_may_go_on_in_the_other_era() {
    let mut session = after(&[INITIALIZE]);
    session.refused();
    assert_eq!((session.era(), session.is_open()), (Era::Unknown, false));
    observe(&mut session, STATELESS);
    assert_eq!((session.era(), session.is_open()), (Era::Stateless, true));
}
