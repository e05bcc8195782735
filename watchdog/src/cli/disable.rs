//! `mcp-watchdog disable [NAME]`

use super::operator::{Outcome, Output, Target, Whereabouts, switch};

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        switch(&self.target, false, there, to).await
    }
}
