//! Plugins before the server starts: each is loaded once, so that one that will never work is not found out in the first crisis.

use super::{Descriptor, KIND, Launcher, OnError, Options, Tell, inspect};
use crate::config;
use crate::events::EventKind;

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

/// The same before the server is started, with the events that belong to it.
///
/// # Errors
/// Why the server is not to be started.
pub async fn admit(server: &config::Server, launcher: &Launcher, tell: &Tell) -> Result<(), String> {
    let mut refusal = None;
    for inspected in inspect_chain(server, launcher).await {
        let plugin = inspected.name.clone();
        match &inspected.outcome {
            Ok(Descriptor { name, version, .. }) => {
                tell.tell(EventKind::PluginLoaded { plugin: format!("{plugin} ({name} {version})") });
            }
            Err(error) => tell.tell(EventKind::PluginError { plugin, error: error.clone() }),
        }
        let place = inspected.place;
        let refused = inspected.refusal().map(|why| format!("probe.chain[{place}]: {why}"));
        refusal = refusal.or(refused);
    }
    refusal.map_or(Ok(()), Err)
}
