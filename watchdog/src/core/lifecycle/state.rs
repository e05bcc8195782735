//! The words of the lifecycle: states, events, actions.

use std::time::{Duration, Instant};

use crate::core::ids::{Generation, Token};

/// Where a slot is. A slot is always in exactly one state and never leaves the shared view.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Switched off; nothing runs.
    Disabled,
    /// The first success of this enable-period is not yet reached.
    Connecting(Phase),
    /// A live server with which the client's session is established.
    Connected(Runtime),
    /// It was connected in this enable-period and will be again.
    Reconnecting {
        /// Why the last one was lost.
        reason: Reason,
        /// What is being done about it.
        phase: Phase,
    },
    /// The runtime is detached and its process tree is going away.
    Disabling(Target),
    /// Not started, removed, or shut down.
    Disconnected {
        /// Whether it will never be started again.
        removed: bool,
    },
    /// A finite budget is used up. Only a request or an operator causes an attempt: the trial.
    PermanentlyFailed {
        /// That attempt, while it goes on.
        trial: Option<Phase>,
    },
}

/// What is being done to get a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The attempt begins as soon as the process tree of the last generation is empty.
    Clearing,
    /// A process was started, and the session is being established.
    Attempting,
    /// A timer runs.
    Waiting {
        /// The timer.
        token: Token,
        /// When it rings.
        at: Instant,
    },
}

/// What is known of a connected server beside that it is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Runtime {
    /// Whether a probe chain is running.
    pub probing: bool,
    /// Failed checks in a row.
    pub failures: u32,
    /// Whether that was announced.
    pub degraded: bool,
    /// The timer that ends the row of attempts.
    pub uptime: Option<Token>,
}

/// Where a slot goes when its process tree is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// To `Disabled`.
    Disabled,
    /// To `Disconnected`, removed.
    Removed,
    /// To a new start: it was enabled again, or asked for, meanwhile.
    Restart,
    /// To `Disconnected`, from where the next request starts it again.
    Standby,
}

/// Why a server is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its process ended or it closed its stdout.
    TransportExit,
    /// Writing to it or reading from it failed otherwise.
    TransportError,
    /// A call was overdue and the probe chain failed.
    ProbeFailure,
    /// The periodic check failed too often.
    Health,
    /// An operator asked.
    Force,
    /// Its configuration changed.
    Config,
    /// It could not be started, or the handshake failed.
    StartFailure,
    /// An operator switched it off.
    Disabled,
    /// Everything ends.
    Shutdown,
    /// It has run for as long as a process may.
    MaxLifetime,
    /// It uses more memory than it may.
    MemoryLimit,
    /// Files that it was made of have changed.
    FilesChanged,
    /// Nobody has needed it for a while.
    IdleStop,
}

impl Reason {
    /// The word in events, errors and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransportExit => "transport-exit",
            Self::TransportError => "transport-error",
            Self::ProbeFailure => "probe-failure",
            Self::Health => "health",
            Self::Force => "force",
            Self::Config => "config",
            Self::StartFailure => "start-failure",
            Self::Disabled => "disabled",
            Self::Shutdown => "shutdown",
            Self::MaxLifetime => "max-lifetime",
            Self::MemoryLimit => "memory-limit",
            Self::FilesChanged => "files-changed",
            Self::IdleStop => "idle-stop",
        }
    }

    /// Whether it was replaced for its silence: a call that was overdue has hung with it.
    #[must_use]
    pub const fn is_hang(self) -> bool {
        matches!(self, Self::ProbeFailure | Self::Health)
    }

    /// Whether the watchdog itself chose the moment, between two calls. The attempt that follows costs nothing of a budget.
    #[must_use]
    pub const fn is_planned(self) -> bool {
        matches!(self, Self::MaxLifetime | Self::MemoryLimit | Self::FilesChanged)
    }
}

