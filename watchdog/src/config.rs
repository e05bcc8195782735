//! What is meant: the settled configuration. Everything here is validated, and nothing is an `Option` that has a default.
//!
//! What is *written* (YAML, environment, options) lives in `config::file` and is merged and checked by `config::load`;
//! the engine sees only the types of this module.

pub(crate) use address::{LONGEST_SOCKET, control_address};
pub use bounds::{Bounds, Isolation};
pub use control::{Control, ControlListen, Listen, Management, Ready, Require, TcpAddress, Token};
pub use diff::{Change, Difference, diff};
pub use output::{EventFile, EventForm, EventFormat, EventThrottle, Events, Log, LogFormat, LogLevel};
pub use probing::{ChainMode, Health, Link, OnProbeFailure, OnUnhealthy, Probe};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

mod address;
mod bounds;
mod builtin;
mod control;
mod debug;
mod diff;
mod document;
pub mod duration;
mod environment;
mod error;
mod excerpt;
pub(crate) mod expand;
pub mod explain;
mod file;
pub(crate) mod hint;
mod keys;
pub mod load;
mod output;
pub mod preset;
mod probing;
pub(crate) mod schema;
mod secret;
mod settle;
mod source;
mod text;
mod tree;
mod words;

#[cfg(feature = "plugins")]
pub(crate) use environment::inherited as inherited_environment;
pub use error::{ConfigError, ConfigErrors};

/// The whole configuration of one watchdog process.
#[derive(Debug, Clone)]
pub struct Config {
    /// The servers, in the order of the file. At least one, and only one in the sidecar form.
    pub servers: Vec<Server>,
    /// What becomes of the process when the server has failed for good.
    pub on_permanent_failure: OnPermanentFailure,
    /// When the whole counts as ready.
    pub ready: Ready,
    /// How events are told.
    pub events: Events,
    /// The log.
    pub log: Log,
    /// The control plane.
    pub control: Control,
    /// Tools for looking at servers and restarting them.
    pub mgmt: Management,
    /// Where it is remembered which servers were enabled and disabled at run time.
    pub state_file: Option<PathBuf>,
}

impl Config {
    /// The server of the sidecar form, which has only this one.
    #[must_use]
    pub fn only(&self) -> &Server {
        self.servers.first().expect("what describes no server is refused when it is loaded")
    }
}

/// `on_permanent_failure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnPermanentFailure {
    /// Stay and answer; a call makes one more attempt.
    Stay,
    /// Exit with code 70, for container entrypoints.
    Exit,
}

/// One server: a section under `servers:`.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name in logs, events and errors: `[A-Za-z0-9._-]+`.
    pub name: String,
    /// What is started.
    pub command: Command,
    /// A disabled server is not started and every request gets `server_disabled`.
    pub enabled: bool,
    /// Whether it is started at once or at the first request.
    pub start: Start,
    /// Where its clients come in when several servers are served; the engine's choice when empty.
    pub listen: Vec<Listen>,
    /// Suspicion: a request that is unanswered for so long runs the probe chain.
    pub tool_timeout: Duration,
    /// The same for single tools, by name.
    pub tool_timeouts: BTreeMap<String, Duration>,
    /// A request that is unanswered for so long gets `request_timeout`, however well the server is.
    pub request_deadline: Option<Duration>,
    /// Restarts and what requests meet meanwhile.
    pub restart: Restart,
    /// The opening of a session.
    pub handshake: Handshake,
    /// The stop ladder.
    pub shutdown: Shutdown,
    /// The probe chain.
    pub probe: Probe,
    /// The periodic check.
    pub health: Health,
    /// Lists that are served while the server is down.
    pub catalog: Catalog,
    /// What may be sent twice.
    pub retry: Retry,
    /// How the watchdog's own errors for tool calls look.
    pub errors: Errors,
    /// Bounds.
    pub limits: Limits,
    /// A server that nobody needs for so long is stopped until the next request.
    pub idle_stop: Option<Duration>,
    /// Files and folders whose changes replace the process. Absolute paths.
    pub watch: Vec<PathBuf>,
}

