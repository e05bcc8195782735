//! Lines of the watchdog's log, read as any user's script would read them.

use std::time::Instant;

/// What starts each line about the server, behind the time and the level of the watchdog's own lines.
const SERVER: &str = "[mcp] demo: ";
/// The same where the line is about no server.
const WATCHDOG: &str = "[mcp] ";
/// The first of the fields behind the text.
const FIELDS: &str = " event=";

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    /// When it was read.
    pub(super) at: Instant,
    /// Who said it.
    pub(super) speaker: Speaker,
    /// What was said, without time and fields.
    pub(super) text: String,
}

/// Who said a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The server, on its stderr.
    Server,
    /// The watchdog: an event with this name.
    Event(String),
    /// The watchdog, about something else.
    Other,
}

impl LogLine {
    /// Reads a line like `2026-11-27T21:00:00.123Z ERROR [mcp] demo: text event=name generation=1`; the server's lines
    /// have no time, level and fields.
    pub(super) fn read(at: Instant, line: &str) -> Self {
        let line = line.trim_end();
        if let Some(text) = line.strip_prefix(SERVER) {
            return Self { at, speaker: Speaker::Server, text: text.to_owned() };
        }
        // What is said of the watchdog itself names no server.
        let Some((_, rest)) = line.split_once(SERVER).or_else(|| line.split_once(WATCHDOG)) else {
            return Self { at, speaker: Speaker::Other, text: line.to_owned() };
        };
        match rest.rsplit_once(FIELDS) {
            Some((text, fields)) => {
                let name = fields.split(' ').next().unwrap_or_default();
                Self { at, speaker: Speaker::Event(name.to_owned()), text: text.to_owned() }
            }
            None => Self { at, speaker: Speaker::Other, text: rest.to_owned() },
        }
    }

    /// Whether this is the event `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        matches!(&self.speaker, Speaker::Event(event) if event == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_three_kinds() {
        let at = Instant::now();
        let read = |line: &str| {
            let line = LogLine::read(at, line);
            (line.speaker, line.text)
        };
        let event = |name: &str| Speaker::Event(name.to_owned());
        for (line, from, text) in [
            (
                "2026-11-28T01:31:17.148Z ERROR [mcp] demo: disconnected: why event=server_disconnected generation=1\n",
                event("server_disconnected"),
                "disconnected: why",
            ),
            (
                "2026-11-28T01:31:17.148Z  INFO [mcp] started, pid 7 event=watchdog_started",
                event("watchdog_started"),
                "started, pid 7",
            ),
            ("[mcp] demo: hang: reading no more", Speaker::Server, "hang: reading no more"),
            ("[mcp] demo: it says event=server_exited", Speaker::Server, "it says event=server_exited"),
            (
                "2026-11-28T01:31:17.148Z  WARN something else",
                Speaker::Other,
                "2026-11-28T01:31:17.148Z  WARN something else",
            ),
            ("2026-11-28T01:31:17.148Z  WARN [mcp] demo: no fields", Speaker::Other, "no fields"),
            ("", Speaker::Other, ""),
        ] {
            assert_eq!(read(line), (from, text.to_owned()), "{line}");
        }
    }

    #[test]
    fn events_are_told_apart_by_name() {
        let line = |text: &str| LogLine::read(Instant::now(), text);
        let exited = line("T INFO [mcp] demo: ended event=server_exited generation=1");
        assert!(exited.is("server_exited"));
        assert!(!exited.is("server_exit"));
        assert!(!line("[mcp] demo: server_exited").is("server_exited"));
    }
}
