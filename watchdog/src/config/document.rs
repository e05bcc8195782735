//! One written section or file, before its values are read: duplicate keys, `<<`, `x-` keys and aliases are settled here.

use std::collections::BTreeMap;

use super::error::ConfigError;
use super::keys::ALIASES;
use super::source::Sources;
use super::text::quoted;
use super::tree::place::Target;
use super::tree::{Node, Origin, PathText, Step, Value};

/// Settles a whole file.
pub(crate) fn settle(root: &mut Node, sources: &Sources, errors: &mut Vec<ConfigError>) {
    duplicates(root, sources, errors);
    merges(root);
    strip_extensions(root);
    process(root);
    if let Some(defaults) = root.get_mut("defaults") {
        section(defaults, sources, errors);
    }
    if let Some(Value::Map(servers)) = root.get_mut("servers").map(|node| &mut node.value) {
        servers.iter_mut().for_each(|(_, server)| section(server, sources, errors));
    }
}

/// Settles the keys of the process: `throttle: off` is a burst without end.
pub(crate) fn process(root: &mut Node) {
    let Some(throttle) = root.get_mut("events").and_then(|events| events.get_mut("throttle")) else { return };
    if throttle.scalar() == Some("off") {
        let origin = throttle.origin.clone();
        *throttle = Node::empty(origin.clone());
        throttle.put(&["burst"], Node::text("unlimited", origin));
    }
}

/// Settles a server's section: names every key as the shapes do, and refuses keys that exclude each other.
pub(crate) fn section(server: &mut Node, sources: &Sources, errors: &mut Vec<ConfigError>) {
    strip_extensions(server);
    for (alias, key) in ALIASES {
        rename(server, alias, key, sources, errors);
    }
    one_strategy(server, sources, errors);
}

/// Removes the keys of the delay strategy in `lower` that the strategy of `upper` replaces.
pub(crate) fn displace_strategy(lower: &mut Node, upper: &Node) {
    let Some(restart) = upper.get("restart") else { return };
    let displaced: &[&str] = if restart.get("delays").is_some() {
        &EXPONENTIAL
    } else if EXPONENTIAL.iter().any(|key| restart.get(key).is_some()) {
        &["delays"]
    } else {
        return;
    };
    for key in displaced {
        lower.remove(&[Step::Key("restart".to_owned()), Step::Key((*key).to_owned())]);
    }
}

/// The keys of delays that grow.
pub(crate) const EXPONENTIAL: [&str; 3] = ["initial_delay", "multiplier", "max_delay"];

fn one_strategy(server: &mut Node, sources: &Sources, errors: &mut Vec<ConfigError>) {
    let Some(restart) = server.get("restart") else { return };
    if restart.get("delays").is_none() {
        return;
    }
    let Some((key, node)) = EXPONENTIAL.iter().find_map(|key| restart.get(key).map(|node| (*key, node))) else {
        return;
    };
    let message =
        format!("`restart.delays` and `restart.{key}` exclude each other: a list of delays, or a growing one");
    errors.push(ConfigError::at_key(sources, &node.origin, message));
    server.remove(&[Step::Key("restart".to_owned()), Step::Key(key.to_owned())]);
}

fn rename(server: &mut Node, alias: &str, key: &str, sources: &Sources, errors: &mut Vec<ConfigError>) {
    let Some(written) = server.get(alias).cloned() else {
        // A null alias is as good as none.
        server.remove(&[Step::Key(alias.to_owned())]);
        return;
    };
    server.remove(&[Step::Key(alias.to_owned())]);
    if server.at(key).is_some() {
        let message = format!("`{alias}` and `{key}` are two names for one thing; keep one");
        errors.push(ConfigError::at_key(sources, &written.origin, message));
        return;
    }
    let node = match alias {
        "disabled" => inverted(written),
        "healthProbe" => match chain(&written) {
            Ok(node) => node,
            Err(message) => return errors.push(ConfigError::at(sources, &written, message)),
        },
        _ => written,
    };
    server.put(&key.split('.').collect::<Vec<_>>(), node);
}

