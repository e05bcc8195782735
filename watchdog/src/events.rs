//! The public event vocabulary (events.md): what happened, as data.
//!
//! Pure but for [`bus`], [`write`](mod@write) and the file behind it. Names and `data` fields are kept exactly as the documents
//! behind them spell them; they are an interface. Nothing in an event is a payload, an argument, an environment value or
//! a header.
pub mod bus;
mod data;
mod file;
mod id;
mod kind;
mod repeats;
mod text;
pub mod throttle;
pub mod write;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

pub use bus::Bus;
pub use kind::EventKind;
pub use throttle::Throttle;
pub use write::EventWriter;

/// A short text that is mostly known at compile time.
pub type Text = Cow<'static, str>;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What, with its data.
    pub kind: EventKind,
    /// The server it is about; `None` where it is about the watchdog.
    pub server: Option<Arc<str>>,
    /// The server process it is about, where there is one.
    pub generation: Option<u64>,
}

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// For developers.
    Debug,
    /// What an operator wants to know.
    Info,
    /// May become a failure.
    Warn,
    /// A failure.
    Error,
}

impl Level {
    /// As it is written in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl Event {
    /// An event about the watchdog itself.
    #[must_use]
    pub const fn of_watchdog(kind: EventKind) -> Self {
        Self { kind, server: None, generation: None }
    }

    /// An event about a server.
    #[must_use]
    pub const fn of_server(kind: EventKind, server: Arc<str>, generation: Option<u64>) -> Self {
        Self { kind, server: Some(server), generation }
    }

    /// Its name: `type` in JSON.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// How much it matters.
    #[must_use]
    pub const fn level(&self) -> Level {
        self.kind.level()
    }

    /// `data` as events.md and the requirements S25 to S29 have it: with the server's `name`, and with the `generation`
    /// where they ask for it.
    #[must_use]
    pub fn data(&self) -> Value {
        let mut data = self.kind.data();
        if let Some(fields) = data.as_object_mut() {
            if let Some(server) = &self.server {
                fields.insert("name".into(), Value::from(&**server));
            }
            if self.kind.carries_generation() {
                fields.insert("generation".into(), Value::from(self.generation));
            }
        }
        data
    }

    /// The line for people, without time and level: `memory: connected after 120 ms`.
    #[must_use]
    pub fn text(&self) -> String {
        let text = self.kind.text();
        match &self.server {
            Some(server) => format!("{server}: {text}"),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests;
