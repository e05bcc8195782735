//! The part of the hierarchy that is this process's own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::{AccessFlags, Pid, access, getpid, getppid};

use super::group::{self, Group, hold};
use super::{Placement, mark, place};
use crate::os;

/// What the folders of homes begin with.
const PREFIX: &str = "mcp-watchdog-";

/// The group for this process itself.
const SELF: &str = "self";

/// The way out of any shortage.
const OR_GUARD: &str = "or take `isolation: guard`, which needs none";

/// Where the groups of this process's trees are made.
#[derive(Debug)]
pub(crate) struct Home {
    folder: PathBuf,
    /// What was handed over to us to be divided.
    delegated: PathBuf,
    next: AtomicU64,
    memory: OnceLock<Result<(), String>>,
    _lock: Flock<File>,
}

static HOME: OnceLock<Result<Home, String>> = OnceLock::new();

impl Home {
    /// The home of this process, made when it is first asked for.
    ///
    /// # Errors
    /// Why there is none, and what would help.
    pub(crate) fn get() -> Result<&'static Self, &'static str> {
        let home = HOME.get_or_init(|| {
            let read = |file| fs::read(format!("/proc/self/{file}"));
            let text = read("cgroup").and_then(|group| Ok((group, read("mountinfo")?)));
            let (group, mounts) = text.map_err(|error| format!("/proc does not tell of cgroups: {error}"))?;
            let own = place::own(&group, &mounts)
                .map_err(|what| format!("{what}; boot with the unified hierarchy, {OR_GUARD}"))?;
            Self::make(&divisible(own))
        });
        home.as_ref().map_err(String::as_str)
    }

    /// Removes the home of this process, if it has made one, with the groups that a killed guard has left empty. What is left
    /// because a tree is still on its way out is removed by its guard.
    pub(crate) fn leave() {
        if let Some(Ok(home)) = HOME.get() {
            home.remove();
        }
    }

    fn remove(&self) {
        group::remove_all(&self.folder);
    }

    /// Makes a home in a folder that was handed over to us, and clears away those whose owners are dead.
    fn make(delegated: &Path) -> Result<Self, String> {
        // Whoever moves a process needs this of the group that both places are in.
        access(&delegated.join("cgroup.procs"), AccessFlags::W_OK).map_err(|errno| refused(delegated, errno.into()))?;
        clear_away(delegated);
        // Until it is locked it looks left over to others, who then remove it.
        for _ in 0..8 {
            let name = format!("{PREFIX}{}-{:08x}", std::process::id(), fastrand::u32(..));
            let folder = delegated.join(name);
            fs::create_dir(&folder).map_err(|error| refused(delegated, error))?;
            let Ok(lock) = hold(&folder, FlockArg::LockSharedNonblock) else { continue };
            if !folder.exists() {
                continue;
            }
            if !folder.join("cgroup.kill").exists() {
                _ = fs::remove_dir(&folder);
                return Err(format!("cgroups cannot be killed as a whole before Linux 5.14: {OR_GUARD}"));
            }
            let (delegated, next) = (delegated.to_owned(), AtomicU64::new(1));
            return Ok(Self { folder, delegated, next, memory: OnceLock::new(), _lock: lock });
        }
        Err(format!("groups in {} vanish as soon as they are made; {OR_GUARD}", delegated.display()))
    }

    /// A place for one more tree.
    pub(crate) fn place(&self, memory_max: Option<u64>) -> Placement {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Placement { folder: self.folder.join(number.to_string()), memory_max }
    }

    /// Sees to it that the groups of trees can be limited in memory.
    ///
    /// # Errors
    /// Why they cannot, and what would help.
    pub(crate) fn limit_memory(&self) -> Result<(), &str> {
        self.memory.get_or_init(|| self.enable("memory")).as_ref().map(|&()| ()).map_err(String::as_str)
    }

