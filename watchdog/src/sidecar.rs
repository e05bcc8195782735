//! The sidecar form: one server, spoken to on our stdin and stdout.

use std::time::Duration;

use crate::config::load::Loaded;
use crate::exit::{Exit, chain_text};
use crate::front::stdio::StdioFront;
use crate::probe::Registry;
use crate::slot::Driver;
use crate::stream::stdio;
use crate::telemetry::{self, LogHandle};

/// How long the log may take to be written at the end.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Serves until the client leaves, a signal comes, or the server has failed for good.
pub(crate) fn run(loaded: Loaded, registry: Registry) -> Exit {
    let Loaded { config, warnings, .. } = loaded;
    let log = telemetry::init(&config.log, &config.only().name);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let exit = serve(&config, registry, log.clone()).unwrap_or_else(|error| {
        tracing::error!("the watchdog failed: {}", chain_text(&error));
        Exit::Internal
    });
    log.flush(LAST_LINES);
    exit
}

fn serve(config: &crate::config::Config, registry: Registry, log: LogHandle) -> std::io::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything else could print into the protocol.
        let (source, sink) = stdio::take()?;
        let front = StdioFront::new(source, sink, config.only().limits.max_line);
        Ok(Driver::new(config, registry, front, log)?.run().await)
    })
}
