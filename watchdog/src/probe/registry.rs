//! Which probes there are: from a link of the configuration to a probe.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use probe_api::{ConfigError, Probe};
use probes::Entry;
use serde_json::Value;

use super::exec;
use super::plugin;
use super::run::LoadedLink;
use super::tell::Tell;
use crate::config;
use crate::config::hint;
use crate::telemetry::LogHandle;

/// The keys that every link has besides its probe's own options.
const LINK_KEYS: [&str; 4] = ["type", "name", "timeout", "allow_methods"];

/// What the engine lends to a probe that needs more than its options.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The link's label.
    pub name: &'a str,
    /// The server's command, in whose environment and folder other programs run too.
    pub command: &'a config::Command,
    /// Between two periodic checks; `None` where there are none.
    pub interval: Option<Duration>,
    /// Where lines go that are not the server's.
    pub log: &'a LogHandle,
    /// Who is told what happens to plugins.
    pub tell: &'a Tell,
    /// Raised by a probe while it counts as broken, for those who look at the chain.
    pub broken: &'a Arc<AtomicBool>,
}

/// A line of the registry for a probe that is part of the engine, because it runs a process.
#[derive(Debug, Clone, Copy)]
pub struct EngineEntry {
    /// The word behind `type:`.
    pub name: &'static str,
    /// Says whether a probe can be made from these options, beside a server with this command, before anything runs. The command
    /// is missing where it is wrong itself.
    pub check: fn(&Value, Option<&config::Command>) -> Result<(), ConfigError>,
    /// Makes the probe.
    pub make: fn(&Value, &Surroundings<'_>) -> Made,
}

/// A probe, or what is wrong with its options.
pub type Made = Result<Box<dyn Probe>, ConfigError>;

/// The probes that a chain can name.
#[derive(Debug, Clone)]
pub struct Registry {
    kinds: Vec<Kind>,
    tell: Tell,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Knows the server by its context alone.
    Plain(Entry),
    Engine(EngineEntry),
}

impl Kind {
    const fn name(&self) -> &'static str {
        match self {
            Self::Plain(entry) => entry.name,
            Self::Engine(entry) => entry.name,
        }
    }
}

impl Registry {
    /// The built-in probes.
    #[must_use]
    pub fn with_builtins() -> Self {
        let plain = probes::builtin().iter().copied().map(Kind::Plain);
        let engine = [exec::ENTRY, plugin::ENTRY].map(Kind::Engine);
        Self { kinds: plain.chain(engine).collect(), tell: Tell::nobody() }
    }

    /// The same, whose plugins tell `tell` what happens to them.
    #[must_use]
    pub fn telling(self, tell: Tell) -> Self {
        Self { tell, ..self }
    }

    /// Adds a probe; a later one replaces an earlier one of the same name.
    pub fn add(&mut self, entry: Entry) {
        self.kinds.retain(|known| known.name() != entry.name);
        self.kinds.push(Kind::Plain(entry));
    }

    /// The names that may stand behind `type:`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.kinds.iter().map(Kind::name)
    }

    /// Whether a link can be made into a probe beside a server with this command.
    ///
    /// # Errors
    /// The reason why not, for the author of the configuration: the type is not known, or its options cannot work.
    pub fn check(&self, link: &config::Link, command: Option<&config::Command>) -> Result<(), String> {
        let checked = match self.find(&link.kind)? {
            Kind::Plain(entry) => entry.make(link.options.clone()).map(drop),
            Kind::Engine(entry) => (entry.check)(&link.options, command),
        };
        checked.map_err(|error| refusal(link, &error))
    }

    /// Makes the probe of a link.
    ///
    /// # Errors
    /// As for [`check`](Self::check), but for what may change while a server is served, such as whether a program is there.
    pub fn make(&self, link: &config::Link, around: &Surroundings<'_>) -> Result<Box<dyn Probe>, String> {
        let made = match self.find(&link.kind)? {
            Kind::Plain(entry) => entry.make(link.options.clone()),
            Kind::Engine(entry) => (entry.make)(&link.options, around),
        };
        made.map_err(|error| refusal(link, &error))
    }

    /// Makes all links of a server's chain. Lines that their processes write go to `log`.
    ///
    /// # Errors
    /// The first link that cannot be made, with its place. A configuration that was loaded with
    /// [`check`](Self::check) has none.
    pub fn load(&self, server: &config::Server, log: &LogHandle) -> Result<Vec<LoadedLink>, String> {
        let load = |(place, link): (usize, &config::Link)| {
            let broken = Arc::default();
            let around = Surroundings {
                name: &link.name,
                command: &server.command,
                interval: server.health.interval,
                log,
                tell: &self.tell,
                broken: &broken,
            };
            let probe = self.make(link, &around).map_err(|error| format!("chain[{place}]: {error}"))?;
            let (skippable, own) = match self.find(&link.kind)? {
                Kind::Plain(entry) => (entry.skippable, entry.methods),
                Kind::Engine(_) => (false, &[][..]),
            };
            let mut methods = link.allow_methods.clone();
            methods.extend(own.iter().map(|&method| method.to_owned()));
            let timeout = link.timeout.unwrap_or(server.probe.timeout);
            Ok(LoadedLink { name: link.name.clone(), timeout, skippable, methods, probe, broken })
        };
        server.probe.chain.iter().enumerate().map(load).collect()
    }

    fn find(&self, kind: &str) -> Result<&Kind, String> {
        self.kinds.iter().find(|known| known.name() == kind).ok_or_else(|| self.unknown(kind))
    }

    fn unknown(&self, kind: &str) -> String {
        let known: Vec<_> = self.names().collect();
        let hint = hint::did_you_mean(kind, known.iter().copied());
        format!("unknown probe type \"{kind}\"{hint}; known types: {}", known.join(", "))
    }
}

fn refusal(link: &config::Link, error: &ConfigError) -> String {
    let error = error.to_string();
    // Those of the link itself are fields too, and one of them may be meant.
    let error = error.strip_suffix(", there are no fields").unwrap_or(&error);
    let hint = mistaken_key(&link.options).unwrap_or_default();
    format!("probe \"{}\": {error}{hint}", link.kind)
}

/// A key of the link itself that was spelled so that it fell among the probe's options.
fn mistaken_key(options: &Value) -> Option<String> {
    let mut hints = options.as_object()?.keys().map(|key| hint::did_you_mean(key, LINK_KEYS));
    hints.find(|hint| !hint.is_empty())
}

#[cfg(test)]
mod tests;
