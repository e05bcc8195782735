//! Every exit code of the program, with its meaning (contract.md, "Exit codes of the sidecar"; control-plane.md, section 5).

use std::process::ExitCode;

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
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error with all that caused it, in one line.
#[must_use]
pub fn chain_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
