//! What is meant by `log` and `events`: what the watchdog tells of itself, and where.

use std::path::PathBuf;
use std::time::Duration;

/// `log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The least severe level that is written.
    pub level: LogLevel,
    /// Lines for people, or one JSON object per line.
    pub format: LogFormat,
}

/// `log.level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Nothing at all.
    Off,
    /// Failures.
    Error,
    /// And what may become one.
    Warn,
    /// And what an operator wants to know.
    Info,
    /// And what a developer wants to know.
    Debug,
    /// Everything but payloads.
    Trace,
}

/// `log.format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// `events`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Events {
    /// Whether and how events appear on stderr among the log lines.
    pub stderr: EventForm,
    /// The form of the JSON objects, in the file and on stderr.
    pub format: EventFormat,
    /// The file that they are appended to.
    pub file: Option<EventFile>,
    /// How many of the last events are kept for those who ask later.
    pub ring: usize,
    /// How often the attempts to reach a dead server are told; `None` is every time.
    pub throttle: Option<EventThrottle>,
}

/// `events.stderr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventForm {
    /// In the form of the log lines.
    Text,
    /// One JSON object a line, whatever form the log has.
    Jsonl,
    /// Not at all.
    Off,
}

/// `events.format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFormat {
    /// The program's own objects.
    Jsonl,
    /// The same in CloudEvents envelopes.
    CloudEvents,
}

/// `events.file` and `events.rotate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFile {
    /// Where it is.
    pub path: PathBuf,
    /// A file of so many bytes is put aside, and a new one begun; `None` lets it grow.
    pub max_size: Option<usize>,
    /// How many of those put aside are kept.
    pub keep: usize,
}

/// `events.throttle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventThrottle {
    /// So many attempts of a row are told, each.
    pub burst: u32,
    /// Later ones at most once in this time, unless they are news.
    pub every: Duration,
}
