//! `mcp-watchdog health [NAME] [--live | --ready | --startup]`: for container runtimes and scripts, which look at the exit
//! code alone.

use super::operator::{Outcome, Output, Target, Whereabouts, shown};
use crate::client::{Check, Watchdog};
use crate::exit::Exit;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Whether the watchdog itself works, whatever its servers do
    #[arg(long, conflicts_with_all = ["ready", "startup"])]
    live: bool,

    /// Whether servers can be used; with NAME, whether this one can [default]
    #[arg(long, conflicts_with = "startup")]
    ready: bool,

    /// Whether every server has been connected once
    #[arg(long)]
    startup: bool,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let (well, words) = match (self.check(), &self.target.name) {
            (Check::Ready, Some(name)) => {
                let (_, server) = there.server(Some(name)).await?;
                (server.connected, format!("{}: {}", shown(&server.name), server.condition()))
            }
            (check, name) => {
                let watchdog: Watchdog = there.watchdog(name.as_deref()).await?;
                watchdog.check(check).await?
            }
        };
        writeln!(to.out, "{words}")?;
        Ok(if well { Exit::Done } else { Exit::Failed })
    }

    const fn check(&self) -> Check {
        match (self.live, self.startup) {
            (true, _) => Check::Live,
            (_, true) => Check::Startup,
            _ => Check::Ready,
        }
    }
}
