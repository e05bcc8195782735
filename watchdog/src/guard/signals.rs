//! Signal dispositions: none is inherited, neither by the guard nor by the child.
//!
//! A process inherits ignored signals and the blocked mask over `exec`, and a library that blocks or ignores one for its
//! own needs hands that to everything it starts. A child that is born with SIGTERM ignored outlives SIGTERM; Python born with
//! SIGCHLD ignored reports exit 0 for every child (design/processes.md, C5 and C28).

use std::io;
use std::mem::zeroed;
use std::os::fd::OwnedFd;
use std::ptr::null_mut;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::sys::signal::SigSet;

/// Signals that the guard leaves at their default action: what cannot be changed, what a fault of its own raises (ignoring
/// those would loop), and SIGCONT. SIGCHLD gets a handler.
const LEFT_ALONE: [i32; 11] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGCONT,
    libc::SIGCHLD,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGSYS,
];

/// The highest signal number.
#[cfg(target_os = "linux")]
pub(super) fn highest() -> i32 {
    libc::SIGRTMAX()
}

/// The highest signal number: `NSIG - 1`.
#[cfg(not(target_os = "linux"))]
pub(super) const fn highest() -> i32 {
    31
}

/// Blocks every signal: the first thing that a guard or an init does, so that none finds it half prepared.
pub(crate) fn block_all() -> nix::Result<()> {
    SigSet::all().thread_set_mask()
}

/// Unblocks every signal.
pub(crate) fn unblock_all() -> nix::Result<()> {
    SigSet::empty().thread_set_mask()
}

/// Gives every signal of this process a known disposition.
///
/// The guard obeys the control socket and nothing else. A SIGTERM to all processes of a service reaches the engine as well,
/// and the engine knows how much time the tree has; so what would end or stop the guard is ignored.
pub(super) fn settle() {
    for signal in 1..=highest() {
        let action = if LEFT_ALONE.contains(&signal) { libc::SIG_DFL } else { libc::SIG_IGN };
        set(signal, action);
    }
}

/// Gives SIGTERM its default action.
pub(crate) fn die_of_sigterm() {
    set(libc::SIGTERM, libc::SIG_DFL);
}

/// Gives SIGCHLD its default action. Where it is ignored, the kernel reaps children, and nobody learns how they ended.
#[cfg(target_os = "linux")]
pub(crate) fn keep_the_dead() {
    set(libc::SIGCHLD, libc::SIG_DFL);
}

/// Gives the signals of a fault their default action. Rust's own handlers are there to tell of an overflown stack, and swallow
/// the first such signal that no fault has caused: `raise(SIGSEGV)` would return.
#[cfg(feature = "plugins")]
pub(crate) fn die_of_faults() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        set(signal, libc::SIG_DFL);
    }
}

/// Gives every signal its default action. Async-signal-safe, for the time between `fork` and `exec`.
pub(super) fn reset(highest: i32) {
    for signal in 1..=highest {
        set(signal, libc::SIG_DFL);
        reset_in_kernel(signal);
    }
}

/// Past the C library, which refuses to touch the signals that it keeps for itself (32 and 33): a program of another library
/// may have ignored them, and a program of a third may need them.
#[cfg(target_os = "linux")]
fn reset_in_kernel(signal: i32) {
    // The kernel's own form of the struct differs between machines, but all zeroes is the default action, no flags and an
    // empty mask in each, and none is longer than this.
    let zeroes = [0_u64; 8];
    // SAFETY: the kernel reads one of its structs from an array that is long enough, and writes nothing.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, zeroes.as_ptr(), null_mut::<libc::c_void>(), size_of::<u64>());
    }
}

/// There are none that the C library keeps.
#[cfg(not(target_os = "linux"))]
const fn reset_in_kernel(_: i32) {}

/// Sets one disposition; those that cannot be set (SIGKILL, SIGSTOP, the C library's own) stay as they are.
fn set(signal: i32, action: libc::sighandler_t) {
    // SAFETY: all zeroes is a valid `sigaction` (no flags, an empty mask); `action` is SIG_DFL or SIG_IGN, so no handler
    // of ours can run; the kernel only reads the struct.
    unsafe {
        let mut new: libc::sigaction = zeroed();
        new.sa_sigaction = action;
        libc::sigaction(signal, &raw const new, null_mut());
    }
}

/// A pipe that becomes readable when a child ends. Its reading end never blocks.
pub(super) fn child_pipe() -> io::Result<OwnedFd> {
    let (reader, writer) = io::pipe()?;
    fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    signal_hook::low_level::pipe::register(libc::SIGCHLD, writer)?;
    Ok(reader.into())
}
