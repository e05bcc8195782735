//! Durations and sizes as the keys of the configuration have them. How they are written is for
//! [`probe_api::options`] to say, which reads those of the probes too.

use std::time::Duration;

use probe_api::options::{self, Span};

use schemars::{Schema, json_schema};

use super::text::{FromText, quoted};

/// How a duration is spelled, as a pattern for editors. The order of the units is left to us.
const SPAN: &str = r"[0-9]+(\.[0-9]+)?((ns|us|ms|s|m|h|d)( *[0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h|d))*)?";

/// The same for a size.
const SIZE: &str = "[0-9]+ *([kKmMgG]?[bB]|[kKmMgG][iI][bB])?";

impl FromText for Duration {
    const EXPECTED: &'static str = "a duration";

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map(|Span(duration)| duration).map_err(|error: probe_api::ConfigError| error.0)
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "number"], "minimum": 0, "pattern": format!("^{SPAN}$") })
    }
}

/// A duration above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Above(pub(crate) Duration);

impl FromText for Above {
    const EXPECTED: &'static str = "a duration above zero";

    fn from_text(text: &str) -> Result<Self, String> {
        let duration = Duration::from_text(text)?;
        if duration.is_zero() {
            Err(format!("must be longer than zero, not {}", quoted(text)))
        } else {
            Ok(Self(duration))
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "number"], "exclusiveMinimum": 0, "pattern": format!("^{SPAN}$") })
    }
}

/// A duration, or `off`; zero is off too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OrOff(pub(crate) Option<Duration>);

impl FromText for OrOff {
    const EXPECTED: &'static str = "a duration or `off`";

    fn from_text(text: &str) -> Result<Self, String> {
        if matches!(text, "off" | "never") {
            return Ok(Self(None));
        }
        let duration = Duration::from_text(text).map_err(|error| match error.strip_suffix(')') {
            Some(forms) => format!("{forms}, or `off`)"),
            None => error,
        })?;
        Ok(Self((!duration.is_zero()).then_some(duration)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "number"], "minimum": 0, "pattern": format!("^({SPAN}|off|never)$") })
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl FromText for Size {
    const EXPECTED: &'static str = "a size";

    fn from_text(text: &str) -> Result<Self, String> {
        let options::Size(bytes) = text.parse().map_err(|error: probe_api::ConfigError| error.0)?;
        usize::try_from(bytes).map(Self).map_err(|_| format!("{} is more than this machine can address", quoted(text)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "integer"], "minimum": 0, "pattern": format!("^{SIZE}$") })
    }
}

/// The limit of one message. The least is the length of a reasonable `initialize`, below which nothing could work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineLimit(pub(crate) usize);

impl FromText for LineLimit {
    const EXPECTED: &'static str = "a size from 1KiB on";

    fn from_text(text: &str) -> Result<Self, String> {
        let Size(bytes) = Size::from_text(text)?;
        if bytes < 1024 { Err(format!("must be at least 1KiB, not {}", quoted(text))) } else { Ok(Self(bytes)) }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "integer"], "minimum": 1024, "pattern": format!("^{SIZE}$") })
    }
}

/// A size, or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeOrUnlimited(pub(crate) Option<u64>);

impl FromText for SizeOrUnlimited {
    const EXPECTED: &'static str = "a size or `unlimited`";

    fn from_text(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let options::Size(bytes) = text.parse().map_err(|error: probe_api::ConfigError| error.0)?;
        Ok(Self(Some(bytes)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "integer"], "minimum": 0, "pattern": format!("^({SIZE}|unlimited)$") })
    }
}

/// The size at which a file is put aside. Below the least, files would change with every few lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileLimit(pub(crate) Option<usize>);

impl FromText for FileLimit {
    const EXPECTED: &'static str = "a size from 64KiB on, or `unlimited`";

    fn from_text(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        let Size(bytes) = Size::from_text(text)?;
        if bytes < 64 << 10 {
            Err(format!("must be at least 64KiB, not {}", quoted(text)))
        } else {
            Ok(Self(Some(bytes)))
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "integer"], "minimum": 65536, "pattern": format!("^({SIZE}|unlimited)$") })
    }
}

/// What a process tree may use. No server could keep to less than the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryLimit(pub(crate) Option<u64>);

impl FromText for MemoryLimit {
    const EXPECTED: &'static str = "a size from 1MiB on, or `unlimited`";

    fn from_text(text: &str) -> Result<Self, String> {
        match SizeOrUnlimited::from_text(text)? {
            SizeOrUnlimited(Some(bytes)) if bytes < 1 << 20 => {
                Err(format!("must be at least 1MiB, not {}", quoted(text)))
            }
            SizeOrUnlimited(limit) => Ok(Self(limit)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["string", "integer"], "minimum": 1_048_576, "pattern": format!("^({SIZE}|unlimited)$") })
    }
}

#[cfg(test)]
mod tests;
