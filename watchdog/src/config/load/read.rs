//! Reads a tree through a file shape and reports everything that does not fit.
//!
//! Serde ends at the first fault. So what is at fault is taken out of the tree, and the rest is read again: every key may be
//! left out, so that always leads on.

use serde::de::DeserializeOwned;

use crate::config::error::ConfigError;
use crate::config::source::Sources;
use crate::config::text::quoted;
use crate::config::tree::place::Target;
use crate::config::tree::read::{Fault, Reader, Wrong};
use crate::config::tree::{Node, Step};
use crate::config::{hint, keys};

/// More would not help anyone.
const MOST_ERRORS: usize = 50;

/// The value, less all that was at fault; `None` where the whole is.
pub(super) fn whole<T: DeserializeOwned>(
    tree: &mut Node,
    sources: &Sources,
    errors: &mut Vec<ConfigError>,
) -> Option<T> {
    for _ in 0..MOST_ERRORS {
        match T::deserialize(Reader(tree)) {
            Ok(value) => return Some(value),
            Err(fault) => {
                errors.push(report(&fault, tree, sources));
                if !tree.remove(&fault.path()) {
                    return None;
                }
            }
        }
    }
    None
}

fn report(fault: &Fault, tree: &Node, sources: &Sources) -> ConfigError {
    let path = fault.path();
    let origin = &tree.deepest(&path).origin;
    match (&fault.what, path.last()) {
        (Wrong::Unknown(fields), Some(Step::Key(key))) => {
            ConfigError::located(sources, origin, Target::Key(0), unknown(key, fields))
        }
        (Wrong::Unknown(_), _) => ConfigError::located(sources, origin, Target::Value, "unknown field"),
        (Wrong::Value(message), _) => ConfigError::located(sources, origin, Target::Value, message.clone()),
    }
}

fn unknown(key: &str, fields: &[&str]) -> String {
    if key == "mcpServers" {
        return "unknown field \"mcpServers\": this is a client's file; `mcp-watchdog import` makes a configuration of it, \
                and `mcp-watchdog wrap` puts the watchdog in front of its servers"
            .to_owned();
    }
    let near = hint::did_you_mean(key, fields.iter().copied());
    if !near.is_empty() {
        return format!("unknown field {}{near}", quoted(key));
    }
    let keys = keys::server();
    let paths: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
    let near = hint::nearest_key(key, &paths).map(|found| format!(" (did you mean \"{found}\"?)")).unwrap_or_default();
    format!("unknown field {}{near}", quoted(key))
}
