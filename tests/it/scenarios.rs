//! The named scenarios of document 004, and its cases of several callers that wait for one thing.

use std::time::Duration;

use harness::{Session, Signal, Value, What, cancelled, json, tool_call};

use crate::rig::{EAGER, JSON_LOG, QUICK_STOP, SHORT_DRAIN, SUSPICIOUS, events, poll_until, setup, wait_event};

/// The restarts that the log tells of, by reason.
fn restart_reasons(session: &Session) -> Vec<Value> {
    let lost = events(session, "server_disconnected");
    lost.iter().map(|event| event["data"]["reason"].clone()).collect()
}

fn probes_read(session: &Session) -> usize {
    session.read_by(None, "ping").len() + session.read_by(None, "tools/list").len()
}

/// When each life began.
fn starts(session: &Session) -> Vec<std::time::Instant> {
    let entries = session.entries();
    entries.iter().filter(|entry| entry.what == What::Start).map(|entry| entry.at).collect()
}

#[test]
fn s266_scenario_71_hang_then_recovery() {
    let session = setup()
        .options(SUSPICIOUS)
        .options(QUICK_STOP)
        .options(JSON_LOG)
        .env("MCP_FIXTURE_MODE", "hang")
        .env("MCP_FIXTURE_BLOCK_EVENT_LOOP", "1")
        .env("MCP_FIXTURE_HANG_MS", "60000")
        .start();
    session.initialize();
    session.send(tool_call(1, "test", json!({ "text": "first" })));
    let data = session.answer(1).own_error("request_timeout");
    assert_eq!((&data["sent"], &data["restarted"]), (&json!(true), &json!(true)));
    assert_eq!(session.life(), 2, "the call is answered when the outcome is known");

    session.send(tool_call(2, "test", json!({ "text": "second" })));
    assert_eq!(session.answer(2).text(), "second");
    assert_eq!(session.times_read("tools/call", 1), 1, "the call was sent again");
    // The log is in order: what came before is there too.
    wait_event(&session, "server_reconnected");
    assert_eq!(restart_reasons(&session), ["probe-failure"]);
    assert_eq!(events(&session, "tool_timeout").len(), 1);
    assert_eq!(events(&session, "probe_failed").len(), 1);
    session.finish();
}

/// Scenario 72 up to the failed restart: the first call hangs, the second life ends at once.
fn failing_restart() -> Session {
    let session = setup()
        .options(SUSPICIOUS)
        .options(QUICK_STOP)
        .options(JSON_LOG)
        .options(["--restart-delays", "0s,60s"])
        .env("MCP_FIXTURE_MODE", "hang")
        .env("MCP_FIXTURE_BLOCK_EVENT_LOOP", "1")
        .env("MCP_FIXTURE_HANG_MS", "60000")
        .env("MCP_FIXTURE_FAIL_RESTART_ATTEMPTS", "1")
        .start();
    session.initialize();
    session.send(tool_call(1, "test", json!({ "text": "first" })));
    session
}

#[test]
fn s267_scenario_72_restart_failure_is_in_the_error() {
    let session = failing_restart();
    let data = session.answer(1).own_error("mcp_restart_failed");
    assert_eq!(data["sent"], true);
    assert_eq!(data["exit"], json!({ "code": 6 }), "the end of the attempt, not of the hung process");
    assert_eq!(data["lastAttempt"], 1);
    assert_eq!(data["state"], "Reconnecting");
    assert!(data["nextRetryMs"].is_u64(), "{data}");
    assert!(data["lastError"].as_str().is_some_and(|text| text.contains('6')), "{data}");

    session.send(tool_call(2, "test", json!({ "text": "second" })));
    assert_eq!(session.answer(2).text(), "second", "the next call makes an attempt of its own");
    session.finish();
}

