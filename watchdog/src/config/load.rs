//! From everything that is written to what is meant.
//!
//! Layers, low to high: built-in, preset, the file's `defaults`, the file's server, `CONNECTION_*`, `MCP_WATCHDOG_*`,
//! options. Each becomes a tree whose values know their source; the trees are laid over each other and read once.
//! Nothing here looks at the process: environment and folders come in with [`Input`].

use std::ffi::OsString;
use std::path::PathBuf;

use super::error::{ConfigError, ConfigErrors};
use super::tree::Node;
use super::{Config, Link, settle};
use layers::Layers;

mod assign;
mod connection;
mod discover;
mod layers;
mod read;
mod select;
mod variables;

pub(crate) use layers::Environment;

/// Everything that configuration is made of.
#[derive(Clone, Default)]
pub struct Input {
    /// COMMAND and its arguments; empty when the file describes the server.
    pub command: Vec<OsString>,
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--name`
    pub name: Option<OsString>,
    /// The other options, in their order.
    pub settings: Vec<Setting>,
    /// The process environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where files are looked for.
    pub places: Places,
}

// The environment holds secrets.
impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("config", &self.config).field("name", &self.name).finish_non_exhaustive()
    }
}

/// One option that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Setting {
    /// An option with a name of its own.
    Named {
        /// `--hold`
        flag: &'static str,
        /// `restart.hold`
        key: &'static str,
        /// As typed.
        value: OsString,
    },
    /// `--set KEY=VALUE`
    Set(OsString),
}

/// The folders that files without a name are looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The working directory.
    pub working: PathBuf,
    /// The machine's own file.
    pub system: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { working: PathBuf::new(), system: PathBuf::from("/etc/mcp-watchdog/config.yaml") }
    }
}

/// Says whether a probe of this kind exists and accepts these options.
pub type KnownProbes<'a> = &'a dyn Fn(&Link) -> Result<(), String>;

/// What is meant.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settled configuration.
    pub config: Config,
    /// What is not wrong but probably not meant, for the log.
    pub warnings: Vec<String>,
    /// Whether COMMAND was given, which then replaces the file's.
    pub(crate) from_command_line: bool,
    /// Every value with its source.
    pub(crate) effective: Effective,
}

impl Loaded {
    /// The name of the preset that the values started from.
    #[must_use]
    pub fn preset(&self) -> &str {
        self.effective.server.get("preset").and_then(Node::scalar).unwrap_or_default()
    }
}

/// The merged layers, for `--explain`.
#[derive(Clone)]
pub(crate) struct Effective {
    pub(crate) top: Node,
    pub(crate) server: Node,
    pub(crate) sources: super::source::Sources,
}

impl std::fmt::Debug for Effective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Effective").finish_non_exhaustive()
    }
}

/// Loads the configuration of the one server of the sidecar form.
///
/// # Errors
/// With everything that is wrong, each thing with its place. Text that is not YAML ends the search at once.
pub fn load(input: &Input, known: KnownProbes<'_>) -> Result<Loaded, ConfigErrors> {
    let layers = Layers::gather(input)?;
    let name = select::one(&layers, input).map_err(|error| unless_known(&layers, error))?;
    let loaded = server(&layers, &name, input, known);
    merge_errors(layers.errors, loaded)
}

/// What a file holds, for `check-config`.
#[derive(Debug)]
pub struct Checked {
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Its servers that the sidecar form can run, each as it would be with `--name`.
    pub servers: Vec<Loaded>,
    /// Its other servers, with the reason.
    pub others: Vec<(String, String)>,
}

/// Loads every server of a file (or the one that `--name` selects), as [`load`] would.
///
/// # Errors
/// As [`load`], and when no server is one that the sidecar form can run.
pub fn check(input: &Input, known: KnownProbes<'_>) -> Result<Checked, ConfigErrors> {
    let layers = Layers::gather(input)?;
    let mut errors = layers.errors.clone();
    let names = select::all(&layers, input).map_err(|error| unless_known(&layers, error))?;
    let mut checked = Checked { file: layers.file_name(), servers: Vec::new(), others: Vec::new() };
    for name in &names {
        if let (Some(reason), true) = (layers.remote(name), names.len() > 1) {
            checked.others.push((name.clone(), reason));
            continue;
        }
        match server(&layers, name, input, known) {
            Ok(loaded) => checked.servers.push(loaded),
            // Values of `defaults`, of the environment and of options would be reported once for each server.
            Err(found) => found.0.into_iter().for_each(|error| {
                if !errors.contains(&error) {
                    errors.push(error);
                }
            }),
        }
    }
    if errors.is_empty() && checked.servers.is_empty() {
        errors.push(ConfigError::new("no server here can be run: all of them are remote"));
    }
    if errors.is_empty() { Ok(checked) } else { Err(ConfigErrors(errors)) }
}

fn server(layers: &Layers, name: &str, input: &Input, known: KnownProbes<'_>) -> Result<Loaded, ConfigErrors> {
    let mut errors = Vec::new();
    let mut warnings = layers.warnings.clone();
    let (mut server, mut top) = (layers.server(name, &mut warnings)?, layers.top()?);
    let written_server = read::whole(&mut server, &layers.sources, &mut errors);
    let written_top = read::whole(&mut top, &layers.sources, &mut errors);
    let (Some(written_server), Some(written_top)) = (written_server, written_top) else {
        return Err(ConfigErrors(errors));
    };
    // A misspelled `command` must not be reported again as a missing one.
    if !errors.is_empty() || !layers.errors.is_empty() {
        return merge_errors(errors, Err(ConfigErrors(Vec::new())));
    }
    let effective = Effective { top, server, sources: layers.sources.clone() };
    let context = settle::Context {
        name,
        command: &input.command,
        environment: &layers.environment,
        section: layers.section(name).map(|section| section.origin.clone()),
        effective: &effective,
        known,
    };
    let config = settle::config(written_top, written_server, &context, &mut warnings)?;
    Ok(Loaded { config, warnings, from_command_line: !input.command.is_empty(), effective })
}

/// A file with a misspelled `servers` must not be called empty as well.
fn unless_known(layers: &Layers, error: ConfigError) -> ConfigErrors {
    if layers.errors.is_empty() { error.into() } else { ConfigErrors(layers.errors.clone()) }
}

fn merge_errors(mut errors: Vec<ConfigError>, loaded: Result<Loaded, ConfigErrors>) -> Result<Loaded, ConfigErrors> {
    match loaded {
        Ok(loaded) if errors.is_empty() => Ok(loaded),
        Ok(_) => Err(ConfigErrors(errors)),
        Err(found) => {
            errors.extend(found.0);
            Err(ConfigErrors(errors))
        }
    }
}

#[cfg(test)]
mod tests;
