//! A program that cannot be started, in words.

use nix::errno::Errno;
use probe_api::options::Size;

use super::Step;
use crate::config::Bounds;
use crate::exit::remedy;

/// Why a program cannot run, and what helps.
pub(crate) fn describe(program: &str, cwd: &str, bounds: &Bounds, errno: i32, step: Step) -> String {
    let error = Errno::from_raw(errno);
    let why = error.desc();
    let hint = if program.trim().contains(char::is_whitespace) {
        "; it is not split at spaces: write each argument as a word of its own, in a file as an item of a list"
    } else {
        ""
    };
    match (step, error) {
        (Step::Exec, Errno::ENOENT) if program.contains('/') => {
            format!(
                "cannot execute `{program}`: there is no such file (PATH is not searched for a name with a slash){hint}"
            )
        }
        (Step::Exec, Errno::ENOENT) => {
            format!("cannot find `{program}` along PATH: install it, or give its whole path{hint}")
        }
        (Step::Exec, Errno::EACCES) => {
            format!("cannot execute `{program}`: permission denied; is it an executable file?")
        }
        (Step::Exec, _) => format!("cannot execute `{program}`: {why}"),
        (Step::Chdir, _) => format!("cannot enter the working directory `{cwd}` of `{program}`: {why}"),
        (Step::Guard | Step::Fork, Errno::EAGAIN) => format!(
            "cannot start a process for `{program}`: {why}; is the limit for processes reached (`ulimit -u`, `TasksMax=`, pids.max)?"
        ),
        (Step::Guard | Step::Fork, _) => {
            format!("cannot start a process for `{program}`: {why}{}", remedy(errno).unwrap_or_default())
        }
        (Step::Cgroup, _) => {
            format!("cannot give `{program}` a cgroup of its own: {why}; `isolation: guard` needs none")
        }
        (Step::MemoryMax, _) => format!(
            "the kernel refuses `limits.memory_max: {}` for `{program}`: {why}; change or remove that key",
            bounds.memory_max.map_or_else(|| "unlimited".to_owned(), |bytes| Size(bytes).to_string())
        ),
        (Step::OpenFiles, Errno::EPERM) => format!(
            "the kernel refuses `limits.open_files: {}` for `{program}`: that is above the watchdog's own hard limit (`ulimit -Hn`); \
             write less, or start the watchdog with more (`LimitNOFILE=` in its unit)",
            bounds.open_files.unwrap_or_default()
        ),
        (Step::OpenFiles, _) => format!(
            "the kernel refuses `limits.open_files: {}` for `{program}`: {why}; change or remove that key",
            bounds.open_files.unwrap_or_default()
        ),
        (Step::Core, _) => format!(
            "the kernel refuses `limits.core: {}` for `{program}`: {why}; write no more than the watchdog's own hard limit \
             (`ulimit -Hc`)",
            bounds.core.map_or_else(|| "unlimited".to_owned(), |bytes| Size(bytes).to_string())
        ),
        (Step::OomScoreAdj, Errno::ENOENT) => format!(
            "`oom_score_adj: {}` cannot be set for `{program}`: /proc is not mounted; mount it, or remove that key",
            bounds.oom_score_adj.unwrap_or_default()
        ),
        (Step::OomScoreAdj, _) => format!(
            "the kernel refuses `oom_score_adj: {}` for `{program}`: {why}; only root may make a process less likely to be killed \
             than the watchdog is",
            bounds.oom_score_adj.unwrap_or_default()
        ),
    }
}
