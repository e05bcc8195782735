//! `server/discover` as the client's first word: a dual-era client asks which era the server speaks.

use crate::config::Delays;
use crate::core::testing::{INITIALIZE, INITIALIZED, Script, World, refused, secs, stateless};

/// A server of the handshake era that ends on the question.
fn dies_of_it() -> Script {
    Script { dies_on: Some("server/discover"), ..Script::default() }
}

fn discover() -> String {
    stateless("1", "server/discover", "")
}

#[test]
fn the_question_and_its_answer_go_through() {
    let mut world = World::new(|_| ());
    world.say(&discover());
    assert_eq!(world.server_got(), [discover()]);
    assert!(world.client_got_one().contains("supportedVersions"));
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn a_server_that_dies_of_the_question_is_restarted_at_once_and_the_handshake_goes_to_the_new_one() {
    let mut world =
        World::with_servers([dies_of_it()], |server| server.restart.delays = Delays::Schedule(vec![secs(30)]));
    world.say(&discover());
    refused(&world.client_got_one(), "1", -31000);
    assert_eq!(world.generation().0, 2);
    assert_eq!(world.slot.lifecycle().attempts().0, 1, "it does not count as a failed start");
    assert_eq!(world.server_got(), [""; 0], "the question is not asked again");
    world.say(INITIALIZE);
    world.say(INITIALIZED);
    assert_eq!(world.server_got(), [INITIALIZE, INITIALIZED]);
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn it_costs_nothing_of_the_smallest_budget() {
    let mut world = World::that_exits([dies_of_it()], |server| server.restart.max_attempts = Some(1));
    world.say(&discover());
    assert_eq!((world.exit, world.generation().0), (None, 2));
    assert_eq!(world.told("server_failed").len(), 0);
    assert_eq!(world.told("mcp_restart_failed")[0]["attempt"], 1);
    world.say(INITIALIZE);
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn an_initialize_may_follow_while_the_question_is_unanswered() {
    let mut world = World::with_servers([Script { ignores: &["server/discover"], ..Script::default() }], |_| ());
    world.say(&discover());
    world.say(INITIALIZE);
    assert_eq!(world.server_got(), [discover(), INITIALIZE.to_owned()]);
    assert!(world.client_got_one().contains("\"id\":0.0"));
    world.advance(secs(10));
    world.server_dies();
    assert_eq!(world.server_got_methods()[..1], ["initialize"]);
}

#[test]
fn an_initialize_that_dies_behind_the_question_is_sent_to_the_new_process() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(&discover());
    world.say(INITIALIZE);
    world.server_dies();
    let got = world.client_got();
    assert!(got.iter().any(|line| line.contains("\"id\":0.0") && line.contains("result")), "{got:?}");
    assert!(world.slot.lifecycle().is_connected());
}

#[test]
fn a_question_that_is_not_answered_is_not_suspected() {
    let mut world = World::with_servers([Script::deaf()], |_| ());
    world.say(&discover());
    world.advance(secs(100));
    assert!(world.chain.is_none() && world.generation().0 == 1);
}

#[test]
fn after_a_discovery_that_succeeded_the_session_is_stateless() {
    let mut world = World::new(|_| ());
    world.say(&discover());
    world.server_dies();
    assert_eq!(world.server_got_methods(), ["server/discover"], "ours: does it answer?");
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.client_got().len(), 1, "the client's own");
    world.say(&stateless("2", "tools/list", ""));
    assert_eq!(world.server_got_methods(), ["tools/list"]);
}

#[test]
fn a_question_that_kills_is_not_asked_again_for_a_client_that_has_gone_on_in_the_other_era() {
    let slow = Script { ignores: &["server/discover", "initialize"], ..Script::default() };
    let mut world = World::with_servers([slow, dies_of_it()], |server| {
        server.restart.delays = Delays::Schedule(vec![secs(30)]);
        server.restart.max_attempts = Some(1);
    });
    world.say(&discover());
    world.say(INITIALIZE);
    world.server_dies();
    let got = world.client_got();
    refused(&got[0], "1", -31000);
    assert!(got[1].contains("\"id\":0.0") && got[1].contains("result"), "{got:?}");
    assert_eq!((world.generation().0, world.server_got_methods()), (2, vec!["initialize".to_owned()]));
}

#[test]
fn a_question_that_nobody_answers_does_not_keep_a_server_from_being_replaced() {
    let deaf = Script { ignores: &["server/discover"], ..Script::default() };
    let mut world = World::with_servers([deaf], |server| server.limits.max_lifetime = Some(secs(600)));
    world.say(&discover());
    world.open();
    world.advance(secs(700));
    world.gone();
    assert_eq!(world.generation().0, 2);
}

#[test]
fn an_initialize_that_was_cancelled_is_no_reason_to_end_a_server_that_serves() {
    let script = Script { ignores: &["initialize"], refuses: &["server/discover"], ..Script::default() };
    let mut world = World::with_servers([script], |_| ());
    world.say(&discover());
    world.say(INITIALIZE);
    world.cancel("0");
    world.client_got_one();
    world.call("2", "t");
    world.advance(secs(35));
    assert_eq!((world.generation().0, world.client_got()), (1, vec![]));
}

#[test]
fn one_that_was_sent_again_and_is_cancelled_holds_up_nobody() {
    let mut world = World::with_servers([Script::deaf(), Script::deaf()], |_| ());
    world.say(INITIALIZE);
    world.server_dies();
    world.call("2", "t");
    assert_eq!(world.server_got_methods(), ["initialize"], "the next one has it, and nothing else yet");
    world.cancel("0");
    assert_eq!(world.server_got_methods(), ["tools/call", "notifications/cancelled"]);
    world.server_answers("2");
    world.client_got_one();
    world.advance(secs(100));
    assert!(world.slot.lifecycle().is_connected() && world.generation().0 == 2);
}
