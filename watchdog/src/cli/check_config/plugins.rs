//! The plugins of a configuration, loaded as the start of their servers does.

use std::io::{self, Write};

use crate::config::Server;
use crate::event_loop;
use crate::probe::plugin::{self, Inspected, Launcher, OnError};
use crate::telemetry::LogHandle;

/// What was tried.
pub(super) struct Tried<'a>(Vec<(&'a Server, Vec<Inspected>)>);

impl<'a> Tried<'a> {
    /// Loads the plugins of all chains, and lets go of them.
    ///
    /// # Errors
    /// Where a process cannot be prepared at all.
    pub(super) fn load(servers: &'a [Server]) -> io::Result<Self> {
        servers.iter().map(|server| Ok((server, chain(server)?))).collect::<io::Result<_>>().map(Self)
    }

    /// Whether a server would not be started.
    pub(super) fn is_refused(&self) -> bool {
        self.0.iter().flat_map(|(_, plugins)| plugins).any(|plugin| plugin.refusal().is_some())
    }

    /// Says what each of them is, or why it cannot be used.
    ///
    /// # Errors
    /// When that cannot be written.
    pub(super) fn report(&self, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
        for (server, plugins) in &self.0 {
            for Inspected { place, name, on_error, outcome } in plugins {
                let place = format!("{}: probe.chain[{place}]", server.name);
                match (outcome, on_error) {
                    (Ok(plugin), _) => writeln!(out, "  {place}: {name} is plugin {} {}", plugin.name, plugin.version)?,
                    (Err(why), OnError::Skip) => writeln!(err, "warning: {place}: {why}")?,
                    (Err(why), OnError::RefuseStart) => writeln!(err, "error: {place}: {why}")?,
                }
            }
        }
        Ok(())
    }
}

fn chain(server: &Server) -> io::Result<Vec<Inspected>> {
    if !server.probe.chain.iter().any(|link| link.kind == plugin::KIND) {
        return Ok(Vec::new());
    }
    let runtime = event_loop::start()?;
    let launcher = Launcher::own(LogHandle::discard())?;
    Ok(runtime.block_on(async { plugin::inspect_chain(server, &launcher).await }))
}
