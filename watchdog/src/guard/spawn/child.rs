//! The child between `fork` and `exec`. Only async-signal-safe calls, and nothing that allocates: everything comes with the plan.

use nix::errno::Errno;
use nix::libc;

use super::super::message::Step;
use super::super::signals;
use super::Failure;

/// What the child needs. The pointers are null-terminated arrays of strings that outlive the plan.
pub(super) struct Plan {
    pub candidates: Vec<*const libc::c_char>,
    pub argv: Vec<*const libc::c_char>,
    pub env: Vec<*const libc::c_char>,
    /// Null is the guard's own.
    pub cwd: *const libc::c_char,
    /// What becomes 0, 1 and 2. All are above 2, since the guard has those open itself.
    pub stdio: [libc::c_int; 3],
    /// The writing end of the exec-status pipe.
    pub status: libc::c_int,
    /// The guard.
    pub guard: libc::pid_t,
    pub highest_signal: i32,
    pub highest_descriptor: libc::c_int,
    /// The file by which the cgroup is entered. Null is the guard's own cgroup.
    pub entrance: *const libc::c_char,
    pub open_files: Option<libc::rlimit>,
    pub core: libc::rlimit,
    /// What is written to `/proc/self/oom_score_adj`. Null leaves it.
    pub oom_score_adj: *const libc::c_char,
}

/// The length of what goes over the exec-status pipe: a step and an error number.
pub(super) const STATUS_LENGTH: usize = 5;

/// Where the exec-status pipe is while the descriptors above it are closed.
const STATUS: libc::c_int = 3;

/// The other side of the exec-status pipe.
pub(super) fn decode([step, errno @ ..]: [u8; STATUS_LENGTH]) -> Failure {
    Failure { step: Step::from_number(step).unwrap_or(Step::Fork), errno: i32::from_ne_bytes(errno) }
}

/// Prepares this process and executes the program. Never returns.
///
/// # Safety
/// Only in the child of a fork of a single-threaded process, and the strings that the plan points to are alive.
pub(super) unsafe fn become_program(plan: &Plan) -> ! {
    // SAFETY: the caller's promise.
    let failure = match unsafe { prepare(plan) } {
        // SAFETY: as above.
        Ok(()) => unsafe { execute(plan) },
        Err(failure) => failure,
    };
    let [a, b, c, d] = failure.errno.to_ne_bytes();
    let message: [u8; STATUS_LENGTH] = [failure.step.number(), a, b, c, d];
    // SAFETY: write(2) reads from a live array; `_exit` runs nothing of ours. The descriptor is the pipe from the moment it
    // was moved, and before that a failure is reported through the number that it came with.
    unsafe {
        if libc::write(STATUS, message.as_ptr().cast(), STATUS_LENGTH) < 0 {
            libc::write(plan.status, message.as_ptr().cast(), STATUS_LENGTH);
        }
        libc::_exit(127)
    }
}

fn checked(step: Step, result: libc::c_int) -> Result<(), Failure> {
    if result >= 0 { Ok(()) } else { Err(Failure { step, errno: Errno::last_raw() }) }
}

/// # Safety
/// As for [`become_program`].
unsafe fn prepare(plan: &Plan) -> Result<(), Failure> {
    // SAFETY: these calls take integers and pointers to what lives in the plan, and all are async-signal-safe.
    unsafe {
        // First the descriptors, so that a failure of anything after it can be told.
        for (target, &source) in (0..).zip(&plan.stdio) {
            checked(Step::Fork, libc::dup2(source, target))?;
        }
        if plan.status != STATUS {
            checked(Step::Fork, libc::dup2(plan.status, STATUS))?;
            checked(Step::Fork, libc::fcntl(STATUS, libc::F_SETFD, libc::FD_CLOEXEC))?;
        }
        if !plan.entrance.is_null() {
            checked(Step::Cgroup, write_file(plan.entrance, c"0".as_ptr()))?;
        }
        close_from(STATUS + 1, plan.highest_descriptor);
        // Its own session: no terminal can stop it, and its group can be signalled alone.
        checked(Step::Fork, libc::setsid())?;
        die_with(plan.guard);
        limit(plan)?;
        if !plan.cwd.is_null() {
            checked(Step::Chdir, libc::chdir(plan.cwd))?;
        }
    }
    signals::reset(plan.highest_signal);
    signals::unblock_all().map_err(|errno| Failure { step: Step::Fork, errno: errno as i32 })
}

