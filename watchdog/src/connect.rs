//! `mcp-watchdog connect`: puts a server of `serve` on this process's stdin and stdout, for clients that start commands.
//!
//! Bytes go through as they are. It ends when the server's side ends, after the client has got everything, or as much as it takes.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::thread;
use std::time::Duration;

use nix::unistd::getuid;

use crate::config::hint;
use crate::control::runtime_dir;
use crate::exit::Exit;
use crate::slot::PATIENCE_BEHIND_A_DOOR;
use crate::stream::outlet::Outlet;

/// Between two looks at a client that takes nothing.
const LOOK: Duration = Duration::from_millis(100);

/// Connects, and copies until the end.
pub(crate) fn run(target: &str) -> Exit {
    let (stream, path) = match reach(target) {
        Ok(found) => found,
        Err(why) => return fail(&format!("{why}; does `mcp-watchdog serve` run, and has it a server of this name?")),
    };
    match copy(stream) {
        Ok(exit) => exit,
        Err(error) => fail(&format!("the connection to {} broke: {error}", path.display())),
    }
}

/// A name is looked up in the runtime folders; whatever has a slash is a socket.
fn reach(target: &str) -> Result<(UnixStream, PathBuf), String> {
    let path = match target.strip_prefix("unix://") {
        Some(path) => PathBuf::from(path),
        None if target.contains('/') => PathBuf::from(target),
        None => {
            let user = getuid().as_raw();
            return find(&runtime_dir::places(|variable| std::env::var_os(variable), user), user, target);
        }
    };
    Ok((open(&path)?, path))
}

/// The first of these folders in which somebody listens for this server: what a dead process has left there hides nobody.
fn find(folders: &[PathBuf], user: u32, name: &str) -> Result<(UnixStream, PathBuf), String> {
    let (mut failures, mut known) = (Vec::new(), BTreeSet::new());
    for folder in folders {
        let path = runtime_dir::server_socket(folder, name);
        match open_private(folder, &path, user) {
            Ok(stream) => return Ok((stream, path)),
            Err(why) => failures.push(why),
        }
        known.extend(runtime_dir::servers(folder));
    }
    let known: Vec<String> = known.into_iter().filter(|other| other != name).collect();
    let others = if known.is_empty() { String::new() } else { hint::among(name, &known) };
    Err(failures.join("; ") + &others)
}

/// A socket below a folder. What others could have put there would see all that the client says, and is not connected to.
fn open_private(folder: &Path, socket: &Path, user: u32) -> Result<UnixStream, String> {
    for folder in [Some(folder), socket.parent()].into_iter().flatten() {
        match runtime_dir::check(folder, user) {
            Ok(()) => {}
            Err(error) if error.is_missing() => return Err(format!("there is no {}", socket.display())),
            Err(error) => return Err(error.to_string()),
        }
    }
    open(socket)
}

fn open(socket: &Path) -> Result<UnixStream, String> {
    UnixStream::connect(socket).map_err(|error| format!("cannot connect to {}: {error}", socket.display()))
}

fn copy(stream: UnixStream) -> io::Result<Exit> {
    let mut from_server = stream.try_clone()?;
    let client_left = Arc::new(AtomicBool::new(false));
    let leaving = client_left.clone();
    thread::Builder::new().spawn(move || {
        let mut stream = stream;
        // What does not arrive any more shows on the other side.
        _ = pump(&mut io::stdin().lock(), |piece| stream.write_all(piece).map(|()| true));
        // Said first: the other side may answer the end of the stream at once.
        leaving.store(true, Release);
        _ = stream.shutdown(Shutdown::Write);
    })?;
    let client = Outlet::inherited(io::stdout().as_fd())?;
    match pump(&mut from_server, |piece| hand(&client, piece, &client_left, PATIENCE_BEHIND_A_DOOR)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        // The client has gone, or the server's side has ended because the client left.
        Err(_) => Ok(Exit::Done),
        Ok(false) => {
            say("the client did not take all that was for it");
            Ok(Exit::Done)
        }
        Ok(true) if client_left.load(Acquire) => Ok(Exit::Done),
        Ok(true) => Ok(fail("the watchdog ended the connection")),
    }
}

/// Gives a piece to the client as fast as it takes it. `false` where it has closed its stdin, and then taken nothing for as long as the
/// patience lasts. Looks are counted, and not the time: while this process is stopped, nobody can take anything.
fn hand(client: &Outlet, mut piece: &[u8], client_left: &AtomicBool, patience: Duration) -> io::Result<bool> {
    let (mut waited, mut least) = (Duration::ZERO, usize::MAX);
    while !piece.is_empty() {
        match client.write(piece) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                piece = piece.get(written..).unwrap_or_default();
                (waited, least) = (Duration::ZERO, usize::MAX);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let unread = client.unread();
                if unread < least || !client_left.load(Acquire) {
                    (waited, least) = (Duration::ZERO, unread);
                } else if waited >= patience {
                    return Ok(false);
                }
                client.wait(LOOK);
                waited += LOOK;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Hands on each piece when it comes, until the end or until `hand` says that there is no use. `io::copy` may splice, and a splice waits
/// for more than a message.
fn pump(from: &mut impl Read, mut hand: impl FnMut(&[u8]) -> io::Result<bool>) -> io::Result<bool> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if !hand(buffer.get(..length).unwrap_or_default())? {
            return Ok(false);
        }
    }
}

