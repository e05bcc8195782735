//! `mcp-watchdog check-config [FILE] [--explain]`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::config::load::{self, Checked, Input, KnownProbes};
use crate::config::{Server, explain};
use crate::event_loop;
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
        let servers = &checked.loaded.config.servers;
        let tried = servers.iter().map(|server| Ok((server, try_plugins(server)?))).collect::<io::Result<Vec<_>>>()?;
        let is_refused = tried.iter().flat_map(|(_, plugins)| plugins).any(|plugin| plugin.refusal().is_some());
        for warning in &checked.loaded.warnings {
            writeln!(err, "warning: {warning}")?;
        }
        if !is_refused {
            report(&checked, out)?;
        }
        if self.explain {
            writeln!(out)?;
            explain::explain(&checked.loaded, out)?;
        }
        for (server, plugins) in &tried {
            report_plugins(server, plugins, out, err)?;
        }
        Ok(if is_refused { Exit::Config } else { Exit::Done })
    }
}

/// Loads the plugins of a chain as the start of its server does.
fn try_plugins(server: &Server) -> io::Result<Vec<Inspected>> {
    if !server.probe.chain.iter().any(|link| link.kind == plugin::KIND) {
        return Ok(Vec::new());
    }
    let runtime = event_loop::start()?;
    let launcher = Launcher::own(LogHandle::discard())?;
    Ok(runtime.block_on(async { plugin::inspect_chain(server, &launcher).await }))
}

fn report_plugins(server: &Server, plugins: &[Inspected], out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
    for Inspected { place, name, on_error, outcome } in plugins {
        let place = format!("{}: probe.chain[{place}]", server.name);
        match (outcome, on_error) {
            (Ok(plugin), _) => writeln!(out, "  {place}: {name} is plugin {} {}", plugin.name, plugin.version)?,
            (Err(why), OnError::Skip) => writeln!(err, "warning: {place}: {why}")?,
            (Err(why), OnError::RefuseStart) => writeln!(err, "error: {place}: {why}")?,
        }
    }
    Ok(())
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
