//! `mcp-watchdog probe -- COMMAND`: what a chain finds, without a client.

use harness::{Session, Setup, Value, json};

use crate::rig::{FIXTURE, WATCHDOG, poll_until};

fn probe(options: &[&str], script: Value) -> Session {
    let setup = Setup::direct(WATCHDOG).options(["probe"]).options(options);
    setup.script(script).command([FIXTURE]).start()
}

/// What is not a message of the protocol is told by its lines.
fn said(session: &Session) -> String {
    session.wait_exit(std::time::Duration::from_secs(20));
    // The end is known before the last lines are read.
    let whole = |last: &str| last.starts_with('{') || last.contains(" after ");
    poll_until("report", || session.lines().last().is_some_and(|line| whole(&line.text)));
    session.lines().iter().map(|line| format!("{}\n", line.text)).collect()
}

#[test]
fn a_server_that_is_well_passes_in_either_era() {
    for era in ["handshake", "stateless", "dual"] {
        let session = probe(&["--chain", "ping,tools_list"], json!({ "era": era }));
        let text = said(&session);
        assert!(text.contains("ping") && text.contains("pass") && text.contains("alive after"), "{era}: {text}");
        assert_eq!(session.wait_exit(std::time::Duration::from_secs(1)).code(), Some(0));
        session.wait_none_left(std::time::Duration::from_secs(5));
    }
}

#[test]
fn a_server_that_answers_nothing_is_dead_link_by_link() {
    let silent = json!({ "rules": [{ "on": "ping", "do": ["hang"] }] });
    let session = probe(&["--set", "probe.timeout=200ms", "--json"], silent);
    let text = said(&session);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((report["verdict"].as_str(), report["trigger"].as_str()), (Some("dead"), Some("manual")));
    let links: Vec<_> = report["links"].as_array().unwrap().iter().map(|link| &link["verdict"]).collect();
    assert_eq!(links, ["fail", "fail"]);
    assert_eq!(session.wait_exit(std::time::Duration::from_secs(1)).code(), Some(1));
    session.wait_none_left(std::time::Duration::from_secs(5));
}

#[test]
fn a_command_that_is_not_there_is_said_to_be_so() {
    let session = Setup::direct(WATCHDOG).options(["probe"]).command(["/nowhere/at/all"]).start();
    session.wait_stderr("/nowhere/at/all");
    assert_eq!(session.wait_exit(std::time::Duration::from_secs(20)).code(), Some(1));
}

#[test]
fn a_server_that_ends_at_once_is_said_not_to_start_with_its_own_words() {
    let command = ["sh", "-c", "echo no licence >&2; exit 3"];
    let session = Setup::direct(WATCHDOG).options(["probe"]).command(command).start();
    session.wait_stderr("[mcp] sh: no licence");
    session.wait_stderr("mcp-watchdog: the server does not start: exit code 3");
    assert_eq!(session.wait_exit(std::time::Duration::from_secs(20)).code(), Some(1));
}

#[test]
fn a_chain_that_cannot_be_is_refused_before_anything_runs() {
    let session = probe(&["--chain", "pong"], json!({}));
    session.wait_stderr("unknown probe type \"pong\"");
    assert_eq!(session.wait_exit(std::time::Duration::from_secs(5)).code(), Some(78));
    assert_eq!(session.life(), 0);
}
