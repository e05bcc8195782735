//! The published catalog: stale lists while the server is down, and changes after a restart.

use crate::config::OnCall;
use crate::core::testing::{Script, World, refused, secs, stateless};

const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

fn other_tools() -> Script {
    Script { tools: r#"[{"name":"b"}]"#, ..Script::default() }
}

/// A world in which the client has read the tools.
fn listed(first: Script, change: impl FnOnce(&mut crate::config::Server)) -> World {
    let mut world = World::with_servers([first], change);
    world.open();
    world.request("1", "tools/list");
    world.client_got_one();
    world
}

#[test]
fn s18_a_change_is_announced_only_if_the_list_differs() {
    let mut world = listed(Script::default(), |_| ());
    world.server_dies();
    assert!(world.server_got_methods().contains(&"tools/list".to_owned()), "it is compared");
    assert_eq!(world.client_got(), [""; 0], "the same list, and the refresh is ours alone");
    world.next.push_back(other_tools());
    world.forget();
    world.advance(secs(10));
    world.server_dies();
    assert_eq!(world.client_got(), [CHANGED]);
    assert_eq!(world.told("catalog_changed")[0], serde_json::json!({"list": "tools/list", "announced": true}));
}

#[test]
fn it_is_announced_only_where_the_client_was_told_that_it_may_be() {
    let mut world = listed(Script { capabilities: r#"{"tools":{}}"#, ..Script::default() }, |_| ());
    world.next.push_back(other_tools());
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
    assert_eq!(world.told("catalog_changed")[0]["announced"], false);

    let mut world = listed(Script::default(), |server| server.catalog.announce = false);
    world.next.push_back(other_tools());
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
}

#[test]
fn a_list_that_the_client_never_read_is_not_compared() {
    let mut world = World::new(|_| ());
    world.open();
    world.next.push_back(other_tools());
    world.server_dies();
    assert_eq!(world.server_got_methods(), ["initialize", "notifications/initialized"]);
}

#[test]
fn in_the_stateless_era_only_streams_whose_filter_has_it_hear_of_a_change() {
    let mut world = World::new(|_| ());
    world.open_stateless();
    world.say(&stateless("\"tools\"", "subscriptions/listen", r#""notifications":{"toolsListChanged":true},"#));
    world.say(&stateless("\"prompts\"", "subscriptions/listen", r#""notifications":{"promptsListChanged":true},"#));
    world.client_got();
    world.next.push_back(other_tools());
    world.server_dies();
    let expected = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"tools"}}}"#;
    assert_eq!(world.client_got(), [expected]);
}

#[test]
fn while_the_server_is_down_the_last_good_list_is_served_byte_for_byte() {
    let mut world = listed(Script { tools: r#"[ {"name":"a","x":1.0e1} ]"#, ..Script::default() }, |_| ());
    world.lingering = true;
    world.server_dies();
    world.request("\"q\"", "tools/list");
    assert_eq!(world.client_got(), [r#"{"jsonrpc":"2.0","id":"q","result":{"tools":[ {"name":"a","x":1.0e1} ]}}"#]);
    world.request("3", "prompts/list");
    assert_eq!(world.client_got(), [""; 0], "nothing is known of that one: it waits");
    world.say(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"p2"}}"#);
    assert_eq!(world.client_got(), [""; 0], "nor of later pages");
}

#[test]
fn a_stale_list_is_configurable_and_ends_with_disabling() {
    let mut world = listed(Script::default(), |server| server.catalog.serve_stale = false);
    world.lingering = true;
    world.server_dies();
    world.request("2", "tools/list");
    assert_eq!(world.client_got(), [""; 0]);

    let mut world = listed(Script::default(), |_| ());
    world.tell(|slot, now, out| slot.disable(now, out));
    world.request("2", "tools/list");
    refused(&world.client_got_one(), "2", -31004);
}

#[test]
fn s203_after_permanent_failure_lists_are_served_unless_that_is_switched_off() {
    for keep in [true, false] {
        for on_call in [OnCall::Attempt, OnCall::Wait, OnCall::Error] {
            let mut world = listed(Script::default(), |server| {
                server.restart.max_attempts = Some(1);
                server.restart.on_call = on_call;
                server.catalog.keep_on_permanent_failure = keep;
            });
            world.script = Script { dies_at_start: true, ..Script::default() };
            world.server_dies();
            world.advance(secs(5));
            assert_eq!(world.slot.lifecycle().status(), "failed");
            world.request("2", "tools/list");
            let line = world.client_got_one();
            if keep {
                assert!(line.contains("\"tools\""), "{on_call:?}: {line}");
            } else {
                refused(&line, "2", -31005);
            }
            assert_eq!(
                world.generation().0,
                if on_call == OnCall::Attempt { 3 } else { 2 },
                "it is a request all the same"
            );
        }
    }
}

#[test]
fn where_calls_meet_an_error_lists_are_served_all_the_same() {
    let mut world = listed(Script::default(), |server| server.restart.on_call = OnCall::Error);
    world.lingering = true;
    world.server_dies();
    world.call("2", "t");
    let line = world.client_got_one();
    let data = refused(&line, "2", -31006);
    assert_eq!((&data["reason"], &data["sent"]), (&"not-held".into(), &false.into()), "there was no attempt yet");
    assert!(line.contains("(signal SIGKILL)") && line.contains("restart.on_call"), "{line}");
    world.request("3", "tools/list");
    assert!(world.client_got_one().contains("\"tools\""));
}

#[test]
fn s184_a_failed_refresh_keeps_the_last_good_list() {
    let mut world = listed(Script::default(), |_| ());
    world.next.push_back(Script { refuses: &["tools/list"], ..Script::default() });
    world.server_dies();
    assert_eq!(world.client_got(), [""; 0]);
    world.lingering = true;
    world.server_dies();
    world.request("2", "tools/list");
    assert!(world.client_got_one().contains(r#"{"name":"a"}"#));
}

#[test]
fn pages_are_followed_by_the_refresh() {
    let first = Script { tools: r#"[{"name":"a"}],"nextCursor":"p2""#, ..Script::default() };
    let mut world = listed(first.clone(), |_| ());
    world.next.push_back(Script { ignores: &["tools/list"], ..first });
    world.server_dies();
    let ask = world.server_got().pop().expect("the refresh");
    let id = crate::core::testing::raw_id(&ask);
    world.server_says(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"a"}}],"nextCursor":"p2"}}}}"#
    ));
    let more = world.server_got().remove(0);
    assert!(more.contains(r#""params":{"cursor":"p2"}"#), "{more}");
    let id = crate::core::testing::raw_id(&more);
    world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"new"}}]}}}}"#));
    assert_eq!(world.client_got(), [""; 0], "the client never read the second page");
}

