//! `mcp-watchdog connect`: puts a server of `serve` on this process's stdin and stdout, for clients that start commands.
//!
//! Bytes go through as they are. It ends when the server's side ends, after the client has got everything.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;

use crate::exit::Exit;
use crate::serve::place;

/// Connects, and copies until the end.
pub(crate) fn run(target: &str) -> Exit {
    let path = match path(target) {
        Ok(path) => path,
        Err(why) => return fail(&why),
    };
    let stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => {
            let remedy = "does `mcp-watchdog serve` run, and has it a server of this name?";
            return fail(&format!("cannot connect to {}: {error}; {remedy}", path.display()));
        }
    };
    match copy(stream) {
        Ok(exit) => exit,
        Err(error) => fail(&format!("the connection to {} broke: {error}", path.display())),
    }
}

/// A name is looked up in the runtime folder; whatever has a slash is a socket.
fn path(target: &str) -> Result<PathBuf, String> {
    match target.strip_prefix("unix://") {
        Some(path) => Ok(PathBuf::from(path)),
        None if target.contains('/') => Ok(Path::new(target).to_owned()),
        None => place(target),
    }
}

fn copy(stream: UnixStream) -> io::Result<Exit> {
    let mut from_server = stream.try_clone()?;
    let client_left = Arc::new(AtomicBool::new(false));
    let leaving = client_left.clone();
    thread::Builder::new().spawn(move || {
        let mut stream = stream;
        // What does not arrive any more shows on the other side.
        _ = pump(&mut io::stdin().lock(), &mut stream);
        // Said first: the other side may answer the end of the stream at once.
        leaving.store(true, Release);
        _ = stream.shutdown(Shutdown::Write);
    })?;
    match pump(&mut from_server, &mut io::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        // The client has gone, or the server's side has ended because the client left.
        Err(_) => Ok(Exit::Done),
        Ok(()) if client_left.load(Acquire) => Ok(Exit::Done),
        Ok(()) => Ok(fail("the watchdog ended the connection")),
    }
}

/// Hands on each piece when it comes. `io::copy` may splice, and a splice waits for more than a message.
fn pump(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(buffer.get(..length).unwrap_or_default())?;
        to.flush()?;
    }
}

fn fail(why: &str) -> Exit {
    // Nobody can be told that this cannot be told.
    _ = writeln!(io::stderr().lock(), "mcp-watchdog: {why}");
    Exit::Failed
}
