//! Plugins in a session: whatever they do, calls are answered, and nothing is left behind.

use std::path::Path;
use std::time::Duration;

use harness::plugins::{c_plugin, rust_plugin, text_file};
use harness::{Session, Setup, Signal, Value, json, tool_call};

use crate::rig::{EAGER, JSON_LOG, QUICK_STOP, SHORT_DRAIN, WATCHDOG, events, poll_until, setup, wait_event};

/// A check every moment, with time for one that does not return to be noticed.
const OFTEN: [&str; 6] = ["--health-interval", "30ms", "--set", "health.jitter=0", "--probe-timeout", "2s"];

/// A call is suspect soon.
const SUSPICIOUS: [&str; 2] = ["--tool-timeout", "300ms"];

fn chain(library: &Path, keys: &str) -> [String; 2] {
    let link = format!("{{type: plugin, name: p, library: '{}', {keys}}}", library.display());
    ["--set".to_owned(), format!("probe.chain=[{link}]")]
}

fn with_plugin(library: &Path, keys: &str) -> Setup {
    setup().options(QUICK_STOP).options(EAGER).options(SHORT_DRAIN).options(JSON_LOG).options(chain(library, keys))
}

#[track_caller]
fn call(session: &Session, id: u64) {
    session.send(tool_call(id, "life", json!({})));
    assert_eq!(session.answer(id).text(), "1");
}

#[test]
fn a_session_goes_on_whatever_its_plugin_does() {
    let hostile = rust_plugin("hostile-rs");
    for (library, deed, sign) in [
        (c_plugin("segfault_in_check"), "x", "the plugin was killed by SIGSEGV"),
        (c_plugin("raises_segv"), "x", "the plugin was killed by SIGSEGV"),
        (c_plugin("late_thread_call"), "x", "only the second"),
        (hostile.clone(), "abort", "the plugin was killed by SIGABRT"),
        (hostile.clone(), "exit", "the plugin ended its process with exit code 0"),
        (hostile.clone(), "spawn_and_exit", "the plugin ended its process with exit code 0"),
        (hostile.clone(), "stack_overflow", "the plugin was killed by SIG"),
        (hostile.clone(), "panic_in_check", "panicked: in check"),
        (hostile.clone(), "print", "word on stderr"),
        (hostile.clone(), "leak_thread", "from a thread on stdout"),
        (hostile.clone(), "garbage", "one  two  redend"),
    ] {
        let keys = format!("config: {{do: {deed}, text: word}}");
        let session = with_plugin(&library, &keys).options(OFTEN).options(["--log-level", "debug"]).start();
        session.initialize();
        call(&session, 1);
        session.wait_stderr(sign);
        call(&session, 2);
        session.finish();
    }
}

#[test]
fn a_check_that_hangs_holds_up_nobody_and_ends_with_the_session() {
    let session = with_plugin(&c_plugin("stuck"), "timeout: 60s").options(["--set", "probe.total_timeout=60s"]);
    let session = session.options(OFTEN).options(["--set", "health.timeout=60s"]).start();
    session.initialize();
    call(&session, 1);
    poll_until("probe host", || {
        session.survivors().iter().any(|process| process.to_string().contains("mcp-watchdog-probe-host"))
    });
    call(&session, 2);
    session.finish();
}

#[test]
fn nothing_of_a_plugin_outlives_a_watchdog_that_is_killed() {
    let session = with_plugin(&rust_plugin("hostile-rs"), "config: {do: spawn_children}").options(OFTEN).start();
    session.initialize();
    poll_until("children of the plugin", || {
        session.survivors().iter().filter(|process| process.to_string().contains("sleep")).count() >= 3
    });
    session.signal(Signal::SIGKILL);
    session.killed();
}

#[test]
fn a_plugin_that_fails_has_the_server_replaced() {
    let keys = "config: {do: fail, text: 'the index is gone'}";
    let session = with_plugin(&rust_plugin("hostile-rs"), keys).options(SUSPICIOUS).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let failed = wait_event(&session, "probe_failed");
    assert_eq!(failed["data"]["error"], "p: the index is gone");
    let data = session.answer(1).own_error("request_timeout");
    assert_eq!(data["restarted"], true, "{data}");
    session.wait_life(2);
    session.finish();
}