/// What happens to a slot. Lifecycle.md numbers them E1 to E18.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// E1: enable, or the first start.
    Start,
    /// E2: the attempt succeeded.
    AttemptOk(Generation),
    /// E3: the attempt failed.
    AttemptFailed(Generation),
    /// E4: the process ended or closed its stdout.
    Lost(Generation),
    /// E5: a call is overdue.
    ToolTimeout(Generation),
    /// E6: the probe chain that an overdue call started found life.
    ProbePassed(Generation),
    /// E7: it found none.
    ProbeFailed(Generation),
    /// E8: a timer rang.
    Timer(Token),
    /// E9: a request of the client arrived.
    Request,
    /// E10: an operator wants an attempt now.
    ForceRetry,
    /// E11: an operator switches the server off.
    Disable,
    /// E12: the slot is removed, or everything shuts down.
    Remove,
    /// E13: the process tree of that generation is gone (or, with `false`, could not be ended in full).
    TornDown(Generation, bool),
    /// E14: a periodic check ended.
    Health(Generation, bool),
    /// E15: the transport failed while the process may still live.
    TransportError(Generation),
    /// E16: the client cancelled a request.
    Cancel,
    /// E17: the configuration changed; `true` if the process has to be replaced for it.
    Configure(bool),
    /// E18: the machine slept.
    Wake,
    /// E19: a replacement that was planned may be made now: nothing of the client is in flight that it would cost.
    Replace(Reason),
    /// E20: nobody has needed the server for a while, and nobody does now.
    Idle,
}

/// What follows from an event, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start a process of this generation and establish the session with it.
    Spawn(Generation),
    /// Detach this generation and end its process tree; `TornDown` reports the end. Idempotent.
    Tear(Generation),
    /// Ring with this token at that time.
    Arm(Token, Instant),
    /// That timer is not needed any more.
    Disarm(Token),
    /// Answer what is in flight: the generation is lost.
    FailInFlight(Loss),
    /// The attempt that overdue callers wait for has ended, well or not.
    SettleOverdue(bool),
    /// Answer what is held.
    RejectHeld(Rejection),
    /// Send what is held to the server.
    FlushHeld,
    /// Refresh the published catalog and announce what changed.
    Publish,
    /// Run the probe chain for an overdue call, or join the one that runs.
    StartProbe,
    /// Check once now, and let the result only warn.
    CheckNow,
    /// Count the periodic check from now.
    StartHealth,
    /// No periodic checks.
    StopHealth,
    /// Give overdue calls more time.
    RearmOverdue,
    /// Tell the operator.
    Notice(Notice),
    /// The budget is used up: `on_permanent_failure: exit` ends the program here. Otherwise who still waits causes the trial.
    Exhausted,
    /// Nothing runs and nothing will.
    Gone,
}

/// Why requests in flight are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The server is gone or is being replaced.
    Disconnected(Reason),
    /// It is being switched off.
    Disabled,
    /// Everything ends.
    Shutdown,
}

/// Why held requests, or a new one, are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The attempt failed; more are scheduled.
    Reconnecting,
    /// It is down, and requests neither wait nor cause an attempt (`restart.on_call: error`); attempts are scheduled.
    Down,
    /// The attempt failed and the budget is used up.
    PermanentlyFailed,
    /// Switched off.
    Disabled,
    /// Shutting down.
    Closing,
    /// Removed.
    NotFound,
}

/// What is to become of a request of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The server gets it.
    Forward,
    /// It waits.
    Hold,
    /// It is answered now.
    Reject(Rejection),
}

/// News for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// An attempt begins.
    Starting,
    /// The first success of an enable-period.
    Connected {
        /// How many attempts it took.
        attempts: u32,
    },
    /// The connection is gone.
    Disconnected {
        /// Whether somebody wanted that.
        intentional: bool,
        /// Why.
        reason: Reason,
    },
    /// An attempt is scheduled.
    Reconnecting {
        /// Its number in the row.
        attempt: u32,
        /// How long until then.
        delay: Duration,
        /// Why it is needed.
        reason: Reason,
    },
    /// Success after a loss.
    Reconnected {
        /// How many attempts it took.
        attempts: u32,
    },
    /// An attempt failed.
    AttemptFailed,
    /// The budget is used up.
    Failed,
    /// Switched on.
    Enabled,
    /// Switched off.
    Disabled,
    /// Checks have failed `threshold` times in a row; once per episode.
    Degraded {
        /// How many times.
        failures: u32,
    },
    /// And pass again.
    Restored,
    /// Something of a process tree could not be ended.
    CloseFailed,
    /// News of a generation or a timer that is not current.
    Stale,
}
