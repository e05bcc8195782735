//! A file that is appended to, and put aside when it has grown to its limit: `events.jsonl` becomes `events.jsonl.1`, what
//! was that before becomes `.2`, and so on.
//!
//! Several processes may append to the same file. Each line is one write at the end of the file, so that lines never mix. Who
//! rotates holds a lock on the file that is put aside, and whoever waited for that lock sees that the name means another file
//! by then. A line may still go to a file that was put aside a moment ago; it is whole and it is kept.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::config::EventFile;

/// Readable by its owner alone: events name servers, programs and errors.
const MODE: u32 = 0o600;

#[derive(Debug)]
pub(super) struct RotatingFile {
    config: EventFile,
    file: Option<File>,
    /// Whether the last line was written in part.
    torn: bool,
}

impl RotatingFile {
    /// A file that is opened when the first line comes.
    pub(super) const fn new(config: EventFile) -> Self {
        Self { config, file: None, torn: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.config.path
    }

    /// Appends a line, which has its end. After an error the next line opens the file anew.
    ///
    /// # Errors
    /// What the system says; the line is lost then.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let result = self.try_append(line);
        if result.is_err() {
            self.file = None;
        }
        result
    }

    fn try_append(&mut self, line: &[u8]) -> io::Result<()> {
        let file = self.with_room(line.len())?;
        let mut whole = Vec::new();
        let bytes = if self.torn {
            whole.push(b'\n');
            whole.extend_from_slice(line);
            &whole[..]
        } else {
            line
        };
        let mut left = bytes;
        while !left.is_empty() {
            match (&file).write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    left = &left[written..];
                    self.torn = !left.is_empty();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.file = Some(file);
        Ok(())
    }

    /// The file that the name means now, with room for so many bytes more. An empty file has room for anything.
    fn with_room(&mut self, more: usize) -> io::Result<File> {
        loop {
            let file = match self.file.take() {
                Some(file) if self.is_current(&file)? => file,
                _ => self.open()?,
            };
            let Some(limit) = self.config.max_size else { return Ok(file) };
            let metadata = file.metadata()?;
            let room = metadata.len().saturating_add(more as u64) <= limit as u64 || metadata.len() == 0;
            // A pipe or a device is what it is.
            if room || !metadata.is_file() {
                return Ok(file);
            }
            let locked = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
            if self.is_current(&locked)? {
                self.put_aside()?;
            }
        }
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(MODE).open(&self.config.path)
    }

    /// Whether the name still means this file: another process, or a tool that rotates logs, may have moved it.
    fn is_current(&self, file: &File) -> io::Result<bool> {
        let ours = file.metadata()?;
        match fs::metadata(&self.config.path) {
            Ok(named) => Ok((named.dev(), named.ino()) == (ours.dev(), ours.ino())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn put_aside(&self) -> io::Result<()> {
        let Some(last) = self.config.keep.checked_sub(1) else { return fs::remove_file(&self.config.path) };
        for number in (0..=last).rev() {
            let from = if number == 0 { self.config.path.clone() } else { self.aside(number) };
            match fs::rename(from, self.aside(number + 1)) {
                Err(error) if number == 0 || error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn aside(&self, number: usize) -> PathBuf {
        let mut name = OsString::from(&self.config.path);
        name.push(format!(".{number}"));
        name.into()
    }
}
