//! Where configuration comes from, and how a place in it is named and shown.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::excerpt::{Guard, excerpt};
use super::preset::Preset;
use super::secret::{self, Secret};
use super::tree::place::{self, Place, Target};
use super::tree::{Node, Origin, PathText, SourceId, Step};

/// One source.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The values that hold when nothing is written.
    BuiltIn,
    /// A preset, by name.
    Preset(&'static str),
    /// A file.
    File(File),
    /// An environment variable.
    Variable(String),
    /// An option of the command line, as far as it names a key: `--hold`, `--set restart.hold`.
    Flag(String),
}

/// A file's name and text.
#[derive(Clone)]
pub(crate) struct File {
    /// As the user named it.
    pub(crate) name: String,
    /// All of it.
    pub(crate) text: String,
    /// What in it must not be shown; looked for when there is an error to show.
    pub(crate) secrets: OnceLock<Vec<Secret>>,
    /// The tree as it was read, to find them by.
    pub(crate) root: Option<Node>,
    /// How many places in it were looked up for errors.
    pub(crate) looked_up: Arc<AtomicUsize>,
}

/// Looking up a place means to read the whole text: errors after so many go without.
const MOST_PLACES: usize = 100;

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("name", &self.name).finish_non_exhaustive()
    }
}

impl File {
    /// The place that an error is about.
    pub(crate) fn locate(&self, path: &[Step], target: Target) -> Option<Place> {
        let before = self.looked_up.fetch_add(1, Ordering::Relaxed);
        if before < MOST_PLACES { place::locate(&self.text, path, target) } else { None }
    }

    fn guard(&self, target: Target) -> Guard<'_> {
        let find = || self.root.as_ref().map(|root| secret::find(root, &self.text)).unwrap_or_default();
        let secrets = self.secrets.get_or_init(find);
        if matches!(target, Target::Key(_)) { Guard::Key(secrets) } else { Guard::Secrets(secrets) }
    }
}

/// All sources of one run.
#[derive(Debug, Clone)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    /// The built-in values come first, always.
    pub(crate) const BUILT_IN: SourceId = 0;

    /// The built-in values and the presets.
    pub(crate) fn new() -> Self {
        let presets = Preset::ALL.map(|preset| Source::Preset(preset.name()));
        Self(std::iter::once(Source::BuiltIn).chain(presets).collect())
    }

    /// The number of a preset.
    pub(crate) fn of_preset(&self, preset: Preset) -> SourceId {
        let is_it = |source: &Source| matches!(source, Source::Preset(name) if *name == preset.name());
        self.0.iter().position(is_it).unwrap_or(Self::BUILT_IN)
    }

    /// Adds one.
    pub(crate) fn add(&mut self, source: Source) -> SourceId {
        self.0.push(source);
        self.0.len() - 1
    }

    /// Remembers the tree of a file, before anything is taken out of it.
    pub(crate) fn remember(&mut self, id: SourceId, root: &Node) {
        if let Some(Source::File(file)) = self.0.get_mut(id) {
            file.root = Some(root.clone());
        }
    }

    /// The source of this number.
    pub(crate) fn get(&self, id: SourceId) -> &Source {
        self.0.get(id).unwrap_or(&Source::BuiltIn)
    }

    /// The folder that a file's relative paths start from; `None` for other sources.
    pub(crate) fn folder(&self, id: SourceId) -> Option<&std::path::Path> {
        match self.get(id) {
            Source::File(file) => std::path::Path::new(&file.name).parent(),
            _ => None,
        }
    }

    /// Where a value comes from, in a few words: `default`, `config.yaml:8:9`, `--hold`.
    pub(crate) fn name(&self, origin: &Origin) -> String {
        match self.get(origin.source) {
            Source::BuiltIn => "default".to_owned(),
            Source::Preset(name) => format!("preset {name}"),
            Source::File(file) => match place::locate(&file.text, &origin.path, Target::Value) {
                Some(Place { line, column }) => format!("{}:{line}:{column}", file.name),
                None => file.name.clone(),
            },
            Source::Variable(name) | Source::Flag(name) => name.clone(),
        }
    }

    /// `config.yaml:8:9: servers.fs.hold` or `--hold`: the head of an error, and the line it is about.
    pub(crate) fn place(&self, origin: &Origin, target: Target) -> (String, Option<String>) {
        // A key is named by the message, so the path leads to the map that it is in.
        let hidden = usize::from(matches!(target, Target::Key(_)));
        let path = &origin.path[..origin.path.len().saturating_sub(hidden)];
        let shown = PathText(path);
        match self.get(origin.source) {
            Source::File(file) => {
                let place = file.locate(&origin.path, target);
                let path = if path.is_empty() { String::new() } else { format!(": {shown}") };
                match place {
                    Some(at) => (
                        format!("{}:{}:{}{path}", file.name, at.line, at.column),
                        excerpt(&file.text, at, file.guard(target)),
                    ),
                    None => (format!("{}{path}", file.name), None),
                }
            }
            // `--set probe.chain[1]`, but `--set probe.chain: env.A`
            _ if matches!(path, [] | [Step::Index(_), ..]) => (format!("{}{shown}", self.name(origin)), None),
            _ => (format!("{}: {shown}", self.name(origin)), None),
        }
    }
}
