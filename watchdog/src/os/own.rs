//! What this process needs to start itself anew, also where nothing but its own file is there: no /proc, no /dev.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The link that the kernel keeps to the binary of a process.
#[cfg(target_os = "linux")]
const LINK: &str = "/proc/self/exe";

/// The binary of this process. Through /proc, even if its file has been replaced or removed meanwhile; without /proc, the file
/// that its name leads to.
///
/// # Errors
/// Where there is no /proc, and the name of the program leads nowhere.
#[cfg(target_os = "linux")]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    if fs::symlink_metadata(LINK).is_ok() {
        return Ok(LINK.into());
    }
    let (name, path) = (std::env::args_os().next().unwrap_or_default(), std::env::var_os("PATH").unwrap_or_default());
    by_name(&name, &path).ok_or_else(|| {
        let why = format!(
            "{} leads to no file, and {LINK} is not there: start mcp-watchdog by its full path, or mount /proc",
            Path::new(&name).display()
        );
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}

/// The binary of this process.
///
/// # Errors
/// Where the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The file that a shell would execute by this name.
#[cfg_attr(not(any(test, target_os = "linux")), expect(dead_code, reason = "the system says where the program is"))]
fn by_name(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return std::path::absolute(name).ok().filter(|file| is_program(file));
    }
    let folders = std::env::split_paths(path);
    folders.filter_map(|folder| std::path::absolute(folder.join(name)).ok()).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// A descriptor that reads as an end of file, for those that must not hold what they were started with. It is `/dev/null` where
/// that is there; elsewhere it also cannot be written to.
///
/// # Errors
/// Where no descriptor is left.
pub(crate) fn null() -> io::Result<OwnedFd> {
    match fs::File::options().read(true).write(true).open("/dev/null") {
        Ok(null) => Ok(null.into()),
        Err(_) => nobody(),
    }
}

/// One end of a pair whose other end is closed.
fn nobody() -> io::Result<OwnedFd> {
    let (ours, _) = UnixStream::pair()?;
    Ok(ours.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_name_is_looked_up_as_a_shell_does() {
        let folder = tempfile::tempdir().unwrap();
        let [plain, program] = ["plain", "program"].map(|name| folder.path().join(name));
        fs::write(&plain, "").unwrap();
        fs::write(&program, "").unwrap();
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([Path::new("/nowhere"), folder.path()]).unwrap();
        assert_eq!(by_name("program".as_ref(), &path), Some(program.clone()));
        assert_eq!(by_name(program.as_os_str(), "".as_ref()), Some(program));
        for name in ["plain", "absent", ""] {
            assert_eq!(by_name(name.as_ref(), &path), None, "{name}");
        }
        assert_eq!(by_name(plain.as_os_str(), &path), None);
    }

    #[test]
    fn what_stands_for_the_null_device_is_at_its_end() {
        let mut end = UnixStream::from(nobody().unwrap());
        assert_eq!(end.read(&mut [0]).unwrap(), 0);
        assert_eq!(end.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
