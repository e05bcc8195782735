//! What becomes of a session when its server is replaced: handshake, questions, subscriptions and lists, end to end.
//!
//! A call is sent when the next life has begun: what is written to a process that is being killed is lost with it.

use std::time::Duration;

use harness::{
    META, STATELESS, Session, Signal, Value, What, cancelled, initialize, json, notification, request, tool_call,
};

use crate::rig::{EAGER, SHORT_DRAIN, setup};

fn params(session: &Session, method: &str, count: usize) -> Value {
    let line = session.from_server(method, count);
    line.value.expect("a line of stdout is JSON")["params"].clone()
}

/// A request of the revision without a handshake.
fn stateless(id: impl Into<Value>, method: &str, mut params: Value) -> String {
    let (version, capabilities) = (format!("{META}protocolVersion"), format!("{META}clientCapabilities"));
    let mut meta = json!({ version: STATELESS });
    meta[capabilities] = json!({});
    params["_meta"] = meta;
    request(id, method, params)
}

fn stateless_call(id: impl Into<Value>, tool: &str) -> String {
    stateless(id, "tools/call", json!({ "name": tool, "arguments": {} }))
}

#[test]
fn a_server_that_dies_of_initialize_is_not_the_end_of_the_session() {
    let session =
        setup().script(json!({ "rules": [{ "on": "initialize", "life": 1, "do": [{ "exit": 9 }] }] })).start();
    session.send_all([
        initialize(0, "2025-11-25"),
        notification("notifications/initialized", Value::Null),
        tool_call(1, "life", json!({})),
        request(2, "tools/list", Value::Null),
    ]);
    assert_eq!(session.answer(0).result()["serverInfo"]["version"], "2");
    let _ = session.answer(1);
    let _ = session.answer(2).result();
    let read = session.entries().into_iter().filter(|entry| entry.life == 2);
    let read: Vec<_> = read
        .filter_map(|entry| match entry.what {
            What::Read(line) => serde_json::from_str::<Value>(&line).ok()?["method"].as_str().map(str::to_owned),
            _ => None,
        })
        .collect();
    assert_eq!(read[..2], ["initialize", "notifications/initialized"]);
    assert!(session.times_read("tools/call", 1) <= 1);
    session.finish();
}

#[test]
fn a_new_server_of_another_version_is_no_replacement() {
    let other = json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} }, "serverInfo": { "name": "x", "version": "1" } });
    let session = setup()
        .script(json!({ "rules": [{ "on": "initialize", "life": { "from": 2 }, "do": [{ "result": other }] }] }))
        .start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    let data = session.answer(1).own_error("server_reconnecting");
    assert_eq!(data["sent"], false);
    assert!(data["lastError"].as_str().is_some_and(|text| text.contains("2024-11-05")), "{data}");
    session.finish();
}

#[test]
fn level_and_subscriptions_follow_the_session() {
    let session = setup()
        .script(json!({ "capabilities": { "tools": {}, "logging": {}, "resources": { "subscribe": true } } }))
        .start();
    session.initialize();
    session.send_all([
        request(1, "logging/setLevel", json!({ "level": "info" })),
        request(2, "logging/setLevel", json!({ "level": "debug" })),
        request(3, "resources/subscribe", json!({ "uri": "a://1" })),
        request(4, "resources/subscribe", json!({ "uri": "a://2" })),
        request(5, "resources/unsubscribe", json!({ "uri": "a://1" })),
    ]);
    for id in 1..=5 {
        let _ = session.answer(id).result();
    }
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(6, "life", json!({})));
    assert_eq!(session.answer(6).text(), "2");
    let levels: Vec<_> =
        session.read_by(Some(2), "logging/setLevel").iter().map(|line| line["params"]["level"].clone()).collect();
    let uris: Vec<_> =
        session.read_by(Some(2), "resources/subscribe").iter().map(|line| line["params"]["uri"].clone()).collect();
    assert_eq!((levels, uris), (vec![json!("debug")], vec![json!("a://2")]));
    assert_eq!(session.lines().len(), 7, "the client sees nothing of it");
    session.finish();
}

