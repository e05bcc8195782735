//! Keys that are understood and checked, but do nothing in this version. Saying so is better than silence.

use crate::config::load::Effective;
use crate::config::source::Source;
use crate::config::tree::Node;

/// Of the process.
const TOP: [&str; 11] = [
    "control.health_listen",
    "control.token_file",
    "control.allow_remote",
    "mgmt.inject",
    "mgmt.tool_prefix",
    "mgmt.allow_disable",
    "events.file",
    "events.format",
    "events.ring",
    "state_file",
    "frontends",
];

/// Of a server.
const SERVER: [&str; 4] = ["headers", "shared", "sharing", "listen"];

/// Adds a warning for each that is written.
pub(super) fn warn(effective: &Effective, warnings: &mut Vec<String>) {
    each(&effective.top, &TOP, effective, warnings);
    each(&effective.server, &SERVER, effective, warnings);
}

fn each(tree: &Node, keys: &[&str], effective: &Effective, warnings: &mut Vec<String>) {
    for key in keys {
        let Some(node) = tree.at(key) else { continue };
        if !matches!(effective.sources.get(node.origin.source), Source::BuiltIn) {
            warnings.push(format!("{}: `{key}` has no effect in this version", effective.sources.name(&node.origin)));
        }
    }
}