#[test]
fn a_plugin_asks_the_server_what_its_link_permits() {
    let hostile = rust_plugin("hostile-rs");
    for (keys, sign) in [
        ("config: {do: call, text: tools/list}", "Result(Object"),
        ("config: {do: call_tools_call, text: life}", "p: Invalid"),
        ("config: {do: call_tools_call, text: life}, allow_methods: [tools/call]", "Result(Object"),
    ] {
        let session = with_plugin(&hostile, keys).options(SUSPICIOUS).start();
        session.initialize();
        session.send(tool_call(1, "silence", json!({})));
        let busy = wait_event(&session, "probe_busy");
        assert!(busy["data"]["evidence"].as_str().unwrap().contains(sign), "{busy}");
        session.may_stay_open(1);
        session.finish();
    }
}

#[test]
fn a_plugin_that_does_not_load_keeps_the_server_from_starting() {
    let session = with_plugin(&text_file(), "").start();
    let exit = session.wait_exit(Duration::from_secs(5));
    assert_eq!(exit.code(), Some(78));
    let error = wait_event(&session, "plugin_error");
    assert_eq!(error["data"]["plugin"], "p");
    assert!(error["data"]["error"].as_str().unwrap().contains("as a shared library of this system"), "{error}");
    session.wait_stderr("`: probe.chain[0]: cannot load");
    session.wait_stderr("`on_error: skip` starts the server all the same");
    assert_eq!(session.life(), 0);
    session.ended(78);
}

#[test]
fn a_plugin_may_be_skipped() {
    let session = with_plugin(&text_file(), "on_error: skip").options(OFTEN).start();
    session.initialize();
    let first = wait_event(&session, "plugin_error");
    assert!(first["data"]["error"].as_str().unwrap().contains("as a shared library"), "{first}");
    session.wait_stderr("broken, after 3 checks in a row without a verdict: cannot load");
    call(&session, 1);
    let broken = |event: &Value| event["data"]["error"].as_str().unwrap_or_default().starts_with("broken");
    assert_eq!(events(&session, "plugin_error").iter().filter(|event| broken(event)).count(), 1);
    session.finish();
}

#[test]
fn a_plugin_that_loads_is_told_of() {
    let session = with_plugin(&c_plugin("passes"), "").start();
    session.initialize();
    assert_eq!(events(&session, "plugin_loaded")[0]["data"]["plugin"], "p (passes 1.0)");
    session.finish();
}

#[test]
fn check_config_loads_plugins() {
    let check = |library: &Path, keys: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.yaml");
        let link = format!("{{type: plugin, library: '{}', {keys}}}", library.display());
        std::fs::write(&file, format!("servers: {{s: {{command: 'true', probe: {{chain: [{link}]}}}}}}\n")).unwrap();
        let mut command = std::process::Command::new(WATCHDOG);
        let output = command.arg("check-config").arg(&file).output().expect("the watchdog can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, out, err) = check(&c_plugin("passes"), "");
    assert!(code == Some(0) && out.contains("s: probe.chain[0]: plugin is plugin passes 1.0"), "{out}{err}");
    assert!(out.contains("c.yaml: ok\n"), "{out}");
    let (code, out, err) = check(&c_plugin("wrong_major"), "");
    assert!(code == Some(78) && err.contains("error: s: probe.chain[0]: ") && err.contains("speaks ABI"), "{out}{err}");
    assert!(!out.contains("ok"), "what will not start is not well: {out}");
    let (code, out, err) = check(&c_plugin("wrong_major"), "on_error: skip");
    assert!(code == Some(0) && err.contains("warning: s: probe.chain[0]: "), "{out}{err}");
    assert!(out.contains("c.yaml: ok\n"), "{out}");
    for pin in ["abc", "12", "[]"] {
        let (code, out, err) = check(&c_plugin("passes"), &format!("sha256: {pin}"));
        assert!(code == Some(78) && err.contains("`sha256` wants 64 hexadecimal digits in quotes"), "{out}{err}");
    }
    let (code, out, err) = check(Path::new(""), "");
    assert_eq!((code, out.as_str(), err.matches("error").count()), (Some(78), "", 1), "{err}");
    assert!(err.contains("is empty: it wants the path of a shared library"), "{err}");
}

#[test]
fn plugins_that_never_come_up_are_waited_for_together() {
    let library = rust_plugin("hostile-rs");
    let link = |n| {
        let library = library.display();
        format!("{{type: plugin, name: p{n}, library: '{library}', config: {{do: never_created}}, on_error: skip}}")
    };
    let links = [link(1), link(2), link(3), "{type: ping}".to_owned()].join(", ");
    let session = setup().options(QUICK_STOP).options(["--set".to_owned(), format!("probe.chain=[{links}]")]).start();
    session.send(harness::initialize(0, "2025-11-25"));
    session.answer_within(0, Duration::from_secs(10));
    let took = session.took(0);
    assert!(took < Duration::from_secs(9), "{took:?}: one after the other would be 15 s");
    session.finish();
}
