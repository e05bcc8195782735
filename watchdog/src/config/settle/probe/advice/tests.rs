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
    let cut =
        "probe.chain[1]: its timeout of 11s is never used up for an overdue call, since `probe.total_timeout` is 10s";
    assert_eq!(on(&probe), [cut]);
    probe.total_timeout = Duration::from_secs(11);
    assert!(on(&probe).is_empty());
}

/// The links behind it have their part of the whole, whatever those before it have left.
#[test]
fn a_timeout_beyond_its_part_of_the_whole_is_told_of() {
    let mut probe = crate::core::testing::server().probe;
    probe.chain = ["ping", "exec", "tools_list"].map(|kind| Link::new(kind, Value::Null)).to_vec();
    let of = |probe: &mut Probe, at: usize, seconds| {
        probe.chain[at].timeout = Some(Duration::from_secs(seconds));
        on(probe)
    };
    assert!(of(&mut probe, 0, 3).is_empty() && of(&mut probe, 1, 5).is_empty() && of(&mut probe, 2, 10).is_empty());
    let first = "probe.chain[0]: its timeout of 4s is never used up for an overdue call: 2 links come behind it, and so 3.333s \
                 of `probe.total_timeout` (10s) are its part";
    assert_eq!(of(&mut probe, 0, 4), [first]);
    let second = "probe.chain[1]: its timeout of 6s is never used up for an overdue call: a link comes behind it, and so 5s of \
                  `probe.total_timeout` (10s) are its part";
    assert_eq!(of(&mut probe, 1, 6), [first, second]);
    probe.total_timeout = Duration::from_secs(12);
    assert!(on(&probe).is_empty());
    let usual = ["ping", "tools_list", "exec", "plugin", "cpu"].map(|kind| Link::new(kind, Value::Null));
    assert!(on(&Probe { chain: usual.to_vec(), ..probe }).is_empty(), "nobody has asked for so much");
}

#[test]
fn methods_are_for_links_that_choose_their_own() {
    let mut probe = crate::core::testing::server().probe;
    probe.chain[0].allow_methods = vec!["resources/read".to_owned()];
    assert_eq!(on(&probe), ["probe.chain[0]: `allow_methods` has no effect: `ping` sends no requests of your choice"]);
    probe.chain[0].kind = "plugin".to_owned();
    assert!(on(&probe).is_empty());
}
