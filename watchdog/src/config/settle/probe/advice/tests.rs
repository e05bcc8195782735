use std::time::Duration;

use serde_json::Value;

use super::*;

fn advice(mode: ChainMode, kinds: &[&str]) -> Vec<String> {
    let mut probe = crate::core::testing::server().probe;
    probe.mode = mode;
    probe.chain = kinds.iter().map(|kind| Link::new(kind, Value::Null)).collect();
    on(&probe)
}

#[test]
fn sensible_chains_need_none() {
    for kinds in
        [&["ping"][..], &["ping", "tools_list"], &["cpu", "ping"], &["exec"], &["http"], &["plugin", "activity"]]
    {
        assert!(advice(ChainMode::Any, kinds).is_empty(), "{kinds:?}");
    }
    assert!(advice(ChainMode::All, &["memory", "process", "file", "tcp", "http", "ping"]).is_empty());
}

#[test]
fn a_link_that_passes_beside_a_hang_is_named() {
    for kind in LIMITS {
        let first = advice(ChainMode::Any, &[kind, "ping"]);
        let last = advice(ChainMode::Any, &["ping", kind]);
        assert!(first[0].starts_with("probe.chain[0]: in `mode: any` one passing link is life"), "{first:?}");
        assert!(last[0].starts_with("probe.chain[1]: ") && last[0].contains(&format!("`{kind}`")), "{last:?}");
        assert_eq!((first.len(), last.len()), (1, 1));
    }
}

#[test]
fn a_chain_that_sees_no_hang_is_told_of() {
    let blind = "probe.chain: no link notices that the server hangs; add `{type: ping}`";
    assert_eq!(advice(ChainMode::All, &["memory", "cpu"]), [blind]);
    assert_eq!(advice(ChainMode::Any, &["activity"]), [blind]);
    assert!(advice(ChainMode::All, &["memory", "exec"]).is_empty());
}

#[test]
fn a_timeout_beyond_the_whole_chains_is_told_of() {
    let mut probe = crate::core::testing::server().probe;
    probe.chain[1].timeout = Some(Duration::from_secs(11));
    let cut = "probe.chain[1]: its timeout of 11s is never used up, since `probe.total_timeout` is 10s";
    assert_eq!(on(&probe), [cut]);
    probe.total_timeout = Duration::from_secs(11);
    assert!(on(&probe).is_empty());
}

#[test]
fn methods_are_for_links_that_choose_their_own() {
    let mut probe = crate::core::testing::server().probe;
    probe.chain[0].allow_methods = vec!["resources/read".to_owned()];
    assert_eq!(on(&probe), ["probe.chain[0]: `allow_methods` has no effect: `ping` sends no requests of your choice"]);
    probe.chain[0].kind = "plugin".to_owned();
    assert!(on(&probe).is_empty());
}
