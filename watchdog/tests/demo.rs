//! `mcp-watchdog demo` as a user runs it.
//!
//! Every demonstration carries a variable of its own in its environment, which everything that it starts inherits; "nothing is
//! left" means that no living process of this system carries it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that marks everything of one demonstration.
const MARK: &str = "DEMO_TEST_MARK";

/// Longer than anything here takes on a busy machine; reaching it is a failure.
const LIMIT: Duration = Duration::from_secs(20);

/// A demonstration, with its mark.
fn demo(name: &str) -> (Command, String) {
    let mark = format!("{}-{name}", std::process::id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-watchdog"));
    command.arg("demo").env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    (command, mark)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The living processes that carry a mark, with what each of them runs.
fn marked(mark: &str) -> Vec<(i32, String)> {
    let wanted = format!("{MARK}={mark}");
    let carries = |folder: &Path| {
        let env = fs::read(folder.join("environ")).unwrap_or_default();
        env.split(|&byte| byte == 0).any(|pair| pair == wanted.as_bytes())
    };
    let folders = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|folder| carries(folder)).filter_map(|folder| living(&folder)).collect()
}

/// The number and the arguments of a process that is no zombie.
fn living(folder: &Path) -> Option<(i32, String)> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let state = stat.rsplit(')').next()?.trim().chars().next()?;
    let arguments = fs::read_to_string(folder.join("cmdline")).ok()?.replace('\0', " ");
    (!matches!(state, 'Z' | 'X')).then_some((pid, arguments))
}

fn nothing_is_left(mark: &str) {
    let since = Instant::now();
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        assert!(since.elapsed() < LIMIT, "still alive: {left:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Reads up to a line with this in it, and returns all of it.
fn read_until(out: &mut impl BufRead, wanted: &str) -> String {
    let mut read = String::new();
    loop {
        let at = read.len();
        assert_ne!(out.read_line(&mut read).unwrap(), 0, "the end instead of {wanted:?}:\n{read}");
        if read[at..].contains(wanted) {
            return read;
        }
    }
}

fn stdout(child: &mut Child) -> BufReader<impl Read + use<>> {
    BufReader::new(child.stdout.take().unwrap())
}

/// What is the same in every demonstration, in its order.
const STORY: [&str; 31] = [
    "  mcp-watchdog --name=demo ",
    "1. A client opens a session",
    "client     initialize -> demo-server",
    "client     tools/list -> add, pid, slow, hang",
    "client     add(2, 3) -> 5 after ",
    "2. The server is killed while nothing is going on",
    "demo       sends SIGKILL to the server, process ",
    "watchdog   disconnected unexpectedly: transport-exit (SIGKILL)",
    "watchdog   reconnected after 1 attempt, down for ",
    "client     add(20, 22) -> 42 after ",
    "3. The server is killed in the middle of a call",
    "server     slow: working for 30s",
    "demo       sends SIGKILL to the server, process ",
    "client     slow(30000) -> error -31000 after ",
    "watchdog   reconnected after ",
    "4. A call is slow, and the server is well",
    "watchdog   tools/call slow has no answer after 1s",
    "watchdog   alive: ",
    "client     slow(1500) -> done after ",
    "5. The server hangs",
    "server     hang: reading no more",
    "watchdog   probe chain failed after ",
    "watchdog   reconnected after ",
    "client     hang() -> error -31001 after ",
    "6. The server is stopped from outside",
    "demo       sends SIGSTOP to the server, process ",
    "client     add(1, 1) -> error -31001 after ",
    "7. The client leaves",
    "watchdog   stopped with exit code 0",
    "ok   gone within ",
    "14 requests, each answered exactly once; 1 session, 4 restarts; nothing is left alive",
];

#[test]
fn the_whole_story() {
    let (mut command, mark) = demo("story");
    let since = Instant::now();
    let Output { status, stdout, stderr } = command.output().unwrap();
    let took = since.elapsed();
    let (shown, complaints) = (text(&stdout), text(&stderr));
    assert_eq!((status.code(), complaints), (Some(0), ""), "{shown}");
    assert_eq!(marked(&mark), []);
    assert!(took < LIMIT, "{took:?}");
    let mut rest = shown;
    for wanted in STORY {
        let at = rest.find(wanted).unwrap_or_else(|| panic!("no {wanted:?} in {rest:?} of\n{shown}"));
        rest = &rest[at + wanted.len()..];
    }
    assert_eq!(rest, "\n");
    for line in shown.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
    }
}

/// Settings of the user, and a working directory that has gone.
#[test]
fn nothing_around_it_matters() {
    let (mut command, mark) = demo("around");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mcp-watchdog.yaml"), "servers: [").unwrap();
    let settings = [
        ("MCP_WATCHDOG_LOG__LEVEL", "off"),
        ("MCP_WATCHDOG_NAME", "other"),
        ("MCP_WATCHDOG_CONFIG", "/nonexistent"),
        ("CONNECTION_RETRY_DELAY", "1h"),
    ];
    let mut child = command.envs(settings).current_dir(folder.path()).spawn().unwrap();
    let mut out = stdout(&mut child);
    read_until(&mut out, "1. ");
    drop(folder);
    read_until(&mut out, "nothing is left alive");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(marked(&mark), []);
}

#[test]
fn a_watchdog_that_dies_is_a_failure() {
    let (mut command, mark) = demo("failure");
    let mut child = command.spawn().unwrap();
    let mut out = stdout(&mut child);
    read_until(&mut out, "hang: reading no more");
    let watchdog = marked(&mark).into_iter().find(|(_, arguments)| arguments.contains("--name=demo"));
    let (pid, _) = watchdog.unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let shown = read_until(&mut out, "error: ");
    assert!(shown.contains("error: the watchdog ended before there was the event `tool_timeout`"), "{shown}");
    read_until(&mut out, "The end of the watchdog's log:");
    read_until(&mut out, " INFO [mcp] demo: ");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("panicked"), "{rest}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    nothing_is_left(&mark);
}

#[test]
fn a_demonstration_that_is_killed_leaves_nothing() {
    let (mut command, mark) = demo("killed");
    let mut child = command.spawn().unwrap();
    read_until(&mut stdout(&mut child), "hang: reading no more");
    assert!(marked(&mark).len() >= 3, "{:?}", marked(&mark));
    child.kill().unwrap();
    child.wait().unwrap();
    nothing_is_left(&mark);
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let (mut command, mark) = demo("reader");
    let mut child = command.spawn().unwrap();
    read_until(&mut stdout(&mut child), "2. ");
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    assert_eq!((status.code(), text(&stderr)), (Some(1), ""));
    nothing_is_left(&mark);
}