#[test]
fn s268_scenario_72_probe_failure_is_in_the_log() {
    let session = failing_restart();
    let _ = session.answer(1).own_error("mcp_restart_failed");
    let failed = wait_event(&session, "mcp_restart_failed");
    assert_eq!(failed["level"], "error");
    assert!(failed["data"]["lastError"].as_str().is_some_and(|text| text.contains('6')), "{failed}");
    poll_until("second plan to reconnect", || events(&session, "server_reconnecting").len() == 2);
    let refused = wait_event(&session, "request_failed");
    assert_eq!(refused["data"]["error"], "mcp_restart_failed");
    assert_eq!(refused["data"]["code"], -31003);
    for kind in ["tool_timeout", "probe_failed", "server_reconnecting", "mcp_restart_failed", "request_failed"] {
        let found = events(&session, kind);
        let expected = if kind == "server_reconnecting" { 2 } else { 1 };
        assert_eq!(found.len(), expected, "{kind}: {found:?}");
    }
    assert_eq!(restart_reasons(&session), ["probe-failure"]);
    let reconnecting = events(&session, "server_reconnecting");
    assert_eq!(reconnecting[0]["data"]["reason"], "probe-failure");
    session.finish();
}

#[test]
fn s269_timeout_with_a_healthy_probe_restarts_nothing() {
    let session = setup()
        .options(SUSPICIOUS)
        .options(JSON_LOG)
        .env("MCP_FIXTURE_MODE", "hang")
        .env("MCP_FIXTURE_HANG_MS", "1300")
        .start();
    session.initialize();
    session.send(tool_call(1, "test", json!({ "text": "slow" })));
    assert_eq!(session.answer(1).text(), "slow", "the call keeps its own answer");
    let pings = session.read_by(Some(1), "ping").len();
    assert!((2..=4).contains(&pings), "every 300 ms, {pings} pings");
    assert_eq!(session.life(), 1);
    assert!(restart_reasons(&session).is_empty());
    let others = session.lines().iter().filter(|line| line.method().is_some()).count();
    assert_eq!((session.lines().len(), others), (2, 0), "the client sees nothing of the probes");
    session.finish();
}

