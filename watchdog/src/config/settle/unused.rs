//! Keys that are understood and checked, but do nothing in this version. Saying so is better than silence.

use crate::config::source::{Source, Sources};
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

/// Adds a warning for each key of the process that is written.
pub(super) fn of_process(tree: &Node, sources: &Sources, warnings: &mut Vec<String>) {
    each(tree, &TOP, sources, warnings);
}

/// The same for the keys of a server.
pub(super) fn of_server(tree: &Node, sources: &Sources, warnings: &mut Vec<String>) {
    each(tree, &SERVER, sources, warnings);
}

fn each(tree: &Node, keys: &[&str], sources: &Sources, warnings: &mut Vec<String>) {
    for key in keys {
        let Some(node) = tree.at(key) else { continue };
        if !matches!(sources.get(node.origin.source), Source::BuiltIn) {
            warnings.push(format!("{}: `{key}` has no effect in this version", sources.name(&node.origin)));
        }
    }
}
