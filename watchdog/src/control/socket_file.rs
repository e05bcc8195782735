//! The files of control sockets: taken over from, and swept up after, processes that could not take them away themselves.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use super::runtime_dir;
use crate::stream::socket_file::SocketFile;

/// A process that does not take a connection for so long is busy, and so it lives.
const ANSWER: Duration = Duration::from_millis(500);

/// Binds a socket. What a dead process has left there is replaced.
pub(super) async fn bind(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    match SocketFile::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_behind(path).await => {
            fs::remove_file(path)?;
            SocketFile::bind(path)
        }
        bound => bound,
    }
}

/// Takes away the sockets of processes that are gone.
pub(super) async fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let pid = runtime_dir::process_of(&entry.path());
        // Somebody who has bound a socket does not take connections for a moment.
        if pid.is_some_and(is_gone) && is_left_behind(&entry.path()).await {
            // Somebody else may have swept it up.
            _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn is_gone(pid: u32) -> bool {
    i32::try_from(pid).is_ok_and(|pid| pid > 0 && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
}

/// Whether it is a socket that nobody listens at.
async fn is_left_behind(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && matches!(timeout(ANSWER, UnixStream::connect(path)).await, Ok(Err(error)) if refused(&error))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener as BlockingListener;

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn a_socket_is_private_replaces_what_was_left_behind_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a-1.sock");
        drop(BlockingListener::bind(&path).unwrap());
        let (_listener, file) = bind(&path).await.unwrap();
        assert_eq!((mode(&path), file.path()), (0o600, &*path));
        let taken = bind(&path).await.unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        drop(file);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_is_not_ours_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a-1.sock");
        fs::write(&path, "a letter").unwrap();
        assert!(bind(&path).await.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"a letter");
        fs::remove_file(&path).unwrap();
        let (_listener, file) = bind(&path).await.unwrap();
        fs::remove_file(&path).unwrap();
        let _successor = BlockingListener::bind(&path).unwrap();
        drop(file);
        assert!(path.exists(), "its successor's");
    }

    #[tokio::test]
    async fn sockets_of_the_dead_are_swept_up_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        // No process has this number: it is above the largest that Linux can be told to give out.
        let left = |name: &str| drop(BlockingListener::bind(folder.path().join(name)).unwrap());
        left("dead-4194999.sock");
        left(&format!("starting-{own}.sock"));
        left("somebody.sock");
        fs::write(folder.path().join("file-4194999.sock"), "").unwrap();
        let _elsewhere = BlockingListener::bind(folder.path().join("other-namespace-4194998.sock")).unwrap();
        sweep(folder.path()).await.unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let starting = format!("starting-{own}.sock");
        assert_eq!(names, ["file-4194999.sock", "other-namespace-4194998.sock", "somebody.sock", &starting]);
    }
}
