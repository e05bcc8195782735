//! Plugins before the server starts: each is loaded once, so that one that will never work is not found out in the first crisis.

use super::{Descriptor, KIND, Launcher, OnError, Options, Tell, inspect};
use crate::config;
use crate::events::{Bus, EventKind};
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

/// Loads every plugin of a server's chain, one after the other.
pub async fn inspect_chain(server: &config::Server, launcher: &Launcher) -> Vec<Inspected> {
    let mut found = Vec::new();
    for (place, link) in server.probe.chain.iter().enumerate().filter(|(_, link)| link.kind == KIND) {
        let (on_error, outcome) = match Options::read(&link.options) {
            Ok(options) => (options.on_error, inspect(&options, launcher, &link.name).await),
            // Not in a configuration that was checked.
            Err(error) => (OnError::RefuseStart, Err(error.0)),
        };
        found.push(Inspected { place, name: link.name.clone(), on_error, outcome });
    }
    found
}

/// The same for all of these servers before they are started, with the events that belong to it.
///
/// # Errors
/// Why the watchdog is not to start: the first plugin that does not load.
pub async fn admit(servers: &[config::Server], log: &LogHandle, events: &Bus) -> Result<(), String> {
    let mut refusal = Ok(());
    for server in servers {
        let name = server.name.as_str();
        let launcher = Launcher::own(log.named(name)).map_err(|error| format!("cannot find this program: {error}"))?;
        let tell = Tell::bus(events.clone(), name.into());
        for inspected in inspect_chain(server, &launcher).await {
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
