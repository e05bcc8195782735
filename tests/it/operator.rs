//! The commands of an operator, against running watchdogs.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::{Session, Setup, Signal, Value, json, tool_call};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::rig::{EAGER, FIXTURE, QUICK_STOP, WATCHDOG, poll_until, run, setup, text};

/// A server of this name.
fn named(name: &str) -> Setup {
    setup().options(["--name", name]).options(QUICK_STOP)
}

/// A watchdog whose control socket is there, and whose client has opened a session.
fn started(setup: Setup) -> Session {
    let session = setup.start();
    session.initialize();
    poll_until("control socket", || !sockets(session.folder()).is_empty());
    session
}

/// The control sockets in a runtime folder.
fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut sockets: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "sock")).collect();
    sockets.sort();
    sockets
}

/// Runs a command against the watchdogs of this runtime folder.
fn operate_in(folder: &Path, line: &str) -> Output {
    let words: Vec<_> = line.split_whitespace().collect();
    let runtime = folder.to_str().expect("a path of letters");
    run(folder, &words, &[("MCP_WATCHDOG_RUNTIME_DIR", runtime)])
}

fn operate(session: &Session, line: &str) -> Output {
    operate_in(session.folder(), line)
}

#[track_caller]
fn out(output: &Output, code: i32) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout: {out}\nstderr: {err}");
    out
}

#[track_caller]
fn error(output: &Output, code: i32) -> String {
    assert_eq!(out(output, code), "");
    text(&output.stderr)
}

#[track_caller]
fn status(session: &Session, line: &str, code: i32) -> Vec<Value> {
    let out = out(&operate(session, &format!("status --json {line}")), code);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

// -- one watchdog -----------------------------------------------------------------------------------------------------

/// ACC-45, and what it leaves out.
#[test]
fn a_server_is_looked_at_switched_off_and_on_and_restarted() {
    let session = started(named("acc"));
    let servers = status(&session, "acc", 0);
    assert_eq!(servers.len(), 1);
    assert_eq!((&servers[0]["name"], &servers[0]["state"]), (&json!("acc"), &json!("Connected")));
    assert_eq!(servers[0]["watchdog"]["pid"], session.pid());
    let table = out(&operate(&session, "status"), 0);
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..3], ["NAME", "STATE", "GENERATION"]);
    assert_eq!(lines[1][..3], ["acc", "connected", "1"]);
    assert!(!table.contains('\u{1b}'), "no colours but on a terminal");

    assert_eq!(out(&operate(&session, "disable acc"), 0), "acc: disabled\n");
    session.wait_gone(1);
    session.send(tool_call(1, "life", json!({})));
    let _ = session.answer(1).own_error("server_disabled");
    assert_eq!(status(&session, "acc", 3)[0]["enabled"], false);
    let refused = error(&operate(&session, "retry acc"), 1);
    assert!(refused.contains("enable it first"), "{refused}");

    out(&operate(&session, "enable acc"), 0);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    assert_eq!(out(&operate(&session, "retry --wait 10s"), 0), "acc: connected\n");
    session.send(tool_call(3, "life", json!({})));
    assert_eq!(session.answer(3).text(), "3");
    assert_eq!(status(&session, "", 0)[0]["stats"]["restarts"], 2);
    session.finish();
}

#[test]
fn a_chain_is_run_on_demand_and_its_links_are_told() {
    let session = started(named("a"));
    let told = out(&operate(&session, "probe a"), 0);
    assert!(told.lines().any(|line| line.starts_with("ping") && line.contains("pass")), "{told}");
    assert!(told.lines().last().is_some_and(|line| line.starts_with("alive after ")), "{told}");
    let report: Value = serde_json::from_str(&out(&operate(&session, "probe --json"), 0)).expect("it is JSON");
    assert_eq!((&report["verdict"], &report["trigger"]), (&json!("alive"), &json!("manual")));
    assert_eq!(session.life(), 1);
    out(&operate(&session, "disable"), 0);
    let refused = error(&operate(&session, "probe a"), 1);
    assert!(refused.starts_with("error: server \"a\" "), "{refused}");
    session.finish();
}

