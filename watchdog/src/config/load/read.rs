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
            ConfigError::located(sources, origin, Target::Key(0), unknown(&path, key, fields))
        }
        (Wrong::Unknown(_), _) => ConfigError::located(sources, origin, Target::Value, "unknown field"),
        (Wrong::Value(message), _) => ConfigError::located(sources, origin, Target::Value, message.clone()),
    }
}

fn unknown(path: &[Step], key: &str, fields: &[&str]) -> String {
    if key == "mcpServers" {
        return "unknown field \"mcpServers\": this is a client's file; `mcp-watchdog import` makes a configuration of it, \
                and `mcp-watchdog wrap` puts the watchdog in front of its servers"
            .to_owned();
    }
    let (section, keys) = (section(path), keys::server());
    if let Some(place) = place(section.as_deref(), key, &keys) {
        return format!("unknown field {}: its place is {place}", quoted(key));
    }
    let near = hint::did_you_mean(key, fields.iter().copied());
    if !near.is_empty() {
        return format!("unknown field {}{near}", quoted(key));
    }
    let paths: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
    let near = hint::nearest_key(key, &paths).map(|found| match &section {
        Some(_) => format!(" (did you mean \"{found}\"?)"),
        None => format!(" (did you mean \"servers.NAME.{found}\"?)"),
    });
    format!("unknown field {}{}", quoted(key), near.unwrap_or_default())
}

/// The server's section that a path leads into, as it is written.
fn section(path: &[Step]) -> Option<String> {
    match path {
        [Step::Key(top), _, ..] if top == "defaults" => Some(top.clone()),
        [Step::Key(top), Step::Key(name), _, ..] if top == "servers" => Some(format!("servers.{name}")),
        _ => None,
    }
}

/// Where a key stands that is spelled as it should be, and is not here.
fn place(section: Option<&str>, key: &str, of_servers: &[keys::Key]) -> Option<String> {
    let begins = |keys: &[keys::Key]| keys.iter().any(|known| known.path.split('.').next() == Some(key));
    if begins(of_servers) {
        return Some(match section {
            Some(section) => format!("`{section}.{key}`"),
            None => format!("`servers.NAME.{key}`, or `defaults.{key}` for all servers"),
        });
    }
    begins(&keys::top()).then(|| format!("the top of the file, beside `servers`: `{key}`"))
}
