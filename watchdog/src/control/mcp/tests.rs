//! The tools, over slots without servers and in virtual time.

use std::time::{Instant as Clock, SystemTime};

use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::*;
use crate::control::fake::{Fake, FakeSlot};
use crate::control::tests::schema::faults;
use crate::engine::Handle;
use crate::events::{Event, EventKind};

/// A process with a server that is up, one that is being brought back, one that has failed, and one that is switched off.
fn servers() -> Fake {
    let (up, gone) = (FakeSlot::connected("up"), FakeSlot::failed("gone"));
    let (down, off) = (FakeSlot::new("down"), FakeSlot::new("off"));
    down.paint(|slot| {
        (slot.state, slot.status, slot.attempts) = ("Reconnecting", "retrying", 3);
        slot.next_attempt = Some(Clock::now() + Duration::from_secs(60));
        slot.last_error = Some("it went away".to_owned());
    });
    off.paint(|slot| (slot.enabled, slot.state, slot.status) = (false, "Disabled", "disconnected"));
    Fake::new(&[&up, &down, &gone, &off])
}

/// Calls a tool. What comes of it has the form that its schema promises.
async fn call(handle: &Handle, tool: Tool, arguments: Value) -> CallToolResult {
    let backend = Local::new(handle.clone(), Arc::new(Semaphore::new(1)));
    let result = call::call(&backend, tool, arguments.as_object().cloned()).await;
    if let Some(structured) = &result.structured_content {
        let schema = Value::Object((*tool.describe().output_schema.expect("every tool has one")).clone());
        assert_eq!(faults(&schema, &schema, structured, ""), Vec::<String>::new());
    }
    result
}

/// The result of a call that went well; its text is the same as its structure.
#[track_caller]
fn good(result: CallToolResult) -> Value {
    assert_eq!(result.is_error, Some(false), "{result:?}");
    let structured = result.structured_content.expect("our tools have structured results");
    let text = result.content[0].as_text().expect("and texts");
    assert_eq!(serde_json::from_str::<Value>(&text.text).unwrap(), structured);
    structured
}

/// The text of a call that did not.
#[track_caller]
fn bad(result: CallToolResult) -> String {
    assert_eq!((result.is_error, result.structured_content), (Some(true), None));
    result.content[0].as_text().expect("a text").text.clone()
}

fn manager(allow_disable: bool) -> Manager {
    let backend = Local::new(servers().plane.handle().clone(), Arc::new(Semaphore::new(1)));
    Manager::new(Arc::new(backend), allow_disable, watch::channel(false).1)
}

fn pid() -> u32 {
    std::process::id()
}

#[tokio::test]
async fn servers_are_switched_only_where_that_is_allowed() {
    let names = |allowed| manager(allowed).tools().map(Tool::name).collect::<Vec<_>>();
    let few = [
        "list_servers",
        "get_server_status",
        "retry_server",
        "retry_all_servers",
        "reconnect_server",
        "await_activity",
    ];
    assert_eq!(names(false), few);
    assert_eq!(names(true), [&few[..], &["enable_server", "disable_server"]].concat());
    assert!(manager(false).get_tool("disable_server").is_none());
}

