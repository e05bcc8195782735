//! Where this process is among the control groups, out of what /proc says about it (cgroups(7), proc_pid_mountinfo(5)).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use memchr::memmem;

/// The folder of our own group, from `/proc/self/cgroup` and `/proc/self/mountinfo`. Both hold names in any bytes, of disks that
/// somebody has mounted too.
///
/// # Errors
/// What is missing here.
pub(super) fn own(cgroup: &[u8], mountinfo: &[u8]) -> Result<PathBuf, &'static str> {
    let group = lines(cgroup).find_map(|line| line.strip_prefix(b"0::")).ok_or("this kernel has no cgroup v2")?;
    let group = OsStr::from_bytes(group);
    let mut mounts = lines(mountinfo).filter_map(mount).peekable();
    mounts.peek().ok_or("no cgroup v2 is mounted here")?;
    // Under a namespace of their own, groups above it are shown as `/..`, and so are the roots of mounts that show more.
    let below = |(root, point): (PathBuf, PathBuf)| Some(point.join(Path::new(group).strip_prefix(root).ok()?));
    mounts.find_map(below).ok_or("the cgroup v2 that is mounted here does not show this process's own group")
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

/// The root of a mounted hierarchy and where it is mounted.
fn mount(line: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let (place, kind) = line.split_at_checked(memmem::find(line, b" - ")?)?;
    let mut fields = place.split(|byte| *byte == b' ').skip(3).map(unescaped);
    let found = (fields.next()?, fields.next()?);
    kind.starts_with(b" - cgroup2 ").then_some(found)
}

/// Spaces and their like are written as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [byte, tail @ ..] = rest {
        let code = tail.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(code) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(code);
            rest = tail.get(3..).unwrap_or_default();
        } else {
            bytes.push(*byte);
            rest = tail;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

    fn found(cgroup: &str, mountinfo: &str) -> Result<String, &'static str> {
        own(cgroup.as_bytes(), mountinfo.as_bytes()).map(|path| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_group_is_below_where_its_hierarchy_is_mounted() {
        let unified = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw";
        assert_eq!(found("0::/system.slice/a.service\n", unified).unwrap(), "/sys/fs/cgroup/system.slice/a.service");
        assert_eq!(found("4:memory:/x\n0::/\n", HYBRID).unwrap(), "/sys/fs/cgroup/unified/");
    }

    #[test]
    fn a_part_of_the_hierarchy_may_be_mounted() {
        let part = "30 23 0:26 /docker/ab /sys/fs/cgroup\\040two ro - cgroup2 cgroup rw";
        assert_eq!(found("0::/docker/ab/sub", part).unwrap(), "/sys/fs/cgroup two/sub");
        assert!(found("0::/other", part).unwrap_err().contains("own group"));
        assert!(found("0::/", "30 23 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup rw").is_err());
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(found("4:memory:/x\n", HYBRID).unwrap_err().contains("kernel"));
        assert!(found("0::/", HYBRID.split_once("41 31").unwrap().0).unwrap_err().contains("mounted"));
    }

    #[test]
    fn only_whole_escapes_are_taken_for_such() {
        assert_eq!(unescaped(br"a\134b\1"), Path::new(r"a\b\1"));
        assert_eq!(unescaped(br"\999"), Path::new(r"\999"));
    }

    #[test]
    fn names_that_are_no_text_are_in_nobodys_way() {
        let mounts = b"\
90 23 8:1 / /media/caf\xe9 rw - vfat /dev/sdb1 rw
30 23 0:26 / /sys/fs/\xff rw - cgroup2 cgroup2 rw
";
        let folder = own(b"0::/\xfe\n", mounts).unwrap();
        assert_eq!(folder.as_os_str().as_bytes(), b"/sys/fs/\xff/\xfe");
    }
}
