//! A unix socket as the one way in to a server: held by one process, used by one user, and gone at the end.

use std::fs::{self, File, OpenOptions};
use std::io;
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
    /// Held while the socket is. A lock tells of a living owner without a connection to it, which would be a client.
    _lock: Flock<File>,
}

impl Entrance {
    /// Opens it. A socket that a dead process has left there is replaced; whatever else is there stays.
    ///
    /// # Errors
    /// `AddrInUse` where a living process has it, this one included.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(PathBuf::from(lock))?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
            Errno::EWOULDBLOCK => io::Error::new(io::ErrorKind::AddrInUse, "another server has it"),
            errno => errno.into(),
        })?;
        if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(path)?;
        }
        let (listener, file) = SocketFile::bind(path)?;
        // The lock's file stays for ever: two processes could hold locks on two files of its name otherwise.
        Ok(Self { listener, _file: file, _lock: lock })
    }
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
        assert_eq!(Entrance::open(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let refused = std::future::poll_fn(|cx| std::task::Poll::Ready(first.listener.poll_accept(cx).is_pending()));
        assert!(refused.await, "nobody has knocked");
        drop(first);
        assert!(!path.exists());
        let _second = Entrance::open(&path).unwrap();
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        fs::write(&path, "mine").unwrap();
        assert!(Entrance::open(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
