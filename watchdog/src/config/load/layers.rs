//! The layers, gathered once, and laid over each other for one server.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::excerpt::{Guard, excerpt};
use crate::config::preset::Preset;
use crate::config::source::{File, Source, Sources};
use crate::config::text::FromText;
use crate::config::tree::place::Target;
use crate::config::tree::yaml;
use crate::config::tree::{Node, SourceId};
use crate::config::{builtin, document, file, keys};

use super::assign::{self, Assignment, Keys, Scope};
use super::connection::{self, Connection};
use super::{Input, client_file, discover, read, select, variables};

/// The environment that came in.
pub(crate) struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables whose names are text, in the order of names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.0.iter().filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())))
    }

    /// All of it.
    pub(crate) fn all(&self) -> &BTreeMap<OsString, OsString> {
        &self.0
    }
}

/// Everything that is written.
pub(super) struct Layers {
    pub(super) sources: Sources,
    pub(super) environment: Environment,
    pub(super) warnings: Vec<String>,
    pub(super) errors: Vec<ConfigError>,
    file: Option<(PathBuf, Node)>,
    /// The servers that the file names, and that cannot be had.
    refused: Vec<(String, ConfigErrors)>,
    /// Of the file as it is.
    pub(super) sha256: Option<String>,
    connections: Vec<Connection>,
    variables: Vec<Assignment>,
    options: Vec<Assignment>,
}

impl Layers {
    /// Reads all sources. Errors that do not hinder the rest are kept, to be reported together.
    pub(super) fn gather(input: &Input) -> Result<Self, ConfigErrors> {
        let environment = Environment(input.environment.iter().cloned().collect());
        let mut sources = Sources::new();
        let (mut errors, mut warnings) = (Vec::new(), Vec::new());
        let (mut sha256, mut refused) = (None, Vec::new());
        let file = match discover::find(input, &environment) {
            Some(path) => {
                let text = input.text.clone().map_or_else(|| discover::read(&path), Ok)?;
                sha256 = Some(Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect());
                let text = text.strip_prefix('\u{feff}').map(ToOwned::to_owned).unwrap_or(text);
                let (name, text) = match client_file::adapted(&path, &text).transpose()? {
                    // The lines of errors are those of what was made of it.
                    Some(made) => {
                        warnings.extend(made.warnings);
                        refused = made.refused;
                        (format!("{} (imported)", path.display()), made.yaml)
                    }
                    None => (path.display().to_string(), text),
                };
                let root = parse_file(name, text, &mut sources, &mut errors)?;
                Some((path, root))
            }
            None => None,
        };
        let keys = Keys { server: keys::server(), top: keys::top() };
        let connections = connection::gather(&environment, &mut sources, &mut errors);
        let mut variables = variables::gather(&environment, &keys, &mut sources, &mut errors, &mut warnings);
        let mut options = Vec::new();
        for setting in &input.settings {
            match assign::option(setting, &keys, &mut sources) {
                Ok(assignment) => options.push(assignment),
                Err(error) => errors.push(error),
            }
        }
        for assignment in variables.iter_mut().chain(&mut options) {
            match assignment.scope {
                Scope::Top => document::process(&mut assignment.tree),
                _ => document::section(&mut assignment.tree, &sources, &mut errors),
            }
        }
        Ok(Self { sources, environment, warnings, errors, file, refused, sha256, connections, variables, options })
    }