#[test]
fn a_server_that_hangs_is_found_dead_and_is_not_restarted_by_the_question() {
    let session = started(named("a").options(["--probe-timeout", "200ms", "--set", "probe.busy_max=0s"]));
    session.signal_server(Signal::SIGSTOP);
    let told = out(&operate(&session, "probe a"), 1);
    assert!(told.lines().last().is_some_and(|line| line.starts_with("dead after ")), "{told}");
    session.signal_server(Signal::SIGCONT);
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn the_last_lines_of_a_servers_stderr() {
    let session = started(named("a").script(json!({ "rules": [
        { "on": "tools/call", "tool": "talk",
          "do": [{ "stderr": "one" }, { "stderr": "two" }, { "stderr": "three" }, { "text": "said" }] },
    ] })));
    session.send(tool_call(1, "talk", json!({})));
    let _ = session.answer(1);
    session.wait_stderr("three");
    assert_eq!(out(&operate(&session, "logs a --tail 2"), 0), "two\nthree\n");
    assert!(out(&operate(&session, "logs"), 0).ends_with("one\ntwo\nthree\n"));
    session.finish();
}

#[test]
fn what_a_server_said_before_it_died_is_still_there_when_the_next_one_runs() {
    let session = started(named("a").options(EAGER).script(json!({ "rules": [
        { "on": "tools/call", "tool": "die", "do": [{ "stderr": "kaput" }, { "exit": 3 }] },
        { "on": "tools/call", "tool": "talk", "do": [{ "stderr": "well" }, { "text": "said" }] },
    ] })));
    for life in 1..=2 {
        session.send(tool_call(life, "die", json!({})));
        let _ = session.answer(life).own_error("server_disconnected");
        session.wait_life(life + 1);
    }
    session.send(tool_call(3, "talk", json!({})));
    let _ = session.answer(3);
    session.wait_stderr("well");
    assert_eq!(out(&operate(&session, "logs a --tail 3"), 0), "kaput\nkaput\nwell\n");
    assert_eq!(out(&operate(&session, "logs a --tail 2"), 0), "kaput\nwell\n");
    session.finish();
}

#[test]
fn health_is_two_exit_codes() {
    let session = started(named("a"));
    for line in ["health", "health --ready", "health a", "health --live", "health --startup a"] {
        assert_ne!(out(&operate(&session, line), 0), "", "{line}");
    }
    out(&operate(&session, "disable a"), 0);
    for line in ["health", "health a"] {
        out(&operate(&session, line), 1);
    }
    out(&operate(&session, "health --live"), 0);
    out(&operate(&session, "health --startup"), 0);
    error(&operate(&session, "health b"), 1);
    session.finish();
}

#[test]
fn what_has_happened_and_what_happens() {
    let session = started(named("a"));
    session.kill_server();
    session.wait_life(2);
    out(&operate(&session, "status --wait connected"), 0);
    let exits = out(&operate(&session, "events a --type server_exited --json"), 0);
    let exits: Vec<Value> = exits.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(exits.len(), 1, "{exits:?}");
    assert_eq!(exits[0]["data"]["signal"], "SIGKILL");
    let told = out(&operate(&session, "events"), 0);
    assert!(told.lines().any(|line| line.contains(" INFO - watchdog_started ")), "{told}");
    assert!(
        told.lines().any(|line| line.contains(" a server_exited generation=1 ") && line.contains("signal=SIGKILL"))
    );
    let since = format!("events --since {}", exits[0]["seq"]);
    let later = out(&operate(&session, &since), 0);
    assert!(!later.contains("server_exited") && later.contains("server_reconnected"), "{later}");
    assert_eq!(out(&operate(&session, "events --since 99999"), 0), "");

    let (mut events, mut lines) = piped(&session, &format!("{since} --follow --json --type server_exited"));
    session.kill_server();
    let next: Value = serde_json::from_str(&read(&mut lines)).expect("it is JSON");
    assert_eq!((&next["type"], &next["generation"]), (&json!("server_exited"), &json!(2)));
    session.finish();
    assert_eq!(events.wait().expect("it is a child").code(), Some(0), "it ends with the watchdog");
}

/// Of signals that whoever starts a command ignores, SIGTERM ends it all the same. `nohup` and a shell's `&` ignore the others for it.
#[test]
fn a_command_that_was_started_with_signals_ignored_ends_by_sigterm_alone() {
    let session = started(named("a"));
    let socket = session.folder().join("nobody");
    let listener = UnixListener::bind(&socket).expect("a socket can be bound");
    let socket = socket.to_str().expect("a path of letters");
    for words in [&["connect", socket][..], &["status", "--watch"], &["events", "--follow", "--since", "0"]] {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' TERM HUP INT QUIT; exec \"$@\"", "sh", WATCHDOG]).args(words);
        command.env("MCP_WATCHDOG_RUNTIME_DIR", session.folder()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell can be started");
        // By then it has settled its signals. It keeps its connection until it is ended: the end of one ends `connect` too.
        let _connection = (words[0] == "connect").then(|| {
            let (mut stream, _) = listener.accept().expect("it connects");
            stream.write_all(b"well\n").expect("it reads");
            stream
        });
        assert_ne!(read(&mut BufReader::new(child.stdout.as_mut().expect("it is a pipe"))), "");
        end_by_sigterm(&mut child);
    }
    session.finish();
}

/// Those with lower numbers come first.
#[track_caller]
fn end_by_sigterm(child: &mut Child) {
    let pid = Pid::from_raw(child.id().cast_signed());
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM] {
        kill(pid, signal).expect("it runs");
    }
    let (begun, mut ended) = (Instant::now(), None);
    while ended.is_none() && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
        ended = child.try_wait().expect("it is a child");
    }
    if ended.is_none() {
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
    }
    assert_eq!(ended.and_then(|status| status.signal()), Some(Signal::SIGTERM as i32));
}

