//! `mcp-watchdog check-config [FILE] [--explain]`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::config::load::{self, Checked, Input, KnownProbes};
use crate::config::{Server, explain};
use crate::exit::Exit;

use super::Stop;

#[cfg(not(feature = "plugins"))]
#[path = "check_config/no_plugins.rs"]
mod plugins;
#[cfg(feature = "plugins")]
mod plugins;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file; without it, the one that the sidecar would find
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Only this server of the file
    #[arg(long, value_name = "NAME")]
    name: Option<OsString>,

    /// Print every effective value with its source; secrets stay hidden
    #[arg(long)]
    explain: bool,
}

impl Arguments {
    pub(super) fn settle(self, environment: Vec<(OsString, OsString)>) -> CheckConfig {
        let input = Input { config: self.file, name: self.name, environment, ..Input::default() };
        CheckConfig { input, explain: self.explain }
    }
}

/// What is to be checked.
#[derive(Debug)]
pub struct CheckConfig {
    input: Input,
    explain: bool,
}

impl CheckConfig {
    /// Checks, and writes what was found to `out`, or what is wrong to `err`.
    ///
    /// # Errors
    /// When one of the two cannot be written.
    pub fn run(&self, known: KnownProbes<'_>, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
        let checked = match load::check(&self.input, known) {
            Ok(checked) => checked,
            Err(errors) => {
                let Stop { exit, text } = Stop::from(errors);
                err.write_all(text.as_bytes())?;
                return Ok(exit);
            }
        };
        let servers = &checked.loaded.config.servers;
        let tried = plugins::Tried::load(servers)?;
        for warning in &checked.loaded.warnings {
            writeln!(err, "warning: {warning}")?;
        }
        if !tried.is_refused() {
            report(&checked, out)?;
        }
        if self.explain {
            writeln!(out)?;
            explain::explain(&checked.loaded, out)?;
        }
        tried.report(out, err)?;
        Ok(if tried.is_refused() { Exit::Config } else { Exit::Done })
    }
}

/// Says that the file can be used, and what is in it.
fn report(checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    let Checked { loaded, others } = checked;
    if let Some(file) = &loaded.file {
        writeln!(out, "{}: ok", file.display())?;
    }
    for server in &loaded.config.servers {
        writeln!(out, "  {}", fact(server, loaded.preset(&server.name)))?;
    }
    for (name, reason) in others {
        writeln!(out, "  {name}: {reason}")?;
    }
    Ok(())
}

/// One server in one line.
fn fact(server: &Server, preset: &str) -> String {
    let state = if server.enabled { "" } else { ", disabled" };
    format!("{}: `{}`, preset {preset}{state}", server.name, server.command.program.to_string_lossy())
}
