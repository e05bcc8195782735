//! How a server's processes are fenced in.

/// What holds for the processes of a server from before its program runs: `isolation`, `oom_score_adj`, and those of `limits` that
/// the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// What holds the tree together.
    pub isolation: Isolation,
    /// The most memory of the whole tree, in bytes: above it, the kernel ends the tree. Takes a cgroup.
    pub memory_max: Option<u64>,
    /// The most open files of each process, as RLIMIT_NOFILE; as inherited when `None`.
    pub open_files: Option<u64>,
    /// The largest core file of each process, in bytes, as RLIMIT_CORE; `None` is unlimited.
    pub core: Option<u64>,
    /// How readily the kernel picks these processes when the machine runs out of memory; as inherited when `None`.
    pub oom_score_adj: Option<i32>,
}

/// Those that hold when nothing is written, and for programs of our own choice. A core file would be left in a working directory
/// that somebody else chose.
impl Default for Bounds {
    fn default() -> Self {
        Self { isolation: Isolation::Guard, memory_max: None, open_files: None, core: Some(0), oom_score_adj: None }
    }
}

/// `isolation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A guard process holds the tree.
    Guard,
    /// And a cgroup, where one can be made.
    Cgroup,
}

impl Isolation {
    /// Its word in the configuration and in the status.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Cgroup => "cgroup",
        }
    }
}
