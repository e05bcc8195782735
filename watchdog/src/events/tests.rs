use std::io::Read;
use std::time::{Duration, SystemTime};

use super::write::{Envelope, to_json};
use super::*;
use crate::core::ending::Ending;
use serde_json::json;

use crate::config::{EventForm, EventFormat, Events, Log, LogFormat, LogLevel};
use crate::telemetry::{self, LogHandle};

/// Each kind once, with its level and its line.
fn all() -> Vec<(EventKind, Level, &'static str)> {
    use EventKind as E;
    use Level::{Debug, Error, Info, Warn};
    vec![
        (E::WatchdogStarted { version: "0.1.0".into(), pid: 12 }, Info, "mcp-watchdog 0.1.0 started, pid 12"),
        (
            E::WatchdogStopped { reason: "the client closed stdin".into(), code: 0 },
            Info,
            "stopped with exit code 0: the client closed stdin",
        ),
        (
            E::ClientConnected {
                client: Some("x".into()),
                client_version: Some("1.2".into()),
                protocol_version: Some("2025-11-25".into()),
            },
            Info,
            "x 1.2 connected, protocol 2025-11-25",
        ),
        (E::ClientDisconnected { reason: "end of stdin".into() }, Info, "client disconnected: end of stdin"),
        (
            E::ConfigReloaded { changed: vec!["restart.hold".into()] },
            Info,
            "configuration reloaded, changed: restart.hold",
        ),
        (
            E::ConfigRejected { error: "c.yaml:1:1: bad".into() },
            Error,
            "configuration rejected, the old one stays: c.yaml:1:1: bad",
        ),
        (E::ServerAdded, Info, "added"),
        (E::ServerRemoved, Info, "removed"),
        (E::ServerStarting { attempt: 1 }, Info, "starting"),
        (
            E::ServerConnected {
                pid: Some(77),
                protocol_version: Some("2025-11-25".into()),
                attempts_taken: 1,
                start_ms: 120,
            },
            Info,
            "connected after 120ms, pid 77",
        ),
        (
            E::ServerDisconnected { intentional: false, reason: "transport-exit".into(), exit: Some(Ending::Code(7)) },
            Error,
            "disconnected unexpectedly: transport-exit (exit code 7)",
        ),
        (
            E::ServerReconnecting {
                attempt: 3,
                next_retry_ms: 5000,
                reason: "transport-exit".into(),
                last_error: Some("exit code 7".into()),
                suppressed: 14,
                is_error: true,
            },
            Error,
            "reconnecting, attempt 3 in 5s: transport-exit; exit code 7 (14 such events left out)",
        ),
        (
            E::ServerReconnected {
                capabilities: json!({ "tools": {} }),
                capabilities_changed: true,
                old_hash: Some("a".into()),
                new_hash: Some("b".into()),
                attempts_taken: 2,
                down_ms: 83_456,
                lost: vec!["2 requests".into()],
                preserved: vec!["handshake".into()],
            },
            Info,
            "reconnected after 2 attempts, down for 1m 23s, with other capabilities, lost: 2 requests",
        ),
        (
            E::ServerFailed { attempts: 5, last_error: Some("exit code 3".into()), exit: Some(Ending::Code(3)) },
            Error,
            "failed for good after 5 attempts: exit code 3",
        ),
        (E::ServerEnabled { by: "control".into() }, Info, "enabled by control"),
        (E::ServerDisabled { by: "config".into() }, Info, "disabled by config"),
        (
            E::ServerExited { pid: 77, exit: Ending::Signal(9), uptime_ms: 61_000, stderr_tail: vec!["kaput".into()] },
            Info,
            "process 77 ended after 1m 1s: SIGKILL",
        ),
        (
            E::ServerKilled { pid: Some(77), reason: "probe-failure".into(), is_warning: true },
            Warn,
            "stopping process 77: probe-failure",
        ),
        (
            E::ServerReplacementDue { reason: "files-changed".into(), detail: "a.py has changed".into() },
            Info,
            "to be replaced between calls: files-changed; a.py has changed",
        ),
        (E::ServerIdle { idle_ms: 600_000 }, Info, "nobody has needed it for 10m: stopping until the next request"),
        (
            E::CloseFailed { error: "two processes stay".into(), survivors: vec![8, 9] },
            Warn,
            "closing failed: two processes stay; still alive: 8, 9",
        ),
        (
            E::McpRestartFailed {
                attempt: 1,
                reason: "probe-failure".into(),
                last_error: "exit code 3".into(),
                is_error: false,
            },
            Warn,
            "attempt 1 failed: exit code 3 (restart because of probe-failure)",
        ),
        (E::McpRestartInProgress { held: 2 }, Debug, "2 requests wait for the restart"),
        (
            E::ServerHealthDegraded { consecutive_failures: 3, last_error: "no answer to ping within 3s".into() },
            Warn,
            "unhealthy, 3 failed checks in a row: no answer to ping within 3s",
        ),
        (E::ServerHealthRestored, Info, "healthy again"),
        (
            E::ToolTimeout {
                request_id: "1".into(),
                method: "tools/call".into(),
                tool: Some("slow".into()),
                elapsed_ms: 40_001,
            },
            Warn,
            "tools/call slow has no answer after 40s",
        ),
        (E::ProbeStarted { reason: "tool-timeout".into() }, Debug, "probing: tool-timeout"),
        (E::ProbePassed { probe: "ping".into(), elapsed_ms: 2 }, Debug, "alive: ping answered in 2ms"),
        (
            E::ProbeFailed { probe: "ping".into(), elapsed_ms: 3000, error: "no answer".into() },
            Warn,
            "probe ping failed after 3s: no answer",
        ),
        (
            E::ProbeBusy { probe: "chain".into(), elapsed_ms: 3000, evidence: "it used the CPU".into() },
            Info,
            "busy, not dead: it used the CPU (chain)",
        ),
        (
            E::ProbeUndecided { reason: "unsupported".into() },
            Warn,
            "probing could not tell, nothing is done: unsupported",
        ),
        (
            E::RequestFailed {
                request_id: "\"a\"".into(),
                method: "tools/call".into(),
                error: "server_disconnected".into(),
                code: -31000,
                sent: true,
            },
            Warn,
            "tools/call answered with server_disconnected (-31000, sent to a server)",
        ),
        (E::CatalogChanged { list: "tools".into(), announced: true }, Info, "tools changed, the client was told"),
        (
            E::HandshakeIncompatible { expected: "2025-11-25".into(), found: "2024-11-05".into() },
            Error,
            "the new process speaks 2024-11-05, the session was opened with 2025-11-25",
        ),
        (
            E::ReplayRefused { what: "logging/setLevel".into() },
            Warn,
            "the new process refused the replayed logging/setLevel: the session goes on without it",
        ),
        (
            E::StaleResult { what: "a late answer".into() },
            Debug,
            "dropped something of an older process: a late answer",
        ),
        (E::ClockJump { jump_ms: 3_600_000 }, Info, "the clock jumped by 1h: the machine slept"),
        (E::StrayStdout { lines: 1, bytes: 30 }, Warn, "1 line on stdout, 30 bytes, not a message"),
        (E::PluginLoaded { plugin: "p".into() }, Info, "plugin p loaded"),
        (E::PluginError { plugin: "p".into(), error: "panicked".into() }, Error, "plugin p: panicked"),
        (
            E::InjectRefused { tool: "status".into(), reason: "the server has one".into() },
            Warn,
            "tool status is not offered to the client: the server has one",
        ),
        (E::EventsSuppressed { dropped: 2 }, Warn, "2 events dropped for a slow reader"),
    ]
}

