//! `mcp-watchdog demo`

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

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

/// Whether a terminal is to be written to in colours: not with `NO_COLOR` set to anything, and not where it has none.
fn wants_colour<T: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<T>) -> bool {
    let is = |name: &str, test: fn(&OsStr) -> bool| variable(name).is_some_and(|value| test(value.as_ref()));
    !is("NO_COLOR", |value| !value.is_empty()) && !is("TERM", |value| value == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_can_be_declined() {
        let wants =
            |name: &'static str, value: &'static str| wants_colour(move |asked| (asked == name).then_some(value));
        assert!(wants("TERM", "xterm"));
        assert!(wants("NO_COLOR", ""));
        assert!(!wants("NO_COLOR", "0"));
        assert!(!wants("TERM", "dumb"));
    }
}
