//! The client's stdin and stdout, moved out of the way.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::stat::{SFlag, fstat, stat};
use nix::unistd::{dup2_stdin, dup2_stdout};

use super::descriptor::{duplicate, open_missing_standard};
use super::{Sink, Source};
use crate::event_loop::Watcher;

/// Above what programs and shells address by number.
const FIRST: i32 = 10;

/// Takes the client's streams for the protocol. To be called once, inside the runtime, before anything prints.
///
/// # Errors
/// As [`detach`], and as [`Source::inherited`].
pub fn take(watcher: &Watcher) -> io::Result<(Source, Sink)> {
    let (stdin, stdout) = detach()?;
    Ok((Source::inherited(stdin, watcher)?, Sink::inherited(stdout, watcher)?))
}

/// Whether stdin is `/dev/null`, which is also what a stdin becomes that was closed when the program started: there is no client then.
#[must_use]
pub fn has_no_client() -> bool {
    let (Ok(stdin), Ok(null)) = (fstat(io::stdin()), stat("/dev/null")) else { return false };
    SFlag::from_bits_truncate(stdin.st_mode) & SFlag::S_IFMT == SFlag::S_IFCHR && stdin.st_rdev == null.st_rdev
}

/// Moves stdin and stdout to descriptors from 10 up that no child inherits. Then 0 is [`null`](crate::os::null) and 1 is the same as 2,
/// so that nothing that reads stdin or prints, in whatever library, can touch the protocol.
///
/// Closed descriptors 0, 1 and 2 become `/dev/null`: a closed stdin is an end of file, a closed stdout takes all.
///
/// # Errors
/// Where no descriptor is left, or one of the three is closed and there is no `/dev/null`.
pub fn detach() -> io::Result<(OwnedFd, OwnedFd)> {
    open_missing_standard()?;
    let stdin = duplicate(io::stdin().as_fd(), FIRST)?;
    let stdout = duplicate(io::stdout().as_fd(), FIRST)?;
    let null = crate::os::null()?;
    dup2_stdin(&null)?;
    dup2_stdout(io::stderr().as_fd())?;
    Ok((stdin, stdout))
}
