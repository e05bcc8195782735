//! The fixture and the harness themselves, without a watchdog between them: what later tests build on.

use std::time::{Duration, Instant};

use harness::{
    META, STATELESS, Session, Setup, Signal, Value, What, cancelled, json, notification, request, tool_call,
};

fn setup() -> Setup {
    Setup::direct(env!("CARGO_BIN_EXE_mcp-fixture"))
}

fn scripted(script: Value) -> Session {
    let session = setup().script(script).start();
    session.initialize();
    session
}

#[test]
fn tools_answer() {
    let session = setup().env("COLOUR", "blue").start();
    session.initialize();
    session.send_all([
        tool_call(1, "echo", json!({ "text": "hi" })),
        tool_call("b", "life", json!({})),
        tool_call(1.5, "env", json!({ "name": "COLOUR" })),
        tool_call(-2, "pid", json!({})),
        tool_call(3, "big", json!({ "bytes": 300_000 })),
        tool_call(4, "nonsense", json!({})),
        request(5, "ping", Value::Null),
    ]);
    assert_eq!(session.answer(1).text(), "hi");
    assert_eq!(session.answer("b").text(), "1");
    assert_eq!(session.answer(1.5).text(), "blue");
    assert_eq!(session.answer(-2).text(), session.pid().to_string());
    assert_eq!(session.answer(3).text().len(), 300_000);
    assert_eq!(session.answer(4).error()["code"], -32602);
    assert_eq!(*session.answer(5).result(), json!({}));
    assert_eq!(session.read_by(Some(1), "tools/call").len(), 6);
    assert_eq!((session.times_read("tools/call", "b"), session.times_read("tools/call", 9)), (1, 0));
    session.finish();
}

#[test]
fn a_sleeping_tool_lets_others_pass_and_a_blocked_loop_does_not() {
    let session = setup().env("MCP_FIXTURE_BLOCK_EVENT_LOOP", "1").env("MCP_FIXTURE_HANG_MS", "400").start();
    session.initialize();
    session.send_all([tool_call(1, "sleep_ms", json!({ "ms": 200 })), request(2, "ping", Value::Null)]);
    let _ = session.answer(1);
    assert!(session.took(2) < session.took(1), "the ping waited for the sleeping tool");
    session.send_all([tool_call(3, "hang", json!({})), request(4, "ping", Value::Null)]);
    let _ = session.answer(4);
    assert!(session.took(4) >= Duration::from_millis(400), "the ping was answered in {:?}", session.took(4));
    assert!(session.answer(4).at >= session.answer(3).at);
    session.finish();
}

#[test]
fn progress_is_reported_before_the_answer_and_only_with_a_token() {
    let session = scripted(json!({}));
    let params = json!({ "name": "progress", "arguments": { "steps": 2 }, "_meta": { "progressToken": "t" } });
    session.send(request(1, "tools/call", params));
    assert_eq!(session.answer(1).text(), "done");
    let steps: Vec<_> = (1..=2).map(|n| session.from_server("notifications/progress", n).value.unwrap()).collect();
    assert_eq!(steps[0]["params"], json!({ "progress": 1, "progressToken": "t" }));
    assert_eq!(steps[1]["params"]["progress"], 2);
    session.finish();
}

