//! What is meant by `probe` and `health`.

use std::time::Duration;

/// `probe`.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What the verdicts of the links mean together.
    pub mode: ChainMode,
    /// The limit of one link.
    pub timeout: Duration,
    /// The limit of the whole chain.
    pub total_timeout: Duration,
    /// How many times in a row the chain must fail.
    pub confirmations: u32,
    /// How long a busy server is left alone after a busy verdict.
    pub busy_grace: Duration,
    /// How long being busy excuses one call.
    pub busy_max: Duration,
    /// What follows when the chain fails after a tool timeout.
    pub on_failure: OnProbeFailure,
    /// The links, in order. Never empty.
    pub chain: Vec<Link>,
}

/// `probe.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainMode {
    /// One passing link is life.
    Any,
    /// Every link has to pass.
    All,
}

/// `probe.on_failure`: what follows when an overdue call's probe chain fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnProbeFailure {
    /// The server is replaced.
    Restart,
    /// A warning.
    Warn,
    /// It counts as one failed health check.
    Count,
    /// The server is replaced at the timeout, without a probe.
    Close,
}

/// One link of a probe chain.
#[derive(Clone, PartialEq)]
pub struct Link {
    /// The probe's registered name.
    pub kind: String,
    /// Its label in verdicts and logs, another one for each link of a chain: what was written, or the kind.
    pub name: String,
    /// Its own limit, where it differs from `probe.timeout`.
    pub timeout: Option<Duration>,
    /// Methods that it may call besides those that every probe may.
    pub allow_methods: Vec<String>,
    /// Its options, for the probe's own type to read.
    pub options: serde_json::Value,
}

impl Link {
    /// A link with nothing written but a type and options.
    #[must_use]
    pub fn new(kind: &str, options: serde_json::Value) -> Self {
        Self { kind: kind.to_owned(), name: kind.to_owned(), timeout: None, allow_methods: Vec::new(), options }
    }
}

/// `health`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Health {
    /// Between two checks; `None` is off.
    pub interval: Option<Duration>,
    /// Spread of the interval: 0.1 is plus or minus ten percent.
    pub jitter: f64,
    /// The limit of one whole check.
    pub timeout: Duration,
    /// Failures in a row that make the server unhealthy.
    pub threshold: u32,
    /// What follows then.
    pub on_unhealthy: OnUnhealthy,
}

/// `health.on_unhealthy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnUnhealthy {
    /// An event.
    Warn,
    /// And a restart.
    Restart,
}
