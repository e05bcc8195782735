//! A client's own file (`mcpServers`, VS Code's `servers` and their like) in the place of a configuration: it is read as
//! `mcp-watchdog import` would write it.

use std::path::Path;

use crate::config::error::{ConfigError, ConfigErrors};
use crate::ecosystem::import::{Imported, Request, import};
use crate::ecosystem::{Document, Format, client};

/// The configuration that is made of a client's file; `None` for what may be one of ours.
pub(super) fn adapted(path: &Path, text: &str) -> Option<Result<Imported, ConfigErrors>> {
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
        Ok(Imported { yaml, warnings }) => {
            let warnings = warnings.into_iter().map(|warning| format!("{source}: {warning}")).collect();
            Ok(Imported { yaml, warnings })
        }
        Err(messages) => Err(ConfigErrors(messages.into_iter().map(about).collect())),
    })
}