// -- waiting and watching ---------------------------------------------------------------------------------------------

/// Starts a command whose stdout is read line by line.
fn piped(session: &Session, line: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(WATCHDOG)
        .args(line.split_whitespace())
        .env("MCP_WATCHDOG_RUNTIME_DIR", session.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the watchdog can be started");
    let stdout = child.stdout.take().expect("it is a pipe");
    (child, BufReader::new(stdout))
}

#[track_caller]
fn read(lines: &mut impl BufRead) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).expect("a pipe can be read");
    line
}

#[test]
fn waiting_for_a_state() {
    let session = started(named("a"));
    let (mut waiting, mut lines) = piped(&session, "status a --wait disabled --timeout 1m --json");
    out(&operate(&session, "status a --wait disabled --timeout 100ms"), 0);
    out(&operate(&session, "disable a"), 0);
    assert_eq!(read(&mut lines), "[\n");
    assert_eq!(waiting.wait().expect("it is a child").code(), Some(3));
    out(&operate(&session, "enable a"), 0);
    out(&operate(&session, "status --wait connected"), 0);
    session.finish();
}

#[test]
fn a_watchdog_may_come_after_those_who_wait_for_it() {
    let folder = private_folder();
    let runtime = folder.path().to_owned();
    let waiting = std::thread::spawn(move || operate_in(&runtime, "status late --wait connected --timeout 1m"));
    let session = named("late").env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).start();
    session.initialize();
    out(&waiting.join().expect("it does not panic"), 0);
    session.finish();
    let none = error(&operate_in(folder.path(), "status late --wait connected --timeout 50ms"), 4);
    assert!(none.contains("no running watchdog"), "{none}");
}

#[test]
fn every_change_is_a_line_until_nobody_reads() {
    let session = started(named("a"));
    let (mut watching, mut lines) = piped(&session, "status a --watch");
    assert!(read(&mut lines).trim_end().ends_with(" a connected generation=1"));
    session.kill_server();
    session.wait_life(2);
    let mut seen = String::new();
    while !seen.contains(" a connected generation=2") {
        seen.push_str(&read(&mut lines));
    }
    drop(lines);
    session.kill_server();
    session.wait_life(3);
    assert_eq!(watching.wait().expect("it is a child").code(), Some(0));
    session.finish();
}

// -- none, several, and what is left of them --------------------------------------------------------------------------

fn private_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("it is ours");
    folder
}

#[test]
fn no_watchdog() {
    let folder = private_folder();
    for line in
        ["status", "status a", "retry a", "retry --all", "enable a", "disable a", "probe a", "events", "logs", "reload"]
    {
        let told = error(&operate_in(folder.path(), line), 4);
        assert!(told.contains(&format!("found in {}", folder.path().display())), "{line}: {told}");
        assert!(told.contains("--no-control"), "{line}: {told}");
    }
    error(&operate_in(folder.path(), "health"), 1);
    let missing = folder.path().join("x.sock");
    let told = error(&operate_in(folder.path(), &format!("status --socket {}", missing.display())), 4);
    assert!(told.contains("there is no such socket"), "{told}");
}

#[test]
fn without_a_control_socket_nobody_is_found() {
    let session = named("a").options(["--no-control"]).start();
    session.initialize();
    let told = error(&operate(&session, "status a"), 4);
    assert!(told.contains("--no-control"), "{told}");
    session.finish();
}

