//! Tools of the watchdog among the server's own: what a list looks like, and calls that are answered here.

use serde_json::{Value, json};

use crate::config::Server;
use crate::core::inject::Injected;
use crate::core::testing::{Script, World, millis, raw_id, secs, stateless, value};

const STATUS: &str = r#"{"name":"w_status"}"#;
const RETRY: &str = r#"{"name":"w_retry"}"#;

fn tools() -> Vec<Injected> {
    let tool = |tool: &str| {
        let name = format!("w_{tool}");
        let item = format!(r#"{{"name":"{name}"}}"#).into_bytes().into();
        Injected { name: name.into(), tool: tool.into(), item }
    };
    vec![tool("status"), tool("retry")]
}

/// A world with both tools, in which the client has opened a session.
fn world(script: Script, change: impl FnOnce(&mut Server)) -> World {
    let mut world = World::with_servers([script.clone()], change);
    world.script = script;
    world.slot.inject(tools());
    world.open();
    world
}

/// The same, after the client has read the list.
fn offered(change: impl FnOnce(&mut Server)) -> World {
    let mut world = world(Script::default(), change);
    world.request("1", "tools/list");
    assert!(world.client_got_one().contains(STATUS));
    world.forget();
    world
}

fn with_list(result: &'static str) -> World {
    let mut world = world(Script { ignores: &["tools/list"], ..Script::default() }, |_| ());
    world.request("7", "tools/list");
    world.server_says(&format!(r#"{{"jsonrpc":"2.0" , "result":{result},"id":7 }}"#));
    world
}

/// What the client gets for this result of `tools/list`, around it the rest of the line.
fn listed(result: &'static str) -> String {
    let line = with_list(result).client_got_one();
    let inner = line.strip_prefix(r#"{"jsonrpc":"2.0" , "result":"#).and_then(|rest| rest.strip_suffix(r#","id":7 }"#));
    inner.expect("every other byte is as it was").to_owned()
}

/// The call that runs ends with this result.
fn ends(world: &mut World, result: Value) {
    let (call, ..) = world.managed.remove(0);
    world.tell(|slot, now, out| slot.managed(now, call, result, out));
}

/// A call of `status` is answered once, under its id, and the server hears nothing.
#[track_caller]
fn answers(world: &mut World, id: &str) {
    world.forget();
    world.call(id, "w_status");
    assert_eq!(world.client_got(), [""; 0]);
    ends(world, json!({ "content": [], "resultType": "complete" }));
    assert_eq!(world.client_got(), [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)]);
    assert!(!world.server_got_methods().contains(&"tools/call".to_owned()));
}

#[test]
fn ours_are_put_at_the_end_and_nothing_else_changes() {
    assert_eq!(
        listed(r#"{ "tools" : [ {"name":"a","x":1.0e1} ] , "_meta":{"tools":[]}}"#),
        format!(r#"{{ "tools" : [ {{"name":"a","x":1.0e1}},{STATUS},{RETRY} ] , "_meta":{{"tools":[]}}}}"#)
    );
    assert_eq!(listed(r#"{"tools":[ ]}"#), format!(r#"{{"tools":[{STATUS},{RETRY} ]}}"#));
}

#[test]
fn what_is_no_list_or_not_its_end_is_left_alone() {
    for result in [r#"{"tools":null}"#, "{}", r#"{"tools":{"a":[]}}"#, r#"{"tools":[],"nextCursor":"p2"}"#] {
        assert_eq!(listed(result), result);
    }
    let mut world = world(Script { refuses: &["tools/list"], ..Script::default() }, |_| ());
    world.request("7", "tools/list");
    assert!(world.client_got_one().contains("-32601"));
}

#[test]
fn the_last_page_has_them_and_a_name_of_any_page_is_the_servers() {
    let mut world = with_list(r#"{"tools":[{"name":"w_\u0073tatus"}],"nextCursor":"p2"}"#);
    world.forget();
    for id in ["8", "9"] {
        world.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"cursor":"p2"}}}}"#));
        world.server_says(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"b"}}]}}}}"#));
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"b"}},{RETRY}]}}}}"#);
        assert_eq!(world.client_got(), [expected]);
    }
    world.call("10", "w_status");
    assert!(world.server_got().last().is_some_and(|line| raw_id(line) == "10"), "it is the server's");
    world.call("11", "w_retry");
    assert_eq!(world.managed.len(), 1);
}

