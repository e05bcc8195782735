//! What is told of control groups and limits: where they hold, where they cannot, and what the kernel refuses. Who is left when
//! somebody is killed is in [`crate::matrix`].
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use harness::{Session, Setup, Value, initialize, json, tool_call};

use crate::matrix::{Group, Tier};
use crate::rig::{FIXTURE, QUICK_STOP, WATCHDOG, poll_until, run, setup, text};

/// Of the one server of a session.
#[track_caller]
fn status(session: &Session) -> (Value, String) {
    let folder = session.folder();
    let ask = |words: &[&str]| {
        let output = run(folder, words, &[("MCP_WATCHDOG_RUNTIME_DIR", folder.to_str().expect("letters"))]);
        (output.status.success(), text(&output.stdout))
    };
    let mut table = String::new();
    poll_until("control socket", || {
        let (is_there, text) = ask(&["status"]);
        table = text;
        is_there
    });
    let servers: Value = serde_json::from_str(&ask(&["status", "--json"]).1).expect("JSON");
    (servers[0].clone(), table)
}

#[test]
fn a_server_in_a_cgroup_is_shown_as_such_and_nothing_is_left_of_it() {
    let Some(group) = Group::make() else { return };
    let tier = Tier::Cgroup(group);
    let session = tier.setup().options(QUICK_STOP).command([FIXTURE]).start();
    session.initialize();
    let (server, table) = status(&session);
    assert_eq!((&server["isolation"], &server["isolationShortfall"]), (&json!("cgroup"), &Value::Null));
    assert!(table.lines().next().is_some_and(|line| line.contains("ISOLATION")), "{table}");
    let inside = std::fs::read_to_string(format!("/proc/{}/cgroup", server["pid"])).expect("the server runs");
    assert!(inside.lines().any(|line| line.starts_with("0::") && line.contains("/mcp-watchdog-")), "{inside}");
    session.finish();
    let Tier::Cgroup(group) = &tier else { return };
    assert_eq!(group.homes(), [""; 0].map(std::path::PathBuf::from));
}

/// In a mount namespace of its own, without the hierarchy.
#[test]
fn where_there_is_no_cgroup_the_server_runs_and_log_and_status_say_what_is_missing() {
    let permitted = Command::new("unshare").args(["--mount", "true"]).output();
    if !permitted.is_ok_and(|output| output.status.success()) {
        return eprintln!("SKIPPED: `unshare --mount` is not permitted here");
    }
    let script = r#"for place in $(awk '$3 == "cgroup2" { print $2 }' /proc/self/mounts); do umount -l "$place"; done
        exec "$0" "$@""#;
    let session = Setup::direct("unshare")
        .options(["--mount", "--propagation", "private", "sh", "-c", script, WATCHDOG])
        .options(["--set", "isolation=cgroup", "--set", "limits.memory_max=1GiB"])
        .command([FIXTURE])
        .start();
    session.initialize();
    session.wait_stderr("`isolation: cgroup` and `limits.memory_max` are not in force: no cgroup v2 is mounted here");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    let (server, table) = status(&session);
    assert_eq!(server["isolation"], "guard");
    assert!(server["isolationShortfall"].to_string().contains("isolation: guard"), "{server}");
    assert!(table.contains("guard (less than asked)"), "{table}");
    session.finish();
}

#[test]
fn without_the_wish_for_more_nothing_is_missing() {
    let session = setup().options(QUICK_STOP).start();
    session.initialize();
    let (server, table) = status(&session);
    assert_eq!((&server["isolation"], &server["isolationShortfall"]), (&json!("guard"), &Value::Null));
    assert!(!table.contains("ISOLATION"), "{table}");
    session.finish();
}

/// More than any system takes.
#[test]
fn a_limit_that_the_kernel_refuses_ends_the_first_start_with_its_key() {
    let session = setup().options(["--set", "limits.open_files=4294967295"]).start();
    session.send(initialize(0, "2025-11-25"));
    let answer = session.answer(0);
    let message = answer.error()["message"].to_string();
    assert!(message.contains("`limits.open_files: 4294967295`") && message.contains("LimitNOFILE="), "{message}");
    session.ended(78);
}

#[test]
fn a_limit_of_memory_takes_a_cgroup() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = run(Path::new(folder.path()), &["--set", "limits.memory_max=1GiB", "--", FIXTURE], &[]);
    assert_eq!(output.status.code(), Some(78));
    let why = text(&output.stderr);
    assert!(why.contains("limits.memory_max") && why.contains("isolation: cgroup"), "{why}");
}
