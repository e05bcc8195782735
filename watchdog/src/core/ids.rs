//! Small identities that keep late news from being taken for fresh ones.

use std::fmt;

/// Counts the attempts to start a slot's server, from 1. Whatever a process says carries its generation; what does not
/// carry the current one is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Generation(pub u64);

impl Generation {
    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one armed timer; a timer that was replaced rings with a token that is no longer known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Names one request that a probe sent through its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

/// Names the client of a front end. A stdio front has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ClientId(pub u32);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Ending {
    /// The form of `data.exit`: `{"code":1}` or `{"signal":"SIGKILL"}`.
    #[must_use]
    pub fn to_json(self) -> serde_json::Value {
        match self {
            Self::Code(code) => serde_json::json!({"code": code}),
            Self::Signal(_) => serde_json::json!({"signal": self.signal_name()}),
        }
    }

    /// The name of the signal, `SIGKILL` and the like; `None` for an exit.
    #[must_use]
    pub fn signal_name(self) -> Option<String> {
        let Self::Signal(number) = self else { return None };
        let name = nix::sys::signal::Signal::try_from(number).map(|signal| signal.as_str().to_owned());
        Some(name.unwrap_or_else(|_| format!("SIG{number}")))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(_) => write!(f, "signal {}", self.signal_name().unwrap_or_default()),
        }
    }
}

impl From<Ending> for crate::events::Exit {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Code(code) => Self::Code(code),
            Ending::Signal(_) => Self::Signal(ending.signal_name().unwrap_or_default().into()),
        }
    }
}
