//! The fields of an event or a span, written as they will stand in the line.

use std::error::Error;
use std::fmt::{self, Write};

use serde_json::Value;
use tracing::field::{Field, Visit};

use super::plain;
use crate::config::LogFormat;

/// Collects the message apart from the rest: ` key=value` in text, `,"key":value` in JSON.
pub(super) struct Fields {
    format: LogFormat,
    pub(super) message: String,
    pub(super) rest: String,
}

impl Fields {
    pub(super) const fn new(format: LogFormat) -> Self {
        Self { format, message: String::new(), rest: String::new() }
    }

    fn string(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
            return;
        }
        match self.format {
            LogFormat::Json => self.bare(field, Value::from(value)),
            LogFormat::Text if is_word(value) => self.bare(field, value),
            LogFormat::Text => self.bare(field, Quoted(value)),
        }
    }

    /// A value that needs no quotes.
    fn bare(&mut self, field: &Field, value: impl fmt::Display) {
        let name = field.name();
        let written = match self.format {
            LogFormat::Text => write!(self.rest, " {name}={value}"),
            LogFormat::Json => write!(self.rest, r#",{}:{value}"#, Value::from(name)),
        };
        debug_assert!(written.is_ok(), "a string takes all that is written to it");
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.string(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.string(field, &format!("{value:?}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        self.string(field, &text);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match self.format {
            LogFormat::Json => self.bare(field, Value::from(value)),
            LogFormat::Text => self.bare(field, value),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }
}

/// Whether a value can stand without quotes.
fn is_word(value: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || plain::is_harmful(c) || matches!(c, '"' | '=' | '\\');
    !value.is_empty() && !value.contains(is_odd)
}

/// A value in quotes, on one line.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        plain::escaped(f, &self.0.replace('\\', r"\\").replace('"', "\\\""))?;
        f.write_char('"')
    }
}
