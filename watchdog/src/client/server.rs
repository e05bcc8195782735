//! A server, as an operator is told about it.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What is shown of a [`ServerStatus`](crate::engine::ServerStatus), and the whole of it as it came: the watchdog that wrote
/// it may be of another version than this program.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the names of `ServerStatus`")]
pub struct Server {
    pub name: String,
    pub state: String,
    pub connected: bool,
    pub standby: bool,
    pub generation: u64,
    pub uptime_ms: Option<u64>,
    pub next_retry_ms: Option<u64>,
    pub last_error: Option<String>,
    pub health_status: Option<String>,
    pub isolation: Option<String>,
    pub isolation_shortfall: Option<String>,
    pub in_flight: u64,
    pub held: u64,
    pub stats: Stats,
    /// All of it.
    #[serde(skip)]
    pub raw: Map<String, Value>,
}

/// Totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names of `ServerStatus`")]
pub struct Stats {
    pub restarts: u64,
}

/// How a server is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
#[expect(missing_docs, reason = "the states of the lifecycle; those that need words have them")]
pub enum Condition {
    Connected,
    /// Connected, and its health checks fail.
    Degraded,
    Connecting,
    Reconnecting,
    /// Not running until the next request: not started yet, or stopped when it was idle.
    Standby,
    /// Ended on purpose.
    Disconnected,
    /// Its budget of attempts is used up.
    Failed,
    /// Its processes are going away.
    Disabling,
    Disabled,
    /// A state that this version does not know.
    #[value(skip)]
    Unknown,
}

impl Server {
    /// Reads what a watchdog wrote.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(value: Value) -> Result<Self, serde_json::Error> {
        let server = Self::deserialize(&value)?;
        let raw = if let Value::Object(raw) = value { raw } else { Map::new() };
        Ok(Self { raw, ..server })
    }

    /// How it is.
    #[must_use]
    pub fn condition(&self) -> Condition {
        match self.state.as_str() {
            "Connected" if self.health_status.as_deref() == Some("degraded") => Condition::Degraded,
            "Connected" => Condition::Connected,
            "Connecting" => Condition::Connecting,
            "Reconnecting" => Condition::Reconnecting,
            "Disconnected" | "Disabling" if self.standby => Condition::Standby,
            "Disconnected" => Condition::Disconnected,
            "PermanentlyFailed" => Condition::Failed,
            "Disabling" => Condition::Disabling,
            "Disabled" => Condition::Disabled,
            _ => Condition::Unknown,
        }
    }
}

impl Condition {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Degraded => "degraded",
            Self::Connecting => "connecting",
            Self::Reconnecting => "reconnecting",
            Self::Standby => "standby",
            Self::Disconnected => "disconnected",
            Self::Failed => "failed",
            Self::Disabling => "disabling",
            Self::Disabled => "disabled",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a server that is so satisfies someone who waits for `wanted`: one that is degraded is connected too.
    #[must_use]
    pub fn satisfies(self, wanted: Self) -> bool {
        self == wanted || (self, wanted) == (Self::Degraded, Self::Connected)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn condition(state: &str, health: Option<&str>) -> Condition {
        Server { state: state.to_owned(), health_status: health.map(str::to_owned), ..Server::default() }.condition()
    }

    #[test]
    fn a_word_for_every_state() {
        assert_eq!(condition("Connected", Some("healthy")), Condition::Connected);
        assert_eq!(condition("Connected", Some("degraded")), Condition::Degraded);
        assert_eq!(condition("PermanentlyFailed", None), Condition::Failed);
        assert_eq!(condition("Disabled", None), Condition::Disabled);
        assert_eq!(condition("Dreaming", None), Condition::Unknown);
        let standby = |state: &str| Server { state: state.to_owned(), standby: true, ..Server::default() }.condition();
        assert_eq!((standby("Disconnected"), standby("Disabling")), (Condition::Standby, Condition::Standby));
        assert_eq!(standby("Connecting"), Condition::Connecting);
    }

    #[test]
    fn the_degraded_are_connected() {
        assert!(Condition::Degraded.satisfies(Condition::Connected));
        assert!(!Condition::Connected.satisfies(Condition::Degraded));
        assert!(!Condition::Reconnecting.satisfies(Condition::Connected));
    }

    #[test]
    fn other_versions_are_understood() {
        let server = Server::read(json!({ "name": "a", "state": "Connected", "mood": "fine" })).unwrap();
        assert_eq!((server.name.as_str(), server.condition(), server.generation), ("a", Condition::Connected, 0));
        assert_eq!(server.raw["mood"], "fine");
    }
}
