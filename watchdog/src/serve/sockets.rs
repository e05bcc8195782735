//! Where the clients of a server come in.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::unistd::getuid;
use tokio::net::UnixListener;

use crate::config::{Listen, Server};
use crate::control::runtime_dir;

/// Sockets of servers lie in a folder of their own, beside the control sockets.
const FOLDER: &str = "servers";

/// Where a server without `listen:` is found.
///
/// # Errors
/// When there is no private folder for it.
pub(crate) fn place(name: &str) -> Result<PathBuf, String> {
    let places = runtime_dir::places(|variable| std::env::var_os(variable), getuid().as_raw());
    let Some(folder) = places.into_iter().next() else { return Err("there is no runtime folder".to_owned()) };
    Ok(folder.join(FOLDER).join(format!("{name}.sock")))
}

/// Opens all sockets of a server, which only this user can use.
pub(super) fn open(server: &Server) -> Result<Vec<UnixListener>, String> {
    let paths = if server.listen.is_empty() {
        let path = place(&server.name)?;
        for folder in path.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
            runtime_dir::prepare(folder, getuid().as_raw()).map_err(|error| error.to_string())?;
        }
        vec![path]
    } else {
        server.listen.iter().map(|Listen::Unix(path)| path.clone()).collect()
    };
    let open = |path: PathBuf| {
        bind(&path).map_err(|error| format!("server \"{}\" cannot listen on {}: {error}", server.name, path.display()))
    };
    paths.into_iter().map(open).collect()
}

/// Binds a socket. One that a dead process has left there is replaced, and one that somebody answers on is not.
fn bind(path: &Path) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process serves it"));
        }
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let first = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(bind(&path).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(first);
        let _second = bind(&path).unwrap();
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        fs::write(&path, "mine").unwrap();
        assert!(bind(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
