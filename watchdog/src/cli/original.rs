//! Somebody else's file, read and replaced: whole or not at all, with a copy of what it was, and with its owner and mode.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// A longer file is not a client's configuration. Claude Code's own grows to some megabytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// How many copies of earlier states are kept beside a file before the user is asked to tidy up.
const MOST_BACKUPS: usize = 99;

/// A byte order mark, which some editors put in front.
const MARK: &str = "\u{feff}";

/// A file as it was read.
pub(super) struct Original {
    /// The file itself, behind all symbolic links.
    path: PathBuf,
    /// The name that copies are made from.
    named: PathBuf,
    bytes: String,
    mode: u32,
    owner: (u32, u32),
}

impl Original {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is not a plain file, too long, or not UTF-8.
    pub(super) fn read(named: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("cannot be read: {error}");
        let path = named.canonicalize().map_err(failed)?;
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err("is not a file".to_owned());
        }
        Ok(Self {
            bytes: text(file).map_err(failed)?,
            mode: metadata.mode() & 0o777,
            owner: (metadata.uid(), metadata.gid()),
            named: named.to_owned(),
            path,
        })
    }

    /// The text, without a byte order mark.
    pub(super) fn text(&self) -> &str {
        self.bytes.strip_prefix(MARK).unwrap_or(&self.bytes)
    }

    /// The folder that it lies in.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or_else(|| Path::new("/"))
    }

    /// Puts another text in the file's place, and answers with the copy of the old one.
    ///
    /// # Errors
    /// When something cannot be written, or when the file has changed since it was read; it is then as it was.
    pub(super) fn replace_by(&self, text: &str) -> Result<PathBuf, String> {
        let mark = if self.bytes.starts_with(MARK) { MARK } else { "" };
        let backup = self.back_up().map_err(|error| format!("no copy of it can be made: {error}"))?;
        let temporary = beside(&self.path, &format!(".mcp-watchdog-{}", std::process::id()));
        let replaced = self.write(&temporary, &format!("{mark}{text}")).and_then(|()| self.put(&temporary));
        if replaced.is_err() {
            // It is ours, and useless now; there is nothing to do if it stays.
            let _ = std::fs::remove_file(&temporary);
        }
        replaced.map(|()| backup).map_err(|error| format!("cannot be replaced: {error}"))
    }

    /// A copy beside the file, under a name that nothing has yet; or an earlier copy that is the same.
    fn back_up(&self) -> io::Result<PathBuf> {
        for number in 1..=MOST_BACKUPS {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let backup = beside(&self.named, &format!(".mcp-watchdog-backup{suffix}"));
            match self.write(&backup, &self.bytes) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let same = File::open(&backup).and_then(text).is_ok_and(|text| text == self.bytes);
                    if same {
                        return Ok(backup);
                    }
                }
                Ok(()) => return Ok(backup),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many older copies (*.mcp-watchdog-backup*); remove some"))
    }

    /// Writes a new file that only the owner of the old one can do more with than before.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let written = self.fill(&mut file, text);
        if written.is_err() {
            // Half a file must not look like a whole one.
            let _ = std::fs::remove_file(path);
        }
        written
    }

    fn fill(&self, file: &mut File, text: &str) -> io::Result<()> {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != self.owner {
            let (user, group) = self.owner;
            fchown(&*file, Some(user), Some(group))?;
        }
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(self.mode))?;
        file.sync_all()
    }

    /// The last step. Clients write their files too; what they wrote meanwhile must not be lost.
    fn put(&self, temporary: &Path) -> io::Result<()> {
        if File::open(&self.path).and_then(text)? != self.bytes {
            return Err(io::Error::other("it has been changed by somebody else meanwhile; try again"));
        }
        std::fs::rename(temporary, &self.path)
    }
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    let length = file.take(LONGEST + 1).read_to_string(&mut text)?;
    if length as u64 > LONGEST {
        return Err(io::Error::other("it is longer than 64 MiB"));
    }
    Ok(text)
}

/// A path with something behind its last name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
