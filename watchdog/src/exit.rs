//! Every exit code of the program, with its meaning (contract.md, "Exit codes of the sidecar"; control-plane.md, section 5).

use std::error::Error;
use std::io;
use std::process::ExitCode;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};

/// Why the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The client closed stdin, or its end of stdout, and the server's tree is gone.
    Done,
    /// What was asked for did not happen, or what was looked at is not well.
    Failed,
    /// What was looked at is down.
    Down,
    /// There is no watchdog to talk to.
    NoneFound,
    /// `on_permanent_failure: exit`, and the budget is used up.
    PermanentFailure,
    /// Configuration or usage that cannot work.
    Config,
    /// The watchdog itself failed.
    Internal,
    /// COMMAND exists but cannot be executed (first start).
    CannotExecute,
    /// COMMAND was not found (first start).
    NotFound,
    /// Ended by this signal, after a clean stop.
    Signal(i32),
}

impl Exit {
    /// The number that the parent process sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Down => 3,
            Self::NoneFound => 4,
            Self::PermanentFailure => 70,
            Self::Config => 78,
            Self::Internal => 125,
            Self::CannotExecute => 126,
            Self::NotFound => 127,
            // Signal numbers are 1..=64, so the sum fits.
            Self::Signal(n) => 128_u8.wrapping_add(n as u8),
        }
    }

    /// The same where this signal came before the end was over. A failure of the watchdog itself, such as a guard that was killed, is
    /// not what its parent has to hear of a program that it has told to end, whichever of the two was seen first; what a server
    /// cannot be started for is the same next time, and stays.
    #[must_use]
    pub const fn after_signal(self, number: i32) -> Self {
        match self {
            Self::Internal => Self::Signal(number),
            other => other,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error with all that caused it, and what helps where that is known, in one line.
#[must_use]
pub fn chain_text(error: &(dyn Error + 'static)) -> String {
    let chain: Vec<_> = std::iter::successors(Some(error), |&error| error.source()).collect();
    let text: Vec<_> = chain.iter().map(ToString::to_string).collect();
    let errno = chain.iter().find_map(|error| error.downcast_ref::<io::Error>()?.raw_os_error());
    text.join(": ") + &errno.and_then(remedy).unwrap_or_default()
}

/// What helps against an error of the system, to be put behind it; nothing where that depends on what was tried.
pub(crate) fn remedy(errno: i32) -> Option<String> {
    match Errno::from_raw(errno) {
        Errno::EMFILE => {
            let limit = getrlimit(Resource::RLIMIT_NOFILE).map(|(soft, _)| format!(", which is {soft}"));
            Some(format!(
                "; raise the limit of open files (`ulimit -n`, `LimitNOFILE=` in a unit){}",
                limit.unwrap_or_default()
            ))
        }
        Errno::ENFILE => Some("; raise the system's limit of open files (fs.file-max)".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::back::StartError;

    #[test]
    fn an_error_names_its_causes_and_the_remedy_that_there_is() {
        let of = |errno: Errno| chain_text(&StartError::Pipes(errno.into()));
        assert_eq!(of(Errno::EIO), "cannot make the pipes of a child: Input/output error (os error 5)");
        let few = of(Errno::EMFILE);
        let (cause, help) = few.split_once("; ").unwrap();
        assert_eq!(cause, "cannot make the pipes of a child: Too many open files (os error 24)");
        assert!(
            help.starts_with("raise the limit of open files (`ulimit -n`, ") && help.contains(", which is "),
            "{help}"
        );
        assert!(of(Errno::ENFILE).ends_with("; raise the system's limit of open files (fs.file-max)"));
        assert_eq!(chain_text(&io::Error::other("x")), "x");
    }

    #[test]
    fn a_signal_is_why_a_failing_watchdog_ended_and_changes_nothing_else() {
        assert_eq!(Exit::Internal.after_signal(15).code(), 143);
        for exit in
            [Exit::Done, Exit::PermanentFailure, Exit::Config, Exit::CannotExecute, Exit::NotFound, Exit::Signal(2)]
        {
            assert_eq!(exit.after_signal(15), exit);
        }
    }
}
