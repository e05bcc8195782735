//! What a watchdog has at a moment.

use std::fs;

/// Memory that is no file's, descriptors, threads and processes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    /// KiB of the engine.
    pub(crate) memory: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    /// Of the whole tree, the engine's among them.
    pub(crate) processes: u64,
    /// Those of them that have ended and were not reaped.
    pub(crate) zombies: u64,
}

impl Sample {
    /// `None` once the process has ended.
    pub(crate) fn of(engine: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{engine}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let tree = tree(engine);
        let count = |count: usize| u64::try_from(count).ok();
        Some(Self {
            memory: field("RssAnon:")?,
            descriptors: count(fs::read_dir(format!("/proc/{engine}/fd")).ok()?.count())?,
            threads: field("Threads:")?,
            processes: count(tree.len())?,
            zombies: count(tree.iter().filter(|pid| is_zombie(**pid)).count())?,
        })
    }
}

/// A process and all below it.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut tree = vec![root];
    let mut at = 0;
    while let Some(pid) = tree.get(at).copied() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            tree.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    tree
}

fn is_zombie(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}
