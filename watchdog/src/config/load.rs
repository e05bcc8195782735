//! From everything that is written to what is meant.
//!
//! Layers, low to high: built-in, preset, the file's `defaults`, the file's server, `CONNECTION_*`, `MCP_WATCHDOG_*`,
//! options. Each becomes a tree whose values know their source; the trees are laid over each other and read once.
//! Nothing here looks at the process: environment and folders come in with [`Input`].

use std::ffi::OsString;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

use super::error::{ConfigError, ConfigErrors};
use super::source::Sources;
use super::tree::Node;
use super::{Command, Config, Link, Server, settle};
use layers::Layers;

mod assign;
mod client_file;
mod connection;
mod discover;
mod layers;
mod read;
mod select;
mod variables;

pub(crate) use layers::Environment;
pub(crate) use select::{is_name, to_name};

/// Everything that configuration is made of.
#[derive(Clone, Default)]
pub struct Input {
    /// COMMAND and its arguments; empty when the file describes the server.
    pub command: Vec<OsString>,
    /// `--config`
    pub config: Option<PathBuf>,
    /// The text of that file, where it is not to be read.
    pub text: Option<String>,
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
    /// The same for an option that may be repeated.
    Listed {
        /// `--watch`
        flag: &'static str,
        /// `watch`
        key: &'static str,
        /// As typed, in their order.
        values: Vec<OsString>,
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

/// Says whether a probe of this kind exists and accepts these options, beside a server with this command. The command is missing
/// where it is wrong itself.
pub type KnownProbes<'a> = &'a dyn Fn(&Link, Option<&Command>) -> Result<(), String>;

/// What is meant.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settled configuration.
    pub config: Config,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Its SHA-256, in lower-case hexadecimal digits.
    pub sha256: Option<String>,
    /// What is not wrong but probably not meant, for the log.
    pub warnings: Vec<String>,
    /// Whether COMMAND was given, which then replaces the file's.
    pub(crate) from_command_line: bool,
    /// Every value with its source.
    pub(crate) effective: Effective,
}

impl Loaded {
    /// The name of the preset that the values of a server started from.
    #[must_use]
    pub fn preset(&self, server: &str) -> &str {
        let section = self.effective.servers.iter().find(|(name, _)| name == server);
        section.and_then(|(_, section)| section.get("preset")).and_then(Node::scalar).unwrap_or_default()
    }
}

/// The merged layers, for `--explain`.
#[derive(Clone)]
pub(crate) struct Effective {
    pub(crate) top: Node,
    /// The section of each server of the configuration, in the same order.
    pub(crate) servers: Vec<(String, Node)>,
    pub(crate) sources: Sources,
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
    let mut loaded = assemble(layers, &[name], input, known)?;
    if !loaded.config.only().listen.is_empty() {
        loaded.warnings.push("`listen` has no effect here: this one server speaks on stdin and stdout".to_owned());
    }
    if loaded.config.state_file.is_some() {
        loaded
            .warnings
            .push("`state_file` has no effect here: it is for the servers of `mcp-watchdog serve`".to_owned());
    }
    Ok(loaded)
}

/// Loads every server of a file (or the one that `--name` selects), for one process that supervises them all.
///
/// # Errors
/// As [`load`], with what is wrong in all of the servers.
pub fn load_all(input: &Input, known: KnownProbes<'_>) -> Result<Loaded, ConfigErrors> {
    let layers = Layers::gather(input)?;
    let without = "no servers to run: name a file with --config";
    let names = select::all(&layers, input, without).map_err(|error| unless_known(&layers, error))?;
    assemble(layers, &names, input, known)
}

/// What a file holds, for `check-config`.
#[derive(Debug)]
pub struct Checked {
    /// Its servers that can be run.
    pub loaded: Loaded,
    /// Its other servers, with the reason.
    pub others: Vec<(String, String)>,
}

/// Loads every server of a file (or the one that `--name` selects), less those that this version cannot run.
///
/// # Errors
/// As [`load_all`], and when no server is one that can be run.
pub fn check(input: &Input, known: KnownProbes<'_>) -> Result<Checked, ConfigErrors> {
    let layers = Layers::gather(input)?;
    let without = "no file to check: name one";
    let names = select::all(&layers, input, without).map_err(|error| unless_known(&layers, error))?;
    let mut others = Vec::new();
    let mut run = Vec::with_capacity(names.len());
    let selected = names.len() == 1;
    for name in names {
        match layers.remote(&name) {
            Some(reason) if !selected => others.push((name, reason)),
            _ => run.push(name),
        }
    }
    if run.is_empty() {
        let none = ConfigError::new("no server here can be run: all of them are remote");
        return Err(unless_known(&layers, none));
    }
    Ok(Checked { loaded: assemble(layers, &run, input, known)?, others })
}

/// Settles the process and each of these servers, or reports all that is wrong in all of them.
fn assemble(layers: Layers, names: &[String], input: &Input, known: KnownProbes<'_>) -> Result<Loaded, ConfigErrors> {
    let mut errors = layers.errors.clone();
    let mut warnings = layers.warnings.clone();
    layers.warn_of_strangers(names, &mut warnings);
    let (mut servers, mut sections) = (Vec::new(), Vec::new());
    for name in names {
        match server(&layers, name, input, known, &mut warnings) {
            Ok((server, section)) => {
                servers.push(server);
                sections.push((name.clone(), section));
            }
            Err(found) => add(&mut errors, found),
        }
    }
    match process(&layers, servers, &sections, &mut warnings) {
        Ok((config, top)) if errors.is_empty() => Ok(Loaded {
            config,
            file: layers.file_name(),
            sha256: layers.sha256,
            warnings: once(warnings),
            from_command_line: !input.command.is_empty(),
            effective: Effective { top, servers: sections, sources: layers.sources },
        }),
        Ok(_) => Err(ConfigErrors(errors)),
        Err(found) => {
            add(&mut errors, found);
            Err(ConfigErrors(errors))
        }
    }
}

/// One server with its merged section.
fn server(
    layers: &Layers,
    name: &str,
    input: &Input,
    known: KnownProbes<'_>,
    warnings: &mut Vec<String>,
) -> Result<(Server, Node), ConfigErrors> {
    if let Some(errors) = layers.refused(name) {
        return Err(errors.clone());
    }
    let (written, tree) = shape(layers, layers.server(name, warnings)?)?;
    let context = settle::Context {
        name,
        command: &input.command,
        section: layers.section(name).map(|section| section.origin.clone()),
        merged: settle::Merged { tree: &tree, sources: &layers.sources, environment: &layers.environment },
        known,
    };
    Ok((settle::server(written, &context, warnings)?, tree))
}

/// The process with its merged keys.
fn process(
    layers: &Layers,
    servers: Vec<Server>,
    sections: &[(String, Node)],
    warnings: &mut Vec<String>,
) -> Result<(Config, Node), ConfigErrors> {
    let (written, tree) = shape(layers, layers.top()?)?;
    let merged = settle::Merged { tree: &tree, sources: &layers.sources, environment: &layers.environment };
    let config = settle::config(written, servers, sections, &merged, warnings)?;
    Ok((config, tree))
}

/// Reads a merged tree. Nothing is settled while any key is misspelled: `comand` must not be reported again as a missing
/// `command`.
fn shape<T: DeserializeOwned>(layers: &Layers, mut tree: Node) -> Result<(T, Node), ConfigErrors> {
    let mut errors = Vec::new();
    match read::whole(&mut tree, &layers.sources, &mut errors) {
        Some(written) if errors.is_empty() && layers.errors.is_empty() => Ok((written, tree)),
        _ => Err(ConfigErrors(errors)),
    }
}

/// Values of `defaults`, of the environment and of options would be reported once for each server.
fn add(errors: &mut Vec<ConfigError>, found: ConfigErrors) {
    for error in found.0 {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
}

/// The same for warnings.
fn once(warnings: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    for warning in warnings {
        if !kept.contains(&warning) {
            kept.push(warning);
        }
    }
    kept
}

/// A file with a misspelled `servers` must not be called empty as well.
fn unless_known(layers: &Layers, error: ConfigError) -> ConfigErrors {
    if layers.errors.is_empty() { error.into() } else { ConfigErrors(layers.errors.clone()) }
}

#[cfg(test)]
mod tests;