#[test]
fn a_call_can_ask_the_client() {
    let session = scripted(json!({}));
    session.send(tool_call(1, "ask", json!({ "method": "roots/list", "id": 77 })));
    let asked = session.from_server("roots/list", 1);
    assert_eq!(asked.value.as_ref().unwrap()["id"], 77);
    assert!(!session.is_answered(1));
    session.respond(&asked, json!({ "roots": [] }));
    assert_eq!(session.answer(1).text(), r#"{"roots":[]}"#);
    session.finish();
}

#[test]
fn ends_are_told_apart() {
    for (tool, arguments, code) in [
        ("exit", json!({ "code": 3 }), 3),
        ("crash", json!({}), 128 + 6),
        ("crash", json!({ "signal": "SEGV" }), 128 + 11),
    ] {
        let session = scripted(json!({}));
        session.may_stay_open(1);
        session.send(tool_call(1, tool, arguments));
        session.wait_gone(1);
        session.ended(code);
    }
}

#[test]
fn rules_choose_by_method_tool_and_turn() {
    let session = scripted(json!({
        "tools": { "1": ["only"] },
        "rules": [
            { "on": "tools/call", "tool": "echo", "nth": 2, "do": [{ "error": [-1, "no"] }] },
            { "on": "tools/call", "tool": "slow", "life": [1, 3], "do": [{ "after_ms": [50, [{ "text": "late" }]] }] },
            { "on": "tools/call", "tool": "life", "life": { "from": 2 }, "do": ["hang"] },
            { "on": "prompts/list", "do": [{ "result": { "prompts": [1] } }, { "notify": ["notifications/x", null] }] },
        ],
    }));
    session.send_all([
        tool_call(1, "echo", json!({ "text": "a" })),
        tool_call(2, "echo", json!({ "text": "b" })),
        tool_call(3, "echo", json!({ "text": "c" })),
        tool_call(4, "slow", json!({})),
        tool_call(5, "life", json!({})),
        request(6, "prompts/list", Value::Null),
        request(7, "tools/list", Value::Null),
    ]);
    assert_eq!(session.answer(1).text(), "a");
    assert_eq!(session.answer(2).error()["message"], "no");
    assert_eq!(session.answer(3).text(), "c");
    assert_eq!(session.answer(4).text(), "late");
    assert_eq!(session.answer(5).text(), "1");
    assert_eq!(session.answer(6).result()["prompts"][0], 1);
    assert_eq!(session.answer(7).result()["tools"][0]["name"], "only");
    let _ = session.from_server("notifications/x", 1);
    session.finish();
}

#[test]
fn the_era_without_a_handshake_is_strict() {
    let session = setup().script(json!({ "era": "stateless" })).start();
    let meta = |version: &str| json!({ "_meta": { format!("{META}protocolVersion"): version, format!("{META}clientCapabilities"): {} } });
    session.send_all([
        request(1, "server/discover", meta(STATELESS)),
        request(2, "server/discover", Value::Null),
        request(3, "server/discover", meta("2025-11-25")),
        request(4, "ping", meta(STATELESS)),
        request(5, "tools/list", meta(STATELESS)),
        request("l", "subscriptions/listen", meta(STATELESS)),
    ]);
    assert_eq!(session.answer(1).result()["supportedVersions"], json!([STATELESS]));
    let codes = [2, 3, 4].map(|id| session.answer(id).error()["code"].as_i64().unwrap());
    assert_eq!(codes, [-32602, -32022, -32601]);
    let list = session.answer(5);
    assert_eq!((&list.result()["resultType"], &list.result()["ttlMs"]), (&json!("complete"), &json!(0)));
    let acknowledged = session.from_server("notifications/subscriptions/acknowledged", 1).value.unwrap();
    assert_eq!(acknowledged["params"]["_meta"][format!("{META}subscriptionId")], "l");
    session.may_stay_open("l");
    session.finish();
}

#[test]
fn a_batch_is_answered_by_a_batch() {
    let session = scripted(json!({}));
    let batch = [request(1, "ping", Value::Null), notification("x", Value::Null), tool_call(2, "life", json!({}))];
    session.send(format!("[{}]", batch.join(",")));
    assert_eq!(session.answer(2).text(), "1");
    assert_eq!(session.answer(1).at, session.answer(2).at, "they come in one line");
    session.finish();
}

/// Three lives, one after the other, that share stdin as a watchdog's servers never do.
fn three_lives() -> Setup {
    let again = r#""$0"; "$0"; exec "$0""#;
    Setup::direct("/bin/sh").options(["-c", again, env!("CARGO_BIN_EXE_mcp-fixture")])
}

fn test_call(session: &Session, id: u64) -> String {
    session.send(tool_call(id, "test", json!({ "text": format!("t{id}") })));
    session.answer(id).text().to_owned()
}

#[test]
fn restart_mode_hangs_exits_and_leaves_the_rest_to_the_next_life() {
    let knobs = [("MODE", "restart"), ("HANG_MS", "60000"), ("EXIT_DELAY_MS", "50")];
    let session =
        knobs.iter().fold(three_lives(), |setup, (name, value)| setup.env(format!("MCP_FIXTURE_{name}"), value));
    let session = session.start();
    session.initialize();
    session.may_stay_open(1);
    session.send(tool_call(1, "test", json!({})));
    session.wait_life(2);
    assert!(!session.is_answered(1));
    assert_eq!([test_call(&session, 2), test_call(&session, 3)], ["recovered:t2", "recovered:t3"]);
    session.send(tool_call(4, "exit", json!({})));
    session.may_stay_open(4);
    session.wait_life(3);
    session.finish();
}

#[test]
fn a_restart_that_must_not_exit_only_hangs() {
    let session = setup().env("MCP_FIXTURE_MODE", "restart").env("MCP_FIXTURE_HANG_MS", "100");
    let session = session.env("MCP_FIXTURE_EXIT_DELAY_MS", "10").env("MCP_FIXTURE_SKIP_EXIT", "1").start();
    session.initialize();
    assert_eq!(test_call(&session, 1), "t1");
    assert!(session.took(1) >= Duration::from_millis(100));
    session.finish();
}

#[test]
fn crash_mode_dies_in_the_first_call_of_all() {
    let session = three_lives().env("MCP_FIXTURE_MODE", "crash").start();
    session.initialize();
    session.may_stay_open(1);
    session.send(tool_call(1, "test", json!({})));
    session.wait_entry("the signal", |entry| (entry.what == What::Event("signal ABRT".into())).then_some(()));
    session.wait_life(2);
    assert_eq!([test_call(&session, 2), test_call(&session, 3)], ["t2", "t3"]);
    session.send(tool_call(4, "exit", json!({})));
    session.may_stay_open(4);
    session.wait_life(3);
    session.finish();
}

#[test]
fn exit_mode_ends_between_two_calls_and_flaky_mode_in_every_second_one() {
    let session = setup().env("MCP_FIXTURE_MODE", "exit").env("MCP_FIXTURE_EXIT_DELAY_MS", "50").start();
    session.initialize();
    assert_eq!(test_call(&session, 1), "t1");
    session.ended(0);

    let session = three_lives().env("MCP_FIXTURE_MODE", "flaky").start();
    session.initialize();
    for life in 1..=2 {
        session.wait_life(life);
        assert_eq!(test_call(&session, 10 * life), format!("t{}", 10 * life));
        session.may_stay_open(10 * life + 1);
        session.send(tool_call(10 * life + 1, "test", json!({})));
        session.wait_gone(life);
    }
    session.wait_life(3);
    session.finish();
}

#[test]
fn starts_fail_as_often_as_they_are_told() {
    let session = setup().env("MCP_FIXTURE_FAIL_INIT_ATTEMPTS", "1").start();
    session.wait_gone(1);
    session.ended(5);

    let session = three_lives().env("MCP_FIXTURE_FAIL_RESTART_ATTEMPTS", "1").start();
    session.initialize();
    session.kill_server();
    session.wait_gone(2);
    session.wait_entry("the reason", |entry| (entry.what == What::Event("exit 6".into())).then_some(()));
    session.wait_life(3);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "3");
    session.finish();
}

