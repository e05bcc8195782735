//! `mcp-watchdog reload [NAME]`

use super::operator::{Outcome, Output, Target, Whereabouts, shown};
use crate::exit::Exit;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let watchdog = there.watchdog(self.target.name.as_deref()).await?;
        let changed = watchdog.reload().await?;
        if changed.is_empty() {
            writeln!(to.out, "nothing has changed")?;
        }
        for change in changed {
            writeln!(to.out, "changed: {}", shown(&change))?;
        }
        Ok(Exit::Done)
    }
}
