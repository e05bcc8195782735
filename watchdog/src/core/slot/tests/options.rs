//! What users may ask for beyond the defaults: errors as tool results, and tool calls that are repeated.

use crate::config::{EventThrottle, RetryTools, ToolErrors};
use crate::core::testing::{Script, World, raw_id, refused, secs, stateless, value};

#[test]
fn s64_errors_of_tool_calls_as_tool_results() {
    let mut world = World::new(|server| server.errors.tool_calls = ToolErrors::ToolResult);
    world.open();
    world.call("\"x\"", "t");
    world.request("2", "x/y");
    world.server_dies();
    let got = world.client_got();
    let message = value(&got[0]);
    assert_eq!((raw_id(&got[0]), &message["result"]["isError"]), ("\"x\"".to_owned(), &true.into()));
    let text = value(message["result"]["content"][0]["text"].as_str().expect("text"));
    assert!(text["error"].as_str().is_some_and(|text| text.contains("Server disconnected")), "{text}");
    assert_eq!(message["result"]["_meta"]["mcp-watchdog/error"]["data"]["code"], "server_disconnected");
    assert!(message["result"]["resultType"].is_null());
    refused(&got[1], "2", -31000);
}

#[test]
fn such_results_have_the_type_that_the_stateless_revision_wants() {
    let mut world = World::new(|server| server.errors.tool_calls = ToolErrors::ToolResult);
    world.open_stateless();
    world.say(&stateless("1", "tools/call", "\"name\":\"t\","));
    world.server_dies();
    assert_eq!(value(&world.client_got_one())["result"]["resultType"], "complete");
}

/// Calls each of three tools, kills the server, and gives the names of those that are sent again.
fn repeated(tools: RetryTools) -> Vec<&'static str> {
    let list = r#"[{"name":"plain"},{"name":"read","annotations":{"readOnlyHint":true}},{"name":"same","annotations":{"idempotentHint":true}}]"#;
    let script = Script { tools: list, ..Script::default() };
    let mut world = World::with_servers([script.clone(), script], |server| server.retry.tools = tools);
    world.open();
    world.request("0", "tools/list");
    world.forget();
    let names = ["plain", "read", "same"];
    for (id, name) in names.iter().enumerate() {
        world.call(&(id + 1).to_string(), name);
    }
    world.say(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"read","task":{}}}"#);
    world.server_dies();
    let got = world.server_got();
    let refused_ids: Vec<_> = world.client_got().iter().map(|line| raw_id(line)).collect();
    assert!(refused_ids.contains(&"9".to_owned()), "a task is never repeated");
    let again = |name: &str| got.iter().any(|line| value(line)["params"]["name"] == name);
    names.into_iter().filter(|name| again(name)).collect()
}

#[test]
fn tool_calls_are_repeated_only_by_annotation_and_only_if_the_user_allows_it() {
    assert_eq!(repeated(RetryTools::Never), [""; 0]);
    assert_eq!(repeated(RetryTools::ReadOnly), ["read"]);
    assert_eq!(repeated(RetryTools::Idempotent), ["read", "same"]);
}

#[test]
fn a_repeated_call_that_fails_again_is_not_called_retryable() {
    let list = r#"[{"name":"read","annotations":{"readOnlyHint":true}}]"#;
    let script = Script { tools: list, ..Script::default() };
    let mut world = World::with_servers([script.clone(), script], |server| server.retry.tools = RetryTools::ReadOnly);
    world.open();
    world.request("0", "tools/list");
    world.call("1", "read");
    world.server_dies();
    world.client_got();
    world.server_dies();
    let data = refused(&world.client_got_one(), "1", -31000);
    assert_eq!((&data["sent"], &data["retryable"]), (&true.into(), &false.into()));
}

#[test]
fn s95_the_throttle_of_the_configuration_thins_out_attempts_and_without_one_each_is_told() {
    let told = |throttle| {
        let mut world = World::new(|server| server.handshake.timeout = secs(100_000));
        world.slot.throttle_events(throttle);
        world.open();
        world.script = Script::deaf();
        world.server_dies();
        for _ in 0..8 {
            world.server_dies();
            world.advance(secs(60));
        }
        world.told("server_reconnecting").len()
    };
    let all = told(None);
    assert!(all >= 8, "{all}");
    assert_eq!(
        told(Some(EventThrottle { burst: 2, every: secs(100_000) })),
        2 + 1,
        "and that the delay is at its longest"
    );
}
