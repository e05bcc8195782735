//! The three pipes between the engine and a child.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use crate::stream::enlarge;

/// The engine's ends. None is inherited by any other process, and none blocks.
#[derive(Debug)]
pub struct Pipes {
    /// Where the child's input is written. Closing it is the end of the child's stdin.
    pub stdin: OwnedFd,
    /// Where the child's output is read.
    pub stdout: OwnedFd,
    /// Where the child's complaints are read.
    pub stderr: OwnedFd,
}

/// The child's ends, which block as every program expects: an end of a pipe has flags of its own.
#[derive(Debug)]
pub(crate) struct ChildEnds {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Makes the pipes of one child.
pub(super) fn open() -> io::Result<(Pipes, ChildEnds)> {
    let (child_stdin, stdin) = io::pipe()?;
    let (stdout, child_stdout) = io::pipe()?;
    let (stderr, child_stderr) = io::pipe()?;
    let ours = Pipes { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() };
    for end in [&ours.stdin, &ours.stdout, &ours.stderr] {
        enlarge(end.as_fd());
        fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    Ok((ours, ChildEnds { stdin: child_stdin.into(), stdout: child_stdout.into(), stderr: child_stderr.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(end: &OwnedFd) -> OFlag {
        OFlag::from_bits_retain(fcntl(end, FcntlArg::F_GETFL).unwrap())
    }

    #[test]
    fn only_our_ends_do_not_block_and_no_end_is_inherited() {
        let (ours, theirs) = open().unwrap();
        for end in [&ours.stdin, &ours.stdout, &ours.stderr] {
            assert!(flags(end).contains(OFlag::O_NONBLOCK));
        }
        for end in [&theirs.stdin, &theirs.stdout, &theirs.stderr] {
            assert!(!flags(end).contains(OFlag::O_NONBLOCK));
        }
        let all = [&ours.stdin, &ours.stdout, &ours.stderr, &theirs.stdin, &theirs.stdout, &theirs.stderr];
        for end in all {
            assert_eq!(fcntl(end, FcntlArg::F_GETFD).unwrap(), nix::libc::FD_CLOEXEC);
        }
    }

    #[test]
    fn each_pipe_leads_to_its_own_end() {
        use std::io::{Read, Write};
        let (ours, theirs) = open().unwrap();
        let pairs = [(theirs.stdin, ours.stdin), (ours.stdout, theirs.stdout), (ours.stderr, theirs.stderr)];
        for (index, (reader, writer)) in (1..).zip(pairs) {
            std::fs::File::from(writer).write_all(&[index]).unwrap();
            let mut read = Vec::new();
            std::fs::File::from(reader).read_to_end(&mut read).unwrap();
            assert_eq!(read, [index]);
        }
    }
}
