//! `mcp-watchdog wrap FILE [--dry-run] [--undo]`

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::config::load::KnownProbes;
use crate::ecosystem::rewrite::{Change, Outcome, Rewritten, rewrite};
use crate::ecosystem::{Document, client};
use crate::exit::Exit;

use super::original::Original;

/// What was typed.
#[derive(Debug, clap::Args)]
pub struct Wrap {
    /// The client's file: claude_desktop_config.json, .mcp.json, mcp.json, settings.json, config.toml, …
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Take the watchdog away again; other edits of the file stay
    #[arg(long, conflicts_with = "option")]
    undo: bool,

    /// The mcp-watchdog that the client is to start [default: this one]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,

    /// An option for each watchdog, such as --option=--tool-timeout=20s; may be repeated
    #[arg(long, value_name = "OPTION", action = clap::ArgAction::Append, allow_hyphen_values = true)]
    option: Vec<String>,
}

impl Wrap {
    /// Rewrites the file, and says on `out` what was done, or on `err` why nothing was.
    ///
    /// # Errors
    /// When one of the two cannot be written.
    pub fn run(&self, known: KnownProbes<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
        let report = match self.change(known) {
            Ok(report) => report,
            Err(message) => {
                writeln!(err, "error: {message}")?;
                return Ok(Exit::Config);
            }
        };
        out.write_all(report.as_bytes())?;
        Ok(Exit::Done)
    }

    fn change(&self, known: KnownProbes<'_>) -> Result<String, String> {
        let about = |message: String| format!("{}: {message}", self.file.display());
        let binary = binary(self.binary.as_deref())?;
        let change = if self.undo {
            Change::Undo { binary }
        } else {
            check_options(&self.option, known)?;
            Change::Wrap { binary, options: self.option.clone() }
        };
        let original = Original::read(&self.file).map_err(about)?;
        let text = original.text();
        let document = Document::parse(text, client::format(&self.file))
            .map_err(|error| format!("{}:{}:{}: {}", self.file.display(), error.line, error.column, error.message))?;
        let rewritten = rewrite(&document, &change).map_err(about)?;
        let backup = if self.dry_run || rewritten.text == text {
            None
        } else {
            Some(original.replace_by(&rewritten.text).map_err(about)?)
        };
        Ok(self.report(&rewritten, backup.as_deref()))
    }

    fn report(&self, rewritten: &Rewritten, backup: Option<&Path>) -> String {
        let done = match (self.undo, self.dry_run) {
            (false, false) => "runs under mcp-watchdog now",
            (false, true) => "would run under mcp-watchdog",
            (true, false) => "runs without mcp-watchdog now",
            (true, true) => "would run without mcp-watchdog",
        };
        let mut report = format!("{}:\n", self.file.display());
        for Outcome { server, result } in &rewritten.outcomes {
            report.push_str(&match result {
                Ok(command) => format!("  {server}: `{command}` {done}\n"),
                Err(reason) => format!("  {server}: left as it is: {reason}\n"),
            });
        }
        if let Some(backup) = backup {
            report.push_str(&format!("The file as it was is kept in {}.\n", backup.display()));
            report.push_str("Restart the client, or its servers, to make it so.\n");
        } else if rewritten.outcomes.iter().all(|outcome| outcome.result.is_err()) {
            report.push_str("There is nothing to do.\n");
        } else {
            report.push_str("Nothing was changed: this was a dry run.\n");
        }
        report
    }
}

/// The path that goes into the file.
fn binary(typed: Option<&Path>) -> Result<String, String> {
    let path = match typed {
        // A bare name is looked up along the client's PATH.
        Some(path) if path.components().count() < 2 => path.to_owned(),
        Some(path) => std::path::absolute(path).map_err(|error| format!("--binary: {error}"))?,
        None => std::env::current_exe()
            .map_err(|error| format!("this program's own path is not known ({error}); name it with --binary"))?,
    };
    match path.to_str() {
        Some("") => Err("--binary: is empty".to_owned()),
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("{}: the path is not UTF-8, as the client's file is", path.display())),
    }
}

/// An option that cannot work would cost the client all its servers.
fn check_options(options: &[String], known: KnownProbes<'_>) -> Result<(), String> {
    let words = ["mcp-watchdog", "--name", "server"].into_iter().chain(options.iter().map(String::as_str));
    let words = words.chain(["--", "server"]).map(Into::into);
    if options.iter().any(|option| option == "--") {
        return Err("--option: `--` is not an option".to_owned());
    }
    match super::parse(words, [], known) {
        Ok(super::Invocation::Sidecar(_)) => Ok(()),
        Err(stop) if stop.exit != Exit::Done => {
            Err(format!("--option: {}", stop.text.trim_start_matches("error: ").trim_end()))
        }
        _ => Err("--option: that is not an option for a server's watchdog".to_owned()),
    }
}

#[cfg(test)]
mod tests;
