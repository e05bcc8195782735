//! Durations and sizes as people write them in a configuration: `500ms`, `30s`, `1h30m`, a bare number of seconds;
//! `64KiB`, `512MiB`, a bare number of bytes.
//!
//! The whole configuration is read by these, so a probe whose options use them is written like the rest of it.
//!
//! ```
//! use std::time::Duration;
//! use probe_api::options::{Size, Span};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {
//!     within: Span,
//!     limit: Size,
//! }
//!
//! let config: Config = serde_json::from_str(r#"{"within": "1m30s", "limit": "2MiB"}"#).unwrap();
//! assert_eq!((config.within.0, config.limit.0), (Duration::from_secs(90), 2 << 20));
//! let error = serde_json::from_str::<Span>(r#""soon""#).unwrap_err().to_string();
//! assert!(error.contains("\"soon\" is not a duration (write 500ms, 30s,"), "{error}");
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::ConfigError;

/// A duration. Written, it reads back as the same: `1h30m`, `2.5s`, `500ms`, `0s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub Duration);

/// A number of bytes. Written, it reads back as the same: `512MiB`, `1536KiB`, `1000B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

/// The longest duration that is accepted: longer ones are typing errors, and would overflow a deadline.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The units, longest first, in nanoseconds.
const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", NANOS_PER_SECOND),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The units in which sizes are written, largest first.
const BINARY: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl FromStr for Span {
    type Err = ConfigError;

    /// Refuses what is not a duration, is negative, or is longer than ten years.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(ConfigError(format!("a duration cannot be negative, as {} is", quoted(text))));
        }
        let nanos = total(trimmed).ok_or_else(|| {
            let forms = "(write 500ms, 30s, 2m, 1h30m, or a number of seconds)";
            ConfigError(format!("{} is not a duration {forms}", quoted(text)))
        })?;
        match u64::try_from(nanos / NANOS_PER_SECOND) {
            Ok(seconds) if Duration::from_secs(seconds) < LONGEST => {
                // A remainder by 10^9 fits 32 bits.
                let rest = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or_default();
                Ok(Self(Duration::new(seconds, rest)))
            }
            _ => Err(ConfigError(format!("{} is longer than ten years", quoted(text)))),
        }
    }
}

/// The sum of all parts in nanoseconds, or `None` for what is not a duration. Too long ones saturate.
fn total(text: &str) -> Option<u128> {
    if let (number, "") = split_number(text)? {
        return in_nanos(number, NANOS_PER_SECOND);
    }
    let mut rest = text;
    let mut sum = 0_u128;
    let mut smallest = u128::MAX;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (word, after) = after.split_at(end);
        let (_, unit) = UNITS.into_iter().find(|(name, _)| *name == word)?;
        // `30m1h` and `1s1s` are more likely slips than meant.
        if unit >= smallest {
            return None;
        }
        smallest = unit;
        sum = sum.saturating_add(in_nanos(number, unit)?);
        rest = after.trim_start();
    }
    Some(sum)
}

/// Splits off a leading number; `None` when there is none.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    number.starts_with(|c: char| c.is_ascii_digit()).then_some((number, rest))
}

/// A decimal number of units in nanoseconds, cut to whole ones. Whole numbers stay exact, whatever their size.
fn in_nanos(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || number.ends_with('.') {
        return None;
    }
    // More digits than this cannot matter: they are below a nanosecond, or above ten years.
    let whole: u128 = if whole.len() > 30 { u128::MAX } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    Some(whole.saturating_mul(unit).saturating_add(fraction * unit / scale))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nanos = self.0.as_nanos();
        if nanos == 0 {
            return f.write_str("0s");
        }
        for (name, unit) in UNITS {
            if unit > NANOS_PER_SECOND {
                if nanos >= unit {
                    write!(f, "{}{name}", nanos / unit)?;
                    nanos %= unit;
                }
            } else if nanos >= unit {
                // One part for all that is left: `2.5s`, and not `2s500ms`.
                let (whole, rest) = (nanos / unit, nanos % unit);
                let digits = usize::try_from(unit.ilog10()).unwrap_or_default();
                let fraction = format!("{rest:0digits$}");
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                return write!(f, "{whole}{point}{fraction}{name}");
            }
        }
        Ok(())
    }
}

impl FromStr for Size {
    type Err = ConfigError;

    /// Refuses what is not a size, or does not fit 64 bits.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        bytes(text.trim()).map(Self).ok_or_else(|| {
            ConfigError(format!("{} is not a size (write 64KiB, 1MiB, 2GiB, or a number of bytes)", quoted(text)))
        })
    }
}

fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |unit: &u64| self.0 >= *unit && self.0.is_multiple_of(*unit);
        let (name, unit) = BINARY.into_iter().find(|(_, unit)| fits(unit)).unwrap_or(("B", 1));
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// The text as a message quotes it: short, and without control characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    // Enough to recognise a value by.
    excerpt(text, 40)
}

/// The first so many characters of a text, quoted and without control characters.
#[must_use]
pub fn excerpt(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}

/// Numbers are read by way of their text, so that both forms mean the same.
struct Scalar<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err = ConfigError>> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar("a duration", PhantomData))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Scalar("a size", PhantomData))
    }
}

#[cfg(test)]
mod tests;