#[test]
fn a_collision_is_told_once() {
    let script = Script { tools: r#"[{"name":"w_retry"}]"#, ..Script::default() };
    let mut world = world(script, |_| ());
    for id in ["1", "2"] {
        world.request(id, "tools/list");
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{RETRY},{STATUS}]}}}}"#);
        assert_eq!(world.client_got(), [expected]);
    }
    let expected = json!({ "tool": "w_retry", "reason": "the server has a tool of that name" });
    assert_eq!(world.told("inject_refused"), [expected]);
}

#[test]
fn a_name_that_a_new_process_has_is_the_servers_from_then_on() {
    let mut world = offered(|_| ());
    world.next.push_back(Script { tools: r#"[{"name":"w_retry"}]"#, ..Script::default() });
    world.server_dies();
    assert_eq!(world.told("inject_refused").len(), 1);
    world.call("5", "w_retry");
    assert_eq!(world.server_got_methods().last().map(String::as_str), Some("tools/call"));
    assert!(world.managed.is_empty());
    answers(&mut world, "6");
}

#[test]
fn nothing_is_offered_where_the_server_has_no_tools_or_none_are_wanted() {
    let plain = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#;
    let mut silent = world(Script { capabilities: "{}", ..Script::default() }, |_| ());
    let mut off = World::new(|_| ());
    off.open();
    for world in [&mut silent, &mut off] {
        world.request("1", "tools/list");
        assert_eq!(world.client_got(), [plain]);
        world.call("2", "w_status");
        assert_eq!(world.server_got_methods(), ["tools/list", "tools/call"], "nobody was offered it");
        assert!(world.managed.is_empty());
    }
}

#[test]
fn a_name_that_was_never_offered_goes_to_the_server() {
    let mut world = world(Script::default(), |_| ());
    world.call("2", "w_status");
    assert_eq!(world.server_got_methods(), ["tools/call"]);
}

#[test]
fn a_stale_list_has_them_and_ours_never_count_as_a_change() {
    let mut world = offered(|_| ());
    world.lingering = true;
    world.server_dies();
    world.request("2", "tools/list");
    let expected = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{{"name":"a"}},{STATUS},{RETRY}]}}}}"#);
    assert_eq!(world.client_got(), [expected]);
    world.gone();
    assert!(world.slot.lifecycle().is_connected());
    assert_eq!(world.client_got(), [""; 0], "the server's list is the same");
}

#[test]
fn calls_are_answered_in_every_state() {
    let mut world = offered(|server| server.restart.max_attempts = Some(1));
    answers(&mut world, "10");
    world.lingering = true;
    world.server_dies();
    answers(&mut world, "\"while it is being ended\"");
    world.tell(|slot, now, out| slot.disable(now, out));
    answers(&mut world, "12");
    world.gone();
    assert_eq!(world.slot.lifecycle().state_name(), "Disabled");
    answers(&mut world, "13");
    world.lingering = false;
    world.script = Script { dies_at_start: true, ..Script::default() };
    world.tell(|slot, now, out| slot.enable(now, out));
    world.advance(secs(5));
    assert_eq!(world.slot.lifecycle().status(), "failed");
    answers(&mut world, "14");
}

