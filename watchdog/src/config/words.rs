//! The words that keys take, for the settled enums and for those that exist only in files.

use schemars::{Schema, json_schema};

use super::text::{FromText, quoted, words};
use super::{
    ChainMode, EventForm, EventFormat, Isolation, LogFormat, LogLevel, OnCall, OnPermanentFailure, OnProbeFailure,
    OnUnhealthy, Require, RetryTools, Start, StrayStdout, ToolErrors,
};

words!(OnPermanentFailure { "stay" => OnPermanentFailure::Stay, "exit" => OnPermanentFailure::Exit });
words!(LogLevel {
    "off" => LogLevel::Off,
    "error" => LogLevel::Error,
    "warn" => LogLevel::Warn,
    "info" => LogLevel::Info,
    "debug" => LogLevel::Debug,
    "trace" => LogLevel::Trace,
});
words!(LogFormat { "text" => LogFormat::Text, "json" => LogFormat::Json });
words!(Start { "eager" => Start::Eager, "lazy" => Start::Lazy });
words!(OnCall { "attempt" => OnCall::Attempt, "wait" => OnCall::Wait, "error" => OnCall::Error });
words!(ChainMode { "any" => ChainMode::Any, "all" => ChainMode::All });
words!(OnProbeFailure {
    "restart" => OnProbeFailure::Restart,
    "warn" => OnProbeFailure::Warn,
    "count" => OnProbeFailure::Count,
    "close" => OnProbeFailure::Close,
});
words!(OnUnhealthy { "warn" => OnUnhealthy::Warn, "restart" => OnUnhealthy::Restart });
words!(RetryTools {
    "never" => RetryTools::Never,
    "read_only" => RetryTools::ReadOnly,
    "idempotent" => RetryTools::Idempotent,
});
words!(ToolErrors { "jsonrpc" => ToolErrors::Jsonrpc, "tool_result" => ToolErrors::ToolResult });
words!(Isolation { "guard" => Isolation::Guard, "cgroup" => Isolation::Cgroup });
words!(StrayStdout { "log" => StrayStdout::Log, "drop" => StrayStdout::Drop });

/// `version`: the form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version;

impl FromText for Version {
    const EXPECTED: &'static str = "`1`";

    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "1" => Ok(Self),
            _ => Err(format!("version {} is not known to this program, only `1` is", quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "enum": [1, "1"] })
    }
}

/// `type` of a server: how it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A command.
    Stdio,
    /// A URL.
    Remote(&'static str),
}

words!(Transport {
    "stdio" => Transport::Stdio,
    "http" => Transport::Remote("http"),
    "streamable-http" => Transport::Remote("http"),
    "streamableHttp" => Transport::Remote("http"),
    "sse" => Transport::Remote("sse"),
    "ws" => Transport::Remote("ws"),
});

/// `catalog.announce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Announce(pub(crate) bool);

words!(Announce { "auto" => Announce(true), "off" => Announce(false), "never" => Announce(false) });

/// `catalog.on_permanent_failure`: whether the lists are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped(pub(crate) bool);

words!(Dropped { "keep" => Dropped(false), "drop" => Dropped(true) });

words!(EventForm { "text" => EventForm::Text, "jsonl" => EventForm::Jsonl, "off" => EventForm::Off });

words!(EventFormat { "jsonl" => EventFormat::Jsonl, "cloudevents" => EventFormat::CloudEvents });
words!(Require { "any" => Require::Any, "all" => Require::All });
