//! What the watchdog itself decides on: replacements between calls (`watch`, `limits`), and the stop of an idle server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::{Session, Setup, json, request, tool_call};

use crate::rig::{JSON_LOG, QUICK_STOP, events, poll_until, run, setup, text, wait_event};

const LIMIT: Duration = Duration::from_secs(20);

/// A folder of a server's source.
struct Source(tempfile::TempDir);

impl Source {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(folder.path().join("src")).expect("it can be written to");
        let source = Self(folder);
        source.write("main.py", "0");
        source
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("src").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("it can be written to");
    }

    /// Saves as most editors do.
    fn move_over(&self, name: &str, text: &str) {
        self.write("saving.tmp", text);
        fs::rename(self.path("saving.tmp"), self.path(name)).expect("the folder can be written to");
    }

    fn watched(&self, path: &Path) -> Setup {
        setup().options(QUICK_STOP).options(JSON_LOG).options([Path::new("--watch"), path])
    }
}

fn call(session: &Session, id: u64) {
    session.send(tool_call(id, "echo", json!({ "text": id.to_string() })));
    assert_eq!(session.answer_within(id, LIMIT).text(), id.to_string());
    assert_eq!(session.times_read("tools/call", id), 1);
}

/// Changes the file until that is seen: the watchdog may not have begun to watch.
fn edit_until_life(session: &Session, life: u64, edit: impl Fn()) {
    poll_until(&format!("life {life}"), || {
        edit();
        std::thread::sleep(Duration::from_millis(400));
        session.life() >= life
    });
    session.wait_life(life);
}

#[test]
fn a_changed_file_restarts_the_server_and_the_client_notices_nothing() {
    let source = Source::new();
    let session = source.watched(&source.path("")).start();
    session.initialize();
    call(&session, 1);
    edit_until_life(&session, 2, || source.write("main.py", "1"));
    call(&session, 2);
    let due = wait_event(&session, "server_replacement_due");
    assert_eq!(
        (&due["data"]["reason"], &due["data"]["detail"]),
        (&json!("files-changed"), &json!("src/main.py has changed"))
    );
    let gone = wait_event(&session, "server_disconnected");
    assert_eq!((&gone["data"]["wasIntentional"], &gone["data"]["reason"]), (&json!(true), &json!("files-changed")));
    session.finish();
}

#[test]
fn a_file_that_was_replaced_and_one_that_went_away_are_still_watched() {
    let source = Source::new();
    let session = source.watched(&source.path("main.py")).start();
    session.initialize();
    edit_until_life(&session, 2, || source.move_over("main.py", "1"));
    call(&session, 1);
    edit_until_life(&session, 3, || source.move_over("main.py", "2"));
    call(&session, 2);
    fs::remove_file(source.path("main.py")).expect("it is there");
    edit_until_life(&session, 4, || source.write("main.py", "3"));
    call(&session, 3);
    session.finish();
}

#[test]
fn a_hundred_edits_under_a_stream_of_calls_cost_no_call() {
    let source = Source::new();
    let session = source.watched(&source.path("")).start();
    session.initialize();
    for id in 1..=100 {
        if id % 2 == 0 {
            source.write("main.py", &id.to_string());
        } else {
            source.move_over("main.py", &id.to_string());
        }
        call(&session, id);
        std::thread::sleep(Duration::from_millis(40));
    }
    // Whatever had begun is over when a change after all of them is served.
    edit_until_life(&session, session.life() + 1, || source.write("main.py", "last"));
    call(&session, 101);
    assert!(session.life() > 2, "{} lives", session.life());
    assert!(events(&session, "request_failed").is_empty());
    session.finish();
}

#[test]
fn a_call_in_flight_is_waited_for() {
    let source = Source::new();
    // The client's answer to the question ends the call.
    let script = json!({ "rules": [{ "on": "tools/call", "do": [{ "ask": ["q", "roots/list", {}] }] }] });
    let session = source.watched(&source.path("")).script(script).start();
    session.initialize();
    session.send(tool_call(1, "slow", json!({})));
    let question = session.from_server("roots/list", 1);
    poll_until("news of the change", || {
        source.write("main.py", "1");
        std::thread::sleep(Duration::from_millis(400));
        !events(&session, "server_replacement_due").is_empty()
    });
    assert!(!session.is_answered(1) && session.life() == 1);
    session.respond(&question, json!({ "roots": [] }));
    let _ = session.answer_within(1, LIMIT).result();
    session.wait_life(2);
    session.finish();
}

