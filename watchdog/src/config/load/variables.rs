//! `MCP_WATCHDOG_<PATH>`: any key by its path in upper case, `__` between levels.

use crate::config::error::ConfigError;
use crate::config::hint;
use crate::config::keys::{Holds, Key};
use crate::config::source::{Source, Sources};
use crate::config::tree::{Node, Origin};

use super::assign::{self, Assignment, Keys, Scope};
use super::layers::Environment;

const PREFIX: &str = "MCP_WATCHDOG_";

/// Variables of the program that are no keys.
const RESERVED: [&str; 5] = ["TOKEN", "CONFIG", "NAME", "RUNTIME_DIR", "SOCKET"];

/// The variable of a dotted key.
pub(super) fn name(dotted: &str) -> String {
    format!("{PREFIX}{}", dotted.replace('.', "__").to_uppercase())
}

/// A server's name as it stands in a variable: letters in one case, and `_` for everything else.
pub(super) fn fold(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// What the variables set. An unknown one is a warning, because a sidecar inside a sidecar inherits the outer one's.
pub(super) fn gather(
    environment: &Environment,
    keys: &Keys,
    sources: &mut Sources,
    errors: &mut Vec<ConfigError>,
    warnings: &mut Vec<String>,
) -> Vec<Assignment> {
    let mut found = Vec::new();
    for (variable, value) in environment.iter() {
        let Some(rest) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        if RESERVED.contains(&rest) || value.is_empty() {
            continue;
        }
        let Some((scope, path, holds)) = target(rest, keys) else {
            warnings.push(unknown(variable, keys));
            continue;
        };
        let text = value.to_str().ok_or_else(|| "the value is not UTF-8".to_owned());
        let origin = Origin { source: sources.add(Source::Variable(variable.to_owned())), path: Vec::new() };
        match text.and_then(|text| assign::value(text, holds, &origin)) {
            Ok(node) => {
                let mut tree = Node::empty(origin);
                tree.put(&path.split('.').collect::<Vec<_>>(), node);
                found.push((specificity(&scope, rest), Assignment { scope, tree }));
            }
            Err(message) => errors.push(ConfigError::about(variable, message)),
        }
    }
    // One server's own variable is laid over the one for all, and LOG__LEVEL over its short form LOG.
    found.sort_by_key(|(specificity, _)| *specificity);
    found.into_iter().map(|(_, assignment)| assignment).collect()
}

fn specificity(scope: &Scope, rest: &str) -> u8 {
    match scope {
        Scope::Named(_) => 2,
        _ => u8::from(rest != "LOG"),
    }
}

/// The key that a variable means.
fn target(rest: &str, keys: &Keys) -> Option<(Scope, String, Holds)> {
    if rest == "LOG" {
        return Some((Scope::Top, "log.level".to_owned(), Holds::Scalar));
    }
    let dotted = rest.replace("__", ".").to_lowercase();
    let find = |keys: &[Key], dotted: &str| {
        keys.iter().find(|key| key.path.to_lowercase() == dotted).map(|key| (key.path.clone(), key.holds))
    };
    if let Some(of_server) = dotted.strip_prefix("servers.") {
        let (server, dotted) = of_server.split_once('.')?;
        let (path, holds) = find(&keys.server, dotted)?;
        return Some((Scope::Named(server.to_owned()), path, holds));
    }
    if let Some((path, holds)) = find(&keys.top, &dotted) {
        return Some((Scope::Top, path, holds));
    }
    find(&keys.server, &dotted).map(|(path, holds)| (Scope::Server, path, holds))
}

fn unknown(variable: &str, keys: &Keys) -> String {
    // Compared without the common beginning, which would make everything look alike.
    let names: Vec<String> = keys.top.iter().chain(&keys.server).map(|key| name(&key.path)).collect();
    let rest = variable.strip_prefix(PREFIX).unwrap_or(variable);
    let near = hint::nearest(rest, names.iter().filter_map(|name| name.strip_prefix(PREFIX)));
    let near = near.map(|found| format!(" (did you mean {PREFIX}{found}?)")).unwrap_or_default();
    format!("{variable} is not a variable of this program and has no effect{near}")
}