#[test]
fn a_storm_and_orphans_do_not_stop_the_server() {
    let session = scripted(json!({}));
    session.send(tool_call(1, "spawn_child", json!({ "kind": "orphan" })));
    session.send(tool_call(2, "spawn_child", json!({ "kind": "storm", "ms": 200 })));
    assert_eq!([session.answer(1).text(), session.answer(2).text()], ["spawned", "spawned"]);
    session.send(request(3, "ping", Value::Null));
    let _ = session.answer(3);
    session.finish();
}

#[test]
fn processes_of_every_kind_are_found_and_ended() {
    let session = scripted(json!({ "ignore_signals": ["TERM"] }));
    for (id, kind) in ["plain", "stubborn", "session", "daemon"].into_iter().enumerate() {
        session.send(tool_call(id + 1, "spawn_child", json!({ "kind": kind })));
        assert_eq!(session.answer(id + 1).text(), "spawned");
        session.wait_entry(kind, |entry| (entry.what == What::Child(kind.into())).then_some(()));
    }
    assert_eq!(session.survivors().len(), 5, "{:?}", session.survivors());
    session.signal_server(Signal::SIGTERM);
    session.send(tool_call(9, "life", json!({})));
    assert_eq!(session.answer(9).text(), "1", "the server ignores TERM");
    session.kill_server();
    assert_eq!(session.survivors().len(), 4);
    let folder = session.folder().to_owned();
    let started = Instant::now();
    drop(session);
    assert!(started.elapsed() < Duration::from_secs(5), "the end of a session must not wait for what it cannot find");
    assert!(!folder.exists());
}

#[test]
fn a_ghost_writes_to_the_servers_stdout() {
    let session = scripted(json!({}));
    let line = notification("notifications/ghost", Value::Null);
    let arguments = json!({ "kind": "ghost", "ms": 50, "text": format!("{line}\n") });
    session.send(tool_call(1, "spawn_child", arguments));
    let _ = session.from_server("notifications/ghost", 1);
}

