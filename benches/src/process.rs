//! What the system knows of processes.

use std::fs;
use std::io;
use std::time::Duration;

use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::target::is_echo;

/// A number as the standard library gives it, as a process's number.
pub(crate) fn pid(number: u32) -> Pid {
    Pid::from_raw(number.try_into().unwrap_or(i32::MAX))
}

/// The processes below one, which is the first of them.
pub(crate) struct Tree {
    /// What stands between the client and the server.
    pub(crate) between: Vec<Pid>,
    /// The server.
    pub(crate) server: Option<Pid>,
}

/// What some processes use of memory, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// Resident; a page that several of them share counts for each.
    pub(crate) resident: u64,
    /// Resident, and no page of a file: what the kernel cannot take back.
    pub(crate) own: u64,
    /// The most that was ever resident.
    pub(crate) peak: u64,
}

impl Tree {
    /// Looks at the processes below this one, and at it.
    ///
    /// # Errors
    /// Where it is gone.
    pub(crate) fn of(root: Pid) -> io::Result<Self> {
        let mut tree = Self { between: Vec::new(), server: None };
        let mut left = vec![root];
        while let Some(pid) = left.pop() {
            let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
                Ok(threads) => threads,
                Err(error) if pid == root => return Err(error),
                // It has ended meanwhile.
                Err(_) => continue,
            };
            for thread in threads.flatten() {
                let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                left.extend(children.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw));
            }
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if is_echo(&command) { tree.server = Some(pid) } else { tree.between.push(pid) }
        }
        Ok(tree)
    }

    /// All of them.
    pub(crate) fn processes(self) -> Vec<Pid> {
        self.between.into_iter().chain(self.server).collect()
    }

    /// The CPU time that what stands between has used.
    ///
    /// # Errors
    /// Where one of them is gone.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        self.between.iter().map(|pid| Ok(Duration::from(clock_getcpuclockid(*pid)?.now()?))).sum()
    }

    /// The memory of what stands between.
    ///
    /// # Errors
    /// Where one of them is gone.
    pub(crate) fn memory(&self) -> io::Result<Memory> {
        let mut all = Memory::default();
        for pid in &self.between {
            let pages = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
            all.resident += kilobytes(&pages, "Rss:");
            all.own += kilobytes(&pages, "Anonymous:");
            all.peak += kilobytes(&fs::read_to_string(format!("/proc/{pid}/status"))?, "VmHWM:");
        }
        Ok(all)
    }

    /// How often what stands between has waited and been woken.
    ///
    /// # Errors
    /// Where one of them is gone.
    pub(crate) fn wakeups(&self) -> io::Result<u64> {
        let mut all = 0;
        for pid in &self.between {
            for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let status = fs::read_to_string(thread.path().join("status"))?;
                all += field(&status, "voluntary_ctxt_switches:");
            }
        }
        Ok(all)
    }
}

/// The number behind a name at the beginning of a line.
fn field(text: &str, name: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn kilobytes(text: &str, name: &str) -> u64 {
    field(text, name) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_with_its_memory_and_its_time() {
        let tree = Tree::of(Pid::this()).unwrap();
        assert_eq!(tree.between.first(), Some(&Pid::this()));
        assert_eq!(tree.server, None);
        // What other tests have started may end at any time.
        let tree = Tree { between: vec![Pid::this()], ..tree };
        let memory = tree.memory().unwrap();
        assert!(memory.own > 0 && memory.own <= memory.resident && memory.resident <= memory.peak, "{memory:?}");
        assert!(tree.cpu().unwrap() > Duration::ZERO);
        assert!(tree.wakeups().is_ok());
    }
}
