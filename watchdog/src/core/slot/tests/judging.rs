//! What a probe chain may and may not conclude: from a session that is not complete, over a reload, and beside fresh calls.

use std::sync::Arc;
use std::time::Duration;

use probe_api::Verdict;
use serde_json::json;

use crate::config::{ChainMode, Link, OnUnhealthy};
use crate::core::chain::{Heard, Latches};
use crate::core::ids::CallId;
use crate::core::slot::ProbeReply;
use crate::core::testing::{INITIALIZE, Script, World, secs, stateless};

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn probe(world: &mut World, method: &str) -> Option<ProbeReply> {
    let generation = world.generation();
    world.replies.clear();
    world.tell(|slot, now, out| slot.probe_call(now, generation, CallId(1), method, None, out));
    world.replies.pop().map(|(_, reply)| reply)
}

fn leaking() -> World {
    let mut world = World::new(|server| {
        server.health.interval = Some(secs(120));
        server.health.threshold = 1;
        server.health.on_unhealthy = OnUnhealthy::Restart;
        server.probe.mode = ChainMode::All;
    });
    world.open();
    world
}

#[test]
fn before_the_client_says_that_it_is_initialized_nothing_but_a_ping_is_asked() {
    let mut world = World::new(|_| ());
    world.say(INITIALIZE);
    assert_eq!(probe(&mut world, "tools/list"), Some(ProbeReply::Invalid));
    assert!(matches!(probe(&mut world, "ping"), Some(ProbeReply::Result(_))));
    world.say(INITIALIZED);
    assert!(matches!(probe(&mut world, "tools/list"), Some(ProbeReply::Result(_))));
}

#[test]
fn a_client_that_goes_on_without_saying_so_counts_as_initialized() {
    let mut world = World::new(|_| ());
    world.say(INITIALIZE);
    world.call("1", "t");
    world.server_answers("1");
    assert!(matches!(probe(&mut world, "tools/list"), Some(ProbeReply::Result(_))));
}

#[test]
fn what_was_learned_of_links_does_not_outlive_their_chain() {
    let mut world = World::new(|server| server.health.interval = Some(secs(120)));
    world.open();
    world.advance(secs(120));
    world.chain_ends(
        &[(Verdict::Fail("no answer".into()), Heard::Silence), (Verdict::Pass, Heard::Answer)],
        Duration::ZERO,
    );
    assert_ne!(world.slot.latches(), &Latches::default(), "the ping is ignored");
    world.advance(secs(120));
    assert!(world.chain.is_some());
    let mut config = (**world.slot.config()).clone();
    config.probe.chain = vec![Link::new("exec", json!({})), Link::new("tools_list", json!({}))];
    world.tell(|slot, now, out| slot.configure(now, Arc::new(config), false, out));
    assert_eq!(world.slot.latches(), &Latches::default());
    assert!(world.chain.is_none(), "a chain that runs is not that of the new configuration");
    world.advance(secs(120));
    assert!(world.chain.is_some(), "the next check comes as usual");
}

#[test]
fn a_server_is_not_replaced_for_a_check_during_which_a_call_came() {
    let mut world = leaking();
    let too_large = [(Verdict::Fail("too large".into()), Heard::Nothing)];
    world.advance(secs(120));
    world.call("1", "t");
    world.chain_ends(&too_large, Duration::ZERO);
    assert_eq!(world.generation().0, 1, "it had nothing to do when it was judged, and has now");
    assert!(!world.told("probe_undecided").is_empty());
    world.server_answers("1");
    world.advance(secs(120));
    world.chain_ends(&too_large, Duration::ZERO);
    world.gone();
    assert_eq!(world.generation().0, 2, "between two calls it is");
}

#[test]
fn a_served_server_without_a_client_is_connected_once_it_has_lived_for_a_moment() {
    let mut world = World::served(|_| ());
    assert!(!world.slot.lifecycle().is_connected());
    world.server_dies();
    world.gone();
    assert_eq!(world.told("mcp_restart_failed").len(), 1, "one that ends at once is a failed attempt");
    world.advance(secs(2));
    assert!(world.slot.lifecycle().is_connected());
    world.say(INITIALIZE);
    assert_eq!(world.client_got().len(), 1, "a client that comes then is answered as ever");
}

#[test]
fn a_question_that_was_left_behind_is_nothing_to_do() {
    let deaf = Script { ignores: &["server/discover"], ..Script::default() };
    let mut world = World::with_servers([deaf], |server| {
        server.health.interval = Some(secs(120));
        server.health.threshold = 1;
        server.health.on_unhealthy = OnUnhealthy::Restart;
        server.probe.mode = ChainMode::All;
    });
    world.say(&stateless("7", "server/discover", ""));
    world.open();
    world.advance(secs(120));
    world.call("1", "t");
    world.chain_ends(&[(Verdict::Fail("too large".into()), Heard::Nothing)], Duration::ZERO);
    assert_eq!(world.generation().0, 1, "it was judged while it had nothing to do, and has now");
}
