//! `state_file`: which servers an operator has switched on and off, so that a restart of the watchdog does not forget it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::Server;

/// The file. Without a path nothing is remembered.
#[derive(Debug, Default)]
pub(super) struct StateFile {
    path: Option<PathBuf>,
    state: State,
}

/// What is in it.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct State {
    version: u32,
    #[serde(default)]
    servers: BTreeMap<String, Remembered>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Remembered {
    enabled: bool,
}

/// More than any state has, in bytes.
const LONGEST: u64 = 1 << 20;
/// The form of the file.
const VERSION: u32 = 1;

impl StateFile {
    /// Reads the file. One that cannot be read is told of, and counts as empty: servers that run by their configuration are
    /// better than none.
    pub(super) fn open(path: Option<PathBuf>) -> Self {
        let state = match path.as_deref().map(read) {
            Some(Ok(state)) => state,
            Some(Err(error)) => {
                tracing::warn!("the state file is not used: {error}");
                State::default()
            }
            None => State::default(),
        };
        Self { path, state }
    }

    /// The server as it is to run: what an operator said last counts.
    pub(super) fn apply(&self, mut server: Server) -> Server {
        server.enabled = self.enabled(&server.name).unwrap_or(server.enabled);
        server
    }

    /// Forgets a server.
    pub(super) fn forget(&mut self, server: &str) {
        if self.state.servers.remove(server).is_some() {
            self.save();
        }
    }

    fn enabled(&self, server: &str) -> Option<bool> {
        self.state.servers.get(server).map(|remembered| remembered.enabled)
    }

    /// Remembers what an operator said.
    pub(super) fn remember(&mut self, server: &str, enabled: bool) {
        self.state.servers.insert(server.to_owned(), Remembered { enabled });
        self.save();
    }

    fn save(&mut self) {
        let Some(path) = &self.path else { return };
        self.state.version = VERSION;
        if let Err(error) = write(path, &self.state) {
            tracing::warn!("the state file {} cannot be written: {error}", path.display());
        }
    }
}

fn read(path: &Path) -> Result<State, String> {
    match read_text(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::default()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Of a file, and not of a pipe or a device, which would hold up the start or never end.
fn read_text(path: &Path) -> io::Result<Vec<u8>> {
    let file = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// Beside it and then in its place, so that the file is whole at any moment.
fn write(path: &Path, state: &State) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut text = serde_json::to_vec_pretty(state)?;
    text.push(b'\n');
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_last_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let mut state = StateFile::open(Some(path.clone()));
        assert_eq!(state.enabled("a"), None);
        state.remember("a", false);
        state.remember("b", false);
        state.remember("b", true);
        let again = StateFile::open(Some(path));
        assert_eq!((again.enabled("a"), again.enabled("b"), again.enabled("c")), (Some(false), Some(true), None));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing lies beside it");
    }

    #[test]
    fn a_file_that_is_no_state_is_not_used_and_not_fatal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        fs::write(&path, "no").unwrap();
        assert_eq!(StateFile::open(Some(path)).enabled("a"), None);
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for never_ends in [pipe, "/dev/zero".into()] {
            assert_eq!(StateFile::open(Some(never_ends)).enabled("a"), None);
        }
        assert_eq!(StateFile::open(None).enabled("a"), None);
    }
}
