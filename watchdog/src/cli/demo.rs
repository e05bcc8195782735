//! `mcp-watchdog demo`

/// What was typed: the demonstration has no options.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Demo {}