#[test]
fn tools_say_what_they_do_and_what_they_take() {
    let hints = |tool: Tool| {
        let hints = tool.describe().annotations.expect("every tool has them");
        (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
    };
    for tool in Tool::ALL {
        let reads = matches!(tool, Tool::ListServers | Tool::GetServerStatus | Tool::AwaitActivity);
        let ends = !reads && tool != Tool::EnableServer;
        assert_eq!(hints(tool), (Some(reads), Some(ends), Some(true), Some(false)), "{tool:?}");

        let described = tool.describe();
        let output = described.output_schema.expect("every tool has one");
        for schema in [&*described.input_schema, &*output] {
            assert_eq!(schema["type"], "object", "{tool:?}");
            let text = serde_json::to_string(schema).unwrap();
            assert!(!text.contains("\"uint"), "a format that validators do not know: {text}");
        }
        assert_eq!(described.input_schema["additionalProperties"], false, "{tool:?}");
        assert!(described.description.is_some_and(|text| text.len() > 20));
    }
    assert_eq!(Tool::RetryServer.describe().input_schema["required"], json!(["name"]));
}

#[tokio::test(start_paused = true)]
async fn s62_s63_all_servers_are_listed_with_their_attempts_and_health() {
    let fake = servers();
    let handle = fake.plane.handle();
    let list = good(call(handle, Tool::ListServers, json!({})).await);
    let servers = list["servers"].as_array().unwrap();
    let names: Vec<_> = servers.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["up", "down", "gone", "off"]);
    assert_eq!(list["problems"], json!([]));
    assert!(servers.iter().all(|server| server["watchdog"] == pid()));
    let (up, down) = (&servers[0], &servers[1]);
    assert_eq!((&up["healthStatus"], &up["consecutiveHealthFailures"]), (&json!("healthy"), &json!(0)));
    assert_eq!((&down["reconnectAttempt"], &down["lastError"]), (&json!(3), &json!("it went away")));
    assert!(down["nextRetryMs"].as_u64().is_some_and(|millis| millis > 50_000));

    let one = good(call(handle, Tool::GetServerStatus, json!({ "name": "down" })).await);
    assert_eq!((&one["name"], &one["status"], &one["watchdog"]), (&json!("down"), &json!("retrying"), &json!(pid())));
}

#[tokio::test(start_paused = true)]
async fn s50_an_unknown_server_is_an_error_that_names_those_that_there_are() {
    let fake = servers();
    let handle = fake.plane.handle();
    for tool in [Tool::GetServerStatus, Tool::RetryServer, Tool::ReconnectServer, Tool::DisableServer] {
        let text = bad(call(handle, tool, json!({ "name": "upp" })).await);
        assert!(
            text.starts_with(
                "server_not_found: Server 'upp' not found (did you mean \"up\"?); there are: up, down, gone, off"
            ),
            "{text}"
        );
    }
    let other = bad(call(handle, Tool::RetryServer, json!({ "name": "up", "watchdog": 0 })).await);
    assert_eq!(other, format!("invalid_arguments: this is watchdog {}, not 0: leave `watchdog` out", pid()));
}

