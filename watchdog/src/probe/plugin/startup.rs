//! Plugins before the server starts: each is loaded once, so that one that will never work is not found out in the first crisis.

use tokio::task::JoinSet;

use super::{Descriptor, KIND, Launcher, OnError, Options, inspect};
use crate::config;
use crate::events::{Bus, EventKind};
use crate::probe::tell::Tell;
use crate::telemetry::LogHandle;

/// A plugin link that was tried.
#[derive(Debug)]
pub struct Inspected {
    /// The link's place in the chain, from 0.
    pub place: usize,
    /// Its label.
    pub name: String,
    /// What follows where it does not load.
    pub on_error: OnError,
    /// What it says about itself, or why it cannot be used.
    pub outcome: Result<Descriptor, String>,
}

impl Inspected {
    /// Why the watchdog is not to start.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.outcome.as_ref().err().filter(|_| self.on_error == OnError::RefuseStart).map(String::as_str)
    }
}

/// Loads every plugin of a server's chain, all at once: together they take no longer than the slowest may.
pub async fn inspect_chain(server: &config::Server, launcher: &Launcher) -> Vec<Inspected> {
    let mut running = JoinSet::new();
    for (place, link) in server.probe.chain.iter().enumerate().filter(|(_, link)| link.kind == KIND) {
        let (name, launcher, options) = (link.name.clone(), launcher.clone(), Options::read(&link.options));
        running.spawn(async move {
            let (on_error, outcome) = match options {
                Ok(options) => (options.on_error, inspect(&options, &launcher, &name).await),
                // Not in a configuration that was checked.
                Err(error) => (OnError::RefuseStart, Err(error.0)),
            };
            Inspected { place, name, on_error, outcome }
        });
    }
    let mut found = Vec::new();
    while let Some(ended) = running.join_next().await {
        found.extend(ended);
    }
    found.sort_by_key(|inspected| inspected.place);
    found
}

/// The same for all of these servers before they are started, with the events that belong to it.
///
/// # Errors
/// Why the watchdog is not to start: the first plugin that does not load.
pub async fn admit(servers: &[config::Server], log: &LogHandle, events: &Bus) -> Result<(), String> {
    let mut refusal = Ok(());
    let mut running = JoinSet::new();
    for (at, server) in servers.iter().cloned().enumerate() {
        let log = log.named(&server.name);
        let launcher = Launcher::own(log).map_err(|error| format!("cannot find this program: {error}"))?;
        running.spawn(async move { (at, inspect_chain(&server, &launcher).await) });
    }
    let mut chains = Vec::new();
    while let Some(ended) = running.join_next().await {
        chains.extend(ended);
    }
    chains.sort_by_key(|(at, _)| *at);
    for ((_, chain), server) in chains.into_iter().zip(servers) {
        let name = server.name.as_str();
        let tell = Tell::bus(events.clone(), name.into());
        for inspected in chain {
            let (place, plugin) = (inspected.place, inspected.name.clone());
            if let Some(why) = inspected.refusal() {
                let remedy = "`on_error: skip` starts the server all the same";
                refusal = refusal.and_then(|()| Err(format!("`{name}`: probe.chain[{place}]: {why}; {remedy}")));
            }
            tell.tell(match inspected.outcome {
                Ok(found) => EventKind::PluginLoaded { plugin: format!("{plugin} ({} {})", found.name, found.version) },
                Err(error) => EventKind::PluginError { plugin, error },
            });
        }
    }
    refusal
}