/// events.md, section 1, all of it, `probe_undecided` (lifecycle.md, section 6), and what the watchdog decides on itself.
const NAMES: &str = "server_connected server_disconnected server_added server_removed server_reconnecting \
    server_reconnected server_health_degraded server_health_restored mcp_restart_failed mcp_restart_in_progress \
    watchdog_started watchdog_stopped config_reloaded config_rejected server_starting server_failed server_enabled \
    server_disabled server_exited server_killed close_failed tool_timeout probe_started probe_passed probe_failed \
    probe_busy request_failed catalog_changed handshake_incompatible stale_result clock_jump client_connected \
    client_disconnected plugin_loaded plugin_error inject_refused stray_stdout events_suppressed probe_undecided \
    server_replacement_due server_idle replay_refused";

#[test]
fn an_end_that_somebody_wanted_is_no_warning() {
    let wanted = EventKind::ServerKilled { pid: Some(77), reason: "files-changed".into(), is_warning: false };
    assert_eq!((wanted.level(), wanted.text()), (Level::Info, "stopping process 77: files-changed".to_owned()));
}

#[test]
fn an_exit_that_the_last_error_does_not_tell_is_told_beside_it() {
    let failed =
        |error: &str, exit| EventKind::ServerFailed { attempts: 1, last_error: Some(error.into()), exit: Some(exit) };
    assert_eq!(
        failed("no answer within 30s", Ending::Signal(9)).text(),
        "failed for good after 1 attempt: no answer within 30s (SIGKILL)"
    );
    assert_eq!(failed("signal SIGKILL", Ending::Signal(9)).text(), "failed for good after 1 attempt: signal SIGKILL");
}

#[test]
fn every_documented_name_exists_once() {
    let mut ours: Vec<_> = all().iter().map(|(kind, ..)| kind.name()).collect();
    let mut documented: Vec<_> = NAMES.split_whitespace().collect();
    ours.sort_unstable();
    documented.sort_unstable();
    assert_eq!(ours, documented);
}

