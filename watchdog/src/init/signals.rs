//! What an init does about a signal.

use nix::sys::signal::{SigSet, Signal, kill, raise};
use nix::unistd::Pid;

/// What follows a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The engine gets it, and SIGCONT, so that an engine that was stopped meets it.
    Wake(Signal),
    /// The engine gets it.
    Pass(Signal),
    /// Both of us stop.
    Suspend,
    /// Nothing: it told of a child, or nobody can mean us by it.
    Nothing,
}

/// The answer to the signal of this number.
pub(super) fn answer(number: u32) -> Answer {
    let signal = i32::try_from(number).ok().and_then(|number| Signal::try_from(number).ok());
    match signal {
        Some(signal @ (Signal::SIGTERM | Signal::SIGINT | Signal::SIGHUP | Signal::SIGQUIT)) => Answer::Wake(signal),
        Some(signal @ (Signal::SIGUSR1 | Signal::SIGUSR2 | Signal::SIGWINCH | Signal::SIGCONT)) => Answer::Pass(signal),
        Some(Signal::SIGTSTP) => Answer::Suspend,
        _ => Answer::Nothing,
    }
}

/// Stops the engine, and this process where its own group may be stopped by a terminal: pid 1 may not, and neither may a group
/// that no shell watches, because nobody would continue it. Goes on when it is continued.
///
/// The engine's group is one that no shell watches, so it is stopped by the signal that asks nobody.
pub(super) fn suspend(engine: Pid) -> nix::Result<()> {
    kill(engine, Signal::SIGSTOP)?;
    let stop = SigSet::from(Signal::SIGTSTP);
    let stopped = raise(Signal::SIGTSTP).and_then(|()| stop.thread_unblock()).and_then(|()| stop.thread_block());
    kill(engine, Signal::SIGCONT)?;
    stopped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_has_its_answer() {
        let numbered = |signal: Signal| answer(signal as u32);
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT] {
            assert_eq!(numbered(signal), Answer::Wake(signal));
        }
        for signal in [Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGWINCH, Signal::SIGCONT] {
            assert_eq!(numbered(signal), Answer::Pass(signal));
        }
        assert_eq!(numbered(Signal::SIGTSTP), Answer::Suspend);
        for signal in [Signal::SIGCHLD, Signal::SIGALRM, Signal::SIGPIPE, Signal::SIGTTIN] {
            assert_eq!(numbered(signal), Answer::Nothing);
        }
        // Real-time signals, and no signal at all.
        assert_eq!((answer(34), answer(0), answer(u32::MAX)), (Answer::Nothing, Answer::Nothing, Answer::Nothing));
    }
}
