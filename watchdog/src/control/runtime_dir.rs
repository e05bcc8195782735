//! The folder of the control sockets: where it is, and whether it is private (control-plane.md, section 3).

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::config::LONGEST_SOCKET;

/// The variable that names the folder itself.
const VARIABLE: &str = "MCP_WATCHDOG_RUNTIME_DIR";

/// The name of our folder in a folder that others use too.
const NAME: &str = "mcp-watchdog";

/// The folder in it with the sockets of servers.
const SERVERS: &str = "servers";

/// How the names of sockets end.
const EXTENSION: &str = "sock";

/// Why a folder cannot hold sockets.
#[derive(Debug, Error)]
pub enum RuntimeDirError {
    /// It cannot be made or looked at.
    #[error("the runtime folder {} cannot be used: {source}; name another in {VARIABLE}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else has its name. Symbolic links are not followed: in /tmp anyone could have put one.
    #[error("the runtime folder {} is not a folder; remove it, or name another in {VARIABLE}", .0.display())]
    NoFolder(PathBuf),
    /// It is somebody else's.
    #[error("the runtime folder {} belongs to user {owner}; name one of your own in {VARIABLE}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others can use it, or we cannot.
    #[error("the runtime folder {} has mode {mode:o} and must be private; chmod 700 it", path.display())]
    Mode {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

impl RuntimeDirError {
    /// Whether nothing is wrong, but that there is no such folder.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unusable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The folders in which sockets can be, in the order of preference; a watchdog uses the first.
///
/// Someone who looks for a watchdog looks into all of them: clients start servers with few variables, so that a sidecar
/// often does not see the `XDG_RUNTIME_DIR` that the user's shell has. Relative paths count as not set, as the XDG base
/// directory specification wants it.
#[must_use]
pub fn places(variable: impl Fn(&str) -> Option<OsString>, user: u32) -> Vec<PathBuf> {
    let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(named) = set(VARIABLE) {
        return vec![named];
    }
    let session = set("XDG_RUNTIME_DIR").map(|folder| folder.join(NAME));
    let system = (user == 0).then(|| Path::new("/run").join(NAME));
    let shared = Path::new("/tmp").join(format!("{NAME}-{user}"));
    session.into_iter().chain(system).chain([shared]).collect()
}

/// Makes the folder where it is missing, and checks it.
///
/// # Errors
/// When it cannot be made, or as [`check`].
pub fn prepare(path: &Path, user: u32) -> Result<(), RuntimeDirError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    // A file or a dangling link of this name has an error of its own.
    match (made, fs::symlink_metadata(path)) {
        (Err(source), Err(_)) => Err(RuntimeDirError::Unusable { path: path.to_owned(), source }),
        _ => check(path, user),
    }
}

/// Whether a folder is there, is the user's own, and is closed to everyone else.
///
/// # Errors
/// With what is wrong with it, and what helps.
pub fn check(path: &Path, user: u32) -> Result<(), RuntimeDirError> {
    let path = path.to_owned();
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(source) => return Err(RuntimeDirError::Unusable { path, source }),
    };
    let (owner, mode) = (found.uid(), found.mode() & 0o777);
    if !found.is_dir() {
        return Err(RuntimeDirError::NoFolder(path));
    }
    if owner != user {
        return Err(RuntimeDirError::Foreign { path, owner });
    }
    if mode != 0o700 {
        return Err(RuntimeDirError::Mode { path, mode });
    }
    Ok(())
}

/// The control socket of a process, `NAME-PID.sock`. The number is what keeps two watchdogs of one name apart; the name is for
/// people, and is cut and cleaned where a path cannot have it.
#[must_use]
pub fn socket(folder: &Path, name: &str, pid: u32) -> PathBuf {
    let end = format!("-{pid}.{EXTENSION}");
    let room = LONGEST_SOCKET.saturating_sub(folder.as_os_str().len() + "/".len() + end.len());
    let clean =
        |at: usize, c: char| if c.is_ascii_alphanumeric() || c == '_' || (at > 0 && c == '.') { c } else { '-' };
    let shown: String = name.chars().take(room).enumerate().map(|(at, c)| clean(at, c)).collect();
    folder.join(shown + &end)
}

/// Where a server's clients find it.
#[must_use]
pub fn server_socket(folder: &Path, name: &str) -> PathBuf {
    folder.join(SERVERS).join(format!("{name}.{EXTENSION}"))
}

/// The servers whose sockets lie in this folder, whether or not somebody listens there; none where it cannot be looked into.
#[must_use]
pub fn servers(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder.join(SERVERS))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Some(name.strip_suffix(EXTENSION)?.strip_suffix('.')?.to_owned())).collect()
}

/// The process whose control socket has this path; `None` where it is no control socket, but perhaps another of ours, which
/// must not be disturbed.
#[must_use]
pub fn process_of(socket: &Path) -> Option<u32> {
    let name = socket.file_name()?.to_str()?;
    let (_, pid) = name.strip_suffix(EXTENSION)?.strip_suffix('.')?.rsplit_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests;
