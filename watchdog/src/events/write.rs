//! Events on their way out of the process: to the log, and to the file.

use std::time::{Instant, SystemTime};

use serde_json::{Value, json};

use super::bus::Record;
use super::file::{FileSink, Flush};
use super::repeats::Repeats;
use super::{Event, Level, id};
use crate::config::{EventForm, EventFormat, EventThrottle, Events, LogFormat};
use crate::telemetry::{LogHandle, timestamp};

/// The version of the JSON form.
const VERSION: u32 = 1;

/// Writes events to stderr: as a line for people through `tracing` (target `mcp`), or as the JSON object of events.md,
/// section 2; and to the file of `events.file`, always as JSON objects. It never waits.
#[derive(Debug)]
pub struct EventWriter {
    log: LogHandle,
    form: EventForm,
    format: EventFormat,
    throttle: Option<EventThrottle>,
    repeats: Repeats,
    file: Option<FileSink>,
    /// `urn:mcp-watchdog:host/pid`
    source: String,
    random: fastrand::Rng,
}

impl EventWriter {
    /// A writer of this process's events. Where the file's thread cannot be started there is no file, and the log says so.
    #[must_use]
    pub fn new(log: LogHandle, events: &Events) -> Self {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let source = format!("urn:mcp-watchdog:{}/{}", host.to_string_lossy(), std::process::id());
        let file = events.file.as_ref().and_then(|file| {
            let sink = FileSink::start(file.clone());
            sink.inspect_err(|error| tracing::error!(%error, "events.file cannot be served")).ok()
        });
        Self {
            log,
            form: events.stderr,
            format: events.format,
            throttle: events.throttle,
            repeats: Repeats::new(events.throttle.is_some()),
            file,
            source,
            random: fastrand::Rng::new(),
        }
    }

    /// The process that events come from.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// A fresh id for an event of this time.
    pub(super) fn id(&mut self, time: SystemTime) -> String {
        id::ulid(time, self.random.u128(..))
    }

    /// How often attempts are told.
    pub(super) const fn throttle(&self) -> Option<EventThrottle> {
        self.throttle
    }

    /// How many events the file has not got since this last said so; nothing while it could not take the answer either.
    pub(super) fn take_dropped(&self) -> Option<u64> {
        self.file.as_ref()?.take_dropped()
    }

    /// How many in all.
    pub(super) fn dropped(&self) -> u64 {
        self.file.as_ref().map_or(0, FileSink::dropped)
    }

    /// To be waited for.
    pub(super) fn flush(&self) -> Flush {
        self.file.as_ref().map(FileSink::flush).unwrap_or_default()
    }

    /// Writes one event, whose JSON object is `object`, where the configuration and the log's level want it.
    pub(super) fn write(&mut self, record: &Record, object: Value) {
        let object = match self.format {
            EventFormat::Jsonl => object,
            EventFormat::CloudEvents => to_cloud_event(object),
        };
        if let Some(file) = &self.file {
            file.push(format!("{object}\n"));
        }
        self.write_log(&record.event, object);
    }

    fn write_log(&mut self, event: &Event, mut object: Value) {
        if self.form == EventForm::Off || !self.log.enabled(tracing_level(event.level())) {
            return;
        }
        let Some(repeated) = self.repeats.admit(Instant::now(), event) else { return };
        let repeated = Some(repeated).filter(|repeated| *repeated > 0);
        if (self.form, self.log.format()) == (EventForm::Text, LogFormat::Text) {
            return trace(event, repeated);
        }
        if let Some(repeated) = repeated {
            object["repeated"] = Value::from(repeated);
        }
        self.log.raw(object.to_string().as_bytes());
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

/// The same object as an event of CloudEvents 1.0 in its JSON form: what the specification does not name is an extension.
#[must_use]
pub fn to_cloud_event(mut object: Value) -> Value {
    let kind = format!("io.mcp-watchdog.{}.v{VERSION}", object["type"].as_str().unwrap_or_default());
    if let Some(members) = object.as_object_mut() {
        members.remove("v");
        members.insert("specversion".into(), "1.0".into());
        members.insert("datacontenttype".into(), "application/json".into());
        members.insert("type".into(), kind.into());
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

fn trace(event: &Event, repeated: Option<u64>) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: "mcp",
                event = event.name(),
                generation = event.generation,
                repeated = repeated,
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
