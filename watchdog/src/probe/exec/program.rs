//! Whether a program can be executed at all, asked before anything depends on it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use crate::back::{Step, cannot_start};
use crate::config::Command;
use crate::guard::{candidates, message::Launch};

/// Looks for the program as the guard will, along the PATH of its own environment and from its own folder.
///
/// # Errors
/// Why it would not be started, and what helps.
pub(super) fn find(command: &Command) -> Result<(), String> {
    let Some(launch) = Launch::new(command) else {
        return Err("the command or its environment holds a NUL byte".to_owned());
    };
    let program = command.program.to_string_lossy();
    let folder = command.cwd.as_deref().unwrap_or_else(|| Path::new(""));
    let place = folder.display().to_string();
    let cannot = |errno: Errno, step| cannot_start::describe(&program, &place, &command.bounds, errno as i32, step);
    if command.cwd.is_some() && !folder.is_dir() {
        return Err(cannot(if folder.exists() { Errno::ENOTDIR } else { Errno::ENOENT }, Step::Chdir));
    }
    let mut why = Errno::ENOENT;
    for candidate in candidates(&launch) {
        let path = folder.join(OsStr::from_bytes(candidate.as_bytes()));
        match access(&path, AccessFlags::X_OK) {
            Ok(()) if path.is_file() => return Ok(()),
            Ok(()) => why = Errno::EACCES,
            // A folder that may not be searched says nothing.
            Err(Errno::EACCES) if access(&path, AccessFlags::F_OK).is_ok() => why = Errno::EACCES,
            Err(_) => {}
        }
    }
    Err(cannot(why, Step::Exec))
}

#[cfg(test)]
mod tests;