#[test]
fn stray_output_and_floods_come_out_as_told() {
    let session = scripted(json!({}));
    session.send(tool_call(1, "stray", json!({ "stdout": "banner\n", "stderr": "oh" })));
    assert_eq!(session.answer(1).text(), "strayed");
    session.wait_stderr("oh\n");
    assert!(session.lines().iter().any(|line| line.text == "banner" && line.value.is_none()));
    session.pause_reading();
    session.send(tool_call(2, "flood", json!({ "count": 1000, "bytes": 1000 })));
    session.stays_quiet(Duration::from_millis(100));
    session.resume_reading();
    assert_eq!(session.answer(2).text(), "flooded");
    assert_eq!(session.lines().iter().filter(|line| line.method() == Some("notifications/message")).count(), 1000);
}

#[test]
fn a_stopped_loop_reads_one_line_ahead_at_the_most() {
    let session = setup().env("MCP_FIXTURE_BLOCK_EVENT_LOOP", "1").env("MCP_FIXTURE_HANG_MS", "300").start();
    session.initialize();
    session.send(tool_call(1, "hang", json!({})));
    session.send_all((2..10).map(|id| request(id, "ping", Value::Null)));
    let _ = session.answer(9);
    let entries = session.entries();
    let place = |part: &str, nth: usize| {
        let has = |what: &What| matches!(what, What::Read(line) | What::Wrote(line) if line.contains(part));
        entries.iter().enumerate().filter(|(_, entry)| has(&entry.what)).nth(nth).map(|(place, _)| place).unwrap()
    };
    let woke = place("hung", 0);
    assert!(place("ping", 0) < woke && woke < place("ping", 1), "it read on while it was stopped");
    session.finish();
}

/// A session that owes something fails its test.
fn fails(what: &str, session: Session) {
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| session.finish()));
    let text = failed.expect_err("the check has to fail");
    let text = text.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains(what), "{text}");
}

#[test]
fn the_general_checks_can_fail() {
    let session = scripted(json!({ "rules": [{ "on": "x", "do": ["silence"] }] }));
    session.send(request(1, "x", Value::Null));
    session.wait_read("x", 1);
    fails("no answer to id 1", session);

    let session = scripted(json!({ "rules": [{ "on": "x", "do": [{ "result": {} }, { "result": {} }] }] }));
    session.send(request(1, "x", Value::Null));
    session.wait_read("x", 1);
    fails("2 answers to id 1", session);

    let session = scripted(json!({ "rules": [{ "on": "x", "do": [{ "after_ms": [100, [{ "result": {} }]] }] }] }));
    session.send(request(1, "x", Value::Null));
    session.send(cancelled(1));
    let _ = session.answer(1);
    fails("the cancelled id 1 was answered", session);

    let stray = r#"{"jsonrpc":"2.0","id":99,"result":{}}"#;
    let session = scripted(json!({ "rules": [{ "on": "x", "do": [{ "stdout": format!("{stray}\n") }] }] }));
    session.send(notification("x", Value::Null));
    let _ = session.wait_read("x", 1);
    session.wait_entry("nothing more", |entry| matches!(entry.what, What::Read(_)).then_some(()));
    fails("an answer to id 99, which was never sent", session);

    for junk in ["banner\n", "{\"a\":1}\n", "[]\n", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\r\n", "half"] {
        let session = scripted(json!({ "rules": [{ "on": "x", "do": [{ "stdout": junk }] }] }));
        session.send(notification("x", Value::Null));
        fails(if junk == "half" { "half a line" } else { "not a protocol line" }, session);
    }

    let own = json!({ "source": "mcp-watchdog", "code": "overloaded" });
    let error = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -31007, "message": "m", "data": own } });
    let session = scripted(json!({ "rules": [{ "on": "x", "do": [{ "stdout": format!("{error}\n") }] }] }));
    session.send(request(1, "x", Value::Null));
    fails("data lacks a key", session);

    let session = scripted(json!({}));
    session.send(tool_call(1, "spawn_child", json!({ "kind": "session" })));
    let _ = session.answer(1);
    fails("still alive after 5s", session);

    let session = scripted(json!({ "rules": [{ "on": "eof", "do": [{ "exit": 9 }] }] }));
    fails("expected code 0", session);
}
