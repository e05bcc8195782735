//! Keys that are understood and checked, but do nothing in this version. Saying so is better than silence.

use super::Merged;

/// Adds a warning for each key of the process that is written.
pub(super) fn of_process(merged: &Merged<'_>, warnings: &mut Vec<String>) {
    each(merged, "frontends", "has no effect in this version", warnings);
}

/// The same for the keys of a server.
pub(super) fn of_server(merged: &Merged<'_>, warnings: &mut Vec<String>) {
    each(merged, "headers", "has no effect in this version", warnings);
    for key in ["shared", "sharing"] {
        each(
            merged,
            key,
            "has no effect in this version: a server has one process, and one client at a time",
            warnings,
        );
    }
}

fn each(merged: &Merged<'_>, key: &str, says: &str, warnings: &mut Vec<String>) {
    if let Some(origin) = merged.written(key) {
        warnings.push(format!("{}: `{key}` {says}", merged.sources.name(origin)));
    }
}
