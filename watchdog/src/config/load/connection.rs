//! `CONNECTION_*`: the variables of an older connection layer, which people still set for whole fleets.
//!
//! They speak of growing delays only. So they change the strategy where nobody chose one, and else change numbers of a
//! strategy that has them.

use crate::config::document::{self, EXPONENTIAL};
use crate::config::error::ConfigError;
use crate::config::source::{Source, Sources};
use crate::config::tree::{Node, Origin};

use super::layers::Environment;

/// Each variable with its key.
const VARIABLES: [(&str, &str); 5] = [
    ("CONNECTION_KEEPALIVE_INTERVAL", "keepalive.interval"),
    ("CONNECTION_KEEPALIVE_TIMEOUT", "keepalive.timeout"),
    ("CONNECTION_RETRY_ATTEMPTS", "restart.max_attempts"),
    ("CONNECTION_RETRY_DELAY", "restart.initial_delay"),
    ("CONNECTION_RETRY_MAX_DELAY", "restart.max_delay"),
];

/// A variable that is set.
#[derive(Clone)]
pub(super) struct Connection {
    variable: &'static str,
    key: &'static str,
    node: Node,
}

/// The ones that are set.
pub(super) fn gather(
    environment: &Environment,
    sources: &mut Sources,
    errors: &mut Vec<ConfigError>,
) -> Vec<Connection> {
    let mut found = Vec::new();
    for (variable, key) in VARIABLES {
        let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) else {
            continue;
        };
        let origin = Origin { source: sources.add(Source::Variable(variable.to_owned())), path: Vec::new() };
        match value.to_str() {
            Some(text) => found.push(Connection { variable, key, node: Node::text(text, origin) }),
            None => errors.push(ConfigError::about(variable, "the value is not UTF-8")),
        }
    }
    found
}

/// Whether one of them is about restarts.
pub(super) fn any_restart(connections: &[Connection]) -> bool {
    connections.iter().any(|connection| connection.key.starts_with("restart."))
}

/// Whether a layer chooses how delays are made.
pub(super) fn chooses_strategy(layer: &Node) -> bool {
    let strategy = |key: &str| layer.get("restart").is_some_and(|restart| restart.get(key).is_some());
    layer.get("preset").is_some() || strategy("delays") || EXPONENTIAL.into_iter().any(strategy)
}

/// Lays them over the lower layers.
pub(super) fn apply(connections: &[Connection], server: &mut Node, warnings: &mut Vec<String>) {
    let scheduled = server.at("restart.delays").is_some();
    for connection in connections {
        if scheduled && matches!(connection.key, "restart.initial_delay" | "restart.max_delay") {
            warnings.push(format!(
                "{} has no effect: the delays are a list (`restart.delays`, or the preset's)",
                connection.variable
            ));
            continue;
        }
        let mut layer = Node::empty(connection.node.origin.clone());
        layer.put(&connection.key.split('.').collect::<Vec<_>>(), connection.node.clone());
        document::displace_strategy(server, &layer);
        server.overlay(layer);
    }
}
