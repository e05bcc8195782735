//! `mcp-watchdog check-config [FILE] [--explain]`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::config::load::{self, Checked, Input, KnownProbes};
use crate::config::{Server, explain};
use crate::exit::Exit;
use crate::probe::plugin::{self, Inspected, Launcher, OnError};
use crate::telemetry::LogHandle;

use super::Stop;

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
        report(&checked, out, err)?;
        if self.explain {
            writeln!(out)?;
            explain::explain(&checked.loaded, out)?;
        }
        let mut exit = Exit::Done;
        for server in &checked.loaded.config.servers {
            if !try_plugins(server, out, err)? {
                exit = Exit::Config;
            }
        }
        Ok(exit)
    }
}

/// Loads the plugins of a chain as the start of its server does. Whether that would go on.
fn try_plugins(server: &Server, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<bool> {
    if !server.probe.chain.iter().any(|link| link.kind == plugin::KIND) {
        return Ok(true);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let launcher = Launcher::own(LogHandle::discard())?;
    let found = runtime.block_on(async { plugin::inspect_chain(server, &launcher).await });
    for Inspected { place, name, on_error, outcome } in &found {
        let place = format!("{}: probe.chain[{place}]", server.name);
        match (outcome, on_error) {
            (Ok(plugin), _) => writeln!(out, "  {place}: {name} is plugin {} {}", plugin.name, plugin.version)?,
            (Err(why), OnError::Skip) => writeln!(err, "warning: {place}: {why}")?,
            (Err(why), OnError::RefuseStart) => writeln!(err, "error: {place}: {why}")?,
        }
    }
    Ok(found.iter().all(|inspected| inspected.refusal().is_none()))
}

fn report(checked: &Checked, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
    let Checked { loaded, others } = checked;
    for warning in &loaded.warnings {
        writeln!(err, "warning: {warning}")?;
    }
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
