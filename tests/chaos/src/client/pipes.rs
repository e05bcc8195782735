//! The three pipes of the watchdog, none of which ever blocks the run.

use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The pipes, and the process behind them.
pub(super) struct Pipes {
    pub(super) child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// All of stderr.
    pub(super) errors: Vec<u8>,
    /// Whether stdout is read.
    pub(super) reading: bool,
    closing: bool,
}

impl Pipes {
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let fds = [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)];
        for fd in fds.into_iter().flatten() {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let (outgoing, incoming, errors) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { child, stdin, stdout, stderr, outgoing, incoming, errors, reading: true, closing: false })
    }

    pub(super) const fn stdout_ended(&self) -> bool {
        self.stdout.is_none()
    }

    pub(super) const fn all_ended(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    pub(super) fn write(&mut self, line: &[u8]) {
        self.outgoing.extend_from_slice(line);
        self.outgoing.push(b'\n');
        self.flush();
    }

    /// Closes stdin as soon as all is written.
    pub(super) fn close_stdin(&mut self) {
        self.closing = true;
        self.flush();
    }

    pub(super) fn close_stdout(&mut self) {
        self.stdout = None;
    }

    fn flush(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        let mut written = 0;
        while written < self.outgoing.len() {
            match stdin.write(&self.outgoing[written..]) {
                Ok(some) => written += some,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // Nobody reads any more.
                    self.outgoing.clear();
                    self.stdin = None;
                    return;
                }
            }
        }
        self.outgoing.drain(..written);
        if self.outgoing.is_empty() && self.closing {
            self.stdin = None;
        }
    }

    /// Waits for room or bytes, at most so long, and takes what is there: whole lines, and how much was left at the end of
    /// stdout, when that has come.
    pub(super) fn poll(&mut self, within: Duration) -> (Vec<Vec<u8>>, Option<usize>) {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        self.wait(within, stdout.as_ref().filter(|_| self.reading), stderr.as_ref());
        (self.stdout, self.stderr) = (stdout, stderr);
        self.flush();
        if self.stderr.as_mut().is_some_and(|stderr| drain(stderr, &mut self.errors)) {
            self.stderr = None;
        }
        if !self.reading || self.stdout.is_none() {
            return (Vec::new(), None);
        }
        let ended = self.stdout.as_mut().is_some_and(|stdout| drain(stdout, &mut self.incoming));
        let lines = self.split();
        if ended {
            self.stdout = None;
        }
        (lines, ended.then_some(self.incoming.len()))
    }

    fn wait(&self, within: Duration, stdout: Option<&ChildStdout>, stderr: Option<&ChildStderr>) {
        let stdin = self.stdin.as_ref().filter(|_| !self.outgoing.is_empty());
        let mut polled = Vec::new();
        polled.extend(stdin.map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLOUT)));
        polled.extend(stdout.map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        polled.extend(stderr.map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        // One that is interrupted is made again by the caller.
        let _ = poll(&mut polled, PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX));
    }

    fn split(&mut self) -> Vec<Vec<u8>> {
        let Some(end) = self.incoming.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.incoming.split_off(end + 1);
        let whole = std::mem::replace(&mut self.incoming, rest);
        whole[..end].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }
}

/// Takes what is there; whether the end has come.
fn drain(stream: &mut impl io::Read, into: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 1 << 16];
    // A bounded piece: whoever floods us must not keep us from the rest.
    for _ in 0..64 {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(length) => into.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return true,
        }
    }
    false
}
