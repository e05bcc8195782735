//! Durations and sizes as people write them: `500ms`, `30s`, `1h30m`, a bare number of seconds; `64KiB`, `1MiB`, bare bytes.

use std::time::Duration;

use super::text::{FromText, quoted};

/// The longest duration that is accepted: longer ones are typing errors, and would overflow a deadline.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The units, longest first, in nanoseconds.
const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Reads a duration.
///
/// # Errors
/// When the text is not a duration, is negative, or is longer than ten years.
pub fn parse(text: &str) -> Result<Duration, String> {
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(format!("a duration cannot be negative, as {} is", quoted(text)));
    }
    let nanos = total(trimmed).ok_or_else(|| {
        format!("{} is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)", quoted(text))
    })?;
    match u64::try_from(nanos / NANOS_PER_SECOND) {
        Ok(seconds) if Duration::from_secs(seconds) < LONGEST => {
            // A remainder by 10^9 fits 32 bits.
            let rest = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or_default();
            Ok(Duration::new(seconds, rest))
        }
        _ => Err(format!("{} is longer than ten years", quoted(text))),
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

/// Writes a duration so that [`parse`] reads the same: `1h30m`, `500ms`, `0s`.
#[must_use]
pub fn format(duration: Duration) -> String {
    let mut nanos = duration.as_nanos();
    if nanos == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, unit) in UNITS {
        if nanos >= unit {
            text.push_str(&format!("{}{name}", nanos / unit));
            nanos %= unit;
        }
    }
    text
}

impl FromText for Duration {
    const EXPECTED: &'static str = "a duration";

    fn from_text(text: &str) -> Result<Self, String> {
        parse(text)
    }
}

/// A duration above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Above(pub(crate) Duration);

impl FromText for Above {
    const EXPECTED: &'static str = "a duration above zero";

    fn from_text(text: &str) -> Result<Self, String> {
        let duration = parse(text)?;
        if duration.is_zero() {
            Err(format!("must be longer than zero, not {}", quoted(text)))
        } else {
            Ok(Self(duration))
        }
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
        let duration = parse(text).map_err(|error| match error.strip_suffix(')') {
            Some(forms) => format!("{forms}, or `off`)"),
            None => error,
        })?;
        Ok(Self((!duration.is_zero()).then_some(duration)))
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl FromText for Size {
    const EXPECTED: &'static str = "a size";

    fn from_text(text: &str) -> Result<Self, String> {
        size(text.trim())
            .map(Self)
            .ok_or_else(|| format!("{} is not a size (write 64KiB, 1MiB, 2GiB, or a number of bytes)", quoted(text)))
    }
}

fn size(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: usize = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
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
}

#[cfg(test)]
mod tests;