/// Two watchdogs in one runtime folder.
fn pair(one: &str, two: &str) -> (TempDir, Session, Session) {
    let folder = private_folder();
    let start = |name: &str| {
        let session = named(name).env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).start();
        session.initialize();
        session
    };
    let (one, two) = (start(one), start(two));
    poll_until("two control sockets", || sockets(folder.path()).len() == 2);
    (folder, one, two)
}

#[test]
fn a_name_finds_its_watchdog() {
    let (folder, a, b) = pair("a", "b");
    let table = out(&operate_in(folder.path(), "status"), 0);
    assert!(table.lines().next().is_some_and(|heading| heading.contains("WATCHDOG")), "{table}");
    let pids = [&a, &b].map(|session| session.pid().to_string());
    for (line, (name, pid)) in table.lines().skip(1).zip([("a", &pids[0]), ("b", &pids[1])]) {
        let words: Vec<_> = line.split_whitespace().collect();
        assert!(words[0] == name && words.contains(&pid.as_str()), "{table}");
    }
    out(&operate_in(folder.path(), "retry b --wait 10s"), 0);
    assert_eq!((a.life(), b.life()), (1, 2));
    let told = error(&operate_in(folder.path(), "disable"), 78);
    assert!(told.contains("Give its NAME") && told.contains(&format!("b: process {}, --socket ", pids[1])), "{told}");
    let told = error(&operate_in(folder.path(), "events"), 78);
    assert!(told.contains("which watchdog?"), "{told}");
    error(&operate_in(folder.path(), "health"), 1);
    let told = error(&operate_in(folder.path(), "status c"), 4);
    assert!(told.contains("no running watchdog has a server \"c\"; there are: a, b"), "{told}");
    let told = error(&operate_in(folder.path(), "events b --type server_exitd"), 78);
    assert!(told.contains("tip: a similar value exists: 'server_exited'"), "{told}");
    a.finish();
    b.finish();
}

#[test]
fn of_two_servers_of_one_name_the_socket_chooses() {
    let (folder, one, two) = pair("a", "a");
    let told = error(&operate_in(folder.path(), "retry a"), 78);
    let ending = |session: &Session| format!("-{}.sock", session.pid());
    assert!(told.contains(&ending(&one)) && told.contains(&ending(&two)), "{told}");
    let socket = sockets(folder.path()).into_iter().find(|path| path.to_string_lossy().ends_with(&ending(&two)));
    let socket = socket.expect("it was listed");
    out(&operate_in(folder.path(), &format!("retry a --wait 10s --socket {}", socket.display())), 0);
    assert_eq!((one.life(), two.life()), (1, 2));
    one.finish();
    two.finish();
}

#[test]
fn sockets_that_nobody_listens_at_and_sockets_of_others_do_no_harm() {
    let session = started(named("a"));
    drop(UnixListener::bind(session.folder().join("dead-4194999.sock")).expect("a socket can be bound"));
    let other = UnixListener::bind(session.folder().join("other.sock")).expect("a socket can be bound");
    other.set_nonblocking(true).expect("it can be asked");
    assert_eq!(status(&session, "", 0).len(), 1);
    out(&operate(&session, "health"), 0);
    out(&operate(&session, "retry --wait 10s"), 0);
    assert!(other.accept().is_err(), "a socket that is no control socket is left alone");
    session.finish();
}

#[test]
fn a_watchdog_that_does_not_answer_is_told_and_hides_no_other() {
    let (folder, a, b) = pair("a", "b");
    b.signal(Signal::SIGSTOP);
    let output = operate_in(folder.path(), "status");
    assert!(out(&output, 1).contains("\na "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("did not answer within 1s"), "{}", text(&output.stderr));
    // It counts where nobody is named: it may be the one that is meant.
    for (line, code) in [("health --live", 1), ("health", 1), ("events", 78), ("disable", 78)] {
        let told = error(&operate_in(folder.path(), line), code);
        assert!(told.contains("a: process ") && told.contains("did not answer within 1s"), "{line}: {told}");
    }
    let output = operate_in(folder.path(), "retry --all");
    assert!(out(&output, 1).contains("no server has failed") && text(&output.stderr).contains("did not answer"));
    out(&operate_in(folder.path(), "health a"), 0);
    b.signal(Signal::SIGCONT);
    out(&operate_in(folder.path(), "status"), 0);
    a.finish();
    b.finish();
}

#[test]
fn all_that_are_down_are_tried_at_once() {
    let folder = private_folder();
    let start = |name: &str, options: &[&str]| {
        let session = named(name).env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).options(options).start();
        session.initialize();
        session
    };
    let down = start("down", &["--restart-delays", "1h"]);
    let well = start("well", &[]);
    assert!(out(&operate_in(folder.path(), "retry --all"), 0).contains("no server has failed"));
    down.kill_server();
    out(&operate_in(folder.path(), "status down --wait reconnecting"), 1);
    assert_eq!(out(&operate_in(folder.path(), "retry --all --wait 10s"), 0), "down: connected\n");
    assert_eq!((down.life(), well.life()), (2, 1));
    down.finish();
    well.finish();
}

