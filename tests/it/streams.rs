//! The client's streams: every kind of descriptor, clients that do not read, and what may appear on stdout.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use harness::{Session, Setup, Signal, Value, initialize, json, notification, request, tool_call};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

use crate::rig::{FIXTURE, QUICK_STOP, WATCHDOG, peak_memory, poll_until, setup};

/// A whole session: an opening and a call with id 1.
fn session_text() -> String {
    let opening = initialize(0, "2025-11-25");
    let opened = notification("notifications/initialized", Value::Null);
    let call = tool_call(1, "echo", json!({ "text": "hi" }));
    format!("{opening}\n{opened}\n{call}\n")
}

/// The product in front of the fixture, on streams of the test's own choice.
fn raw() -> Command {
    let mut command = Command::new(WATCHDOG);
    command.arg("--").arg(FIXTURE).stderr(Stdio::null());
    command
}

/// The watchdog ends with code 0, soon; it is killed where it does not.
#[track_caller]
fn ends_well(mut child: Child) {
    let mut status = None;
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while status.is_none() && std::time::Instant::now() < end {
        status = child.try_wait().expect("the child is ours");
        thread::sleep(Duration::from_millis(5));
    }
    let Some(status) = status else {
        let _ = child.kill();
        panic!("the watchdog did not end");
    };
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

/// The answer with this id among the next lines, each of which is protocol.
#[track_caller]
fn answer_in(lines: &mut impl Iterator<Item = std::io::Result<String>>, id: i64) -> Value {
    loop {
        let line = lines.next().expect("there is an answer").expect("stdout can be read");
        let message: Value = serde_json::from_str(&line).expect("a line of stdout is JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        if message["id"] == id {
            return message;
        }
    }
}

#[track_caller]
fn assert_echoed(text: &[u8]) {
    let mut lines = BufReader::new(text).lines();
    assert_eq!(answer_in(&mut lines, 0)["result"]["serverInfo"]["name"], "mcp-fixture");
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
    assert!(lines.next().is_none(), "nothing else is on stdout");
}

// -- kinds of descriptors ---------------------------------------------------------------------------------------------

#[test]
fn files_on_both_sides() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (asked, answered) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&asked, session_text()).expect("the folder can be written to");
    let child = raw()
        .stdin(File::open(&asked).expect("it was written"))
        .stdout(File::create(&answered).expect("the folder can be written to"))
        .spawn()
        .expect("the watchdog can be started");
    ends_well(child);
    assert_echoed(&fs::read(&answered).expect("it was written"));
}

#[test]
fn a_file_that_is_appended_to_is_never_cut() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (asked, answered) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&asked, session_text()).expect("the folder can be written to");
    fs::write(&answered, "before\n").expect("the folder can be written to");
    let out = OpenOptions::new().append(true).open(&answered).expect("it was written");
    let child = raw()
        .stdin(File::open(&asked).expect("it was written"))
        .stdout(out)
        .spawn()
        .expect("the watchdog can be started");
    ends_well(child);
    let written = fs::read(&answered).expect("it was written");
    assert_echoed(written.strip_prefix(b"before\n").expect("what was there is there"));
}

#[test]
fn dev_null_is_a_client_that_has_left() {
    let child = raw().stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("the watchdog can be started");
    let mut text = Vec::new();
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    stdout.read_to_end(&mut text).expect("stdout can be read");
    ends_well(child);
    assert!(text.is_empty(), "{}", String::from_utf8_lossy(&text));
}

fn duplicate(stream: &UnixStream) -> OwnedFd {
    stream.try_clone().expect("a socket can be duplicated").into()
}

#[test]
fn one_socket_for_both_and_one_for_each_as_node_makes_them() {
    for together in [true, false] {
        let (ours, theirs) = UnixStream::pair().expect("a pair of sockets can be made");
        let (ours_out, theirs_out) = UnixStream::pair().expect("a pair of sockets can be made");
        let stdout = if together { &theirs } else { &theirs_out };
        let child =
            raw().stdin(duplicate(&theirs)).stdout(duplicate(stdout)).spawn().expect("the watchdog can be started");
        drop((theirs, theirs_out));
        let from = if together { &ours } else { &ours_out };
        from.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket has timeouts");
        (&ours).write_all(session_text().as_bytes()).expect("the watchdog reads");
        let mut lines = BufReader::new(from).lines();
        assert_eq!(answer_in(&mut lines, 0)["result"]["serverInfo"]["name"], "mcp-fixture");
        assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
        ours.shutdown(Shutdown::Write).expect("a socket has two halves");
        assert!(lines.next().is_none(), "together: {together}");
        ends_well(child);
    }
}

