//! Linux: everything is read from /proc.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use nix::unistd::{Pid, getpid};

#[cfg(test)]
mod tests;

/// What /proc shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The processes that this one can see.
    Ours,
    /// None.
    Nothing,
    /// Those of another PID namespace: this one was entered without a /proc of its own being mounted. Each number there is another
    /// process here, or none, so that whoever signalled by it would hit a stranger.
    Others,
}

/// What /proc shows. It is looked at once.
pub(super) fn shown() -> Shown {
    static SHOWN: OnceLock<Shown> = OnceLock::new();
    *SHOWN.get_or_init(|| match fs::read_link("/proc/self") {
        Ok(number) if number == Path::new(&getpid().to_string()) => Shown::Ours,
        Ok(_) => Shown::Others,
        Err(_) => Shown::Nothing,
    })
}

/// Whether what /proc says is about the processes that are meant.
fn can_be_asked() -> io::Result<()> {
    if shown() == Shown::Ours { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// A process that descends from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// The process.
    pub pid: Pid,
    /// Its parent at the time of the listing.
    pub parent: Pid,
}

/// The fields of `/proc/PID/stat` that are used here (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R`, `S`, `D`, `Z`, `T` …
    pub state: u8,
    /// The parent.
    pub parent: Pid,
    /// The process group.
    pub group: Pid,
    /// CPU time of its threads, in clock ticks.
    pub own_ticks: u64,
    /// CPU time of the children that it has reaped, in clock ticks.
    pub reaped_ticks: u64,
    /// When it started, in clock ticks after boot: with the pid, an identity that is never used twice.
    pub start: u64,
    /// Resident memory, in pages.
    pub resident_pages: u64,
}

impl Stat {
    /// Whether it has ended and only waits to be reaped.
    pub(crate) const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// Reads one process. `NotFound` is a process that has gone, `Unsupported` that nothing is known of any.
pub(crate) fn stat(pid: Pid) -> io::Result<Stat> {
    can_be_asked()?;
    let text = fs::read(format!("/proc/{pid}/stat"))?;
    parse_stat(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "unexpected form of /proc/PID/stat"))
}

/// The command name in the second field may hold spaces and parentheses, so the fields count from the last `)`.
fn parse_stat(text: &[u8]) -> Option<Stat> {
    let after_name = text.iter().rposition(|&byte| byte == b')')? + 1;
    let rest = std::str::from_utf8(text.get(after_name..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // `fields[0]` is field 3 of the manual page.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let pid = |field: usize| fields.get(field - 3)?.parse::<i32>().ok().map(Pid::from_raw);
    // The times of children are signed in the kernel's format string; a negative one counts as none.
    let ticks = |field: usize| Some(number(field).unwrap_or(0));
    Some(Stat {
        state: *fields.first()?.as_bytes().first()?,
        parent: pid(4)?,
        group: pid(5)?,
        own_ticks: number(14)?.saturating_add(number(15)?),
        reaped_ticks: ticks(16)?.saturating_add(ticks(17)?),
        start: number(22)?,
        resident_pages: number(24).unwrap_or(0),
    })
}

/// The start time of a process, as [`Stat::start`]; `None` where it has gone.
pub(crate) fn start_time(pid: Pid) -> Option<u64> {
    stat(pid).ok().map(|stat| stat.start)
}

/// Everything that descends from `root`, unreaped ends included, parents before their children.
///
/// The listing is a snapshot of something that moves: a process that is being re-parented may be missed or have
/// another parent by now. An error means that the children of `root` itself could not be read.
pub(crate) fn descendants(root: Pid) -> io::Result<Vec<Member>> {
    static CHILDREN_FILES: OnceLock<bool> = OnceLock::new();
    can_be_asked()?;
    // Kernels without CONFIG_PROC_CHILDREN have no such file.
    if *CHILDREN_FILES.get_or_init(|| Path::new("/proc/thread-self/children").exists()) {
        walk_children_files(root)
    } else {
        scan_parents(root)
    }
}

fn walk_children_files(root: Pid) -> io::Result<Vec<Member>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    append_children(root, &mut seen, &mut found)?;
    let mut next = 0;
    while let Some(&Member { pid, .. }) = found.get(next) {
        // One that went away meanwhile has no children any more: they are its parent's, or the subreaper's, by now.
        _ = append_children(pid, &mut seen, &mut found);
        next += 1;
    }
    Ok(found)
}

/// Children belong to the thread that forked them, so every thread is asked.
fn append_children(parent: Pid, seen: &mut BTreeSet<Pid>, found: &mut Vec<Member>) -> io::Result<()> {
    for thread in fs::read_dir(format!("/proc/{parent}/task"))? {
        let text = match fs::read_to_string(thread?.path().join("children")) {
            Ok(text) => text,
            // The thread has ended; the others have its children.
            Err(error) if is_gone(&error) => continue,
            Err(error) => return Err(error),
        };
        let pids = text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok().map(Pid::from_raw));
        found.extend(pids.filter(|&pid| seen.insert(pid)).map(|pid| Member { pid, parent }));
    }
    Ok(())
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(nix::libc::ESRCH)
}

fn scan_parents(root: Pid) -> io::Result<Vec<Member>> {
    let mut by_parent: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (pid, stat) in all()? {
        by_parent.entry(stat.parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for pid in by_parent.remove(&parent).unwrap_or_default() {
            found.push(Member { pid, parent });
            parents.push(pid);
        }
    }
    Ok(found)
}

/// The living processes of a process group.
pub(crate) fn group_members(group: Pid) -> io::Result<Vec<Pid>> {
    let members = all()?.filter(|(_, stat)| stat.group == group && !stat.is_dead());
    Ok(members.map(|(pid, _)| pid).collect())
}

/// Every process that can be seen.
fn all() -> io::Result<impl Iterator<Item = (Pid, Stat)>> {
    can_be_asked()?;
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| {
        let pid = entry.ok()?.file_name().to_str()?.parse().ok().map(Pid::from_raw)?;
        Some((pid, stat(pid).ok()?))
    }))
}