#[test]
fn s249_a_deadline_answers_the_call_and_leaves_the_server() {
    let session = setup().options(SUSPICIOUS).options(["--request-deadline", "700ms"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let data = session.answer(1).own_error("request_timeout");
    assert_eq!(data["reason"], "deadline");
    assert!(session.took(1) >= Duration::from_millis(700));
    assert_eq!(session.wait_read("notifications/cancelled", 1)[0]["params"]["requestId"], 1);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    session.finish();
}

#[test]
fn s40_s43_s44_failed_health_checks_warn_and_the_next_call_is_served() {
    let session = setup()
        .options(JSON_LOG)
        .options(["--health-interval", "150ms", "--probe-timeout", "300ms", "--on-unhealthy", "warn"])
        .options(["--set", "health.threshold=2"])
        .start();
    session.initialize();
    session.signal_server(Signal::SIGSTOP);
    let degraded = wait_event(&session, "server_health_degraded");
    assert_eq!(degraded["data"]["consecutiveFailures"], 2);
    let error = degraded["data"]["lastError"].as_str().unwrap_or_default();
    assert!(error.starts_with("Health check timeout"), "S99: {error}");
    session.send(tool_call(1, "life", json!({})));
    session.signal_server(Signal::SIGCONT);
    assert_eq!(session.answer(1).text(), "1", "the call is attempted all the same");
    wait_event(&session, "server_health_restored");
    assert_eq!(session.life(), 1);
    assert_eq!(events(&session, "server_health_degraded").len(), 1, "once an episode");
    session.finish();
}

#[test]
fn s159_failed_health_checks_restart_where_that_is_asked_for() {
    let session = setup()
        .options(JSON_LOG)
        .options(QUICK_STOP)
        .options(["--health-interval", "150ms", "--probe-timeout", "300ms", "--on-unhealthy", "restart"])
        .options(["--set", "health.threshold=2"])
        .start();
    session.initialize();
    session.signal_server(Signal::SIGSTOP);
    session.wait_life(2);
    wait_event(&session, "server_reconnected");
    assert_eq!(restart_reasons(&session), ["health"]);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.finish();
}

#[test]
fn a_server_that_answers_in_order_is_learned_and_left_alone() {
    // Silent while it works and without processor time: the first such call may cost it its life, if nothing told of its
    // ways. Here a shorter call told.
    let session = setup()
        .options(["--tool-timeout", "500ms", "--probe-timeout", "600ms"])
        .script(json!({ "rules": [
            { "on": "tools/call", "tool": "short", "do": [{ "sleep_ms": 1000 }, { "text": "short" }] },
            { "on": "tools/call", "tool": "long", "do": [{ "sleep_ms": 2500 }, { "text": "long" }] },
        ] }))
        .start();
    session.initialize();
    session.send(tool_call(1, "short", json!({})));
    assert_eq!(session.answer(1).text(), "short");
    session.send(tool_call(2, "long", json!({})));
    assert_eq!(session.answer(2).text(), "long");
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn a_server_that_computes_is_busy_for_as_long_as_that_is_allowed() {
    let session = setup()
        .options(SUSPICIOUS)
        .options(QUICK_STOP)
        .options(JSON_LOG)
        .options(["--set", "probe.busy_grace=300ms", "--set", "probe.busy_max=1s"])
        .start();
    session.initialize();
    session.send(tool_call(1, "spin", json!({ "ms": 60_000 })));
    let data = session.answer_within(1, Duration::from_secs(10)).own_error("request_timeout");
    assert_eq!(data["restarted"], true);
    assert!(session.took(1) >= Duration::from_millis(1300), "after 300 ms and the second that is allowed");
    wait_event(&session, "server_reconnected");
    assert!(!events(&session, "probe_busy").is_empty());
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn s270_scenario_73_backoff_goes_on_for_ever() {
    let session = setup()
        .options(["--restart-delays", "0ms,20ms,40ms,80ms"])
        .options(JSON_LOG)
        .env("MCP_FIXTURE_FAIL_RESTART_ATTEMPTS", "9")
        .start();
    session.initialize();
    session.kill_server();
    // Nobody asks for anything: the attempts are the watchdog's own.
    session.wait_life(11);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "11");

    let back = wait_event(&session, "server_reconnected");
    assert_eq!(back["data"]["attemptsTaken"], 10);
    let starts = starts(&session);
    let delays: Vec<_> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (number, least) in [(2, 20), (3, 40), (4, 80), (5, 80), (9, 80)] {
        let delay = delays[number - 1];
        assert!(delay >= Duration::from_millis(least), "before restart {number} only {delay:?}");
    }
    assert!(events(&session, "server_failed").is_empty(), "the budget has no end");
    let attempts: Vec<_> = events(&session, "server_starting")
        .iter()
        .map(|event| event["data"]["attempt"].as_u64().unwrap_or_default())
        .collect();
    assert_eq!(attempts, [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let failed = events(&session, "mcp_restart_failed");
    assert_eq!(failed.len(), 9, "each failed attempt is told");
    assert!(failed.iter().all(|event| event["level"] == "error"));
    session.finish();
}

#[test]
fn s271_scenario_74_idle_exit_restarts_without_probes() {
    let session =
        setup().options(JSON_LOG).env("MCP_FIXTURE_MODE", "exit").env("MCP_FIXTURE_EXIT_DELAY_MS", "50").start();
    session.initialize();
    session.send(tool_call(1, "test", json!({ "text": "before" })));
    assert_eq!(session.answer(1).text(), "before");
    session.wait_life(2);
    wait_event(&session, "server_reconnected");
    let lost = &events(&session, "server_disconnected")[0];
    assert_eq!(lost["data"]["reason"], "transport-exit");
    assert_eq!(lost["data"]["wasIntentional"], false);
    assert_eq!(lost["data"]["exit"], json!({ "code": 0 }), "a clean exit is an outage too");
    assert_eq!(probes_read(&session), 0);
    assert_eq!(session.lines().len(), 2, "the client noticed nothing");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn s256_an_abort_never_probes_or_restarts() {
    let session = setup().options(SUSPICIOUS).options(JSON_LOG).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    session.wait_read("tools/call", 1);
    session.send(cancelled(1));
    session.wait_read("notifications/cancelled", 1);
    // More than twice the time after which the call would have been suspect.
    session.stays_quiet(Duration::from_millis(750));
    assert_eq!(probes_read(&session), 0);
    assert!(events(&session, "tool_timeout").is_empty());
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    assert!(!session.is_answered(1));
    session.finish();
}

const CALLERS: std::ops::RangeInclusive<i64> = 1..=16;

fn call_all(session: &Session, tool: &str) {
    session.send_all(CALLERS.map(|id| tool_call(id, tool, json!({}))));
}

#[test]
fn s288_callers_during_one_restart_share_it() {
    let session =
        setup().script(json!({ "rules": [{ "on": "boot", "life": 2, "do": [{ "sleep_ms": 300 }] }] })).start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    call_all(&session, "life");
    for id in CALLERS {
        assert_eq!(session.answer(id).text(), "2");
        assert_eq!(session.times_read("tools/call", id), 1);
    }
    assert_eq!(session.life(), 2);
    session.finish();
}

#[test]
fn s288_callers_during_one_failed_restart_share_its_failure() {
    let session = setup()
        .options(["--restart-delays", "0s,60s"])
        .script(json!({ "rules": [
            { "on": "boot", "life": 2, "do": [{ "sleep_ms": 300 }, { "stderr": "no licence" }, { "exit": 9 }] },
        ] }))
        .start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    call_all(&session, "life");
    for id in CALLERS {
        let data = session.answer(id).own_error("server_reconnecting");
        assert_eq!((&data["sent"], &data["exit"]), (&json!(false), &json!({ "code": 9 })));
        assert_eq!(data["stderrTail"], json!(["no licence"]));
    }
    assert_eq!(session.life(), 2, "one attempt for all of them");
    session.finish();
}

#[test]
fn s288_callers_of_a_hung_server_get_one_restart() {
    let session = setup()
        .options(["--tool-timeout", "600ms", "--probe-timeout", "200ms"])
        .options(QUICK_STOP)
        .options(JSON_LOG)
        .script(json!({ "rules": [{ "on": "tools/call", "tool": "stuck", "life": 1, "do": ["hang"] }] }))
        .start();
    session.initialize();
    call_all(&session, "stuck");
    // The last link of the chain asks: a call that is sent now is not suspect when the chain has failed.
    session.wait_read("tools/list", 1);
    session.send(tool_call(17, "stuck", json!({})));
    let mut hung = 0;
    for id in CALLERS {
        let answer = session.answer(id);
        let code = answer.error()["data"]["code"].as_str().unwrap_or_default().to_owned();
        assert!(["request_timeout", "server_disconnected"].contains(&code.as_str()), "{code}");
        hung += u32::from(code == "request_timeout");
        assert_eq!(answer.own_error(&code)["sent"], true);
        assert!(session.times_read("tools/call", id) <= 1);
    }
    assert!(hung >= 1, "who was overdue gets the outcome of the restart");
    let data = session.answer(17).own_error("server_disconnected");
    assert_eq!(data["reason"], "probe-failure");
    session.send(tool_call(18, "life", json!({})));
    assert_eq!(session.answer(18).text(), "2");
    wait_event(&session, "server_reconnected");
    assert_eq!(restart_reasons(&session), ["probe-failure"]);
    assert_eq!(events(&session, "probe_failed").len(), 1, "one chain for all of them");
    session.finish();
}

#[test]
fn s288_callers_of_a_failed_server_share_one_trial() {
    let session = setup()
        .options(EAGER)
        .options(JSON_LOG)
        .options(["--max-attempts", "1"])
        .script(json!({ "rules": [
            { "on": "boot", "life": 2, "do": [{ "exit": 9 }] },
            { "on": "boot", "life": 3, "do": [{ "sleep_ms": 300 }, { "exit": 10 }] },
        ] }))
        .start();
    session.initialize();
    session.kill_server();
    wait_event(&session, "server_failed");
    call_all(&session, "life");
    for id in CALLERS {
        let data = session.answer(id).own_error("server_permanently_failed");
        assert_eq!((&data["sent"], &data["exit"]), (&json!(false), &json!({ "code": 10 })));
        assert_eq!(data["state"], "PermanentlyFailed");
    }
    assert_eq!(session.life(), 3, "one trial for all of them");
    session.send(tool_call(17, "life", json!({})));
    assert_eq!(session.answer(17).text(), "4", "each later call makes one more attempt");
    session.finish();
}

#[test]
fn s245_s275_the_decision_is_an_error_in_the_log_with_its_reason() {
    let session = setup().options(JSON_LOG).options(SHORT_DRAIN).start();
    session.initialize();
    session.signal_server(Signal::SIGTERM);
    session.wait_life(2);
    let reconnecting = wait_event(&session, "server_reconnecting");
    assert_eq!(reconnecting["level"], "error");
    assert_eq!(reconnecting["data"]["reason"], "transport-exit");
    assert_eq!(reconnecting["data"]["attempt"], 1);
    assert_eq!(reconnecting["data"]["nextRetryMs"], 0);
    session.finish();
}
