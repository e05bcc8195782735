//! How a line looks: for people, or as a JSON object.

use std::fmt;
use std::time::SystemTime;

use serde_json::Value;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::fields::Fields;
use super::{plain, timestamp};
use crate::config::LogFormat;

/// The target of what is said about a server.
const SERVER: &str = "mcp";

/// Targets that are not shown to people: everything of the program itself.
const OWN: &str = "watchdog";

/// The form of the lines, for events and for the fields of spans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout(pub(super) LogFormat);

impl<S, N> FormatEvent<S, N> for Layout
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::new(self.0);
        event.record(&mut fields);
        let (level, target) = (*event.metadata().level(), event.metadata().target());
        match self.0 {
            LogFormat::Text => text(&mut to, level, target, &fields)?,
            LogFormat::Json => json(&mut to, level, target, &fields)?,
        }
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                to.write_str(&fields.fields)?;
            }
        }
        if self.0 == LogFormat::Json {
            to.write_char('}')?;
        }
        to.write_char('\n')
    }
}

impl<'w> FormatFields<'w> for Layout {
    fn format_fields<R: RecordFields>(&self, mut to: Writer<'w>, record: R) -> fmt::Result {
        let mut fields = Fields::new(self.0);
        record.record(&mut fields);
        to.write_str(&fields.rest)
    }
}

fn text(to: &mut Writer<'_>, level: Level, target: &str, fields: &Fields) -> fmt::Result {
    write!(to, "{} {level:>5} ", timestamp(SystemTime::now()))?;
    match target {
        SERVER => to.write_str("[mcp] ")?,
        _ if target == OWN || target.starts_with("watchdog::") => {}
        _ => write!(to, "{target}: ")?,
    }
    plain::escaped(to, &fields.message)?;
    to.write_str(&fields.rest)
}

/// All but the closing bracket.
fn json(to: &mut Writer<'_>, level: Level, target: &str, fields: &Fields) -> fmt::Result {
    let (time, level) = (timestamp(SystemTime::now()), name(level));
    write!(to, r#"{{"time":"{time}","level":"{level}","target":{}"#, Value::from(target))?;
    write!(to, r#","message":{}{}"#, Value::from(fields.message.as_str()), fields.rest)
}

/// A level as it is written in JSON.
const fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// A line of the server as a JSON object.
pub(super) fn server_line(target: &str, server: &str, probe: Option<&str>, line: &[u8], time: SystemTime) -> String {
    let message = Value::from(String::from_utf8_lossy(line));
    let probe = probe.map(|link| format!(r#","probe":{}"#, Value::from(link))).unwrap_or_default();
    format!(
        r#"{{"time":"{}","level":"info","target":"{target}","server":{}{probe},"message":{message}}}"#,
        timestamp(time),
        Value::from(server),
    )
}

/// The line that stands for lines about a server that were left out, such as those `of stdout`.
pub(super) fn left_out(format: LogFormat, server: &str, which: &str, lines: u64) -> String {
    let time = timestamp(SystemTime::now());
    let message = format!("{lines} lines {which} were left out: too many");
    match format {
        LogFormat::Text => format!("{time}  WARN [mcp] {server}: {message}"),
        LogFormat::Json => format!(
            r#"{{"time":"{time}","level":"warn","target":"mcp","server":{},"message":{},"dropped":{lines}}}"#,
            Value::from(server),
            Value::from(message)
        ),
    }
}

/// The line that stands for lines that were dropped.
pub(super) fn dropped(format: LogFormat, lines: u64) -> String {
    let time = timestamp(SystemTime::now());
    match format {
        LogFormat::Text => format!("{time}  WARN dropped {lines} lines: stderr is not read fast enough"),
        LogFormat::Json => format!(
            r#"{{"time":"{time}","level":"warn","target":"watchdog","message":"dropped lines: stderr is not read fast enough","dropped":{lines}}}"#
        ),
    }
}
