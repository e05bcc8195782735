//! Values that are written as one scalar: what each type accepts, and what it says of anything else.
//!
//! The same reading serves the file, the environment and the options, so that `30s` means the same everywhere.

use std::fmt;
use std::marker::PhantomData;

pub(crate) use probe_api::options::quoted;
use schemars::{Schema, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::hint;

/// A type that is read from the text of one scalar.
pub(crate) trait FromText: Sized {
    /// What is expected, to complete "expected …".
    const EXPECTED: &'static str;

    /// Reads the text; the error completes "KEY: …".
    fn from_text(text: &str) -> Result<Self, String>;

    /// What an editor may check of it before it is read. Any scalar is a text.
    fn schema() -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// A scalar as a key of the file shapes. Reading happens inside, so that an error has the scalar's own place.
#[derive(Clone, PartialEq)]
pub(crate) struct Written<T>(pub(crate) T);

impl<'de, T: FromText> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData)).map(Self)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(E::custom)
    }
}

impl FromText for String {
    const EXPECTED: &'static str = "a string";

    fn from_text(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl FromText for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn from_text(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("expected `true` or `false`, not {}", quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

impl FromText for usize {
    const EXPECTED: &'static str = "a whole number";

    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| format!("expected a whole number, not {}", quoted(text)))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A whole number from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u32);

impl FromText for Count {
    const EXPECTED: &'static str = "a whole number from 1 on";

    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(count) if count >= 1 => Ok(Self(count)),
            _ => Err(format!("expected a whole number from 1 on, not {}", quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 1 })
    }
}

/// A number of attempts, or `unlimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempts(pub(crate) Option<u32>);

impl FromText for Attempts {
    const EXPECTED: &'static str = "a whole number from 1 on, or `unlimited`";

    fn from_text(text: &str) -> Result<Self, String> {
        if text == "unlimited" {
            return Ok(Self(None));
        }
        match Count::from_text(text) {
            Ok(Count(count)) => Ok(Self(Some(count))),
            Err(_) => Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 1, "pattern": "^unlimited$" })
    }
}

/// A number as `/proc/PID/oom_score_adj` takes it (proc_pid_oom_score_adj(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OomScoreAdj(pub(crate) i32);

impl FromText for OomScoreAdj {
    const EXPECTED: &'static str = "a whole number from -1000 to 1000";

    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if (-1000..=1000).contains(&number) => Ok(Self(number)),
            _ => Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": -1000, "maximum": 1000 })
    }
}

/// A spread, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fraction(pub(crate) f64);

impl FromText for Fraction {
    const EXPECTED: &'static str = "a number from 0 to 1";

    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(number) if (0.0..=1.0).contains(&number) => Ok(Self(number)),
            _ => Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// A growth factor: at least 1, so that delays never shrink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factor(pub(crate) f64);

impl FromText for Factor {
    const EXPECTED: &'static str = "a number from 1 to 1000";

    fn from_text(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(number) if (1.0..=1000.0).contains(&number) => Ok(Self(number)),
            _ => Err(format!("expected {}, not {}", Self::EXPECTED, quoted(text))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "number", "minimum": 1, "maximum": 1000 })
    }
}

/// What the names of tools begin with: characters that names of tools have (MCP 2025-11-25, server/tools, "Tool Names").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolPrefix(pub(crate) String);

impl FromText for ToolPrefix {
    const EXPECTED: &'static str = "the beginning of a tool's name";

    fn from_text(text: &str) -> Result<Self, String> {
        /// A name has 128 characters at most; our own parts of it need their share.
        const LONGEST: usize = 64;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if text.len() <= LONGEST && text.bytes().all(fits) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "{} cannot begin a tool's name: letters, digits, `_`, `-` and `.`, at most {LONGEST}",
            quoted(text)
        ))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{0,64}$" })
    }
}

/// Finds the value that a word stands for, or says which words there are.
pub(crate) fn choose<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, String> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let hint = hint::did_you_mean(text, names.iter().copied());
    Err(format!("expected {}, not {}{hint}", hint::alternatives(&names), quoted(text)))
}

/// Gives an enum its words: `words!(OnCall { "wait" => OnCall::Wait, … })`.
macro_rules! words {
    ($type:ty { $($word:literal => $value:expr),+ $(,)? }) => {
        impl crate::config::text::FromText for $type {
            const EXPECTED: &'static str = concat!("one of", $(" `", $word, "`"),+);

            fn from_text(text: &str) -> Result<Self, String> {
                crate::config::text::choose(text, &[$(($word, $value)),+])
            }

            fn schema() -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }
    };
}
pub(crate) use words;
