//! The group of one tree.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::Placement;
use crate::core::ending::Ending;

/// How long a group may stay busy after everything in it was killed: what is on its way out counts as there.
const REMOVAL: Duration = Duration::from_millis(500);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// A group, by its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    folder: PathBuf,
}

/// What could not be done for a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmade {
    /// There is no such group.
    Group(Errno),
    /// It takes no limit for memory.
    Memory(Errno),
}

/// A group that this process has made, and holds.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) group: Group,
    entrance: CString,
    memory_max: Option<u64>,
    /// As long as this is held nobody takes the group for left over.
    _home: Flock<File>,
}

impl Held {
    /// Makes the group.
    pub(crate) fn make(placement: &Placement) -> Result<Self, Unmade> {
        let wrong = |error: io::Error| Unmade::Group(errno(&error));
        let parent = placement.folder.parent().unwrap_or_else(|| Path::new("/"));
        let home = hold(parent, FlockArg::LockSharedNonblock).map_err(wrong)?;
        fs::create_dir(&placement.folder).map_err(wrong)?;
        let group = Group::at(placement.folder.clone());
        let entrance = CString::new(group.folder.join("cgroup.procs").into_os_string().into_vec());
        let entrance = entrance.map_err(|_| Unmade::Group(Errno::EINVAL))?;
        let held = Self { group, entrance, memory_max: placement.memory_max, _home: home };
        match held.limit_memory() {
            Ok(()) => Ok(held),
            Err(error) => {
                held.group.remove();
                Err(Unmade::Memory(errno(&error)))
            }
        }
    }

    /// A server that has lost one of its processes to the limit is no server any more, so the kernel is told to end all of them.
    fn limit_memory(&self) -> io::Result<()> {
        let Some(bytes) = self.memory_max else { return Ok(()) };
        self.group.write("memory.oom.group", "1")?;
        self.group.write("memory.max", &bytes.to_string())
    }

    /// The file into which a process writes `0` to enter the group.
    pub(crate) fn entrance(&self) -> &CStr {
        &self.entrance
    }

    /// The group itself, for a process that is to be born in it.
    pub(crate) fn folder(&self) -> io::Result<File> {
        File::open(&self.group.folder)
    }

    /// Removes the group, and with it the home where its owner has gone. Gives who cannot be ended.
    pub(crate) fn remove(self, orphaned: bool) -> Vec<u32> {
        let survivors = self.group.remove();
        if let Some(home) = self.group.folder.parent().filter(|_| orphaned) {
            // While there are other groups in it, their guards will do that.
            _ = fs::remove_dir(home);
        }
        survivors
    }

    /// Whether the kernel has ended processes for want of memory: for the limit, if that was reached, or for the machine. Known
    /// where there is a limit.
    pub(crate) fn out_of_memory(&self) -> Option<Ending> {
        let events = fs::read_to_string(self.group.folder.join("memory.events")).unwrap_or_default();
        let limit = self.memory_max.filter(|_| counted(&events, "oom") > 0);
        (counted(&events, "oom_kill") > 0).then_some(Ending::OutOfMemory { limit })
    }
}

impl Group {
    /// The group in this folder.
    pub(crate) const fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Kills everything in it, whoever it belongs to (`cgroup.kill`, Linux 5.14).
    pub(crate) fn kill(&self) {
        // A group that has gone has nothing to kill.
        _ = self.write("cgroup.kill", "1");
    }

    /// The processes in it and below it.
    pub(crate) fn members(&self) -> Vec<u32> {
        let mut members = numbers(&self.folder);
        for below in subgroups(&self.folder) {
            members.extend(Self::at(below).members());
        }
        members
    }

    /// Removes it if nobody is in it. Whether it is gone.
    pub(crate) fn remove_empty(&self) -> bool {
        remove_all(&self.folder)
    }

    /// Kills what is in it, and removes it with all that is below. Gives who cannot be ended, after half a second at most.
    pub(crate) fn remove(&self) -> Vec<u32> {
        let until = Instant::now() + REMOVAL;
        while !self.remove_empty() {
            if until <= Instant::now() {
                return self.members();
            }
            self.kill();
            std::thread::sleep(PAUSE);
        }
        Vec::new()
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.folder.join(file), text)
    }
}

