//! `mcp-watchdog mcp [--socket SOCKET] [--allow-disable]`

mod running;

use std::sync::Arc;

use super::operator::{Access, Outcome, Whereabouts};
use crate::control::mcp;
use crate::exit::Exit;
use running::Running;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) access: Access,

    /// Offer enable_server and disable_server too
    #[arg(long)]
    allow_disable: bool,
}

impl Arguments {
    /// Serves a client on stdin and stdout.
    pub(super) async fn run(&self, there: &Whereabouts) -> Outcome {
        mcp::serve(Arc::new(Running::new(there.clone())), self.allow_disable).await?;
        Ok(Exit::Done)
    }
}
