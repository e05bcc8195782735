//! What stands in a link of this type.

use std::path::PathBuf;

use probe_api::ConfigError;
use serde::Deserialize;
use serde_json::Value;

/// The options of a link of this type, beside those that all links have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The library; an absolute path by the time that it is used.
    pub library: PathBuf,
    /// What the plugin gets.
    #[serde(default)]
    pub config: Value,
    /// What the file must hash to, in lower-case hexadecimal digits.
    #[serde(default, deserialize_with = "pin")]
    pub sha256: Option<String>,
    /// What follows when it does not load at the start of the watchdog.
    #[serde(default)]
    pub on_error: OnError,
}

impl Options {
    pub(super) fn read(options: &Value) -> Result<Self, ConfigError> {
        let options: Self = serde_json::from_value(options.clone()).map_err(|error| ConfigError(error.to_string()))?;
        if options.library.is_absolute() {
            return Ok(options);
        }
        let library = options.library.display();
        Err(ConfigError(format!("`library` {library} is not absolute, and there is no file beside which it lies")))
    }
}

/// `on_error`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The watchdog does not start: a probe that silently is not there would be worse.
    #[default]
    RefuseStart,
    /// A warning; the link tells nothing until the plugin loads.
    Skip,
}

/// A hash as `sha256sum` prints it, in any case.
fn pin<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        // Digits without quotes are a number.
        _ => String::new(),
    };
    let is_hash = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let wrong = "`sha256` wants 64 hexadecimal digits in quotes, as `sha256sum FILE` prints them";
    is_hash.then(|| Some(text.to_ascii_lowercase())).ok_or_else(|| serde::de::Error::custom(wrong))
}

#[cfg(test)]
mod tests;
