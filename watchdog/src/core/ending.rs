//! How a process ended, and its name in events, errors and logs.

use std::fmt;

use probe_api::options::Size;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With this exit code, 0 to 255.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// By the kernel's SIGKILL, with everything that was in its cgroup, for want of memory.
    OutOfMemory {
        /// `limits.memory_max` in bytes, where that was hit. Otherwise the machine, or what is around the cgroup, had no more.
        limit: Option<u64>,
    },
}

impl Ending {
    /// The form of `data.exit`: `{"code":1}` or `{"signal":"SIGKILL"}` (contract.md); the latter with `outOfMemory: true`
    /// where that was the reason.
    #[must_use]
    pub fn to_json(self) -> serde_json::Value {
        match self {
            Self::Code(code) => serde_json::json!({"code": code}),
            Self::Signal(number) => serde_json::json!({"signal": signal_name(number)}),
            Self::OutOfMemory { .. } => serde_json::json!({"signal": "SIGKILL", "outOfMemory": true}),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => f.write_str(&signal_name(number)),
            Self::OutOfMemory { limit: None } => f.write_str("killed by the kernel: out of memory"),
            Self::OutOfMemory { limit: Some(limit) } => {
                write!(f, "killed by the kernel: out of memory (limits.memory_max {})", Size(limit))
            }
        }
    }
}

/// The name of a signal: `SIGKILL`, `SIGRTMIN+3`, and `SIG32` for what has no name.
#[must_use]
pub fn signal_name(number: i32) -> String {
    if let Ok(signal) = nix::sys::signal::Signal::try_from(number) {
        return signal.as_str().to_owned();
    }
    #[cfg(target_os = "linux")]
    if (nix::libc::SIGRTMIN()..=nix::libc::SIGRTMAX()).contains(&number) {
        return match number - nix::libc::SIGRTMIN() {
            0 => "SIGRTMIN".to_owned(),
            offset => format!("SIGRTMIN+{offset}"),
        };
    }
    format!("SIG{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_the_names_of_the_manual() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(nix::libc::SIGSEGV), "SIGSEGV");
        assert_eq!(signal_name(0), "SIG0");
        assert_eq!(Ending::Signal(6).to_string(), "SIGABRT");
        assert_eq!(Ending::Code(3).to_string(), "exit code 3");
    }

    #[test]
    fn a_limit_that_was_hit_is_named() {
        let ending = Ending::OutOfMemory { limit: Some(512 << 20) };
        assert_eq!(ending.to_string(), "killed by the kernel: out of memory (limits.memory_max 512MiB)");
        assert_eq!(ending.to_json(), serde_json::json!({ "signal": "SIGKILL", "outOfMemory": true }));
        assert_eq!(Ending::OutOfMemory { limit: None }.to_string(), "killed by the kernel: out of memory");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_time_signals_count_from_the_first() {
        assert_eq!(signal_name(nix::libc::SIGRTMIN()), "SIGRTMIN");
        assert_eq!(signal_name(nix::libc::SIGRTMIN() + 3), "SIGRTMIN+3");
        assert_eq!(signal_name(32), "SIG32");
        assert_eq!(signal_name(65), "SIG65");
    }
}