/// What is started, without a shell.
#[derive(Clone)]
pub struct Command {
    /// Found along PATH where it has no slash.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working directory; ours when `None`.
    pub cwd: Option<PathBuf>,
    /// The whole environment of the child, settled: inherited, minus the watchdog's own, plus `env` and `env_file`.
    pub env: Vec<(OsString, OsString)>,
    /// How its processes are fenced in.
    pub bounds: Bounds,
}

/// `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once.
    Eager,
    /// At the first message of the client.
    Lazy,
}

/// `restart`.
#[derive(Debug, Clone, PartialEq)]
pub struct Restart {
    /// The delay before each restart of a row.
    pub delays: Delays,
    /// Attempts in a row before the server counts as permanently failed; `None` is unlimited.
    pub max_attempts: Option<u32>,
    /// Spread of a delay: 0.1 is plus or minus ten percent.
    pub jitter: f64,
    /// A server that stays connected for so long has its row of attempts forgotten.
    pub min_uptime: Duration,
    /// Attempts that requests cause are at least so far apart.
    pub min_attempt_interval: Duration,
    /// What a request does while the server is down.
    pub on_call: OnCall,
    /// How long a request waits for a restart.
    pub hold: Duration,
    /// How many requests wait at most.
    pub hold_max_requests: usize,
    /// How many bytes of requests wait at most.
    pub hold_max_bytes: usize,
    /// Whether a failed attempt is logged as an error (or as a warning).
    pub attempts_are_errors: bool,
}

/// The delays between restarts.
#[derive(Debug, Clone, PartialEq)]
pub enum Delays {
    /// These, the last one held. Never empty.
    Schedule(Vec<Duration>),
    /// Growing by a factor up to a maximum.
    Exponential {
        /// The first delay.
        initial: Duration,
        /// At least 1.
        multiplier: f64,
        /// The longest delay.
        max: Duration,
    },
}

/// `restart.on_call`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnCall {
    /// It waits, and causes an attempt.
    Attempt,
    /// It waits for the attempt that is scheduled.
    Wait,
    /// It is answered with an error at once.
    Error,
}

/// `handshake`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// From the opening request (or its replay) to its answer.
    pub timeout: Duration,
    /// Whether the client's handshake is replayed to a new server process.
    pub replay: bool,
}

/// `shutdown`: end of stdin, then TERM and CONT to the group, then KILL to the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// How long requests in flight may take after the client closed stdin.
    pub drain: Duration,
    /// From the end of the server's stdin to TERM.
    pub eof_grace: Duration,
    /// From TERM to KILL.
    pub term_grace: Duration,
}

/// `catalog`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Catalog {
    /// Whether the last good lists answer while the server is down.
    pub serve_stale: bool,
    /// Whether `list_changed` is sent when a list differs after a restart.
    pub announce: bool,
    /// Whether the lists are still served when the server has failed for good.
    pub keep_on_permanent_failure: bool,
}

/// `retry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Which tool calls may be sent once more to the next generation.
    pub tools: RetryTools,
}

/// `retry.tools`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryTools {
    /// None.
    Never,
    /// Those of tools annotated `readOnlyHint: true`.
    ReadOnly,
    /// And those annotated `idempotentHint: true`.
    Idempotent,
}

/// `errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errors {
    /// The form of the watchdog's own errors for tool calls.
    pub tool_calls: ToolErrors,
}

/// `errors.tool_calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolErrors {
    /// A JSON-RPC error.
    Jsonrpc,
    /// A result with `isError: true`, which hosts show to the model.
    ToolResult,
}

/// `limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest message, in bytes, in either direction.
    pub max_line: usize,
    /// What becomes of lines of the server that are not messages.
    pub stray_stdout: StrayStdout,
    /// A process that has run for so long is replaced between calls, give or take a tenth.
    pub max_lifetime: Option<Duration>,
    /// A process tree with more resident memory, in bytes, is replaced between calls.
    pub memory: Option<u64>,
}

/// `limits.stray_stdout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StrayStdout {
    /// Written to the log.
    Log,
    /// Thrown away.
    Drop,
}
