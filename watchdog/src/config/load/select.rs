//! Which server is meant.

use std::path::Path;

use crate::config::error::ConfigError;
use crate::config::hint;
use crate::config::text::quoted;

use super::layers::Layers;
use super::{Input, discover};

/// Names appear in file names, which have a limit.
const LONGEST_NAME: usize = 64;

/// The server of the sidecar form.
pub(super) fn one(layers: &Layers, input: &Input) -> Result<String, ConfigError> {
    let named = asked(layers, input)?;
    if !input.command.is_empty() {
        return Ok(named.unwrap_or_else(|| of_command(&input.command)));
    }
    let without = "no server to run: write its command behind `--` (mcp-watchdog -- COMMAND ARGS...), or name a file with \
                   --config";
    let names = in_file(layers, input, without)?;
    match (named, names.as_slice()) {
        (Some(name), names) => known(name, names, layers),
        (None, [only]) => Ok(only.clone()),
        (None, names) => Err(ConfigError::about(
            layers.file_title(),
            format!("has {} servers, and this runs one; choose it with --name ({})", names.len(), names.join(", ")),
        )),
    }
}

/// Every server of the file, or the one that was asked for.
pub(super) fn all(layers: &Layers, input: &Input, without: &str) -> Result<Vec<String>, ConfigError> {
    let names = in_file(layers, input, without)?;
    match asked(layers, input)? {
        Some(name) => known(name, &names, layers).map(|name| vec![name]),
        None => Ok(names),
    }
}

fn known(name: String, names: &[String], layers: &Layers) -> Result<String, ConfigError> {
    if names.contains(&name) {
        return Ok(name);
    }
    let near = hint::did_you_mean(&name, names.iter().map(String::as_str));
    let message = format!("has no server {}{near}; it has {}", quoted(&name), names.join(", "));
    Err(ConfigError::about(layers.file_title(), message))
}

fn in_file(layers: &Layers, input: &Input, without: &str) -> Result<Vec<String>, ConfigError> {
    if layers.file_name().is_none() {
        let places = discover::usual(input, &layers.environment);
        let places: Vec<_> = places.iter().map(|path| path.display().to_string()).collect();
        return Err(ConfigError::new(format!("{without} (looked for {})", places.join(", "))));
    }
    let names = layers.names();
    if names.is_empty() {
        return Err(ConfigError::about(
            layers.file_title(),
            "describes no server: add one under `servers:`, or write its command behind `--`",
        ));
    }
    Ok(names)
}

/// `--name`, or else `MCP_WATCHDOG_NAME`.
fn asked(layers: &Layers, input: &Input) -> Result<Option<String>, ConfigError> {
    let variable = || layers.environment.get("MCP_WATCHDOG_NAME").filter(|value| !value.is_empty());
    let (from, value) = match (&input.name, variable()) {
        (Some(name), _) => ("--name", name.as_os_str()),
        (None, Some(name)) => ("MCP_WATCHDOG_NAME", name),
        (None, None) => return Ok(None),
    };
    match value.to_str() {
        Some(name) if is_name(name) => Ok(Some(name.to_owned())),
        _ => Err(ConfigError::about(from, format!("{} {NAME_RULE}", quoted(&value.to_string_lossy())))),
    }
}

const NAME_RULE: &str = "is not a server name: letters, digits, `.`, `_` and `-`, at most 64";

/// Whether a text is a server's name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_name_byte)
}

/// What is said of a name that is none.
pub(super) fn not_a_name(name: &str) -> String {
    format!("{} {NAME_RULE}", quoted(name))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// The base name of COMMAND, as a name.
fn of_command(command: &[std::ffi::OsString]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    to_name(&program.to_string_lossy())
}

/// The name that is nearest to a text: with `-` for every character that a name cannot have, but never in front, where
/// `--name` would take it for an option.
pub(crate) fn to_name(text: &str) -> String {
    let allowed = text.chars().map(|c| if u8::try_from(c).is_ok_and(is_name_byte) { c } else { '-' });
    let name: String = allowed.skip_while(|c| *c == '-').take(LONGEST_NAME).collect();
    if name.is_empty() { "server".to_owned() } else { name }
}
