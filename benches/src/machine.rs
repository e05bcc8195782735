//! What it was measured on.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use serde_json::{Value, json};

/// The machine, the time, and the program.
pub(crate) struct Machine {
    when: String,
    processor: String,
    /// Which processors may be used, as the kernel spells it.
    allowed: String,
    kernel: String,
    /// The load average of a minute, before anything is measured.
    load: String,
    watchdog: String,
    rounds: usize,
}

impl Machine {
    /// Looks at it.
    pub(crate) fn look(watchdog: &Path, rounds: usize) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let find = |text: &str, name: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("unknown");
            rest.trim_start_matches([':', ' ', '\t']).to_owned()
        };
        let version = Command::new(watchdog).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
        Self {
            when: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            processor: find(&read("/proc/cpuinfo"), "model name"),
            allowed: find(&read("/proc/self/status"), "Cpus_allowed_list"),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
            watchdog: String::from_utf8_lossy(&version).trim().to_owned(),
            rounds,
        }
    }

    /// The same for programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "when": self.when, "processor": self.processor, "processors": self.allowed, "kernel": self.kernel,
            "load": self.load, "watchdog": self.watchdog, "rounds": self.rounds,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { when, processor, allowed, kernel, load, watchdog, rounds } = self;
        write!(f, "{when}; {processor}, processors {allowed}; Linux {kernel}; load {load}; {watchdog}; {rounds} rounds")
    }
}