    /// Enables a controller for the groups of trees. A group may hand on controllers or hold processes, not both, so this process
    /// moves into a group of its own first (cgroup-v2, "No Internal Process Constraint").
    fn enable(&self, controller: &str) -> Result<(), String> {
        let group = self.delegated.display();
        if !lists(&self.delegated, "cgroup.controllers", controller) {
            return Err(format!(
                "the {controller} controller is not handed down to {group}: say `Delegate=yes` in the unit, or boot with \
                 the unified hierarchy"
            ));
        }
        if !lists(&self.delegated, "cgroup.subtree_control", controller) {
            self.step_aside();
            if let Err(error) = hand_on(&self.delegated, controller) {
                let others: Vec<_> = group::numbers(&self.delegated).iter().map(u32::to_string).collect();
                self.step_back();
                return Err(format!(
                    "the {controller} controller cannot be used in {group}: {error}; other processes are in it ({}): say \
                     `DelegateSubgroup=` in the unit, or run the watchdog in a group of its own",
                    others.join(", ")
                ));
            }
        }
        hand_on(&self.folder, controller).map_err(|error| {
            format!("the {controller} controller cannot be used in {}: {error}", self.folder.display())
        })
    }

    /// Moves this process, everything below it, and the init above it out of the group that is to be divided.
    fn step_aside(&self) {
        let aside = self.folder.join(SELF);
        if fs::create_dir(&aside).is_err() {
            return;
        }
        let mut moved = BTreeSet::new();
        // Who was forked meanwhile by one that had not moved yet is met by another look.
        loop {
            let ours = ours();
            let here = group::numbers(&self.delegated).into_iter().filter(|pid| ours.contains(pid));
            let before = moved.len();
            moved.extend(here.filter(|&pid| enter(&aside, pid).is_ok()));
            if moved.len() == before {
                return;
            }
        }
    }

    fn step_back(&self) {
        let aside = self.folder.join(SELF);
        group::numbers(&aside).into_iter().for_each(|pid| _ = enter(&self.delegated, pid));
        _ = fs::remove_dir(aside);
    }
}

/// A group that holds us and may be divided: our own, or the one above it if that was made to be divided and has nobody in it.
fn divisible(own: PathBuf) -> PathBuf {
    let above = own.parent().filter(|above| mark::is_delegated(above) && group::numbers(above).is_empty());
    above.map(Path::to_owned).unwrap_or(own)
}

fn enter(group: &Path, pid: u32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

fn hand_on(group: &Path, controller: &str) -> io::Result<()> {
    fs::write(group.join("cgroup.subtree_control"), format!("+{controller}"))
}

fn lists(group: &Path, file: &str, word: &str) -> bool {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    text.split_ascii_whitespace().any(|listed| listed == word)
}

/// Who belongs to this watchdog: itself, what descends from it (guards and servers), and its init, if that is what its parent is.
fn ours() -> BTreeSet<u32> {
    let own = getpid();
    let program = |pid: Pid| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let init = Some(getppid()).filter(|&parent| program(parent) == program(own));
    let below = os::descendants(own).unwrap_or_default().into_iter().map(|member| member.pid);
    below.chain([own]).chain(init).map(|pid| pid.as_raw().unsigned_abs()).collect()
}

/// Kills and removes what watchdogs have left that were killed together with their guards. The removal waits for the dying, so it
/// does that on a thread of its own.
fn clear_away(delegated: &Path) {
    let named = |folder: &PathBuf| folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    for folder in group::subgroups(delegated).into_iter().filter(named) {
        let Ok(lock) = hold(&folder, FlockArg::LockExclusiveNonblock) else { continue };
        let left_over = Group::at(folder);
        left_over.kill();
        let removal = std::thread::Builder::new().spawn(move || {
            left_over.remove();
            drop(lock);
        });
        // One that stays is found again by the next start.
        drop(removal);
    }
}

/// Why no group can be made in a folder.
fn refused(delegated: &Path, error: io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => "say `Delegate=yes` in the unit",
        io::ErrorKind::ReadOnlyFilesystem => "give the container a writable cgroup of its own",
        _ => "see whether its limits for groups are reached",
    };
    format!("no cgroup can be made in {}: {error}; {remedy}, {OR_GUARD}", delegated.display())
}

#[cfg(test)]
mod tests;
