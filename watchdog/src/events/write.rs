//! Events in the log.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::bus::Record;
use super::{Event, Level, id};
use crate::config::{EventForm, Events, LogFormat};
use crate::telemetry::{LogHandle, timestamp};

/// The version of the JSON form.
const VERSION: u32 = 1;

/// Writes events to stderr: as a line for people through `tracing` (target `mcp`), or as the JSON object of events.md,
/// section 2. It never waits.
#[derive(Debug)]
pub struct EventWriter {
    log: LogHandle,
    form: EventForm,
    /// `urn:mcp-watchdog:host/pid`
    source: String,
    random: fastrand::Rng,
}

impl EventWriter {
    /// A writer of this process's events.
    #[must_use]
    pub fn new(log: LogHandle, events: &Events) -> Self {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let source = format!("urn:mcp-watchdog:{}/{}", host.to_string_lossy(), std::process::id());
        Self { log, form: events.stderr, source, random: fastrand::Rng::new() }
    }

    /// The process that events come from.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// A fresh id for an event of this time.
    pub(super) fn id(&mut self, time: SystemTime) -> String {
        id::ulid(time, self.random.u128(..))
    }

    /// Writes one event, where the configuration and the log's level want it.
    pub(super) fn write(&self, record: &Record) {
        let event = &record.event;
        match (self.form, self.log.format()) {
            (EventForm::Off, _) => {}
            (EventForm::Text, LogFormat::Text) => trace(event),
            _ if self.log.enabled(tracing_level(event.level())) => self.log.raw(record.json.as_bytes()),
            _ => {}
        }
    }
}

/// What an event gets when it is written.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// Unique.
    pub id: String,
    /// Counts the events of a process from 1.
    pub sequence: u64,
    /// When it happened.
    pub time: SystemTime,
    /// The process it happened in.
    pub source: &'a str,
}

/// The JSON form of events.md, section 2.
#[must_use]
pub fn to_json(event: &Event, envelope: &Envelope<'_>) -> Value {
    let mut object = json!({
        "v": VERSION,
        "id": envelope.id,
        "seq": envelope.sequence,
        "time": timestamp(envelope.time),
        "level": event.level().name(),
        "type": event.name(),
        "source": envelope.source,
        "data": event.data(),
    });
    if let Some(server) = &event.server {
        object["subject"] = Value::from(&**server);
        object["server"] = Value::from(&**server);
    }
    if let Some(generation) = event.generation {
        object["generation"] = Value::from(generation);
    }
    object
}

const fn tracing_level(level: Level) -> tracing::Level {
    match level {
        Level::Debug => tracing::Level::DEBUG,
        Level::Info => tracing::Level::INFO,
        Level::Warn => tracing::Level::WARN,
        Level::Error => tracing::Level::ERROR,
    }
}

fn trace(event: &Event) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: "mcp",
                event = event.name(),
                generation = event.generation,
                "{}",
                event.text(),
            )
        };
    }
    match event.level() {
        Level::Debug => line!(debug),
        Level::Info => line!(info),
        Level::Warn => line!(warn),
        Level::Error => line!(error),
    }
}
