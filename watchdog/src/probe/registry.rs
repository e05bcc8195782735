//! Which probes there are: from a link of the configuration to a probe.

use probe_api::Probe;
use probes::Entry;
use serde_json::Value;

use super::run::LoadedLink;
use crate::config;

/// How alike a word must be to be offered in place of another: strsim's Jaro-Winkler, 0 to 1.
const ALIKE: f64 = 0.8;

/// The keys that every link has besides its probe's own options.
const LINK_KEYS: [&str; 2] = ["type", "timeout"];

/// The probes that a chain can name.
#[derive(Debug, Clone)]
pub struct Registry {
    entries: Vec<Entry>,
}

impl Registry {
    /// The built-in probes.
    #[must_use]
    pub fn with_builtins() -> Self {
        Self { entries: probes::builtin().to_vec() }
    }

    /// Adds a probe; a later one replaces an earlier one of the same name.
    pub fn add(&mut self, entry: Entry) {
        self.entries.retain(|known| known.name != entry.name);
        self.entries.push(entry);
    }

    /// The names that may stand behind `type:`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.entries.iter().map(|entry| entry.name)
    }

    /// Whether a link can be made into a probe.
    ///
    /// # Errors
    /// The reason why not, for the author of the configuration: the type is not known, or its options cannot work.
    pub fn check(&self, link: &config::Link) -> Result<(), String> {
        self.make(link).map(drop)
    }

    /// Makes the probe of a link.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn make(&self, link: &config::Link) -> Result<Box<dyn Probe>, String> {
        let entry = self.find(&link.kind)?;
        entry.make(link.options.clone()).map_err(|error| {
            let hint = mistaken_key(&link.options).unwrap_or_default();
            format!("probe \"{}\": {error}{hint}", link.kind)
        })
    }

    /// Makes all links of a chain.
    ///
    /// # Errors
    /// The first link that cannot be made, with its place. A configuration that was loaded with
    /// [`check`](Self::check) has none.
    pub fn load(&self, probe: &config::Probe) -> Result<Vec<LoadedLink>, String> {
        let load = |(place, link): (usize, &config::Link)| {
            let made = self.make(link).map_err(|error| format!("chain[{place}]: {error}"))?;
            let entry = self.find(&link.kind)?;
            let methods = entry.methods.iter().map(|&method| method.to_owned()).collect();
            let timeout = link.timeout.unwrap_or(probe.timeout);
            Ok(LoadedLink { name: link.kind.clone(), timeout, skippable: entry.skippable, methods, probe: made })
        };
        probe.chain.iter().enumerate().map(load).collect()
    }

    fn find(&self, kind: &str) -> Result<&Entry, String> {
        self.entries.iter().find(|entry| entry.name == kind).ok_or_else(|| self.unknown(kind))
    }

    fn unknown(&self, kind: &str) -> String {
        let hint = nearest(kind, self.names()).map(did_you_mean).unwrap_or_default();
        let known: Vec<_> = self.names().collect();
        format!("unknown probe type \"{kind}\"{hint}; known types: {}", known.join(", "))
    }
}

/// A key of the link itself that was spelled so that it fell among the probe's options.
fn mistaken_key(options: &Value) -> Option<String> {
    let keys = options.as_object()?.keys();
    keys.filter_map(|key| nearest(key, LINK_KEYS)).map(did_you_mean).next()
}

fn did_you_mean(word: &str) -> String {
    format!(" (did you mean \"{word}\"?)")
}

fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&word, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(alike, _)| *alike >= ALIKE).map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
