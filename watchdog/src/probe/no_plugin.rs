//! What stands for `plugin.rs` in a build without the feature `plugins`: a link of this type is refused where the configuration is read, so
//! nothing later meets one.

use probe_api::ConfigError;
use serde_json::Value;

use super::registry::{EngineEntry, Made, Surroundings};
use crate::config;
use crate::events::Bus;
use crate::telemetry::LogHandle;

/// The line of the registry.
pub(super) const ENTRY: EngineEntry = EngineEntry { name: "plugin", check, make };
/// Why, and what to do.
pub(crate) const REFUSAL: &str = "this build loads no plugins, because a static binary cannot (it was built without the feature \
                                  `plugins`): use a link of `type: exec`, or the dynamically linked build";

fn check(_: &Value, _: Option<&config::Command>) -> Result<(), ConfigError> {
    Err(ConfigError(REFUSAL.to_owned()))
}

fn make(_: &Value, _: &Surroundings<'_>) -> Made {
    Err(ConfigError(REFUSAL.to_owned()))
}

/// Lets every server start: no chain that was checked has a plugin.
#[expect(clippy::unused_async, reason = "the form of the one that loads plugins")]
pub(crate) async fn admit(_: &[config::Server], _: &LogHandle, _: &Bus) -> Result<(), String> {
    Ok(())
}
