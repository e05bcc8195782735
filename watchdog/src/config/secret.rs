//! What must not be shown: which values are secrets, and where they stand in a file.

use super::tree::place::{self, Place, Target};
use super::tree::{Node, Step, Value};

/// What is shown instead.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Keys whose values are secrets, or hold some, wherever they stand.
const KEYS: [&str; 3] = ["env", "headers", "url"];

/// Parts of a name behind which people keep secrets.
const TELLING: [&str; 7] = ["token", "secret", "password", "passwd", "credential", "apikey", "auth"];

/// Whether the value of a key of this name must not be shown. A slip such as `evn` hides as much as the right name.
pub(crate) fn is_secret_key(key: &str) -> bool {
    KEYS.contains(&key) || ["env", "headers"].iter().any(|name| strsim::damerau_levenshtein(key, name) <= 1)
}

/// Whether an option or a probe's option of this name takes a secret, as far as names tell. `token_file` names a file.
pub(crate) fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    !name.ends_with("_file") && (name.ends_with("_key") || TELLING.iter().any(|part| name.contains(part)))
}

/// For each argument of a command how many of its bytes may be shown: of `--api-key=…` the name, of what follows
/// `--token` nothing, of others all (`None`).
pub(crate) fn arguments<'a>(args: impl Iterator<Item = &'a str>) -> Vec<Option<usize>> {
    let mut hide_next = false;
    args.map(|arg| {
        let option = arg.starts_with('-');
        let shown = match arg.split_once('=') {
            _ if hide_next && !option => Some(0),
            Some((name, _)) if is_telling(name) => Some(name.len() + 1),
            _ => None,
        };
        hide_next = option && !arg.contains('=') && is_telling(arg);
        shown
    })
    .collect()
}

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret {
    /// Where it begins.
    pub(crate) place: Place,
    /// Whether it ends on the line on which it begins.
    pub(crate) one_line: bool,
}

/// The secrets of a tree, in the text that it was read from.
pub(crate) fn find(root: &Node, text: &str) -> Vec<Secret> {
    let mut leaves = Vec::new();
    walk(root, false, &mut leaves);
    leaves.into_iter().filter_map(|(path, value)| secret(text, path, value)).collect()
}

fn secret(text: &str, path: &[Step], value: &str) -> Option<Secret> {
    let place = place::locate(text, path, Target::Value)?;
    let line = text.lines().nth(place.line.checked_sub(1)?)?;
    let spelled: String = line.chars().skip(place.column.checked_sub(1)?).collect();
    Some(Secret { place, one_line: ends_here(&spelled, value) })
}

/// Whether a scalar that begins a piece of a line ends in it.
fn ends_here(spelled: &str, value: &str) -> bool {
    let mut chars = spelled.chars();
    match chars.next() {
        Some('"') => {
            let mut escaped = false;
            chars.any(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })
        }
        Some('\'') => chars.as_str().replace("''", "").contains('\''),
        // The lines of a block are whole lines, on which nothing else begins.
        Some('|' | '>') => true,
        _ => spelled.starts_with(value),
    }
}

fn walk<'a>(node: &'a Node, hidden: bool, leaves: &mut Vec<(&'a [Step], &'a str)>) {
    match &node.value {
        Value::Scalar(scalar) if hidden => leaves.push((&node.origin.path, &scalar.text)),
        Value::Scalar(_) => {}
        Value::List(items) => {
            let texts = items.iter().map(|item| item.scalar().unwrap_or_default());
            for (item, shown) in items.iter().zip(arguments(texts)) {
                walk(item, hidden || shown.is_some(), leaves);
            }
        }
        Value::Map(entries) => {
            entries.iter().for_each(|(key, child)| walk(child, hidden || is_secret_key(key) || is_telling(key), leaves))
        }
    }
}