/// Both ends of a new terminal: ours and the one that programs get. Neither leaks into what other tests start meanwhile,
/// which would keep the terminal from ever going away.
fn terminal() -> (File, File) {
    let ours = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).expect("a terminal can be made");
    grantpt(&ours).expect("it is ours");
    unlockpt(&ours).expect("it is ours");
    let name = ptsname_r(&ours).expect("it has a name");
    let theirs = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(name)
        .expect("it can be opened");
    let ours = ours.as_fd().try_clone_to_owned().expect("it can be duplicated");
    (File::from(ours), theirs)
}

#[test]
fn a_terminal_as_a_person_uses_it() {
    let (mut keyboard, theirs) = terminal();
    let mut command = raw();
    command.stdin(theirs).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the watchdog can be started");
    // It has the terminal too, which is to go away.
    drop(command);
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let mut log = BufReader::new(child.stderr.take().expect("stderr is a pipe")).lines();
    let first = log.next().expect("something is said").expect("stderr can be read");
    assert!(first.contains("stdin is a terminal: ") && first.contains("`mcp-watchdog probe -- COMMAND`"), "{first}");
    let mut lines = BufReader::new(stdout).lines();
    keyboard.write_all(session_text().as_bytes()).expect("a terminal takes what is typed");
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
    // Control and D, on a line of its own.
    keyboard.write_all(b"\x04").expect("a terminal takes what is typed");
    assert!(lines.next().is_none());
    ends_well(child);
}

#[test]
fn a_raw_terminal_for_both_that_goes_away() {
    let (mut terminal, theirs) = terminal();
    let mut settings = tcgetattr(&theirs).expect("a terminal has settings");
    cfmakeraw(&mut settings);
    tcsetattr(&theirs, SetArg::TCSANOW, &settings).expect("a terminal has settings");
    let child = raw()
        .stdin(theirs.try_clone().expect("it can be duplicated"))
        .stdout(theirs)
        .spawn()
        .expect("the watchdog can be started");
    terminal.write_all(session_text().as_bytes()).expect("a terminal takes what is typed");
    let mut lines = BufReader::new(terminal.try_clone().expect("it can be duplicated")).lines();
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
    drop((terminal, lines));
    ends_well(child);
}

fn flags(descriptor: impl AsFd) -> OFlag {
    OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL).expect("the descriptor is open"))
}

#[test]
fn flags_of_inherited_descriptors_stay_as_they_are() {
    // What we keep shares the open file description with what the watchdog gets: a flag that it set would show here.
    let (stdin, mut to_stdin) = std::io::pipe().expect("a pipe can be made");
    let (from_stdout, stdout) = std::io::pipe().expect("a pipe can be made");
    let kept = (stdin.try_clone().expect("it can be duplicated"), stdout.try_clone().expect("it can be duplicated"));
    let before = (flags(&kept.0), flags(&kept.1));
    let child = raw().stdin(stdin).stdout(stdout).spawn().expect("the watchdog can be started");
    to_stdin.write_all(session_text().as_bytes()).expect("the watchdog reads");
    let mut lines = BufReader::new(from_stdout).lines();
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
    assert_eq!((flags(&kept.0), flags(&kept.1)), before, "while it runs");
    drop(to_stdin);
    ends_well(child);
    assert_eq!((flags(&kept.0), flags(&kept.1)), before, "after its end");
}

#[test]
fn flags_of_an_inherited_socket_stay_as_they_are() {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets can be made");
    let before = flags(&theirs);
    let child =
        raw().stdin(duplicate(&theirs)).stdout(duplicate(&theirs)).spawn().expect("the watchdog can be started");
    ours.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket has timeouts");
    (&ours).write_all(session_text().as_bytes()).expect("the watchdog reads");
    let mut lines = BufReader::new(&ours).lines();
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "hi");
    assert_eq!(flags(&theirs), before, "while it runs");
    ours.shutdown(Shutdown::Write).expect("a socket has two halves");
    ends_well(child);
    assert_eq!(flags(&theirs), before, "after its end");
}

// -- stderr -----------------------------------------------------------------------------------------------------------