#[test]
fn one_process_may_have_several_servers() {
    let folder = private_folder();
    let path = folder.path().join("servers.yaml");
    let write = |names: &[&str]| {
        let servers: String = names.iter().map(|name| format!("  {name}: {{ command: '{FIXTURE}' }}\n")).collect();
        fs::write(&path, format!("version: 1\nservers:\n{servers}")).expect("the folder can be written to");
    };
    write(&["one", "two"]);
    let session = Setup::direct(WATCHDOG).several().options(["serve", "--config"]).options([&path]).start();
    poll_until("control socket", || !sockets(session.folder()).is_empty());
    let names = || {
        let servers: Vec<Value> = serde_json::from_slice(&operate(&session, "status --json").stdout).expect("an array");
        servers.iter().map(|server| server["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["one", "two"]);
    assert_eq!(out(&operate(&session, "disable two"), 0), "two: disabled\n");
    assert_eq!(status(&session, "two", 3)[0]["state"], "Disabled");
    assert_ne!(operate(&session, "status one").status.code(), Some(3), "it is another server");
    let told = error(&operate(&session, "retry"), 78);
    assert!(told.contains("one: process ") && told.contains("two: process "), "{told}");
    assert!(out(&operate(&session, "events"), 0).contains(" two server_disabled "), "one watchdog needs no name");

    assert_eq!(out(&operate(&session, "reload"), 0), "nothing has changed\n");
    write(&["one"]);
    assert!(out(&operate(&session, "reload"), 0).contains("two"));
    assert_eq!(names(), ["one"]);
    fs::write(&path, "servers: [").expect("the folder can be written to");
    let told = error(&operate(&session, "reload"), 1);
    assert!(told.contains("servers.yaml"), "{told}");
    assert_eq!(names(), ["one"]);
    session.signal(Signal::SIGTERM);
    session.ended(143);
}

// -- over TCP ---------------------------------------------------------------------------------------------------------

#[test]
fn a_token_opens_a_tcp_address() {
    let session = Setup::new(WATCHDOG, FIXTURE)
        .options(["--name", "a"])
        .env("MCP_WATCHDOG_CONTROL__LISTEN", "tcp://127.0.0.1:0")
        .env("MCP_WATCHDOG_TOKEN", "s3cr3t")
        .start();
    session.initialize();
    session.wait_stderr("listening on http://127.0.0.1:");
    let mut port = String::new();
    poll_until("the whole address", || {
        let log = session.stderr();
        let rest = log.split("http://127.0.0.1:").nth(1).unwrap_or_default();
        port = rest.chars().take_while(char::is_ascii_digit).collect();
        rest.contains('\n')
    });
    let folder = session.folder();
    let line = format!("disable --socket tcp://127.0.0.1:{port}");
    let told = error(&operate(&session, &line), 1);
    assert!(told.contains("MCP_WATCHDOG_TOKEN or --token-file"), "{told}");
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(out(&run(folder, &words, &[("MCP_WATCHDOG_TOKEN", "s3cr3t")]), 0), "a: disabled\n");
    session.finish();
}

/// Three times as many as can be connected.
#[test]
fn those_who_connect_and_say_nothing_do_not_keep_others_out() {
    const STALLED: &str = "POST /mcp/servers/a/retry HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n";
    let session = started(named("a"));
    let socket = &sockets(session.folder())[0];
    let stalled: Vec<_> = (0..200).map(|_| UnixStream::connect(socket).expect("it listens")).collect();
    for (mut stream, piece) in stalled.iter().zip(["", "GET /li", STALLED].into_iter().cycle()) {
        stream.write_all(piece.as_bytes()).expect("it is heard");
    }
    let begun = Instant::now();
    for _ in 0..3 {
        out(&operate(&session, "status a"), 0);
    }
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    drop(stalled);
    session.finish();
}
