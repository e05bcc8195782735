//! `events.file`, and what is left out of the log.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use harness::{Setup, Value, json, tool_call};

use crate::rig::{EAGER, FIXTURE, WATCHDOG, poll_until, setup};

/// A folder of this test alone, gone with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-watchdog-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn s4_events_are_appended_to_a_private_file_as_cloud_events() {
    let folder = Folder::new("event-file");
    let path = folder.0.join("events.jsonl");
    let session = setup()
        .options(EAGER)
        .env("MCP_WATCHDOG_EVENTS__FILE", &path)
        .env("MCP_WATCHDOG_EVENTS__FORMAT", "cloudevents")
        .start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.finish();
    let text = fs::read_to_string(&path).expect("there is a file");
    let events: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect();
    let types: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    for name in ["watchdog_started", "server_connected", "server_disconnected", "server_reconnected"] {
        assert!(types.contains(&format!("io.mcp-watchdog.{name}.v1").as_str()), "{name} in {types:?}");
    }
    assert_eq!(types.last().copied(), Some("io.mcp-watchdog.watchdog_stopped.v1"), "nothing is lost at the end");
    assert!(events.iter().all(|event| event["specversion"] == "1.0" && event["id"].is_string()));
    assert_eq!(fs::metadata(&path).expect("there is a file").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_full_disk_is_told_once_and_costs_no_call() {
    let session = setup().env("MCP_WATCHDOG_EVENTS__FILE", "/dev/full").start();
    session.initialize();
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    let told = || session.stderr().matches("events are lost: /dev/full (events.file) cannot be written").count();
    poll_until("line about the file", || told() > 0);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    assert_eq!(told(), 1);
    session.finish();
}

#[test]
fn a_file_that_may_not_grow_is_no_more_than_a_full_disk() {
    let folder = Folder::new("may-not-grow");
    let path = folder.0.join("events.jsonl");
    fs::write(&path, "\n".repeat(1 << 20)).expect("there is room");
    // In units of 512 or 1024 bytes: less than the file has, and enough for what the server writes.
    let limited = ["-c", "ulimit -f 512 && exec \"$@\"", "limited", WATCHDOG];
    let session = Setup::new("sh", FIXTURE).options(limited).env("MCP_WATCHDOG_EVENTS__FILE", &path).start();
    session.initialize();
    session.wait_stderr("(events.file) cannot be written: File too large");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}
