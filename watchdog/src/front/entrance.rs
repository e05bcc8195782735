//! A unix socket as the one way in to a server: held by one process, used by one user, and gone at the end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::net::UnixListener;

use crate::stream::socket_file::SocketFile;

/// A socket that is there. Dropping it takes the file away.
#[derive(Debug)]
pub struct Entrance {
    pub(super) listener: UnixListener,
    /// Before the lock, so that the file goes while it is held.
    _file: SocketFile,
    /// Held while the socket is. A lock tells of a living owner without a connection to it, which would be a client; its file holds the
    /// owner's number.
    _lock: Flock<File>,
}

/// Why a socket was not opened.
#[derive(Debug, thiserror::Error)]
pub enum EntranceError {
    /// A living process has it, which may be this one.
    #[error("{}", held(*.0))]
    Held(Option<u32>),
    /// A file, a folder or a link has its name, which is somebody's.
    #[error("what is there is no socket, and is left alone")]
    NoSocket,
    /// The file that says who has it cannot be had.
    #[error("{}: {}", .0.display(), .1)]
    Lock(PathBuf, #[source] io::Error),
    /// What else the system says.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn held(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => "another server here has it".to_owned(),
        Some(process) => format!("another mcp-watchdog has it, process {process}"),
        None => "another mcp-watchdog has it".to_owned(),
    }
}

impl Entrance {
    /// Opens it. A socket that a dead process has left there is replaced; whatever else is there stays.
    ///
    /// # Errors
    /// [`EntranceError::Held`] where a living process has it, this one included; [`EntranceError::NoSocket`] where something else is there.
    pub fn open(path: &Path) -> Result<Self, EntranceError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let lock = PathBuf::from(lock);
        let file = options.open(&lock).map_err(|error| EntranceError::Lock(lock, error))?;
        let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(file, errno)| match errno {
            Errno::EWOULDBLOCK => EntranceError::Held(owner(&file)),
            errno => EntranceError::Io(errno.into()),
        })?;
        lock.set_len(0)?;
        writeln!(lock, "{}", std::process::id())?;
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => return Err(EntranceError::NoSocket),
            // That there is none, or that it cannot be known, which the next step says.
            Err(_) => {}
        }
        let (listener, file) = SocketFile::bind(path)?;
        // The lock's file stays for ever: two processes could hold locks on two files of its name otherwise.
        Ok(Self { listener, _file: file, _lock: lock })
    }
}

/// The process that a lock's file names.
fn owner(lock: &File) -> Option<u32> {
    /// More than any number has.
    const LONGEST: u64 = 32;
    let mut text = String::new();
    lock.take(LONGEST).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let first = Entrance::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let held = Entrance::open(&path).unwrap_err();
        assert!(matches!(held, EntranceError::Held(Some(process)) if process == std::process::id()), "{held:?}");
        let refused = std::future::poll_fn(|cx| std::task::Poll::Ready(first.listener.poll_accept(cx).is_pending()));
        assert!(refused.await, "nobody has knocked");
        drop(first);
        assert!(!path.exists());
        let lock = folder.path().join("s.sock.lock");
        fs::write(&lock, "a number that is longer than any").unwrap();
        let _second = Entrance::open(&path).unwrap();
        assert_eq!(fs::read_to_string(&lock).unwrap(), format!("{}\n", std::process::id()));
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(Entrance::open(&path).unwrap_err(), EntranceError::NoSocket));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        let path = folder.path().join("t.sock");
        fs::create_dir(folder.path().join("t.sock.lock")).unwrap();
        let why = Entrance::open(&path).unwrap_err().to_string();
        assert!(why.contains("t.sock.lock: "), "{why}");
    }
}
