//! `mcp-watchdog retry [NAME | --all] [--wait DURATION]`

use std::time::Duration;

use probe_api::options::Span;
use tokio::task::JoinSet;

use super::operator::{Outcome, Output, Target, Whereabouts, shown};
use crate::client::{Condition, Server, Watchdog};
use crate::exit::Exit;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Every server that has failed for good or waits for its next attempt, of all watchdogs
    #[arg(long, conflicts_with = "name")]
    all: bool,

    /// Wait so long for the server to be connected
    #[arg(long, value_name = "DURATION")]
    wait: Option<Span>,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let wait = self.wait.map(|Span(wait)| wait);
        if !self.all {
            let (watchdog, server) = there.server(self.target.name.as_deref()).await?;
            writeln!(to.out, "{}", retried(&watchdog, &server, wait).await?)?;
            return Ok(Exit::Done);
        }
        let survey = there.survey().await?;
        let mut tried = JoinSet::new();
        for (watchdog, server) in survey.servers(None, there.looked())? {
            if is_down(server) {
                let (watchdog, server) = (watchdog.clone(), server.clone());
                tried.spawn(async move { retried(&watchdog, &server, wait).await });
            }
        }
        if tried.is_empty() {
            writeln!(to.out, "no server has failed or waits for an attempt")?;
        }
        for silent in &survey.silent {
            writeln!(to.err, "warning: {silent}")?;
        }
        // Nobody knows whether all that are down were tried.
        let mut exit = if survey.silent.is_empty() { Exit::Done } else { Exit::Failed };
        // A task that panicked has printed why.
        while let Some(Ok(outcome)) = tried.join_next().await {
            match outcome {
                Ok(line) => writeln!(to.out, "{line}")?,
                Err(error) => {
                    writeln!(to.err, "error: {error}")?;
                    exit = Exit::Failed;
                }
            }
        }
        Ok(exit)
    }
}

fn is_down(server: &Server) -> bool {
    matches!(server.condition(), Condition::Failed | Condition::Reconnecting)
}

/// Tries one server; the line that tells of it.
async fn retried(
    watchdog: &Watchdog,
    server: &Server,
    wait: Option<Duration>,
) -> Result<String, crate::client::ClientError> {
    let accepted = watchdog.retry(&server.name, wait).await?;
    let name = shown(&server.name);
    Ok(match wait {
        Some(_) => format!("{name}: connected"),
        None => format!("{name}: attempt {} begins", accepted.attempt),
    })
}
