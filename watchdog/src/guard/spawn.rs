//! Making the child: everything is prepared before `fork`, and between `fork` and `exec` nothing allocates, locks or panics.

use std::ffi::{CStr, CString};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null;

use nix::libc;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{ForkResult, Pid};

use super::control::Stdio;
use super::message::{Launch, Limits, Step};
use super::signals;
use crate::cgroup::group::{Held, Unmade};

mod child;
mod fork;
pub(super) mod search;

use fork::fork_into;

/// A child that has been forked.
pub(super) struct Spawned {
    /// Its number.
    pub pid: Pid,
    /// Where it says why it could not execute the program. The end closes with `exec`.
    pub status: ExecStatus,
}

/// A start that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    /// What failed.
    pub step: Step,
    /// The system's error number.
    pub errno: i32,
}

impl Failure {
    /// Of a cgroup that could not be made.
    pub(super) const fn of_group(unmade: Unmade) -> Self {
        match unmade {
            Unmade::Group(errno) => Self { step: Step::Cgroup, errno: errno as i32 },
            Unmade::Memory(errno) => Self { step: Step::MemoryMax, errno: errno as i32 },
        }
    }

    fn of_fork(error: io::Error) -> Self {
        Self { step: Step::Fork, errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
    }
}

/// The reading end of the exec-status pipe. Without it an exit code 127 of the program could not be told from a program
/// that is not there.
pub(super) struct ExecStatus(PipeReader);

impl ExecStatus {
    /// For waiting until [`outcome`](Self::outcome) has something to read.
    pub(super) const fn pipe(&self) -> &PipeReader {
        &self.0
    }

    /// Waits for `exec`. The program runs when the pipe ends without a word.
    pub(super) fn outcome(mut self) -> Result<(), Failure> {
        let mut message = [0; child::STATUS_LENGTH];
        match self.0.read_exact(&mut message) {
            Ok(()) => Err(child::decode(message)),
            // Also a child that was killed before `exec`: how it ended is reported as an exit.
            Err(_) => Ok(()),
        }
    }
}

/// Forks and executes, in a cgroup if there is one. The child's ends of its pipes are closed here when this returns.
pub(super) fn spawn(launch: &Launch, stdio: Stdio, fence: Option<&Held>) -> Result<Spawned, Failure> {
    let Limits { open_files, core, oom_score_adj } = launch.limits;
    let oom_score_adj = oom_score_adj.and_then(|number| CString::new(number.to_string()).ok());
    let (status, status_writer) = io::pipe().map_err(Failure::of_fork)?;
    let candidates = search::candidates(launch);
    let mut plan = child::Plan {
        candidates: pointers(&candidates),
        argv: pointers(&launch.argv),
        env: pointers(&launch.env),
        cwd: launch.cwd.as_deref().map_or(null(), CStr::as_ptr),
        stdio: [&stdio.stdin, &stdio.stdout, &stdio.stderr].map(AsRawFd::as_raw_fd),
        status: status_writer.as_raw_fd(),
        guard: nix::unistd::getpid().as_raw(),
        highest_signal: signals::highest(),
        highest_descriptor: highest_descriptor(),
        entrance: fence.map_or(null(), |fence| fence.entrance().as_ptr()),
        // The hard one too: programs raise the other to it by themselves.
        open_files: open_files.map(|most| libc::rlimit { rlim_cur: most, rlim_max: most }),
        core: core_limit(core),
        oom_score_adj: oom_score_adj.as_deref().map_or(null(), CStr::as_ptr),
    };
    signals::block_all().map_err(|errno| Failure::of_fork(errno.into()))?;
    let group = fence.and_then(|fence| fence.folder().ok());
    // SAFETY: the guard has one thread, and the child does nothing but `become_program`, which is async-signal-safe.
    let (forked, is_inside) = unsafe { fork_into(group.as_ref()) };
    if is_inside {
        plan.entrance = null();
    }
    let forked = match forked {
        // SAFETY: this is the child of a fork, and the strings that the plan points to are alive in it.
        Ok(ForkResult::Child) => unsafe { child::become_program(&plan) },
        Ok(ForkResult::Parent { child }) => Ok(Spawned { pid: child, status: ExecStatus(status) }),
        Err(errno) => Err(Failure::of_fork(errno.into())),
    };
    _ = signals::unblock_all();
    forked
}

/// A null-terminated array, as `execve` wants it. It points into `strings`.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([null()]).collect()
}

/// The hard limit stays, unless it would be in the way.
fn core_limit(bytes: Option<u64>) -> libc::rlimit {
    let soft = bytes.unwrap_or(libc::RLIM_INFINITY);
    let hard = getrlimit(Resource::RLIMIT_CORE).map_or(0, |(_, hard)| hard);
    libc::rlimit { rlim_cur: soft, rlim_max: hard.max(soft) }
}

/// The end of the loop that closes descriptors one by one where the kernel has no call for it.
fn highest_descriptor() -> RawFd {
    const MOST: u64 = 65_536;
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(MOST, |(soft, _)| soft);
    RawFd::try_from(soft.min(MOST)).unwrap_or(RawFd::MAX)
}

/// Closes what a guard or an init inherited above descriptor 2: files of whoever started the program, which they would hold
/// open for as long as they live.
pub(crate) fn close_inherited() {
    // SAFETY: this is the start of the process; nothing in it uses a descriptor yet that it would miss. Where the system has
    // no such call the descriptors stay.
    _ = unsafe { child::close_range(3) };
}
