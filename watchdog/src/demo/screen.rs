//! The timeline: a line for each thing that happens, in plain columns, so that a file shows it as well as a terminal.

use std::io::{self, Write};
use std::time::{Duration, Instant};

/// The widest line, in characters.
const WIDTH: usize = 100;
/// Where the text of a line begins.
const INDENT: usize = 21;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const RESET: &str = "\x1b[0m";

/// Who does or says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Demo,
    Client,
    Watchdog,
    Server,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Client => "client",
            Self::Watchdog => "watchdog",
            Self::Server => "server",
        }
    }
}

/// Where the timeline is written to.
pub(super) struct Screen<'a> {
    out: &'a mut dyn Write,
    colour: bool,
    start: Instant,
    /// The time of the last line.
    last: Duration,
    scenes: usize,
}

impl<'a> Screen<'a> {
    /// A timeline that begins now.
    pub(super) fn new(out: &'a mut dyn Write, colour: bool) -> Self {
        Self { out, colour, start: Instant::now(), last: Duration::ZERO, scenes: 0 }
    }

    /// Text as it is.
    pub(super) fn plain(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// A command line, as it would be typed.
    pub(super) fn command(&mut self, text: &str) -> io::Result<()> {
        let pieces = pieces(text, WIDTH - "  ".len() * 2 - " \\".len());
        let last = pieces.len().saturating_sub(1);
        for (at, piece) in pieces.iter().enumerate() {
            let (start, end) = (if at == 0 { "" } else { "  " }, if at == last { "" } else { " \\" });
            self.plain(&format!("  {start}{piece}{end}"))?;
        }
        Ok(())
    }

    /// What the following lines show.
    pub(super) fn scene(&mut self, title: &str) -> io::Result<()> {
        self.scenes += 1;
        let title = self.styled(BOLD, &format!("{}. {title}", self.scenes));
        self.plain(&format!("\n{title}"))
    }

    /// Something that happened.
    pub(super) fn line(&mut self, at: Instant, who: Who, text: &str) -> io::Result<()> {
        // Client and log are two pipes: what was written first may be read a moment later.
        self.last = self.last.max(at.saturating_duration_since(self.start));
        let head = format!("{:>7.2}s  {:<8}", self.last.as_secs_f64(), who.name());
        let style = if matches!(who, Who::Watchdog | Who::Server) { DIM } else { "" };
        self.wrapped(&head, style, text)
    }

    /// The check of a scene that went as it should.
    pub(super) fn good(&mut self, text: &str) -> io::Result<()> {
        self.wrapped(&format!("{:>18}", "ok"), GREEN, text)
    }

    /// The end of a demonstration that did not go as it should, and the last lines of the watchdog's log.
    pub(super) fn bad(&mut self, text: &str, log: &[String]) -> io::Result<()> {
        let label = self.styled(RED, "error:");
        self.plain(&format!("\n{label} {text}"))?;
        if !log.is_empty() {
            self.plain("\nThe end of the watchdog's log:")?;
        }
        log.iter().try_for_each(|line| self.plain(&format!("  {}", harmless(line))))
    }

    /// `head`, then `text` in its column, on as many lines as it takes.
    fn wrapped(&mut self, head: &str, style: &str, text: &str) -> io::Result<()> {
        let mut head = format!("{head:<INDENT$}");
        for piece in pieces(&harmless(text), WIDTH - INDENT) {
            let line = self.styled(style, &format!("{head}{piece}"));
            self.plain(&line)?;
            head = " ".repeat(INDENT);
        }
        Ok(())
    }

    fn styled(&self, style: &str, text: &str) -> String {
        if self.colour && !style.is_empty() { format!("{style}{text}{RESET}") } else { text.to_owned() }
    }
}

/// Without control characters.
fn harmless(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

/// `text` in pieces of at most `width` characters, cut between words where there are any. At least one piece.
fn pieces(text: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut room = width;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wanted = word.chars().count();
        if room < width && room <= wanted {
            pieces.push(String::new());
            room = width;
        }
        for character in (room < width).then_some(' ').into_iter().chain(word.chars()) {
            if room == 0 {
                pieces.push(String::new());
                room = width;
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push(character);
            }
            room -= 1;
        }
    }
    pieces
}

/// A span of time for people: `38ms`, `2.07s`.
pub(super) fn span(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{}ms", time.as_millis())
    } else {
        format!("{:.2}s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
