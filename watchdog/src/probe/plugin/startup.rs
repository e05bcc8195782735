//! Plugins before the server starts: each is loaded once, so that one that will never work is not found out in the first crisis.

use super::{Descriptor, Launcher, OnError, Options, inspect};
use crate::config;

/// The word behind `type:`.
pub const KIND: &str = "plugin";

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
        // A configuration that was checked has only options that can be read.
        let options = serde_json::from_value::<Options>(link.options.clone());
        let (on_error, outcome) = match options {
            Ok(options) => (options.on_error, inspect(&options, launcher, &link.kind).await),
            Err(error) => (OnError::RefuseStart, Err(error.to_string())),
        };
        found.push(Inspected { place, name: link.kind.clone(), on_error, outcome });
    }
    found
}