    /// The file, where one is read.
    pub(super) fn file_name(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|(path, _)| path.clone())
    }

    /// The file's name for messages.
    pub(super) fn file_title(&self) -> String {
        self.file_name().map(|path| path.display().to_string()).unwrap_or_default()
    }

    /// The names of the file's servers, in the order of writing, and of those that cannot be had.
    pub(super) fn names(&self) -> Vec<String> {
        let servers = self.file.as_ref().and_then(|(_, root)| root.get("servers"));
        let mut names: Vec<String> =
            servers.into_iter().flat_map(Node::entries).map(|(name, _)| name.clone()).collect();
        for (name, _) in &self.refused {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }

    /// Why a server of the file cannot be had at all.
    pub(super) fn refused(&self, name: &str) -> Option<&ConfigErrors> {
        self.refused.iter().find(|(refused, _)| refused == name).map(|(_, errors)| errors)
    }

    /// Why this version cannot run this server of the file, where it is a remote one.
    pub(super) fn remote(&self, name: &str) -> Option<String> {
        let server = self.section(name)?;
        let kind = server.get("type").and_then(Node::scalar).filter(|kind| *kind != "stdio");
        match (kind, server.get("url")) {
            (Some(kind), _) => Some(format!("remote ({kind}), not run by this version")),
            (None, Some(_)) => Some("remote, not run by this version".to_owned()),
            (None, None) => None,
        }
    }

    /// The file's own section of a server.
    pub(super) fn section(&self, name: &str) -> Option<&Node> {
        self.file.as_ref().and_then(|(_, root)| root.get("servers")).and_then(|servers| servers.get(name))
    }

    /// The merged section of one server.
    pub(super) fn server(&self, name: &str, warnings: &mut Vec<String>) -> Result<Node, ConfigError> {
        let lower: Vec<&Node> = self.defaults().into_iter().chain(self.section(name)).collect();
        let upper: Vec<&Node> = of_server(&self.variables, name).chain(of_server(&self.options, name)).collect();

        let mut tree = parse_builtin(builtin::SERVER, Sources::BUILT_IN)?;
        let written = || lower.iter().chain(&upper).copied();
        lay(&mut tree, self.preset(written())?);
        let chosen = written().any(connection::chooses_strategy);
        if !chosen && connection::any_restart(&self.connections) {
            // Someone who sets only these variables expects the growing delays that they speak of.
            let mut network = self.preset_section(Preset::Network)?;
            keep_only(&mut network, "restart");
            lay(&mut tree, network);
        }
        lower.iter().for_each(|layer| lay(&mut tree, (*layer).clone()));
        connection::apply(&self.connections, &mut tree, warnings);
        upper.iter().for_each(|layer| lay(&mut tree, (*layer).clone()));
        if tree.at("restart.delays").is_none() {
            let mut growing = parse_builtin(builtin::GROWING, Sources::BUILT_IN)?;
            growing.overlay(tree);
            tree = growing;
        }
        Ok(tree)
    }

    /// The merged keys of the process.
    pub(super) fn top(&self) -> Result<Node, ConfigError> {
        let mut tree = parse_builtin(builtin::TOP, Sources::BUILT_IN)?;
        if let Some((_, root)) = &self.file {
            let mut root = root.clone();
            for key in ["servers", "defaults"] {
                root.remove(&[crate::config::tree::Step::Key(key.to_owned())]);
            }
            tree.overlay(root);
        }
        let assignments = self.variables.iter().chain(&self.options).filter(|a| a.scope == Scope::Top);
        assignments.for_each(|assignment| tree.overlay(assignment.tree.clone()));
        Ok(tree)
    }

    fn defaults(&self) -> Option<&Node> {
        self.file.as_ref().and_then(|(_, root)| root.get("defaults"))
    }

    /// The section of the preset that the highest layer names.
    fn preset<'a>(&self, written: impl Iterator<Item = &'a Node>) -> Result<Node, ConfigError> {
        let named = written.filter_map(|layer| layer.get("preset")).last().and_then(Node::scalar);
        // A name that is none is reported when the section is read.
        let preset = named.and_then(|name| Preset::from_text(name).ok()).unwrap_or(Preset::Relentless);
        self.preset_section(preset)
    }

    fn preset_section(&self, preset: Preset) -> Result<Node, ConfigError> {
        parse_builtin(preset.section(), self.sources.of_preset(preset))
    }

    /// Warns of variables for one server that is none of these, unless the file has it.
    pub(super) fn warn_of_strangers(&self, names: &[String], warnings: &mut Vec<String>) {
        let known: Vec<String> = self.names().iter().chain(names).map(|name| variables::fold(name)).collect();
        let here = match names {
            [only] => format!("the server here is `{only}`"),
            _ => format!("the servers here are {}", names.join(", ")),
        };
        for assignment in &self.variables {
            if let Scope::Named(folded) = &assignment.scope
                && !known.contains(folded)
            {
                let variable = self.sources.name(&assignment.tree.origin);
                warnings.push(format!("{variable} has no effect: {here}"));
            }
        }
    }
}

fn of_server<'a>(assignments: &'a [Assignment], name: &str) -> impl Iterator<Item = &'a Node> {
    let folded = variables::fold(name);
    assignments
        .iter()
        .filter(move |assignment| match &assignment.scope {
            Scope::Top => false,
            Scope::Server => true,
            Scope::Named(named) => *named == folded,
        })
        .map(|assignment| &assignment.tree)
}

fn lay(tree: &mut Node, layer: Node) {
    document::displace_strategy(tree, &layer);
    tree.overlay(layer);
}

fn keep_only(tree: &mut Node, wanted: &str) {
    if let crate::config::tree::Value::Map(entries) = &mut tree.value {
        entries.retain(|(key, _)| key == wanted);
    }
}

fn parse_builtin(text: &str, source: SourceId) -> Result<Node, ConfigError> {
    yaml::parse(text, source).map_err(|error| ConfigError::about("built-in configuration", error.message))
}

fn parse_file(
    name: String,
    text: String,
    sources: &mut Sources,
    errors: &mut Vec<ConfigError>,
) -> Result<Node, ConfigErrors> {
    let file = File { name: name.clone(), text, secrets: OnceLock::new(), root: None, looked_up: Arc::default() };
    let id = sources.add(Source::File(file.clone()));
    let mut root = yaml::parse(&file.text, id).map_err(|error| match error.place {
        Some(at) => ConfigError::about(format!("{name}:{}:{}", at.line, at.column), error.message)
            .with_excerpt(excerpt(&file.text, at, Guard::Unparsed)),
        None => ConfigError::about(&name, error.message),
    })?;
    if root.is_null() {
        root = Node::empty(root.origin);
    }
    sources.remember(id, &root);
    document::settle(&mut root, sources, errors);
    for (server, node) in root.get("servers").map(Node::entries).unwrap_or_default() {
        if !select::is_name(server) {
            errors.push(ConfigError::located(sources, &node.origin, Target::Key(0), select::not_a_name(server)));
        }
    }
    // The whole file is read once, so that a slip in a server that is not the selected one is reported too.
    if read::whole::<file::Top>(&mut root, sources, errors).is_none() {
        return Err(ConfigErrors(std::mem::take(errors)));
    }
    Ok(root)
}
