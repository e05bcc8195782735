//! The points of reference: proxies that only move bytes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread;

use nix::fcntl::{SpliceFFlags, splice};

/// Bytes of one read or of one splice.
const PIECE: usize = 64 * 1024;

/// How bytes get from one side to the other.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// Read and written: the least that a proxy which looks at what it passes on can do.
    Copy,
    /// Moved within the kernel: the least that a proxy can do at all, and it cannot look.
    Splice,
}

/// Runs a server between two threads that move bytes.
///
/// # Errors
/// What starting, reading and writing say.
pub(crate) fn run(way: Way, command: &[std::ffi::OsString]) -> io::Result<()> {
    let [program, arguments @ ..] = command else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut child = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut from_client, mut to_client) = standard_streams()?;
    let streams = child.stdin.take().zip(child.stdout.take());
    let (mut to_server, mut from_server) = streams.ok_or_else(|| io::Error::other("no pipes"))?;
    let there = thread::spawn(move || way.pump(&mut from_client, &mut to_server));
    way.pump(&mut from_server, &mut to_client)?;
    child.wait()?;
    // It ends with the client, who may still be there.
    drop(there);
    Ok(())
}

impl Way {
    /// Moves bytes until there are no more.
    fn pump(self, source: &mut (impl Read + AsFd), sink: &mut (impl Write + AsFd)) -> io::Result<()> {
        match self {
            Self::Copy => {
                let mut buffer = vec![0; PIECE];
                loop {
                    match source.read(&mut buffer)? {
                        0 => return Ok(()),
                        read => sink.write_all(&buffer[..read])?,
                    }
                }
            }
            Self::Splice => {
                while splice(source.as_fd(), None, sink.as_fd(), None, PIECE, SpliceFFlags::SPLICE_F_MOVE)? > 0 {}
                Ok(())
            }
        }
    }
}

/// Our own stdin and stdout, without the buffers of the standard library.
///
/// # Errors
/// Where no descriptor is left.
pub(crate) fn standard_streams() -> io::Result<(File, File)> {
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((stdin.into(), stdout.into()))
}