fn fail(why: &str) -> Exit {
    say(why);
    Exit::Failed
}

fn say(what: &str) {
    // Nobody can be told that this cannot be told.
    _ = writeln!(io::stderr().lock(), "mcp-watchdog: {what}");
}

#[cfg(test)]
mod tests {
    use std::fs::{self, DirBuilder, Permissions};
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Two runtime folders, and a server in the second.
    fn folders() -> (tempfile::TempDir, [PathBuf; 2], UnixListener) {
        let folder = tempfile::tempdir().unwrap();
        let both = ["session", "shared"].map(|name| folder.path().join(name));
        for path in &both {
            DirBuilder::new().recursive(true).mode(0o700).create(path.join("servers")).unwrap();
        }
        let listener = UnixListener::bind(runtime_dir::server_socket(&both[1], "a")).unwrap();
        (folder, both, listener)
    }

    #[test]
    fn a_server_is_found_in_whichever_folder_it_is() {
        let (folder, both, _listener) = folders();
        let user = getuid().as_raw();
        let missing = folder.path().join("missing");
        let all = [missing, both[0].clone(), both[1].clone()];
        let wanted = runtime_dir::server_socket(&both[1], "a");
        assert_eq!(find(&all, user, "a").unwrap().1, wanted);
        drop(UnixListener::bind(runtime_dir::server_socket(&both[0], "a")).unwrap());
        assert_eq!(find(&all, user, "a").unwrap().1, wanted, "a dead one hides nobody");
        let why = find(&all, user, "b").unwrap_err();
        for folder in &all {
            assert!(why.contains(&runtime_dir::server_socket(folder, "b").display().to_string()), "{why}");
        }
    }

    #[test]
    fn a_name_that_no_socket_has_is_told_with_those_that_some_have() {
        let (_folder, both, _listener) = folders();
        let _other = UnixListener::bind(runtime_dir::server_socket(&both[0], "files")).unwrap();
        let why = find(&both, getuid().as_raw(), "flies").unwrap_err();
        assert!(why.ends_with(" (did you mean \"files\"?); there are: a, files"), "{why}");
    }

    #[test]
    fn a_folder_that_others_could_have_filled_is_not_trusted() {
        let (_folder, both, _listener) = folders();
        let user = getuid().as_raw();
        let why = find(&both, user + 1, "a").unwrap_err();
        assert!(why.contains(&format!("belongs to user {user}")), "{why}");
        for open in [both[1].clone(), both[1].join("servers")] {
            fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
            let why = find(&both, user, "a").unwrap_err();
            assert!(why.contains(&format!("{} has mode 755", open.display())), "{why}");
            fs::set_permissions(&open, Permissions::from_mode(0o700)).unwrap();
        }
        assert!(find(&both, user, "a").is_ok());
    }

    /// A client's stdout of each kind, which holds less than is for it, its end of that, and how much has to be taken to be seen.
    fn outlets() -> [(Outlet, Box<dyn Read + Send>, usize); 2] {
        let (reader, writer) = io::pipe().unwrap();
        let (near, far) = UnixStream::pair().unwrap();
        let pipe = Outlet::inherited(writer.as_fd()).unwrap();
        let socket = Outlet::inherited(near.as_fd()).unwrap();
        [(pipe, Box::new(reader), 1000), (socket, Box::new(far), 40_000)]
    }

    /// More than a pipe or a socket holds.
    const MUCH: usize = 1 << 20;

    #[test]
    fn a_client_that_has_left_and_takes_nothing_is_not_waited_for() {
        for (client, _reader, _) in outlets() {
            assert!(!hand(&client, &vec![b'x'; MUCH], &AtomicBool::new(true), 3 * LOOK).unwrap());
        }
    }

    #[test]
    fn a_client_that_takes_a_little_at_a_time_is_given_all() {
        for (client, mut reader, little) in outlets() {
            let taking = thread::spawn(move || {
                for _ in 0..6 {
                    thread::sleep(2 * LOOK);
                    reader.read_exact(&mut vec![0; little]).unwrap();
                }
                let mut rest = Vec::new();
                reader.read_to_end(&mut rest).unwrap();
                rest.len()
            });
            assert!(hand(&client, &vec![b'x'; MUCH], &AtomicBool::new(true), 4 * LOOK).unwrap());
            drop(client);
            assert_eq!(taking.join().unwrap(), MUCH - 6 * little);
        }
    }

    #[test]
    fn a_client_that_has_not_left_may_take_its_time() {
        for (client, mut reader, _) in outlets() {
            let left = Arc::new(AtomicBool::new(false));
            let leaving = left.clone();
            let giving = thread::spawn(move || hand(&client, &vec![b'x'; MUCH], &leaving, 2 * LOOK));
            thread::sleep(5 * LOOK);
            assert!(!giving.is_finished());
            left.store(true, Release);
            reader.read_exact(&mut vec![0; MUCH]).unwrap();
            assert!(giving.join().unwrap().unwrap());
        }
    }
}