#[test]
fn questions_of_two_servers_with_one_id_are_kept_apart() {
    let session = setup().options(SHORT_DRAIN).start();
    session.initialize();
    let ask = json!({ "method": "roots/list", "id": 0 });
    session.send(tool_call(1, "ask", ask.clone()));
    let first = session.from_server("roots/list", 1);
    session.kill_server();
    let _ = session.answer(1).own_error("server_disconnected");
    assert_eq!(params(&session, "notifications/cancelled", 1)["requestId"], 0);

    session.send(tool_call(2, "ask", ask));
    let second = session.from_server("roots/list", 2);
    let ids = [&first, &second].map(|line| line.value.as_ref().map(|value| value["id"].clone()));
    assert_ne!(ids[0], ids[1], "the client still owes an answer to the first");
    session.respond(&first, json!({ "roots": [], "from": "old" }));
    session.respond(&second, json!({ "roots": [], "from": "new" }));
    assert_eq!(session.answer(2).text(), r#"{"from":"new","roots":[]}"#);
    session.finish();
}

#[test]
fn a_server_may_ask_before_its_replay_is_over() {
    let session = setup()
        .script(json!({ "rules": [{ "on": "boot", "life": 2, "do": [{ "request": ["p9", "ping", {}] }] }] }))
        .start();
    session.initialize();
    session.kill_server();
    let ping = session.from_server("ping", 1);
    session.respond(&ping, json!({}));
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.wait_entry("the answer to the ping", |entry| {
        matches!(&entry.what, What::Read(line) if entry.life == 2 && line.contains("\"p9\"")).then_some(())
    });
    session.finish();
}

#[test]
fn cancels_reach_neither_the_wrong_server_nor_the_queue() {
    let session =
        setup().script(json!({ "rules": [{ "on": "boot", "life": 2, "do": [{ "sleep_ms": 400 }] }] })).start();
    session.initialize();
    session.send(tool_call(9, "silence", json!({})));
    session.send(cancelled(9));
    session.wait_read("notifications/cancelled", 1);
    session.kill_server();
    session.wait_life(2);
    session.send_all([tool_call(1, "life", json!({})), tool_call(2, "life", json!({})), cancelled(1), cancelled(9)]);
    assert_eq!(session.answer(2).text(), "2");
    assert_eq!(session.times_read("tools/call", 1), 0, "a held request that is cancelled is never sent");
    assert!(session.read_by(Some(2), "notifications/cancelled").is_empty());
    session.finish();
}

#[test]
fn lists_are_served_while_the_server_is_down_and_changes_announced_once() {
    let session = setup()
        .options(["--restart-delays", "0s,60s", "--set", "restart.min_attempt_interval=60s"])
        .script(json!({
            "capabilities": { "tools": { "listChanged": true } },
            "tools": { "1": ["life"], "*": ["life", "new"] },
            "rules": [{ "on": "boot", "life": 2, "do": [{ "exit": 1 }] }],
        }))
        .start();
    session.initialize();
    session.send(request(1, "tools/list", Value::Null));
    let before = session.answer(1).result().clone();
    session.kill_server();
    session.wait_gone(2);
    session.send(request(2, "tools/list", Value::Null));
    assert_eq!(*session.answer(2).result(), before, "the last good list");
    assert!(session.took(2) < Duration::from_secs(1));
    session.finish();

    let session = setup()
        .options(EAGER)
        .script(json!({
            "capabilities": { "tools": { "listChanged": true } },
            "tools": { "1": ["life"], "*": ["life", "new"] },
        }))
        .start();
    session.initialize();
    session.send(request(1, "tools/list", Value::Null));
    let _ = session.answer(1).result();
    for life in 2..=3_u64 {
        session.kill_server();
        session.wait_life(life);
        session.send(tool_call(life, "life", json!({})));
        assert_eq!(session.answer(life).text(), life.to_string());
        session.wait_read("tools/list", usize::try_from(life).expect("a small number"));
    }
    let _ = session.from_server("notifications/tools/list_changed", 1);
    session.send(request(9, "ping", Value::Null));
    let _ = session.answer(9).result();
    let announced =
        session.lines().iter().filter(|line| line.method() == Some("notifications/tools/list_changed")).count();
    assert_eq!(announced, 1, "the third life has the tools of the second");
    session.finish();
}

#[test]
fn probes_speak_the_clients_kind_of_id() {
    for (id, is_text) in [(json!("first"), true), (json!(7), false)] {
        let session = setup().options(["--health-interval", "100ms"]).start();
        session.send(initialize(id.clone(), "2025-11-25"));
        let _ = session.answer(id).result();
        session.send(notification("notifications/initialized", Value::Null));
        let pings = session.wait_read("ping", 2);
        assert!(pings.iter().all(|ping| ping["id"].is_string() == is_text), "{pings:?}");
        session.finish();
    }
}

#[test]
fn a_server_that_dies_of_discover_is_there_for_initialize() {
    let session = setup().script(json!({ "rules": [{ "on": "server/discover", "do": [{ "exit": 1 }] }] })).start();
    session.send(stateless(0, "server/discover", json!({})));
    let code = session.answer(0).error()["code"].as_i64();
    assert!(![Some(-32020), Some(-32021), Some(-32022)].contains(&code), "{code:?} would say: stateless");
    session.send(initialize(1, "2025-11-25"));
    assert_eq!(session.answer(1).result()["serverInfo"]["version"], "2");
    session.send_all([notification("notifications/initialized", Value::Null), tool_call(2, "life", json!({}))]);
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn a_listen_is_re_established_and_hears_of_changed_tools() {
    let session = setup()
        .options(SHORT_DRAIN)
        .script(json!({
            "era": "stateless",
            "capabilities": { "tools": { "listChanged": true } },
            "tools": { "1": ["life"], "*": ["life", "new"] },
        }))
        .start();
    session.may_stay_open("L1");
    session.send(stateless("L1", "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })));
    let _ = session.from_server("notifications/subscriptions/acknowledged", 1);
    session.send(stateless(1, "tools/list", json!({})));
    let _ = session.answer(1).result();
    session.signal_server(Signal::SIGKILL);
    session.wait_life(2);
    session.send(stateless_call(2, "life"));
    assert_eq!(session.answer(2).text(), "2");
    let changed = params(&session, "notifications/tools/list_changed", 1);
    assert_eq!(changed["_meta"][format!("{META}subscriptionId")], "L1");
    assert_eq!(session.read_by(Some(2), "subscriptions/listen").len(), 1);
    session.send(stateless_call(3, "life"));
    assert_eq!(session.answer(3).text(), "2");
    let count = |method: &str| session.lines().iter().filter(|line| line.method() == Some(method)).count();
    assert_eq!(count("notifications/subscriptions/acknowledged"), 1, "the second one is kept back");
    assert_eq!(count("notifications/tools/list_changed"), 1);
    assert!(!session.is_answered("L1"));
    session.finish();
}

#[test]
fn a_listen_that_the_new_server_refuses_ends_at_the_client() {
    let session = setup()
        .options(SHORT_DRAIN)
        .script(json!({
            "era": "stateless",
            "rules": [{ "on": "subscriptions/listen", "life": 2, "do": [{ "error": [-32601, "no"] }] }],
        }))
        .start();
    session.may_stay_open("L1");
    session.send(stateless("L1", "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })));
    let _ = session.from_server("notifications/subscriptions/acknowledged", 1);
    session.kill_server();
    session.wait_life(2);
    session.send(stateless_call(1, "life"));
    assert_eq!(session.answer(1).text(), "2");
    assert_eq!(params(&session, "notifications/cancelled", 1)["requestId"], "L1");
    assert!(!session.is_answered("L1"));
    session.finish();
}
