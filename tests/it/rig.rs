//! What the tests of the product have in common: the two programs, and sets of options that make it quick.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use harness::{Session, Setup, Value};

/// The product.
pub(crate) const WATCHDOG: &str = env!("CARGO_BIN_EXE_mcp-watchdog-under-test");
/// The scripted server.
pub(crate) const FIXTURE: &str = env!("CARGO_BIN_EXE_mcp-fixture");

/// Restarts follow at once, however often.
pub(crate) const EAGER: [&str; 6] =
    ["--restart-delays", "0s", "--set", "restart.min_uptime=0s", "--set", "restart.min_attempt_interval=10ms"];

/// A call is suspect soon, and a probe does not wait long.
pub(crate) const SUSPICIOUS: [&str; 4] = ["--tool-timeout", "300ms", "--probe-timeout", "300ms"];

/// A server that does not end by itself is killed soon.
pub(crate) const QUICK_STOP: [&str; 4] = ["--set", "shutdown.eof_grace=200ms", "--set", "shutdown.term_grace=200ms"];

/// What is in flight when the client leaves is not waited for.
pub(crate) const SHORT_DRAIN: [&str; 2] = ["--set", "shutdown.drain=200ms"];

/// Events on stderr as JSON, see [`events`].
pub(crate) const JSON_LOG: [&str; 2] = ["--log-format", "json"];

/// The product in front of the fixture.
pub(crate) fn setup() -> Setup {
    Setup::new(WATCHDOG, FIXTURE)
}

/// The events of a type so far, with [`JSON_LOG`].
pub(crate) fn events(session: &Session, kind: &str) -> Vec<Value> {
    events_in(&session.stderr(), kind)
}

/// The events of a type in a log.
pub(crate) fn events_in(log: &str, kind: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|event| event["type"] == kind).collect()
}

/// Waits until an event of a type is in the log, and returns the first.
#[track_caller]
pub(crate) fn wait_event(session: &Session, kind: &str) -> Value {
    session.wait_stderr(&format!(r#""type":"{kind}""#));
    // The line may still be on its way when its beginning is there.
    let mut found = Value::Null;
    poll_until(&format!("the whole event {kind}"), || {
        found = events(session, kind).into_iter().next().unwrap_or_default();
        !found.is_null()
    });
    found
}

/// Waits for something that nothing tells of, at most five seconds.
#[track_caller]
pub(crate) fn poll_until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !ready() {
        assert!(Instant::now() < end, "no {what} within five seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map(PathBuf::from).unwrap_or(tests)
}

/// The living and dead children of a process that nobody has reaped: number, state, and first argument.
pub(crate) fn children(parent: u32) -> Vec<(u32, char, String)> {
    let numbers = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let child = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit(") ").next()?.split(' ');
        let state = fields.next()?.chars().next()?;
        let of = fields.next()?.parse::<u32>().ok()?;
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let first = command.split(|byte| *byte == 0).next().unwrap_or_default();
        (of == parent).then(|| (pid, state, String::from_utf8_lossy(first).into_owned()))
    };
    numbers.filter_map(child).collect()
}

/// The guard of the present generation.
#[track_caller]
pub(crate) fn guard_of(watchdog: u32) -> u32 {
    let mut found = None;
    poll_until("guard", || {
        found = children(watchdog)
            .into_iter()
            .find(|(_, state, command)| *state != 'Z' && command.ends_with("mcp-watchdog-guard"));
        found.is_some()
    });
    found.map(|(pid, ..)| pid).expect("it was waited for")
}

/// The most memory that a process ever had, in MiB.
pub(crate) fn peak_memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("the process is there") / 1024
}

/// How many descriptors a process has open.
pub(crate) fn open_descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Runs the product to its end, with an empty stdin and without what this process was configured with.
pub(crate) fn run(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(WATCHDOG);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("MCP_WATCHDOG_") || text.starts_with("CONNECTION_") {
            command.env_remove(&name);
        }
    }
    command
        .args(arguments)
        .envs(environment.iter().copied())
        .env("XDG_CONFIG_HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the watchdog can be started")
}

/// What a program printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
