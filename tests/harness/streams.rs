//! The threads at the watchdog's three streams, and the one that waits for its end.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::state::Shared;

/// What the reader of stdout can be told, each as one byte.
pub(crate) const PAUSE: u8 = b'p';
pub(crate) const RESUME: u8 = b'r';
pub(crate) const CLOSE: u8 = b'c';

/// Writes what comes; closes stdin at the end of it. A thread of its own, so that a watchdog that does not read never
/// stops the test.
pub(crate) fn write_stdin(mut stdin: ChildStdin, lines: Receiver<Vec<u8>>) {
    thread::spawn(move || {
        // A watchdog that is gone reads nothing; the test sees that by other means.
        let _ = lines.iter().try_for_each(|bytes| stdin.write_all(&bytes));
    });
}

/// Reads stdout until its end, or until it is told to stop.
pub(crate) fn read_stdout(mut stdout: ChildStdout, mut orders: UnixStream, shared: Arc<Shared>) {
    thread::spawn(move || {
        let mut paused = false;
        let mut buffer = vec![0; 1 << 16];
        loop {
            let wanted = if paused { PollFlags::empty() } else { PollFlags::POLLIN };
            let mut polled = [PollFd::new(orders.as_fd(), PollFlags::POLLIN), PollFd::new(stdout.as_fd(), wanted)];
            // A paused reader must not see the hang-up either: it would never sleep again.
            let watched = if paused { &mut polled[..1] } else { &mut polled[..] };
            match poll(watched, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(error) => panic!("poll: {error}"),
            }
            if polled[0].any() == Some(true) {
                let mut order = [0];
                match orders.read(&mut order) {
                    Ok(1) if order[0] == PAUSE => paused = true,
                    Ok(1) if order[0] == RESUME => paused = false,
                    // `CLOSE`, or the session is gone.
                    _ => break,
                }
                continue;
            }
            match stdout.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(length) => shared.update(|state| take(state, &buffer[..length])),
            }
        }
        drop(stdout);
        shared.update(|state| state.stdout_ended = true);
    });
}

fn take(state: &mut crate::state::State, mut bytes: &[u8]) {
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let mut line = std::mem::take(&mut state.partial);
        line.extend_from_slice(&bytes[..end]);
        state.take_line(&line);
        bytes = &bytes[end + 1..];
    }
    state.partial.extend_from_slice(bytes);
}

/// Keeps all of stderr.
pub(crate) fn read_stderr(mut stderr: ChildStderr, shared: Arc<Shared>) {
    thread::spawn(move || {
        let mut buffer = [0; 1 << 14];
        while let Ok(length @ 1..) = stderr.read(&mut buffer) {
            shared.update(|state| state.stderr.extend_from_slice(&buffer[..length]));
        }
    });
}

/// Waits for the end of the process. It is reaped under the lock, so that under the lock its number is its own as long
/// as no end is noted.
pub(crate) fn await_exit(mut child: Child, shared: Arc<Shared>) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number fits"));
    thread::spawn(move || {
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
        shared.update(|state| state.exit = Some(child.wait().expect("the child is ours")));
    });
}