#[test]
fn levels_and_lines() {
    for (kind, level, text) in all() {
        assert_eq!(kind.text(), text);
        assert_eq!(kind.level(), level, "{}", kind.name());
    }
}

#[test]
fn data_is_an_object_with_the_servers_name() {
    for (kind, ..) in all() {
        let event = Event::of_server(kind.clone(), "memory".into(), Some(7));
        let data = event.data();
        assert_eq!(data["name"], "memory", "{}", event.name());
        assert!(kind.data().is_object());
        assert!(Event::of_watchdog(kind).data().get("name").is_none());
    }
}

/// The fields of S25 to S29 and events.md.
#[test]
fn data_fields() {
    let of = |name: &str| {
        let (kind, ..) = all().into_iter().find(|(kind, ..)| kind.name() == name).unwrap();
        Event::of_server(kind, "memory".into(), Some(7)).data()
    };
    for (name, data) in [
        (
            "server_disconnected",
            json!({ "name": "memory", "wasIntentional": false, "reason": "transport-exit", "exit": { "code": 7 }, "generation": 7 }),
        ),
        (
            "server_reconnecting",
            json!({ "name": "memory", "attempt": 3, "nextRetryMs": 5000, "reason": "transport-exit", "lastError": "exit code 7", "suppressed": 14 }),
        ),
        (
            "server_reconnected",
            json!({
                "name": "memory", "capabilities": { "tools": {} }, "capabilitiesChanged": true, "oldHash": "a", "newHash": "b",
                "attemptsTaken": 2, "generation": 7, "downMs": 83_456, "lost": ["2 requests"], "preserved": ["handshake"],
            }),
        ),
        (
            "server_health_degraded",
            json!({ "name": "memory", "consecutiveFailures": 3, "lastError": "no answer to ping within 3s" }),
        ),
        ("server_health_restored", json!({ "name": "memory" })),
        (
            "server_exited",
            json!({ "name": "memory", "pid": 77, "code": null, "signal": "SIGKILL", "uptimeMs": 61_000, "stderrTail": ["kaput"], "outOfMemory": false }),
        ),
        (
            "request_failed",
            json!({ "name": "memory", "requestId": "\"a\"", "method": "tools/call", "error": "server_disconnected", "code": -31000, "sent": true }),
        ),
    ] {
        assert_eq!(of(name), data, "{name}");
    }
}

/// The example of events.md, section 2.
#[test]
fn the_json_form() {
    let kind = EventKind::ServerReconnecting {
        attempt: 3,
        next_retry_ms: 5000,
        reason: "transport-exit".into(),
        last_error: None,
        suppressed: 0,
        is_error: true,
    };
    let event = Event::of_server(kind, "memory".into(), Some(7));
    let envelope = Envelope {
        id: "01J".into(),
        sequence: 42,
        time: SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_813_200_123),
        source: "urn:mcp-watchdog:host/1234",
    };
    let expected = json!({
        "v": 1, "id": "01J", "seq": 42, "time": "2026-11-27T21:00:00.123Z", "level": "error",
        "type": "server_reconnecting", "source": "urn:mcp-watchdog:host/1234", "subject": "memory", "server": "memory",
        "generation": 7,
        "data": { "name": "memory", "attempt": 3, "nextRetryMs": 5000, "reason": "transport-exit", "lastError": null, "suppressed": 0 },
    });
    assert_eq!(to_json(&event, &envelope), expected);
    let bare = to_json(&Event::of_watchdog(EventKind::ServerAdded), &envelope);
    assert!(["subject", "server", "generation"].iter().all(|key| bare.get(key).is_none()));
}

/// CloudEvents 1.0: the attributes that it demands, a type that says its version, and names of extensions that it allows.
#[test]
fn the_cloud_events_form() {
    let event = Event::of_server(EventKind::ServerAdded, "memory".into(), Some(7));
    let source = "urn:mcp-watchdog:host/1234";
    let envelope = Envelope { id: "01J".into(), sequence: 42, time: SystemTime::UNIX_EPOCH, source };
    let expected = json!({
        "specversion": "1.0", "id": "01J", "source": source, "type": "io.mcp-watchdog.server_added.v1",
        "time": "1970-01-01T00:00:00.000Z", "subject": "memory", "datacontenttype": "application/json",
        "data": { "name": "memory" }, "seq": 42, "level": "info", "server": "memory", "generation": 7,
    });
    let object = write::to_cloud_event(to_json(&event, &envelope));
    assert_eq!(object, expected);
    let names = object.as_object().unwrap().keys();
    assert!(names.clone().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())));
}