/// `disabled: true` is `enabled: false`. What is neither is left for the shape to refuse.
fn inverted(node: Node) -> Node {
    let text = match node.scalar() {
        Some("true") => "false",
        Some("false") => "true",
        _ => return node,
    };
    Node::text(text, node.origin)
}

/// `healthProbe: ping` is a chain of one link.
fn chain(node: &Node) -> Result<Node, String> {
    let kind = match node.scalar() {
        Some("ping") => "ping",
        Some("listTools") => "tools_list",
        Some(other) => return Err(format!("expected `ping` or `listTools`, not {}", quoted(other))),
        None => return Err("expected `ping` or `listTools`".to_owned()),
    };
    let mut link = Node::empty(node.origin.clone());
    link.put(&["type"], Node::text(kind, node.origin.clone()));
    Ok(Node { value: Value::List(vec![link]), origin: node.origin.clone() })
}

/// Keys that begin with `x-` are the user's own, for anchors and notes.
fn strip_extensions(node: &mut Node) {
    if let Value::Map(entries) = &mut node.value {
        entries.retain(|(key, _)| !key.starts_with("x-"));
    }
}

/// Reports keys that are written twice, and keeps the first of each, which is the one that its path leads to.
fn duplicates(node: &mut Node, sources: &Sources, errors: &mut Vec<ConfigError>) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter_mut().for_each(|item| duplicates(item, sources, errors)),
        Value::Map(entries) => {
            let mut kept: Vec<(String, Node)> = Vec::with_capacity(entries.len());
            let mut times: BTreeMap<String, usize> = BTreeMap::new();
            for (key, child) in entries.drain(..) {
                let earlier = times.entry(key.clone()).or_default();
                if *earlier == 0 {
                    kept.push((key, child));
                } else {
                    errors.push(duplicate(&key, &child.origin, *earlier, sources));
                }
                *earlier += 1;
            }
            *entries = kept;
            entries.iter_mut().for_each(|(_, child)| duplicates(child, sources, errors));
        }
    }
}

fn duplicate(key: &str, origin: &Origin, times: usize, sources: &Sources) -> ConfigError {
    let parent = &origin.path[..origin.path.len().saturating_sub(1)];
    let what = if PathText(parent).to_string() == "servers" { "server name" } else { "key" };
    let first = match sources.get(origin.source) {
        super::source::Source::File(file) => file.locate(&origin.path, Target::Key(0)),
        _ => None,
    };
    let first = first.map(|at| format!(" (first at line {})", at.line)).unwrap_or_default();
    let message = format!("duplicate {what} {}{first}", quoted(key));
    ConfigError::located(sources, origin, Target::Key(times), message)
}

/// Replaces `<<: *anchor` by the entries it brings, which never override what is written beside it.
fn merges(node: &mut Node) {
    match &mut node.value {
        Value::Scalar(_) => {}
        Value::List(items) => items.iter_mut().for_each(merges),
        Value::Map(entries) => {
            entries.iter_mut().for_each(|(_, child)| merges(child));
            let Some(at) = entries.iter().position(|(key, child)| key == "<<" && mergeable(child)) else {
                return;
            };
            let (_, brought) = entries.remove(at);
            let maps = match brought.value {
                Value::List(items) => items,
                value => vec![Node { value, origin: brought.origin }],
            };
            for (key, child) in maps.into_iter().flat_map(|map| map.entries().to_vec()) {
                if !entries.iter().any(|(name, _)| *name == key) {
                    entries.push((key, child));
                }
            }
        }
    }
}

fn mergeable(node: &Node) -> bool {
    match &node.value {
        Value::Map(_) => true,
        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Map(_))),
        Value::Scalar(_) => false,
    }
}
