//! Making the process: by fork(2), or in another cgroup from its first moment.

use std::fs::File;

use nix::unistd::{ForkResult, fork};

/// As fork(2), where the kernel can in the cgroup of this folder; whether it is there is the other half of the answer.
///
/// A process that moves itself waits for the whole system to be quiet about its threads, some ten milliseconds; one that is born
/// there does not. Kernels before 5.7, and seccomp filters that do not know the call, leave the move.
///
/// # Safety
/// As for fork(2) in a process with one thread.
pub(super) unsafe fn fork_into(group: Option<&File>) -> (nix::Result<ForkResult>, bool) {
    // SAFETY: the caller's promise.
    unsafe {
        match group.and_then(|group| clone_into(group).ok()) {
            Some(forked) => (Ok(forked), true),
            None => (fork(), false),
        }
    }
}

/// clone3(2) with CLONE_INTO_CGROUP.
///
/// # Safety
/// As for fork(2) in a process with one thread.
#[cfg(target_os = "linux")]
unsafe fn clone_into(group: &File) -> nix::Result<ForkResult> {
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::libc;
    use nix::unistd::Pid;

    const INTO_CGROUP: u64 = 0x2_0000_0000;
    // `struct clone_args` in its third version; zero is what fork(2) means by everything else.
    let mut arguments = [0_u64; 11];
    arguments[0] = INTO_CGROUP;
    arguments[4] = libc::SIGCHLD.unsigned_abs().into();
    arguments[10] = group.as_raw_fd().unsigned_abs().into();
    // SAFETY: the kernel reads an array that is as long as is said. Without CLONE_VM the child has a copy of everything, like
    // after fork(2); the C library's handlers for that are for threads and for what the child must not do anyway.
    let result = unsafe { libc::syscall(libc::SYS_clone3, arguments.as_ptr(), size_of_val(&arguments)) };
    match i32::try_from(result) {
        Ok(0) => Ok(ForkResult::Child),
        Ok(pid) if pid > 0 => Ok(ForkResult::Parent { child: Pid::from_raw(pid) }),
        _ => Err(Errno::last()),
    }
}

/// There are none.
///
/// # Safety
/// Does nothing.
#[cfg(not(target_os = "linux"))]
unsafe fn clone_into(_: &File) -> nix::Result<ForkResult> {
    Err(nix::errno::Errno::ENOSYS)
}
