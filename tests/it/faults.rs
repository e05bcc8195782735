//! Faults that earlier versions had and that only real pipes and processes show, so that none of them comes back.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Value, initialize, json, notification, tool_call};
use nix::fcntl::{FcntlArg, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::rig::{FIXTURE, WATCHDOG, poll_until};

/// The watchdog in front of this command, on plain pipes.
fn start(command: &str, stdin: Stdio) -> Child {
    let mut watchdog = Command::new(WATCHDOG);
    watchdog.args(["--", command]).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
    watchdog.spawn().expect("the watchdog can be started")
}

/// The exit code, within so long; the watchdog is killed where it does not end.
#[track_caller]
fn exit_code(child: &mut Child, within: Duration) -> Option<i32> {
    let end = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            assert_eq!(status.signal(), None);
            return status.code();
        }
        if Instant::now() >= end {
            let _ = child.kill();
            panic!("the watchdog did not end within {within:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// An opening, and a call with id 1.
fn session_with(tool: &str, arguments: Value) -> String {
    let opening = initialize(0, "2025-11-25");
    let opened = notification("notifications/initialized", Value::Null);
    let call = tool_call(1, tool, arguments);
    format!("{opening}\n{opened}\n{call}\n")
}

/// Takes what is in the pipe, once something is; `None` after so long without.
fn take(stdout: &mut ChildStdout, within: Duration, buffer: &mut [u8]) -> Option<usize> {
    let timeout = PollTimeout::try_from(within).expect("a few seconds");
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
    let ready = poll(&mut polled, timeout).expect("a pipe can be polled");
    (ready > 0).then(|| stdout.read(buffer).expect("a pipe can be read"))
}

/// Waits until the watchdog moves no more bytes.
#[track_caller]
fn wait_standstill(pid: u32) {
    let moved = || fs::read_to_string(format!("/proc/{pid}/io")).expect("the watchdog is there");
    let mut before = String::new();
    poll_until("standstill", || {
        thread::sleep(Duration::from_millis(100));
        let now = moved();
        std::mem::replace(&mut before, now.clone()) == now
    });
}

#[test]
fn a_client_that_takes_everything_at_once_after_a_pause_gets_the_rest_too() {
    const ROOM: i32 = 1 << 20;
    let mut child = start(FIXTURE, Stdio::piped());
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    // All that the watchdog holds back for the client goes into the pipe with one write.
    fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(ROOM)).expect("a pipe of 1 MiB is allowed");
    // 2.7 MB.
    let flood = session_with("flood", json!({ "count": 6000, "bytes": 400 }));
    stdin.write_all(flood.as_bytes()).expect("the watchdog reads");
    let mut buffer = vec![0; 2 << 20];
    let mut text = Vec::new();
    let mut first = 0;
    while !text.ends_with(b"\n") || !String::from_utf8_lossy(last_line(&text)).contains(r#""id":1,"#) {
        wait_standstill(child.id());
        let Some(taken) = take(&mut stdout, Duration::from_secs(3), &mut buffer) else {
            let _ = child.kill();
            panic!("nothing more after {} bytes", text.len());
        };
        assert_ne!(taken, 0, "the stream ends after {} bytes", text.len());
        first = first.max(taken);
        text.extend_from_slice(&buffer[..taken]);
    }
    assert!(first > 512 * 1024, "the pause was no pause: {first} bytes at the most");
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 6002, "two answers and all that was between");
    drop(stdin);
    assert_eq!(exit_code(&mut child, Duration::from_secs(5)), Some(0));
}

/// The last whole line of a text.
fn last_line(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b'\n').rev().find(|line| !line.is_empty()).unwrap_or_default()
}

#[test]
fn a_large_last_answer_reaches_a_slow_reader_whole() {
    const BYTES: usize = 6_000_000;
    let mut child = start(FIXTURE, Stdio::piped());
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    stdin.write_all(session_with("big", json!({ "bytes": BYTES })).as_bytes()).expect("the watchdog reads");
    drop(stdin);
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    let (mut text, mut buffer, start) = (Vec::new(), vec![0; 1 << 16], Instant::now());
    while let Some(taken @ 1..) = take(&mut stdout, Duration::from_secs(5), &mut buffer) {
        text.extend_from_slice(&buffer[..taken]);
        // The pace of the reader: at the most 2.6 MB/s.
        thread::sleep(Duration::from_millis(25));
    }
    assert!(start.elapsed() > Duration::from_secs(2), "longer than a client that takes nothing is waited for");
    assert!(text.ends_with(b"\n"), "half a line after {} bytes", text.len());
    let answer: Value = serde_json::from_slice(last_line(&text)).expect("a line of stdout is JSON");
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(BYTES));
    assert_eq!(exit_code(&mut child, Duration::from_secs(3)), Some(0));
}

#[test]
fn a_command_that_cannot_be_started_is_told_by_the_exit_code_whoever_is_there() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path().to_str().expect("a path of letters");
    for (command, code) in [("./no-such-program", 127), ("no-such-program-at-all", 127), (folder, 126)] {
        let mut nobody = start(command, Stdio::null());
        assert_eq!(exit_code(&mut nobody, Duration::from_secs(3)), Some(code), "{command}, stdin at its end");
        // Its stdin stays open, and it says nothing.
        let mut silent = start(command, Stdio::piped());
        let stdin = silent.stdin.take();
        assert_eq!(exit_code(&mut silent, Duration::from_secs(3)), Some(code), "{command}, a silent client");
        drop(stdin);
    }
}
