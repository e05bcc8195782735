//! What is counted of requests: each once, however it ends.

use super::super::{Count, RequestOutcome};
use crate::core::testing::{Script, World, secs};
use crate::wire::head::Method;

fn open() -> World {
    let mut world = World::new(|_| ());
    world.open();
    world.counts.clear();
    world
}

/// What was counted since the last time, by method and outcome, with the seconds that it took.
fn counted(world: &mut World) -> Vec<(Method, RequestOutcome, Option<u64>)> {
    let of_request = |count| match count {
        Count::Request { method, outcome, elapsed } => Some((method, outcome, elapsed.map(|time| time.as_secs()))),
        _ => None,
    };
    world.counts.drain(..).filter_map(of_request).collect()
}

#[test]
fn answers_count_with_their_time() {
    let mut world = open();
    world.call("1", "t");
    world.request("2", "resources/read");
    world.advance(secs(3));
    world.server_answers("1");
    world.server_says(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no"}}"#);
    assert_eq!(
        counted(&mut world),
        [(Method::ToolsCall, RequestOutcome::Ok, Some(3)), (Method::ResourcesRead, RequestOutcome::Error, Some(3)),]
    );
    world.server_answers("1");
    assert_eq!(counted(&mut world), [], "an answer to nothing");
}

#[test]
fn the_opening_counts() {
    let mut world = World::new(|_| ());
    world.open();
    assert_eq!(counted(&mut world), [(Method::Initialize, RequestOutcome::Ok, Some(0))]);
    world.server_dies();
    assert_eq!(counted(&mut world), [], "the replay is ours");
}

#[test]
fn what_is_cancelled_counts_wherever_it_was() {
    let mut world = open();
    world.call("1", "t");
    world.cancel("1");
    world.server_answers("1");
    assert_eq!(counted(&mut world), [(Method::ToolsCall, RequestOutcome::Cancelled, Some(0))]);
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.call("2", "t");
    world.advance(secs(2));
    world.cancel("2");
    world.cancel("2");
    assert_eq!(counted(&mut world), [(Method::ToolsCall, RequestOutcome::Cancelled, Some(2))]);
}

#[test]
fn what_dies_with_the_server_is_refused_and_what_is_sent_again_counts_at_its_end() {
    let mut world = open();
    world.call("1", "t");
    world.request("2", "resources/read");
    world.advance(secs(1));
    world.server_dies();
    assert_eq!(counted(&mut world), [(Method::ToolsCall, RequestOutcome::Refused, Some(1))]);
    world.advance(secs(1));
    world.server_answers("2");
    assert_eq!(counted(&mut world), [(Method::ResourcesRead, RequestOutcome::Ok, Some(2))]);
}

#[test]
fn a_deadline_and_a_handshake_that_take_too_long_count_as_such() {
    let mut world = World::new(|server| server.request_deadline = Some(secs(5)));
    world.open();
    world.call("1", "t");
    world.counts.clear();
    world.advance(secs(5));
    let count = Count::Request { method: Method::ToolsCall, outcome: RequestOutcome::Refused, elapsed: Some(secs(5)) };
    assert_eq!(world.counts, [count, Count::DeadlinePassed]);
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.counts.clear();
    world.advance(secs(30));
    assert_eq!(world.counts, [Count::HandshakeTimeout]);
}

#[test]
fn lists_from_the_catalog_and_streams_count() {
    let mut world = open();
    world.request("1", "tools/list");
    world.server_says(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
    world.next.push_back(Script::deaf());
    world.server_dies();
    world.counts.clear();
    world.request("2", "tools/list");
    assert_eq!(counted(&mut world), [(Method::ToolsList, RequestOutcome::Cached, Some(0))]);

    let mut world = World::new(|_| ());
    world.open_stateless();
    world.counts.clear();
    world.say(&crate::core::testing::stateless("7", "subscriptions/listen", r#""notifications":{},"#));
    assert_eq!(counted(&mut world), []);
    world.cancel("7");
    assert_eq!(counted(&mut world), [(Method::SubscriptionsListen, RequestOutcome::Cancelled, None)]);
}
