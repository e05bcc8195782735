//! `mcp-watchdog demo`

use std::io::{self, IsTerminal};

use super::operator::terminal::wants_colour;
use crate::demo;
use crate::exit::Exit;

/// What was typed: the demonstration has no options of its own.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct Demo {
    /// Be the server of the demonstration
    #[arg(long, hide = true)]
    server: bool,
}

impl Demo {
    /// Plays the demonstration on stdout, or the server's part in it.
    #[must_use]
    pub fn run(self) -> Exit {
        if self.server {
            return demo::serve();
        }
        let mut out = io::stdout();
        let colour = out.is_terminal() && wants_colour(|name| std::env::var_os(name));
        demo::run(&mut out, colour)
    }
}
