//! A unix socket as a file: for this user alone, and taken away at the end.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// A socket that is there. Dropping it takes the file away, unless something else has its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    /// Binds a path at which nothing is.
    ///
    /// # Errors
    /// `AddrInUse` where something is, and what else the system says.
    pub(crate) fn bind(path: &Path) -> io::Result<(UnixListener, Self)> {
        let listener = UnixListener::bind(path)?;
        // Until this is done the folder keeps others away, and if that does not, the look at who a peer is.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok((listener, Self { path: path.to_owned(), identity: identity(path)? }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            // Nobody can be told that it is gone already.
            _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}
