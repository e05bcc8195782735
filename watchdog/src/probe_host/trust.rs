//! Whose code is loaded: who can write to a library's file, and what it hashes to.
//!
//! The rules are those of OpenSSH for its key files (`StrictModes`), for the file and the folder that it lies in: whoever can
//! write to one of them decides what runs here. A group may write where it is the owner's own group (number of the group
//! equal to the number of the user, as systems with private groups have it) or root's.

use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Bits of a mode: group may write, others may write, and only owners may rename and delete in a folder.
const GROUP_WRITE: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The file behind a path, if its code may run here.
pub(super) fn accept(library: &Path, pin: Option<&str>) -> Result<PathBuf, String> {
    let shown = library.display();
    if !library.is_absolute() {
        return Err(format!("the path {shown} is not absolute: plugins are not searched for"));
    }
    let real = fs::canonicalize(library).map_err(|error| format!("cannot open {shown}: {error}"))?;
    let file = fs::metadata(&real).map_err(|error| format!("cannot open {shown}: {error}"))?;
    if !file.is_file() {
        return Err(format!("{shown} is not a file"));
    }
    let us = nix::unistd::geteuid().as_raw();
    judge(&Writers::of(&file), us).map_err(|why| format!("{} {why}", real.display()))?;
    if let Some(folder) = real.parent() {
        let facts = fs::metadata(folder).map_err(|error| format!("cannot look at {}: {error}", folder.display()))?;
        judge(&Writers::of(&facts), us)
            .map_err(|why| format!("the folder {} of the plugin {why}", folder.display()))?;
    }
    match pin {
        Some(pin) => check_pin(&real, pin).map(|()| real),
        None => Ok(real),
    }
}

/// Who can write to a file or folder.
#[derive(Debug, Clone, Copy)]
struct Writers {
    owner: u32,
    group: u32,
    mode: u32,
    is_folder: bool,
}

impl Writers {
    fn of(facts: &Metadata) -> Self {
        Self { owner: facts.uid(), group: facts.gid(), mode: facts.mode(), is_folder: facts.is_dir() }
    }
}

/// Refuses what somebody else than root and us can write to. The reason goes on from the name.
fn judge(writers: &Writers, us: u32) -> Result<(), String> {
    let Writers { owner, group, mode, is_folder } = *writers;
    if owner != 0 && owner != us {
        return Err(format!(
            "belongs to user {owner}, who is neither root nor the user {us} that the watchdog runs as: use chown"
        ));
    }
    // In a sticky folder, such as /tmp, others cannot replace a file of ours.
    if is_folder && mode & STICKY != 0 {
        return Ok(());
    }
    if mode & OTHERS_WRITE != 0 {
        return Err("can be written to by everybody: use chmod o-w".to_owned());
    }
    if mode & GROUP_WRITE != 0 && group != 0 && group != owner {
        return Err(format!("can be written to by group {group}: use chmod g-w"));
    }
    Ok(())
}

fn check_pin(file: &Path, pin: &str) -> Result<(), String> {
    let found = sha256(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    if found == pin {
        return Ok(());
    }
    Err(format!(
        "{} has the SHA-256 {found}, and not the `sha256:` {pin} of the configuration: if it is the file that you mean, \
         write that one there",
        file.display()
    ))
}

/// The hash of a file, in lower-case hexadecimal digits.
fn sha256(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => hash.update(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string never fails.
        _ = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const US: u32 = 1000;

    fn file(owner: u32, group: u32, mode: u32) -> Writers {
        Writers { owner, group, mode: 0o100_000 | mode, is_folder: false }
    }

    fn folder(owner: u32, group: u32, mode: u32) -> Writers {
        Writers { owner, group, mode: 0o040_000 | mode, is_folder: true }
    }

    #[test]
    fn only_root_and_we_may_write() {
        for accepted in [
            file(0, 0, 0o644),
            file(US, US, 0o755),
            file(US, 100, 0o755),
            file(US, US, 0o775),
            file(0, 0, 0o775),
            folder(US, US, 0o700),
            folder(0, 0, 0o1777),
        ] {
            assert_eq!(judge(&accepted, US), Ok(()), "{accepted:?}");
        }
        for (refused, reason) in [
            (file(1001, 1001, 0o644), "belongs to user 1001"),
            (file(US, US, 0o646), "by everybody: use chmod o-w"),
            (file(0, 0, 0o1666), "by everybody"),
            (file(US, 100, 0o664), "by group 100: use chmod g-w"),
            (folder(1001, 1001, 0o1777), "belongs to user 1001"),
            (folder(0, 0, 0o777), "by everybody"),
            (folder(0, 50, 0o775), "by group 50"),
        ] {
            let why = judge(&refused, US).unwrap_err();
            assert!(why.contains(reason), "{refused:?}: {why}");
        }
    }

    #[test]
    fn files_are_looked_at_behind_their_links() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.so"), folder.path().join("link.so"));
        fs::write(&real, "abc").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(accept(&link, None), Ok(real.canonicalize().unwrap()));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(accept(&link, None).unwrap_err().contains("real.so can be written to by everybody"));
    }

    #[test]
    fn what_cannot_be_a_plugin_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.so");
        assert!(accept(&missing, None).unwrap_err().starts_with(&format!("cannot open {}: ", missing.display())));
        assert!(accept(folder.path(), None).unwrap_err().ends_with(" is not a file"));
        assert!(accept(Path::new("x.so"), None).unwrap_err().contains("x.so is not absolute"));
    }

    #[test]
    fn a_pin_is_the_hash_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.so");
        fs::write(&path, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(accept(&path, Some(abc)).is_ok());
        fs::write(&path, "abd").unwrap();
        let why = accept(&path, Some(abc)).unwrap_err();
        assert!(why.contains("x.so has the SHA-256 a52d159f") && why.contains(abc), "{why}");
    }
}
