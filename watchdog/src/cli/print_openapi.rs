//! `mcp-watchdog print-openapi`

use std::io::{self, Write};

use crate::control;
use crate::exit::Exit;

/// What was typed: nothing.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct PrintOpenapi {}

impl PrintOpenapi {
    /// Prints the document.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn run(self, out: &mut dyn Write) -> io::Result<Exit> {
        writeln!(out, "{:#}", control::document())?;
        Ok(Exit::Done)
    }
}