/// A page of tools, and the request for it.
fn page(world: &mut World, id: &str, cursor: &str, result: &str) {
    let params = if cursor.is_empty() { String::new() } else { format!(r#","params":{{"cursor":"{cursor}"}}"#) };
    world.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"{params}}}"#));
    world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

#[test]
fn a_list_of_several_pages_is_served_as_one_while_the_server_is_down_and_never_a_cursor_of_the_last_one() {
    let pages = Script { ignores: &["tools/list"], ..Script::default() };
    let mut world = World::with_servers([pages], |_| ());
    world.open();
    page(&mut world, "1", "", r#"{"tools":[ {"name":"a"} , 1e0],"nextCursor":"p2"}"#);
    page(&mut world, "2", "p2", r#"{"nextCursor":"p3","tools":[]}"#);
    world.client_got();
    world.lingering = true;
    world.server_dies();
    world.request("3", "tools/list");
    assert_eq!(world.client_got(), [""; 0], "all of it is not known: it waits");
    world.gone();
    assert!(world.client_got_one().contains(r#""tools":[{"name":"a"}]"#), "for the next server");

    let pages = Script { ignores: &["tools/list"], ..Script::default() };
    let mut world = World::with_servers([pages], |_| ());
    world.open();
    page(&mut world, "1", "", r#"{"tools":[ {"name":"a"} , 1e0],"nextCursor":"p2"}"#);
    page(&mut world, "2", "p2", r#"{"nextCursor":"p3","tools":[]}"#);
    page(&mut world, "3", "p3", r#"{"x":1, "tools":[ {"name":"b"}], "nextCursor":null}"#);
    world.client_got();
    world.lingering = true;
    world.server_dies();
    world.request("4", "tools/list");
    let whole = r#"{"x":1, "tools":[ {"name":"a"},1e0,{"name":"b"}], "nextCursor":null}"#;
    assert_eq!(world.client_got(), [format!(r#"{{"jsonrpc":"2.0","id":4,"result":{whole}}}"#)]);
}
