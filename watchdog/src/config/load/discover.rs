//! Which file is read, and reading it.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::config::error::ConfigError;

use super::Input;
use super::layers::Environment;

/// A longer file is not a configuration.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The file: named by `--config`, named by `MCP_WATCHDOG_CONFIG`, or, without a COMMAND, the first that exists of the
/// usual ones.
pub(super) fn find(input: &Input, environment: &Environment) -> Option<PathBuf> {
    if let Some(named) = &input.config {
        return Some(named.clone());
    }
    if let Some(named) = environment.get("MCP_WATCHDOG_CONFIG").filter(|value| !value.is_empty()) {
        return Some(PathBuf::from(named));
    }
    if !input.command.is_empty() {
        return None;
    }
    usual(input, environment).into_iter().find(|path| path.is_file())
}

/// The usual places, in their order.
pub(super) fn usual(input: &Input, environment: &Environment) -> Vec<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let mut places = vec![input.places.working.join("mcp-watchdog.yaml")];
    places.extend(user.map(|folder| folder.join("mcp-watchdog/config.yaml")));
    places.push(input.places.system.clone());
    places
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| ConfigError::about(&name, format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST {
        return Err(ConfigError::about(name, "is longer than 4 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        ConfigError::about(name, format!("is not UTF-8 text (byte {})", error.utf8_error().valid_up_to()))
    })
}