#[test]
fn events_go_to_the_file_whatever_the_log_takes_and_losses_are_told_once_it_works() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("later/events.jsonl");
    let file = crate::config::EventFile { path: path.clone(), max_size: None, keep: 1 };
    let format = EventFormat::CloudEvents;
    let events = Events { stderr: EventForm::Off, format, file: Some(file), ring: 8, throttle: None };
    let bus = Bus::new(EventWriter::new(LogHandle::discard(), &events), events.ring);
    let happen = || {
        bus.publish(Event::of_watchdog(EventKind::ServerAdded), SystemTime::UNIX_EPOCH);
        bus.flush(Duration::from_secs(60));
    };
    happen();
    assert_eq!(bus.dropped(), 1);
    std::fs::create_dir(folder.path().join("later")).unwrap();
    happen();
    happen();
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<_> =
        lines.iter().map(|line| (line["type"].as_str().unwrap(), line["seq"].as_u64().unwrap())).collect();
    let (added, suppressed) = ("io.mcp-watchdog.server_added.v1", "io.mcp-watchdog.events_suppressed.v1");
    assert_eq!(told, [(added, 2), (suppressed, 3), (added, 4)]);
    assert_eq!(lines[1]["data"]["dropped"], 1);
    assert_eq!(bus.recent(1, |_| true)[0].event.name(), "server_added", "the bus keeps the program's own form");
}

#[test]
fn exits() {
    assert_eq!(Ending::Code(3).to_json(), json!({ "code": 3 }));
    assert_eq!(Ending::Signal(9).to_json(), json!({ "signal": "SIGKILL" }));
}

/// The example of the ULID specification has this time part; later ids sort later.
#[test]
fn ids_sort_by_time() {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_469_918_176_385);
    let id = id::ulid(time, u128::MAX);
    assert_eq!(id, "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
    assert_eq!(id::ulid(time, 0), "01ARYZ6S410000000000000000");
    assert!(id::ulid(time + Duration::from_millis(1), 0) > id);
    assert_eq!(id::ulid(SystemTime::UNIX_EPOCH - Duration::from_secs(1), 1).len(), 26);
}

/// What is in the log after all kinds were written.
fn written(level: LogLevel, format: LogFormat, stderr: EventForm) -> Vec<String> {
    let (mut read, write) = std::io::pipe().unwrap();
    let log = LogHandle::start(write.into(), &Log { level, format }, "memory").unwrap();
    tracing::subscriber::with_default(telemetry::subscriber(&log), || {
        let events = Events { stderr, format: EventFormat::Jsonl, file: None, ring: 1, throttle: None };
        let bus = Bus::new(EventWriter::new(log.clone(), &events), events.ring);
        for (kind, ..) in all() {
            bus.publish(Event::of_server(kind, "memory".into(), Some(7)), SystemTime::UNIX_EPOCH);
        }
    });
    assert!(log.flush(Duration::from_secs(20)));
    drop(log);
    let mut text = String::new();
    read.read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn events_are_written_as_text() {
    let lines = written(LogLevel::Debug, LogFormat::Text, EventForm::Text);
    assert_eq!(lines.len(), all().len());
    for (line, (kind, level, text)) in lines.iter().zip(all()) {
        let level = level.name().to_uppercase();
        let end = format!("{level:>5} [mcp] memory: {text} event={} generation=7", kind.name());
        assert!(line.ends_with(&end), "{line}");
    }
}

#[test]
fn events_are_written_as_json() {
    let lines = written(LogLevel::Debug, LogFormat::Json, EventForm::Text);
    assert_eq!(lines.len(), all().len());
    let mut ids = std::collections::BTreeSet::new();
    for ((line, (kind, ..)), number) in lines.iter().zip(all()).zip(1_u64..) {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["type"], kind.name());
        assert_eq!(object["seq"], number);
        assert_eq!(object["time"], "1970-01-01T00:00:00.000Z");
        assert!(object["source"].as_str().unwrap().starts_with("urn:mcp-watchdog:"));
        assert!(ids.insert(object["id"].as_str().unwrap().to_owned()), "an id came twice");
    }
}

#[test]
fn the_level_and_the_switch_count_for_both_forms() {
    for format in [LogFormat::Text, LogFormat::Json] {
        let expected = all().iter().filter(|(_, level, _)| *level >= Level::Warn).count();
        assert_eq!(written(LogLevel::Warn, format, EventForm::Text).len(), expected);
        assert!(written(LogLevel::Debug, format, EventForm::Off).is_empty());
    }
}

#[test]
fn events_can_be_json_among_lines_for_people() {
    let lines = written(LogLevel::Debug, LogFormat::Text, EventForm::Jsonl);
    assert_eq!(lines.len(), all().len());
    for (line, (kind, ..)) in lines.iter().zip(all()) {
        let object: Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["type"], kind.name());
    }
}