#[tokio::test(start_paused = true)]
async fn s46_s61_a_server_is_reconnected_whatever_its_state() {
    let fake = servers();
    for name in ["up", "down", "gone"] {
        let handle = fake.plane.handle();
        let before = good(call(handle, Tool::GetServerStatus, json!({ "name": name })).await);
        let result = good(call(handle, Tool::ReconnectServer, json!({ "name": name })).await);
        let expected = json!({
            "success": true, "server": name, "watchdog": pid(), "status": "connected", "state": "Connected",
            "generation": before["generation"].as_u64().unwrap() + 1, "attempt": 1,
        });
        assert_eq!(result, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_comes_back_at_once_or_when_it_was_waited_for() {
    let fake = Fake::new(&[&FakeSlot::failed("stubborn")]);
    let handle = fake.plane.handle();
    let before = Instant::now();
    let result = good(call(handle, Tool::RetryServer, json!({ "name": "stubborn" })).await);
    assert_eq!((&result["success"], &result["attempt"], before.elapsed()), (&json!(true), &json!(1), Duration::ZERO));

    for (tool, arguments, wait) in [
        (Tool::RetryServer, json!({ "name": "stubborn", "wait_ms": 500 }), Duration::from_millis(500)),
        (Tool::ReconnectServer, json!({ "name": "stubborn" }), Duration::from_secs(30)),
        (Tool::ReconnectServer, json!({ "name": "stubborn", "wait_ms": 70 }), Duration::from_millis(70)),
    ] {
        let before = Instant::now();
        let text = bad(call(handle, tool, arguments).await);
        assert_eq!(before.elapsed(), wait);
        assert!(text.starts_with("server_reconnecting: server \"stubborn\" is still PermanentlyFailed; "), "{text}");
        assert!(text.contains("get_server_status"), "the remedy: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_switched_off_is_not_retried() {
    let fake = servers();
    let text = bad(call(fake.plane.handle(), Tool::RetryServer, json!({ "name": "off" })).await);
    assert!(text.starts_with("server_disabled: server \"off\" is disabled: enable it first; "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn s228_those_that_failed_are_retried_and_the_others_are_named() {
    let fake = servers();
    let handle = fake.plane.handle();
    let result = good(call(handle, Tool::RetryAllServers, json!({})).await);
    let accepted = &result["accepted"][0];
    assert_eq!((&accepted["server"], &accepted["attempt"]), (&json!("gone"), &json!(1)));
    let skipped = json!([
        { "watchdog": pid(), "id": "up", "reason": "connected" },
        { "watchdog": pid(), "id": "down", "reason": "retrying" },
        { "watchdog": pid(), "id": "off", "reason": "server_disabled" },
    ]);
    assert_eq!(result["skipped"], skipped);
    let result = good(call(handle, Tool::RetryAllServers, json!({ "state": "any" })).await);
    assert_eq!(result["accepted"].as_array().map(Vec::len), Some(3));
}

#[tokio::test(start_paused = true)]
async fn servers_are_switched_off_and_on() {
    let fake = servers();
    let handle = fake.plane.handle();
    let off = good(call(handle, Tool::DisableServer, json!({ "name": "up" })).await);
    assert_eq!((&off["state"], &off["enabled"]), (&json!("Disabled"), &json!(false)));
    let on = good(call(handle, Tool::EnableServer, json!({ "name": "up" })).await);
    assert_eq!(on["enabled"], true);
}

#[tokio::test(start_paused = true)]
async fn arguments_that_make_no_sense_are_told_to_the_model() {
    let fake = servers();
    let handle = fake.plane.handle();
    for (tool, arguments, says) in [
        (Tool::GetServerStatus, json!({}), "missing field `name`"),
        (Tool::GetServerStatus, json!({ "name": 1 }), "expected a string"),
        (Tool::ListServers, json!({ "filter": "up" }), "unknown field `filter`"),
        (Tool::RetryServer, json!({ "name": "up", "wait_ms": 600_001 }), "wait_ms is at most 600000 milliseconds"),
        (Tool::AwaitActivity, json!({ "timeout_ms": 600_001 }), "timeout_ms is at most 600000 milliseconds"),
        (Tool::AwaitActivity, json!({ "cursor": "x" }), "\"x\" is no cursor"),
        (Tool::RetryAllServers, json!({ "state": "all" }), "unknown variant `all`"),
    ] {
        let text = bad(call(handle, tool, arguments).await);
        assert!(text.starts_with("invalid_arguments: ") && text.contains(says), "{text}");
    }
}

fn happen(handle: &Handle, kinds: impl IntoIterator<Item = EventKind>) {
    for kind in kinds {
        handle.events().publish(Event::of_server(kind, "up".into(), Some(1)), SystemTime::UNIX_EPOCH);
    }
}

/// Up to this number.
fn cursor(sequence: u64) -> String {
    format!("{}:{sequence}", pid())
}

fn kinds(activity: &Value) -> Vec<&str> {
    let events = activity["events"].as_array().unwrap();
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn s89_what_happens_is_waited_for_and_nothing_is_missed_between_two_calls() {
    let fake = servers();
    let handle = fake.plane.handle();
    happen(handle, [EventKind::ServerAdded]);
    let arguments = json!({ "timeout_ms": 5000, "types": ["server_removed", "server_health_restored"] });
    let before = Instant::now();
    let (activity, ()) = tokio::join!(call(handle, Tool::AwaitActivity, arguments.clone()), async {
        sleep(Duration::from_secs(1)).await;
        happen(handle, [EventKind::ServerAdded]);
        sleep(Duration::from_secs(1)).await;
        happen(handle, [EventKind::ServerRemoved, EventKind::ServerAdded, EventKind::ServerHealthRestored]);
    });
    let activity = good(activity);
    assert!(before.elapsed() < Duration::from_millis(2100), "{:?}", before.elapsed());
    assert_eq!(kinds(&activity), ["server_removed", "server_health_restored"]);
    assert_eq!((&activity["cursor"], &activity["timedOut"]), (&json!(cursor(5)), &json!(false)));
    let event = &activity["events"][0];
    assert_eq!((&event["watchdog"], &event["server"], &event["seq"]), (&json!(pid()), &json!("up"), &json!(3)));

    happen(handle, [EventKind::ServerRemoved]);
    let before = Instant::now();
    let activity = good(call(handle, Tool::AwaitActivity, json!({ "cursor": cursor(5) })).await);
    assert!(before.elapsed() < Duration::from_millis(100), "it has happened already");
    assert_eq!((kinds(&activity), &activity["cursor"]), (vec!["server_removed"], &json!(cursor(6))));
}

#[tokio::test(start_paused = true)]
async fn an_event_that_cannot_happen_is_not_waited_for() {
    let fake = servers();
    let arguments = json!({ "types": ["server_reconected"] });
    let text = bad(call(fake.plane.handle(), Tool::AwaitActivity, arguments).await);
    let start =
        "invalid_arguments: there is no type of event \"server_reconected\" (did you mean \"server_reconnected\"?)";
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test(start_paused = true)]
async fn when_nothing_happens_the_time_runs_out() {
    let fake = servers();
    let handle = fake.plane.handle();
    happen(handle, [EventKind::ServerAdded]);
    let before = Instant::now();
    let activity = good(call(handle, Tool::AwaitActivity, json!({})).await);
    assert_eq!(before.elapsed(), Duration::from_secs(30));
    assert_eq!(activity, json!({ "events": [], "cursor": cursor(1), "timedOut": true, "missed": false }));
}

#[tokio::test(start_paused = true)]
async fn what_the_ring_has_dropped_is_said_to_be_missed() {
    let fake = servers();
    let handle = fake.plane.handle();
    happen(handle, [const { EventKind::ServerAdded }; 9]);
    let activity = good(call(handle, Tool::AwaitActivity, json!({ "cursor": cursor(1) })).await);
    assert_eq!((&activity["missed"], kinds(&activity).len()), (&json!(true), 4));
    assert_eq!((&activity["timedOut"], &activity["cursor"]), (&json!(false), &json!(cursor(9))));
}

#[tokio::test(start_paused = true)]
async fn listeners_are_counted() {
    let fake = servers();
    let backend = Local::new(fake.plane.handle().clone(), Arc::new(Semaphore::new(1)));
    let first = backend.listen(&Cursor::default()).await;
    assert_eq!(backend.listen(&Cursor::default()).await.map(drop).map_err(|failure| failure.code), Err("overloaded"));
    drop(first);
    // The task that held the seat has to be seen to have ended.
    tokio::task::yield_now().await;
    assert!(backend.listen(&Cursor::default()).await.is_ok());
}

fn message(body: &str) -> axum::http::request::Builder {
    let length = body.len().to_string();
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("content-length", &length),
    ];
    headers.iter().fold(axum::http::Request::post("/mcp"), |request, (name, value)| request.header(*name, *value))
}

#[tokio::test]
async fn pages_of_the_web_are_not_let_in_and_no_session_is_begun() {
    let fake = servers();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answer = fake.send(message(ping).body(ping.into()).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.media_type()), (200, "application/json"));
    assert_eq!(answer.json()["result"], json!({}));
    assert!(!answer.headers.contains_key("mcp-session-id"));

    let origin = message(ping).header("origin", "http://localhost");
    fake.send(origin.body(ping.into()).unwrap()).await.is_problem(403, "forbidden");
    fake.get("/mcp").await.is_problem(405, "method_not_allowed");

    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(70_000));
    assert_eq!(fake.send(message(&long).body(long.clone().into()).unwrap()).await.status, 413);
}
