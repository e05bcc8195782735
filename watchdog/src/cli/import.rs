//! `mcp-watchdog import FILE [--server NAME] [-o OUT]`

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::config::load::{self, Input, KnownProbes};
use crate::ecosystem::import::{Imported, Request, Unit, import};
use crate::ecosystem::{Document, client};
use crate::exit::Exit;

use super::original::Original;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The client's file: claude_desktop_config.json, .mcp.json, mcp.json, settings.json, config.toml, …
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Only this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Write to this new file, and not to stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// What ${workspaceFolder} stands for
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<String>,

    /// What a server's `timeout` counts: clients differ
    #[arg(long, value_name = "UNIT")]
    timeout_unit: Option<TimeoutUnit>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TimeoutUnit {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
}

impl Arguments {
    pub(super) fn settle(self, environment: Vec<(OsString, OsString)>) -> Import {
        Import { arguments: self, environment }
    }
}

/// What is to be imported.
pub struct Import {
    arguments: Arguments,
    /// For the variables that the result refers to.
    environment: Vec<(OsString, OsString)>,
}

// The environment holds secrets.
impl std::fmt::Debug for Import {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

impl Import {
    /// Writes the configuration to `out` or to its file, and what was lost or is wrong to `err`.
    ///
    /// # Errors
    /// When `out` or `err` cannot be written.
    pub fn run(&self, known: KnownProbes<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
        let imported = match self.import() {
            Ok(imported) => imported,
            Err(messages) => {
                for message in messages {
                    writeln!(err, "error: {message}")?;
                }
                return Ok(Exit::Config);
            }
        };
        for warning in &imported.warnings {
            writeln!(err, "warning: {warning}")?;
        }
        for reason in imported.refused.iter().flat_map(|entry| &entry.reasons) {
            writeln!(err, "warning: {reason}; it is left out")?;
        }
        for doubt in self.doubts(&imported, known) {
            writeln!(err, "warning: {doubt}")?;
        }
        let Some(path) = &self.arguments.output else {
            out.write_all(imported.yaml.as_bytes())?;
            return Ok(Exit::Done);
        };
        match write_new(path, &imported.yaml) {
            Ok(()) => writeln!(out, "{}: written", path.display()).map(|()| Exit::Done),
            Err(message) => writeln!(err, "error: {}: {message}", path.display()).map(|()| Exit::Config),
        }
    }

    fn import(&self) -> Result<Imported, Vec<String>> {
        let Arguments { file, server, workspace, timeout_unit, .. } = &self.arguments;
        let about = |message: String| format!("{}: {message}", file.display());
        let original = Original::read(file).map_err(|message| vec![about(message)])?;
        let document = Document::parse(original.text(), client::format(file))
            .map_err(|error| vec![format!("{}:{}:{}: {}", file.display(), error.line, error.column, error.message)])?;
        let request = Request {
            source: &file.display().to_string(),
            folder: original.folder().to_str(),
            server: server.as_deref(),
            workspace: workspace.as_deref(),
            timeout_unit: timeout_unit.map(|unit| match unit {
                TimeoutUnit::S => Unit::Seconds,
                TimeoutUnit::Ms => Unit::Milliseconds,
            }),
        };
        import(&document, &request).map_err(|messages| messages.into_iter().map(about).collect())
    }

    /// What `check-config` would say of the result: it depends on variables and files of this machine too.
    fn doubts(&self, imported: &Imported, known: KnownProbes<'_>) -> Vec<String> {
        let name = self.arguments.output.clone().unwrap_or_else(|| PathBuf::from("(the result)"));
        let input = Input {
            config: Some(name),
            text: Some(imported.yaml.clone()),
            environment: self.environment.clone(),
            ..Input::default()
        };
        match load::check(&input, known) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.errors().iter().map(ToString::to_string).collect(),
        }
    }
}

/// The result may hold secrets, as the client's file does.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match file.and_then(|mut file| file.write_all(text.as_bytes())) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err("exists already; choose another name, or remove it".to_owned())
        }
        result => result.map_err(|error| format!("cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests;