#[test]
fn arguments_are_handed_on_and_what_cannot_be_one_is_refused() {
    let mut world = offered(|_| ());
    let call = |more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"w_retry"{more}}}}}"#)
    };
    world.say(&call(r#","arguments":{"name":"files"}"#));
    let (_, tool, arguments) = world.managed.remove(0);
    assert_eq!((&*tool, Value::Object(arguments)), ("retry", json!({ "name": "files" })));
    for (more, code) in [(r#","arguments":[]"#, -32602), (r#","task":{}"#, -32601)] {
        world.forget();
        world.say(&call(more));
        assert_eq!(value(&world.client_got_one())["error"]["code"], code);
        assert!(world.managed.is_empty() && world.server_got().is_empty());
    }
}

#[test]
fn in_the_stateless_era_a_result_has_its_type() {
    let mut world = World::new(|_| ());
    world.slot.inject(tools());
    world.say(&stateless("0", "tools/list", ""));
    assert!(world.client_got_one().contains(STATUS));
    world.say(&stateless("1", "tools/call", r#""name":"w_status","#));
    ends(&mut world, json!({ "content": [] }));
    assert_eq!(value(&world.client_got_one())["result"], json!({ "content": [], "resultType": "complete" }));
}

#[test]
fn a_cancelled_call_is_ended_and_never_answered() {
    let mut world = offered(|_| ());
    world.call("5", "w_status");
    let (call, ..) = world.managed[0].clone();
    world.cancel("5");
    assert!(world.managed.is_empty(), "the driver was told");
    world.tell(|slot, now, out| slot.managed(now, call, json!({}), out));
    assert_eq!((world.client_got(), world.server_got()), (vec![], vec![]), "the server never knew of it");
}

#[test]
fn so_many_run_at_the_same_time_and_no_more() {
    let mut world = offered(|_| ());
    for id in 10..27 {
        world.call(&id.to_string(), "w_status");
    }
    assert_eq!(world.managed.len(), 16);
    let line = value(&world.client_got_one());
    assert_eq!((&line["id"], &line["result"]["isError"]), (&json!(26), &json!(true)));
    ends(&mut world, json!({}));
    world.call("30", "w_status");
    assert_eq!(world.managed.len(), 16, "there is room again");
}

#[test]
fn a_client_that_leaves_still_gets_its_answer_within_the_drain() {
    let mut world = offered(|_| ());
    world.call("5", "w_status");
    world.tell(|slot, now, out| slot.client_eof(now, out));
    world.advance(secs(1));
    assert_eq!(world.exit, None);
    ends(&mut world, json!({ "content": [] }));
    assert_eq!(raw_id(&world.client_got_one()), "5");
    assert!(world.exit.is_some());
}

#[test]
fn the_end_waits_no_longer_than_the_drain_even_without_a_server() {
    let mut world = offered(|_| ());
    world.call("5", "w_status");
    world.tell(|slot, now, out| slot.disable(now, out));
    world.tell(|slot, now, out| slot.client_eof(now, out));
    world.advance(secs(5) - millis(1));
    assert_eq!((world.exit, world.client_got()), (None, vec![]));
    world.advance(millis(1));
    let line = value(&world.client_got_one());
    assert_eq!((&line["id"], &line["result"]["isError"]), (&json!(5), &json!(true)));
    assert!(world.exit.is_some() && world.managed.is_empty());
}

#[test]
fn in_a_batch_ours_are_answered_and_the_rest_goes_on() {
    let script = Script { version: "2025-03-26", ignores: &["tools/list"], ..Script::default() };
    let mut world = world(script, |_| ());
    world.say(r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
    world.server_says(r#"[{"jsonrpc":"2.0","id":1,"result":{"tools":[]}},{"jsonrpc":"2.0","id":2,"result":{}}]"#);
    let expected = format!(
        r#"[{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{STATUS},{RETRY}]}}}},{{"jsonrpc":"2.0","id":2,"result":{{}}}}]"#
    );
    assert_eq!(world.client_got(), [expected]);
    world.forget();
    let ping = r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#;
    world.say(&format!(r#"[{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"w_status"}}}},{ping}]"#));
    assert_eq!(world.server_got(), [format!("[{ping}]")]);
    ends(&mut world, json!({}));
    assert_eq!(world.client_got(), [r#"{"jsonrpc":"2.0","id":3,"result":{}}"#]);
}
