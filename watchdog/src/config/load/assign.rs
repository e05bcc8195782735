//! One key set from outside the file: by a variable or an option.

use std::ffi::OsStr;

use crate::config::error::ConfigError;
use crate::config::hint;
use crate::config::keys::{Holds, Key};
use crate::config::source::{Source, Sources};
use crate::config::text::quoted;
use crate::config::tree::yaml;
use crate::config::tree::{Node, Origin, Value};

use super::Setting;

/// What a key belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// The process.
    Top,
    /// Whichever server.
    Server,
    /// The server whose name folds to this.
    Named(String),
}

/// A tree with one value in it.
#[derive(Clone)]
pub(super) struct Assignment {
    pub(super) scope: Scope,
    pub(super) tree: Node,
}

/// The keys that there are.
pub(super) struct Keys {
    pub(super) server: Vec<Key>,
    pub(super) top: Vec<Key>,
}

/// The path from the root for a dotted key, and what it holds. Behind a key that holds a map, the rest is one name in it.
pub(super) fn resolve<'a>(keys: &'a [Key], dotted: &'a str) -> Option<(Vec<&'a str>, Holds)> {
    if let Some(key) = keys.iter().find(|key| key.path == dotted) {
        return Some((key.path.split('.').collect(), key.holds));
    }
    let (key, name) = keys.iter().filter(|key| key.holds == Holds::Map).find_map(|key| {
        let name = dotted.strip_prefix(key.path.as_str())?.strip_prefix('.')?;
        (!name.is_empty()).then_some((key, name))
    })?;
    let mut path: Vec<&str> = key.path.split('.').collect();
    path.push(name);
    Some((path, Holds::Scalar))
}

/// A text as a value of the kind that the key holds.
pub(super) fn value(text: &str, holds: Holds, origin: &Origin) -> Result<Node, String> {
    let trimmed = text.trim();
    match holds {
        Holds::Scalar => Ok(Node::text(text, origin.clone())),
        Holds::List if trimmed.starts_with('[') => match flow(trimmed, origin)? {
            node if matches!(node.value, Value::List(_)) => Ok(node),
            _ => Err("expected a list".to_owned()),
        },
        Holds::List => {
            let items = trimmed.split(',').map(|item| Node::text(item.trim(), origin.clone())).collect();
            Ok(Node { value: Value::List(items), origin: origin.clone() })
        }
        Holds::Map => match flow(trimmed, origin)? {
            node if matches!(node.value, Value::Map(_)) => Ok(node),
            _ => Err("expected a map such as `{name: value}`".to_owned()),
        },
    }
}

fn flow(text: &str, origin: &Origin) -> Result<Node, String> {
    yaml::parse(text, origin.source).map_err(|error| format!("not well-formed YAML: {}", error.message))
}

/// The assignment of one option.
pub(super) fn option(setting: &Setting, keys: &Keys, sources: &mut Sources) -> Result<Assignment, ConfigError> {
    match setting {
        Setting::Named { flag, key, value: text } => {
            let text = utf8(text, flag)?;
            let scope = if keys.top.iter().any(|top| top.path == *key) { Scope::Top } else { Scope::Server };
            let of = if scope == Scope::Top { &keys.top } else { &keys.server };
            let (path, holds) = resolve(of, key).unwrap_or_else(|| (vec![*key], Holds::Scalar));
            build(scope, &path, holds, text, (*flag).to_owned(), sources)
        }
        Setting::Listed { flag, key, values } => {
            let origin = Origin { source: sources.add(Source::Flag((*flag).to_owned())), path: Vec::new() };
            let items = values.iter().map(|value| Ok(Node::text(utf8(value, flag)?, origin.clone())));
            let items = Value::List(items.collect::<Result<_, ConfigError>>()?);
            let mut tree = Node::empty(origin.clone());
            tree.put(&[*key], Node { value: items, origin });
            Ok(Assignment { scope: Scope::Server, tree })
        }
        Setting::Set(assignment) => {
            let assignment = utf8(assignment, "--set")?;
            let Some((key, text)) = assignment.split_once('=') else {
                return Err(ConfigError::about("--set", "expected KEY=VALUE, such as `--set restart.hold=5s`"));
            };
            let key = key.trim();
            let flag = format!("--set {key}");
            let (path, holds) = resolve(&keys.server, key).ok_or_else(|| unknown(key, keys))?;
            build(Scope::Server, &path, holds, text, flag, sources)
        }
    }
}

fn build(
    scope: Scope,
    path: &[&str],
    holds: Holds,
    text: &str,
    flag: String,
    sources: &mut Sources,
) -> Result<Assignment, ConfigError> {
    let origin = Origin { source: sources.add(Source::Flag(flag.clone())), path: Vec::new() };
    let node = value(text, holds, &origin).map_err(|message| ConfigError::about(flag, message))?;
    let mut tree = Node::empty(origin);
    tree.put(path, node);
    Ok(Assignment { scope, tree })
}

fn unknown(key: &str, keys: &Keys) -> ConfigError {
    if keys.top.iter().any(|top| top.path == key) {
        let variable = super::variables::name(key);
        return ConfigError::about("--set", format!("`{key}` is not a key of a server; use the file or {variable}"));
    }
    let paths: Vec<&str> = keys.server.iter().map(|key| key.path.as_str()).collect();
    let mut near = hint::nearest_key(key, &paths).map(ToOwned::to_owned);
    if near.is_none() {
        // A name in a map, behind a misspelled key.
        near = key.split_once('.').and_then(|(head, name)| {
            let maps = keys.server.iter().filter(|key| key.holds == Holds::Map).map(|key| key.path.as_str());
            hint::nearest(head, maps).map(|found| format!("{found}.{name}"))
        });
    }
    let near = near.map(|found| format!(" (did you mean `{found}`?)")).unwrap_or_default();
    ConfigError::about("--set", format!("unknown key {}{near}", quoted(key)))
}

fn utf8<'a>(text: &'a OsStr, flag: &str) -> Result<&'a str, ConfigError> {
    text.to_str().ok_or_else(|| ConfigError::about(flag, "the value is not UTF-8"))
}