/// # Safety
/// As for [`become_program`].
unsafe fn limit(plan: &Plan) -> Result<(), Failure> {
    // SAFETY: the pointers are to what lives in the plan, and setrlimit(2) is async-signal-safe where it is a system call.
    unsafe {
        // Before the limit of open files, which may leave no descriptor for it.
        if !plan.oom_score_adj.is_null() {
            checked(Step::OomScoreAdj, write_file(c"/proc/self/oom_score_adj".as_ptr(), plan.oom_score_adj))?;
        }
        if let Some(open_files) = &plan.open_files {
            checked(Step::OpenFiles, libc::setrlimit(libc::RLIMIT_NOFILE, &raw const *open_files))?;
        }
        checked(Step::Core, libc::setrlimit(libc::RLIMIT_CORE, &raw const plan.core))?;
    }
    Ok(())
}

/// Writes a text to a file that is there, at once. Gives -1 for a failure, as system calls do.
///
/// # Safety
/// Both are strings that end with a NUL and are alive.
unsafe fn write_file(path: *const libc::c_char, text: *const libc::c_char) -> libc::c_int {
    // SAFETY: the caller's promise; the descriptor is our own, and all these calls are async-signal-safe.
    unsafe {
        let file = libc::open(path, libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return file;
        }
        // Nothing follows a failure that could change its number.
        if libc::write(file, text.cast(), libc::strlen(text)) < 0 {
            return -1;
        }
        libc::close(file)
    }
}

/// SIGKILL for the child when the guard dies. It would be too late for that if the guard is dead already.
#[cfg(target_os = "linux")]
unsafe fn die_with(guard: libc::pid_t) {
    // SAFETY: these calls take integers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != guard {
            libc::_exit(127);
        }
    }
}

/// There is nothing like it; the guard's end of the pipes is what the child sees.
#[cfg(not(target_os = "linux"))]
unsafe fn die_with(_: libc::pid_t) {}

/// Closes every descriptor from `first` on: those that the guard inherited from whoever leaked them.
///
/// # Safety
/// No descriptor in that range is used any more.
unsafe fn close_from(first: libc::c_int, highest: libc::c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        if close_range(first) {
            return;
        }
        for descriptor in first..highest {
            libc::close(descriptor);
        }
    }
}

/// close_range(2), Linux 5.9.
#[cfg(target_os = "linux")]
pub(super) unsafe fn close_range(first: libc::c_int) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) == 0 }
}

/// There is no such call.
#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn close_range(_: libc::c_int) -> bool {
    false
}

/// Tries the candidates as execvp(3) does, but never hands a file to a shell.
///
/// # Safety
/// As for [`become_program`].
unsafe fn execute(plan: &Plan) -> Failure {
    let failed = |errno| Failure { step: Step::Exec, errno };
    let mut denied = false;
    let mut last = libc::ENOENT;
    for &candidate in plan.candidates.iter().take_while(|candidate| !candidate.is_null()) {
        // SAFETY: the string and the arrays are null-terminated and alive.
        unsafe { libc::execve(candidate, plan.argv.as_ptr(), plan.env.as_ptr()) };
        last = Errno::last_raw();
        match last {
            // A folder of PATH that may not be searched hides what is in it, if anything is, and says nothing.
            // SAFETY: as above.
            libc::EACCES => denied |= unsafe { libc::access(candidate, libc::F_OK) } == 0,
            libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
            _ => return failed(last),
        }
    }
    // A file that may not be executed says more than the folders after it where there is none. One candidate speaks for
    // itself.
    match plan.candidates.as_slice() {
        [_, end] if end.is_null() => failed(last),
        _ if denied => failed(libc::EACCES),
        _ => failed(libc::ENOENT),
    }
}
