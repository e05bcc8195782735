//! What stdout is: a terminal of some size, with colours or without, or something that a program reads.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use terminal_size::{Height, Width};

/// The form of a text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) struct Screen {
    /// Whether it is a terminal at all.
    pub(in crate::cli) is_terminal: bool,
    /// Whether it is to be written to in colours.
    pub(in crate::cli) colour: bool,
    /// Its columns and rows, where they are known.
    pub(in crate::cli) size: Option<(usize, usize)>,
}

/// A colour of the terminal's own palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Colour {
    Red,
    Green,
    Yellow,
    Grey,
}

impl Screen {
    /// Of stdout, now.
    pub(in crate::cli) fn of_stdout() -> Self {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let size = terminal_size::terminal_size_of(&stdout);
        Self {
            is_terminal: true,
            colour: wants_colour(|name| std::env::var_os(name)),
            size: size.map(|(Width(columns), Height(rows))| (columns.into(), rows.into())),
        }
    }

    /// `text` in a colour, where there are colours.
    pub(in crate::cli) fn paint(self, text: &str, colour: Colour) -> String {
        let code = match colour {
            Colour::Red => "31",
            Colour::Green => "32",
            Colour::Yellow => "33",
            Colour::Grey => "90",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Whether a terminal is to be written to in colours: not with `NO_COLOR` set to anything, and not where it has none.
pub(in crate::cli) fn wants_colour<T: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<T>) -> bool {
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

    #[test]
    fn what_is_no_terminal_gets_no_colours() {
        assert_eq!(Screen::default().paint("x", Colour::Red), "x");
        let screen = Screen { colour: true, ..Screen::default() };
        assert_eq!(screen.paint("x", Colour::Red), "\u{1b}[31mx\u{1b}[0m");
    }
}
