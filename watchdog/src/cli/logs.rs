//! `mcp-watchdog logs [NAME] [--tail N]`

use super::operator::terminal::Screen;
use super::operator::{Outcome, Output, Target, Whereabouts};
use crate::exit::Exit;
use crate::telemetry::plain;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// How many lines, counted from the end
    #[arg(long, value_name = "N", default_value_t = 200)]
    tail: usize,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        let (watchdog, server) = there.server(self.target.name.as_deref()).await?;
        let is_terminal = Screen::of_stdout().is_terminal;
        for line in watchdog.logs(&server.name, self.tail).await? {
            // A server's words must not steer the terminal; a program gets them as they are.
            let line = if is_terminal { plain::text(&line, usize::MAX) } else { line };
            writeln!(to.out, "{line}")?;
        }
        Ok(Exit::Done)
    }
}
