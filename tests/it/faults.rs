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

use crate::rig::{FIXTURE, WATCHDOG};

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

/// How many bytes wait in the pipe.
fn waiting(stdout: &ChildStdout) -> usize {
    let mut count: nix::libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, to which the pointer leads.
    let _ = unsafe { nix::libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(stdout), nix::libc::FIONREAD, &raw mut count) };
    usize::try_from(count).unwrap_or(0)
}
