//! Tools of the watchdog among a server's own (`mgmt.inject`), end to end.

use harness::{Session, Value, What, json, request, tool_call};

use crate::rig::{SHORT_DRAIN, setup};

const LIST: &str = "mcp_watchdog_list_servers";
const RETRY: &str = "mcp_watchdog_retry_server";

/// A session whose server is not started again by itself.
fn session() -> Session {
    let session = setup()
        .options(["--name", "notes", "--restart-delays", "60s"])
        .options(SHORT_DRAIN)
        .env("MCP_WATCHDOG_MGMT__INJECT", "true")
        .start();
    session.initialize();
    session
}

/// What the client got as the answer with this id, byte for byte.
fn line(session: &Session, id: u64) -> String {
    let found = session.lines().into_iter().find(|line| line.value.as_ref().is_some_and(|value| value["id"] == id));
    found.expect("it was answered").text
}

/// What a server wrote as the answer with this id.
fn wrote(session: &Session, id: u64) -> String {
    session.wait_entry("the server's line", |entry| match &entry.what {
        What::Wrote(line) => {
            let value: Value = serde_json::from_str(line).ok()?;
            (value["id"] == id && value["method"].is_null()).then(|| line.clone())
        }
        _ => None,
    })
}

#[test]
fn a_model_brings_its_server_back_with_a_tool_among_the_servers_own() {
    let session = session();
    session.send(request(1, "tools/list", Value::Null));
    let listed = session.answer(1).result()["tools"].as_array().cloned().expect("a list");
    let names: Vec<_> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names.iter().position(|name| *name == LIST), Some(names.len() - 6), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("able_server")), "nothing is switched off: {names:?}");
    session.send(tool_call(2, "echo", json!({ "text": "here" })));
    assert_eq!(session.answer(2).text(), "here");

    session.kill_server();
    // Its end is news for the test a moment before it is for the watchdog.
    session.wait_stderr("server_disconnected");
    session.send(tool_call(3, LIST, json!({})));
    let server = session.answer(3).result()["structuredContent"]["servers"][0].clone();
    assert_eq!((&server["name"], &server["status"]), (&json!("notes"), &json!("retrying")), "{server}");
    session.send(tool_call(4, RETRY, json!({ "name": "notes", "wait_ms": 5000 })));
    let retried = session.answer(4).result()["structuredContent"].clone();
    assert_eq!((&retried["status"], &retried["generation"]), (&json!("connected"), &json!(2)), "{retried}");
    session.send(tool_call(5, "life", json!({})));
    assert_eq!(session.answer(5).text(), "2");
    session.send(tool_call(6, RETRY, json!({ "name": "nobody" })));
    assert_eq!(session.answer(6).result()["isError"], true);

    for id in [0, 2, 5] {
        assert_eq!(line(&session, id), wrote(&session, id), "as it was");
    }
    let (list, theirs) = (line(&session, 1), wrote(&session, 1));
    let common = list.bytes().zip(theirs.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
    assert!(list.ends_with(&theirs[common..]), "something was put in, and nothing else changed");
    assert!(session.read_by(None, "tools/call").iter().all(|call| !call.to_string().contains("mcp_watchdog_")));
    session.finish();
}

#[test]
fn without_it_a_list_is_as_the_server_wrote_it() {
    let session = setup().start();
    session.initialize();
    session.send(request(1, "tools/list", Value::Null));
    let _ = session.answer(1).result();
    assert_eq!(line(&session, 1), wrote(&session, 1));
    session.finish();
}

#[test]
fn a_call_that_waits_does_not_hold_up_the_end_for_longer_than_the_drain() {
    let mut session = session();
    session.send(request(1, "tools/list", Value::Null));
    let _ = session.answer(1).result();
    session.send(tool_call(
        2,
        "mcp_watchdog_await_activity",
        json!({ "timeout_ms": 60_000, "types": ["config_rejected"] }),
    ));
    session.send(tool_call(3, LIST, json!({})));
    let _ = session.answer(3).result();
    session.close_stdin();
    assert_eq!(session.answer(2).result()["isError"], true);
    session.finish();
}