#[test]
fn a_path_that_is_not_there_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = run(folder.path(), &["--watch", "no/such.py", "--", "true"], &[]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    assert!(stderr.contains("no/such.py` cannot be watched") && stderr.contains("make it first"), "{stderr}");
}

#[test]
fn a_process_that_has_lived_for_long_enough_is_replaced() {
    let session = setup().options(QUICK_STOP).options(JSON_LOG).options(["--set", "limits.max_lifetime=1s"]).start();
    session.initialize();
    for life in 1..=3 {
        session.wait_life(life);
        call(&session, life);
    }
    let gone = wait_event(&session, "server_disconnected");
    assert_eq!((&gone["data"]["wasIntentional"], &gone["data"]["reason"]), (&json!(true), &json!("max-lifetime")));
    session.finish();
}

/// No program fits into the limit.
#[test]
fn a_process_that_is_too_large_is_replaced_and_not_without_end() {
    let options = ["--set", "limits.memory=1MiB", "--set", "restart.min_uptime=1s"];
    let session = setup().options(QUICK_STOP).options(JSON_LOG).options(options).start();
    session.initialize();
    call(&session, 1);
    let due = session_event(&session, "server_replacement_due");
    assert_eq!(due["data"]["reason"], "memory-limit");
    let detail = due["data"]["detail"].as_str().expect("it has one");
    assert!(detail.ends_with("MiB of memory in use, above the limit of 1MiB"), "{detail}");
    session.wait_life(2);
    call(&session, 2);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(session.life(), 2, "the next one has its time too");
    session.finish();
}

/// The first event of a type, which may take its time.
fn session_event(session: &Session, kind: &str) -> harness::Value {
    for _ in 0..3 {
        if !events(session, kind).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_secs(2));
    }
    wait_event(session, kind)
}

fn operator(session: &Session, arguments: &[&str]) -> (Option<i32>, String) {
    let (code, out, _) = operate(session, arguments);
    (code, out)
}

/// With what it says on stderr.
fn operate(session: &Session, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = session.folder();
    let output = run(folder, arguments, &[("MCP_WATCHDOG_RUNTIME_DIR", &folder.to_string_lossy())]);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_idle_server_is_stopped_and_the_next_call_starts_it() {
    let session = setup().options(QUICK_STOP).options(JSON_LOG).options(["--set", "idle_stop=700ms"]).start();
    session.initialize();
    call(&session, 1);
    session.send(request(2, "tools/list", json!({})));
    let list = session.answer(2).result().clone();
    assert_eq!(wait_event(&session, "server_idle")["server"], "mcp-fixture");
    assert_eq!(wait_event(&session, "server_disconnected")["data"]["reason"], "idle-stop");

    // It counts as well, and looking at it is no use of it. Nor is a list that is known.
    poll_until("standby", || operator(&session, &["status"]).1.contains("standby"));
    let life = session.life();
    session.wait_gone(life);
    assert_eq!(operator(&session, &["status"]).0, Some(0));
    assert_eq!(operator(&session, &["health"]).0, Some(0));
    let (code, _, refused) = operate(&session, &["probe"]);
    assert_eq!(code, Some(1));
    assert!(refused.contains("(state standby): `mcp-watchdog retry mcp-fixture` starts it"), "{refused}");
    session.send(request(3, "tools/list", json!({})));
    assert_eq!(session.answer(3).result(), &list, "from the lists of the last process");
    assert_eq!(session.life(), life);

    session.send_all([tool_call(4, "echo", json!({ "text": "a" })), tool_call(5, "echo", json!({ "text": "b" }))]);
    assert_eq!((session.answer(4).text(), session.answer(5).text()), ("a", "b"));
    assert_eq!(session.life(), life + 1);
    assert!(events(&session, "request_failed").is_empty());
    session.wait_gone(life + 1);
    session.finish();
}

#[test]
fn a_client_that_leaves_an_idle_server_ends_the_watchdog() {
    let mut session = setup().options(QUICK_STOP).options(["--set", "idle_stop=300ms", "--set", "start=lazy"]).start();
    session.initialize();
    session.wait_gone(1);
    session.close_stdin();
    session.ended(0);
}