#[test]
fn a_closed_stderr_hurts_nothing() {
    let session = Setup::direct("sh").options(["-c", r#"exec "$0" -- "$1" 2>&-"#, WATCHDOG, FIXTURE]).start();
    session.initialize();
    session.send(tool_call(1, "stray", json!({ "stderr": "nobody hears this" })));
    assert_eq!(session.answer(1).text(), "strayed");
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    assert_eq!(session.stderr(), "");
    session.finish();
}

#[test]
fn a_stderr_that_nobody_reads_holds_nothing_up() {
    let mut child = raw()
        .env("MCP_WATCHDOG_LOG__LEVEL", "trace")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the watchdog can be started");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let unread = child.stderr.take().expect("stderr is a pipe");
    stdin.write_all(session_text().as_bytes()).expect("the watchdog reads");
    let noise = "noise ".repeat(2000);
    // 12 MB in a pipe of 64 KiB.
    for id in 2..=1000 {
        let line = tool_call(id, "stray", json!({ "stderr": noise }));
        writeln!(stdin, "{line}").expect("the watchdog reads");
        assert_eq!(answer_in(&mut lines, id)["result"]["content"][0]["text"], "strayed");
    }
    drop(stdin);
    ends_well(child);
    drop(unread);
}

// -- clients that do not read -----------------------------------------------------------------------------------------

/// Waits until the watchdog and the server move no more bytes.
#[track_caller]
fn wait_stalled(session: &Session) {
    let moved = |pid: u32| {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
        io.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let both = || [moved(session.pid()), moved(session.wait_life(1))];
    let mut before = both();
    poll_until("standstill", || {
        thread::sleep(Duration::from_millis(200));
        let now = both();
        std::mem::replace(&mut before, now.clone()) == now
    });
}

/// What an unread client may cost in memory, in MiB. The program itself has about 24 in a debug build, pages of its file among them.
const BOUND: u64 = 36;

#[test]
fn a_client_that_does_not_read_costs_no_memory_and_loses_nothing() {
    const COUNT: u64 = 40_000;
    let session = setup().start();
    session.initialize();
    session.pause_reading();
    // 32 MB.
    session.send(tool_call(1, "flood", json!({ "count": COUNT, "bytes": 700 })));
    session.wait_read("tools/call", 1);
    wait_stalled(&session);
    let peak = peak_memory(session.pid());
    assert!(peak < BOUND, "{peak} MiB");
    session.resume_reading();
    assert_eq!(session.answer_within(1, Duration::from_secs(30)).text(), "flooded");
    let numbers: Vec<_> = session
        .lines()
        .iter()
        .filter(|line| line.method() == Some("notifications/message"))
        .map(|line| line.value.as_ref().map(|value| value["params"]["data"]["n"].clone()))
        .collect();
    let expected: Vec<_> = (0..COUNT).map(|number| Some(json!(number))).collect();
    assert!(numbers == expected, "{} lines, in order", numbers.len());
    let peak = peak_memory(session.pid());
    assert!(peak < BOUND, "{peak} MiB");
    session.finish();
}

#[test]
fn a_client_that_does_not_read_does_not_hide_the_death_of_the_server_or_a_signal() {
    let session = setup().options(QUICK_STOP).start();
    session.initialize();
    session.pause_reading();
    session.may_stay_open(1);
    session.send(tool_call(1, "flood", json!({ "count": 10_000, "bytes": 700 })));
    session.wait_read("tools/call", 1);
    wait_stalled(&session);
    session.signal_server(Signal::SIGKILL);
    session.wait_life(2);
    session.signal(Signal::SIGTERM);
    let exit = session.wait_exit(Duration::from_secs(5));
    assert_eq!(exit.code(), Some(143));
    session.wait_none_left(Duration::from_secs(5));
}

#[test]
fn two_full_pipes_are_no_deadlock() {
    let session = setup().start();
    session.initialize();
    session.pause_reading();
    let text = "y".repeat(100_000);
    session.send_all((1..=200).map(|id| tool_call(id, "echo", json!({ "text": text }))));
    wait_stalled(&session);
    assert!(session.read_by(Some(1), "tools/call").len() < 200, "the client is held back");
    let peak = peak_memory(session.pid());
    assert!(peak < BOUND, "{peak} MiB");
    session.resume_reading();
    for id in 1..=200 {
        assert_eq!(session.answer_within(id, Duration::from_secs(20)).text().len(), text.len());
    }
    session.finish();
}

#[test]
fn a_server_that_does_not_read_holds_the_client_back() {
    let session = setup().start();
    session.initialize();
    session.signal_server(Signal::SIGSTOP);
    let text = "y".repeat(50_000);
    session.send_all((1..=400).map(|id| tool_call(id, "echo", json!({ "text": text }))));
    wait_stalled(&session);
    let peak = peak_memory(session.pid());
    assert!(peak < BOUND, "{peak} MiB");
    session.signal_server(Signal::SIGCONT);
    for id in 1..=400 {
        assert_eq!(session.answer_within(id, Duration::from_secs(20)).text().len(), text.len());
    }
    session.finish();
}

// -- lines ------------------------------------------------------------------------------------------------------------

#[test]
fn half_a_line_at_the_end_is_nobodys() {
    let session = setup().start();
    session.initialize();
    session.send(tool_call(1, "echo", json!({ "text": "whole" })));
    let half = tool_call(2, "echo", json!({ "text": "half" }));
    session.send_raw(half.into_bytes());
    assert_eq!(session.answer(1).text(), "whole");
    session.finish();
}

#[test]
fn half_a_line_of_a_dying_server_is_nobodys() {
    let session = setup()
        .script(json!({ "rules": [
            { "on": "tools/call", "tool": "half", "do": [{ "stdout": r#"{"jsonrpc":"2.0","id":1,"res"# }, { "exit": 1 }] },
        ] }))
        .start();
    session.initialize();
    session.send(tool_call(1, "half", json!({})));
    let _ = session.answer(1).own_error("server_disconnected");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn a_line_over_the_limit_is_refused_either_way_and_the_rest_goes_on() {
    let session = setup().options(["--set", "limits.max_line=64KiB"]).start();
    session.initialize();
    let long = "x".repeat(70_000);
    session.send_all([
        tool_call(1, "echo", json!({ "text": long })),
        tool_call(2, "big", json!({ "bytes": 70_000 })),
        tool_call(3, "echo", json!({ "text": "short" })),
    ]);
    assert_eq!(session.answer(1).own_error("message_too_large")["sent"], false);
    assert_eq!(session.answer(2).own_error("message_too_large")["sent"], true);
    assert_eq!(session.answer(3).text(), "short");
    assert_eq!(session.times_read("tools/call", 1), 0);
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn stdout_is_the_protocol_and_nothing_else_at_any_log_level() {
    let noise = "Listening on stdio\n[1,2]\n\n{\"level\":\"info\"}\n\u{1b}[32mgreen\u{1b}[0m\n";
    for format in ["text", "json"] {
        let session = setup()
            .options(["--log-level", "trace", "--log-format", format, "--health-interval", "100ms"])
            .script(json!({ "rules": [{ "on": "boot", "do": [{ "stdout": noise }, { "stderr": "a banner" }] }] }))
            .start();
        session.initialize();
        session.send(tool_call(1, "stray", json!({ "stdout": noise, "stderr": "more" })));
        assert_eq!(session.answer(1).text(), "strayed");
        session.wait_read("ping", 2);
        session.kill_server();
        session.wait_life(2);
        session.send_all([tool_call(2, "life", json!({})), request(3, "ping", Value::Null)]);
        assert_eq!(session.answer(2).text(), "2");
        let _ = session.answer(3).result();
        session.wait_stderr("Listening on stdio");
        session.wait_stderr("a banner");
        assert_eq!(session.lines().len(), 4, "the answers alone");
        session.finish();
    }
}

/// What waits in the pipe when a server stops listening is read before it counts as lost.
#[test]
fn the_last_answer_of_a_server_that_stops_listening_reaches_a_client_that_was_slow() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let script = folder.path().join("script.json");
    // More than the client's pipe and the watchdog take, and less than what they and the server's pipe do.
    let last = json!({ "rules": [{ "on": "tools/call", "tool": "last", "do": [
        { "flood": [600, 1000] }, { "text": "the last answer" }, "close_stdin", { "stderr": "deaf" }, { "sleep_ms": 60_000 },
    ] }] });
    fs::write(&script, last.to_string()).expect("the folder can be written to");
    let mut command = Command::new(WATCHDOG);
    // What finds that it does not listen is a probe: a client that does not read is not read either.
    command.args(["--tool-timeout", "300ms", "--", FIXTURE]);
    command.env("MCP_FIXTURE_SCRIPT", &script).current_dir(folder.path());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let (mut stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut log_until = |what: &str| assert!(stderr.any(|line| line.expect("UTF-8").contains(what)), "no `{what}`");
    let opened = notification("notifications/initialized", Value::Null);
    let call = tool_call(1, "last", json!({}));
    stdin.write_all(format!("{}\n{opened}\n{call}\n", initialize(0, "2025-11-25")).as_bytes()).expect("it reads");
    log_until("deaf");
    log_until("disconnected");
    let mut lines = BufReader::new(stdout).lines();
    assert_eq!(answer_in(&mut lines, 1)["result"]["content"][0]["text"], "the last answer");
    drop(stdin);
    thread::spawn(move || stderr.for_each(drop));
    lines.for_each(drop);
    ends_well(child);
}
