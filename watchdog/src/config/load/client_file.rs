//! A client's own file (`mcpServers`, VS Code's `servers` and their like) in the place of a configuration: it is read as
//! `mcp-watchdog import` would write it.

use std::path::Path;

use crate::config::error::{ConfigError, ConfigErrors};
use crate::ecosystem::import::{Imported, Refused, Request, import};
use crate::ecosystem::{Document, Format, client};

/// A client's file as a configuration.
pub(super) struct Adapted {
    pub(super) yaml: String,
    pub(super) warnings: Vec<String>,
    /// The servers that cannot be had, and are not in it. Who runs one of the others need not care.
    pub(super) refused: Vec<(String, ConfigErrors)>,
}

/// The configuration that is made of a client's file; `None` for what may be one of ours.
pub(super) fn adapted(path: &Path, text: &str) -> Option<Result<Adapted, ConfigErrors>> {
    let format = client::format(path);
    let source = path.display().to_string();
    let Some(document) = Document::parse(text, format).ok().filter(|it| it.is_a_clients() || it.is_vs_codes()) else {
        let refused =
            || ConfigError::about(&source, "is TOML, and a configuration of this program is YAML or JSON").into();
        return (format == Format::Toml).then(|| Err(refused()));
    };
    // Relative files are looked for beside the file that names them, as always.
    let request = Request { source: &source, folder: Some("."), server: None, workspace: None, timeout_unit: None };
    let about = |message| ConfigError::about(&source, message);
    Some(match import(&document, &request) {
        Ok(Imported { yaml, warnings, refused }) => {
            let warnings = warnings.into_iter().map(|warning| format!("{source}: {warning}")).collect();
            let errors = |entry: Refused| (entry.name, ConfigErrors(entry.reasons.into_iter().map(about).collect()));
            Ok(Adapted { yaml, warnings, refused: refused.into_iter().map(errors).collect() })
        }
        Err(messages) => Err(ConfigErrors(messages.into_iter().map(about).collect())),
    })
}