/// Locks the folder of a home until the file is closed, by whatever end of this process.
pub(super) fn hold(folder: &Path, how: FlockArg) -> io::Result<Flock<File>> {
    Flock::lock(File::open(folder)?, how).map_err(|(_, errno)| errno.into())
}

/// Whether nothing is left of a group.
pub(super) fn remove_all(folder: &Path) -> bool {
    for below in subgroups(folder) {
        remove_all(&below);
    }
    match fs::remove_dir(folder) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The groups below one.
pub(super) fn subgroups(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// The processes that are in a group itself.
pub(super) fn numbers(folder: &Path) -> Vec<u32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// A number in a file of `KEY NUMBER` lines; 0 where it is not there.
fn counted(text: &str, key: &str) -> u64 {
    let value = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value).unwrap_or(0)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(Errno::EIO as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of files stands in for a home: the kernel's part is what it does not play.
    fn placement(home: &Path) -> Placement {
        Placement { folder: home.join("1"), memory_max: None }
    }

    #[test]
    fn a_group_is_made_once_and_removed_with_what_is_below() {
        let home = tempfile::tempdir().unwrap();
        let held = Held::make(&placement(home.path())).unwrap();
        assert_eq!(Held::make(&placement(home.path())).unwrap_err(), Unmade::Group(Errno::EEXIST));
        assert_eq!(held.entrance().to_str().unwrap(), home.path().join("1/cgroup.procs").to_str().unwrap());
        fs::create_dir_all(home.path().join("1/a/b")).unwrap();
        assert_eq!(held.group.remove(), [0; 0]);
        assert_eq!(subgroups(home.path()), Vec::<PathBuf>::new());
        assert_eq!(held.group.remove(), [0; 0], "one that has gone");
    }

    #[test]
    fn a_home_is_held_as_long_as_a_group_in_it() {
        let home = tempfile::tempdir().unwrap();
        let exclusive = || hold(home.path(), FlockArg::LockExclusiveNonblock);
        let held = Held::make(&placement(home.path())).unwrap();
        assert!(exclusive().is_err());
        drop(held);
        exclusive().unwrap();
    }

    #[test]
    fn a_place_without_a_controller_takes_no_limit_and_leaves_no_group() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("none/1");
        let missing = Held::make(&Placement { folder, memory_max: None });
        assert_eq!(missing.unwrap_err(), Unmade::Group(Errno::ENOENT));
    }

    #[test]
    fn members_are_those_of_all_groups_below() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        fs::write(folder.path().join("cgroup.procs"), "7\n12\n").unwrap();
        fs::write(folder.path().join("below/cgroup.procs"), "3\n").unwrap();
        assert_eq!(Group::at(folder.path().to_owned()).members(), [7, 12, 3]);
    }

    #[test]
    fn only_a_limit_that_was_set_and_hit_is_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let held = |memory_max| Held {
            group: Group::at(folder.path().to_owned()),
            entrance: CString::default(),
            memory_max,
            _home: hold(folder.path(), FlockArg::LockSharedNonblock).unwrap(),
        };
        let limited = held(Some(512 << 20));
        limited.limit_memory().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("memory.max")).unwrap(), "536870912");
        assert_eq!(fs::read_to_string(folder.path().join("memory.oom.group")).unwrap(), "1");
        assert_eq!(limited.out_of_memory(), None);
        fs::write(folder.path().join("memory.events"), "low 0\noom 3\noom_kill 0\noom_group_kill 0\n").unwrap();
        assert_eq!(limited.out_of_memory(), None);
        fs::write(folder.path().join("memory.events"), "low 0\noom 3\noom_kill 2\noom_group_kill 1\n").unwrap();
        assert_eq!(limited.out_of_memory(), Some(Ending::OutOfMemory { limit: Some(512 << 20) }));
        fs::write(folder.path().join("memory.events"), "low 0\noom 0\noom_kill 1\noom_group_kill 0\n").unwrap();
        assert_eq!(limited.out_of_memory(), Some(Ending::OutOfMemory { limit: None }), "the machine's own");
    }
}
