//! Servers as a table for people.

use std::time::Duration;

use probe_api::options::Span;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Row;
use crate::cli::operator::shown;
use crate::cli::operator::terminal::{Colour, Screen};
use crate::client::{Condition, Server};
use crate::telemetry::plain;

/// The longest error where no terminal sets a limit.
pub(super) const LONGEST_ERROR: usize = 400;

/// Between two columns.
const GAP: usize = 2;

/// The fewest columns that an error gets; a narrower terminal wraps.
const NARROWEST_ERROR: usize = 12;

/// The column that is coloured.
const STATE: usize = 1;

/// Columns that are not always of interest.
#[derive(Debug, Clone, Copy)]
struct Extra {
    /// Some server is held by more than a guard, or was to be.
    isolation: bool,
    /// There are several watchdogs.
    watchdog: bool,
}

/// A heading and a line for each server. The last column is cut where the terminal ends.
pub(super) fn table(rows: &[Row], screen: Screen) -> String {
    let extra = Extra {
        isolation: rows.iter().any(|row| isolation(&row.server).is_some_and(|words| words != "guard")),
        watchdog: rows.iter().any(|row| row.watchdog.endpoint() != rows[0].watchdog.endpoint()),
    };
    let mut lines = vec![heading(extra)];
    lines.extend(rows.iter().map(|row| cells(row, extra)));
    let columns = lines[0].len();
    let widths: Vec<usize> =
        (0..columns).map(|at| lines.iter().map(|line| line[at].width()).max().unwrap_or_default()).collect();
    let before: usize = widths[..columns - 1].iter().map(|width| width + GAP).sum();
    let room = screen.size.map(|(all, _)| all.saturating_sub(before).max(NARROWEST_ERROR));
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let condition = number.checked_sub(1).map(|at| rows[at].server.condition());
        for (at, cell) in line.iter().enumerate() {
            if at + 1 == columns {
                text.push_str(&room.map_or_else(|| cell.clone(), |room| cut(cell, room)));
                continue;
            }
            let padded = format!("{cell}{}", " ".repeat(widths[at] - cell.width()));
            match condition.filter(|_| at == STATE) {
                Some(condition) => text.push_str(&screen.paint(&padded, colour(condition))),
                None => text.push_str(&padded),
            }
            text.push_str(&" ".repeat(GAP));
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

fn heading(extra: Extra) -> Vec<String> {
    let mut names = vec!["NAME", "STATE", "GENERATION", "UPTIME", "RESTARTS", "IN FLIGHT", "NEXT TRY", "LAST ERROR"];
    let at = names.len() - 1;
    names
        .splice(at..at, extra.isolation.then_some("ISOLATION").into_iter().chain(extra.watchdog.then_some("WATCHDOG")));
    names.into_iter().map(str::to_owned).collect()
}

fn cells(row: &Row, extra: Extra) -> Vec<String> {
    let Row { watchdog, server } = row;
    let absent = || "-".to_owned();
    let mut cells = vec![
        shown(&server.name),
        state(server),
        server.generation.to_string(),
        server.uptime_ms.map_or_else(absent, |ms| age(ms / 1000)),
        server.stats.restarts.to_string(),
        in_flight(server),
        server.next_retry_ms.map_or_else(absent, |ms| format!("in {}", age(ms.div_ceil(1000)))),
    ];
    if extra.isolation {
        cells.push(isolation(server).unwrap_or_else(absent));
    }
    if extra.watchdog {
        cells.push(watchdog.pid().map_or_else(|| watchdog.endpoint().to_string(), |pid| pid.to_string()));
    }
    cells.push(server.last_error.as_deref().map_or_else(absent, |error| plain::text(error, LONGEST_ERROR)));
    cells
}

/// A state that this version does not know is told by its own name.
pub(super) fn state(server: &Server) -> String {
    match server.condition() {
        Condition::Unknown => shown(&server.state),
        known => known.name().to_owned(),
    }
}

/// What holds the server's processes, and whether that is less than was asked for.
fn isolation(server: &Server) -> Option<String> {
    let less = if server.isolation_shortfall.is_some() { " (less than asked)" } else { "" };
    server.isolation.as_deref().map(|name| format!("{}{less}", shown(name)))
}

/// What waits for the server to come back is in flight too, to its caller.
fn in_flight(server: &Server) -> String {
    match server.held {
        0 => server.in_flight.to_string(),
        held => format!("{}, {held} held", server.in_flight),
    }
}

/// Seconds for people: of long times, the small parts are left out.
fn age(seconds: u64) -> String {
    let part = match seconds {
        0..3600 => 1,
        3600..86_400 => 60,
        _ => 3600,
    };
    Span(Duration::from_secs(seconds / part * part)).to_string()
}

const fn colour(condition: Condition) -> Colour {
    match condition {
        Condition::Connected | Condition::Standby => Colour::Green,
        Condition::Degraded | Condition::Connecting | Condition::Reconnecting => Colour::Yellow,
        Condition::Failed => Colour::Red,
        Condition::Disconnected | Condition::Disabling | Condition::Disabled | Condition::Unknown => Colour::Grey,
    }
}

/// At most so many columns of a text, with `…` for what is missing.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or_default();
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::status::tests::row;

    #[test]
    fn columns_are_aligned() {
        let rows = [
            row(1, Server { generation: 1, uptime_ms: Some(7_265_000), in_flight: 2, ..server("files", "Connected") }),
            row(
                1,
                Server {
                    generation: 12,
                    next_retry_ms: Some(4_001),
                    held: 3,
                    last_error: Some("exit code 1\n\u{1b}[31mhow".to_owned()),
                    ..server("memory", "Reconnecting")
                },
            ),
        ];
        let wanted = "\
NAME    STATE         GENERATION  UPTIME  RESTARTS  IN FLIGHT  NEXT TRY  LAST ERROR
files   connected     1           2h1m    0         2          -         -
memory  reconnecting  12          -       0         0, 3 held  in 5s     exit code 1 how
";
        assert_eq!(table(&rows, Screen::default()), wanted);
    }

    #[test]
    fn several_watchdogs_are_told_apart() {
        let text = table(&[row(1, server("a", "Connected")), row(2, server("a", "Disabled"))], Screen::default());
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][9..], ["WATCHDOG", "LAST", "ERROR"]);
        assert_eq!((lines[1][7], lines[2][7]), ("1", "2"));
    }

    #[test]
    fn isolation_is_told_where_it_is_not_the_usual_one() {
        let isolation = |name: &str| Server { isolation: Some(name.to_owned()), ..server("a", "Connected") };
        let cells = |rows: &[Row]| -> Vec<String> {
            let text = table(rows, Screen::default());
            text.lines()
                .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).nth(7).unwrap().trim().to_owned())
                .collect()
        };
        assert_eq!(cells(&[row(1, isolation("guard"))])[0], "LAST ERROR");
        let less = Server { isolation_shortfall: Some("no cgroup".to_owned()), ..isolation("guard") };
        let rows = [row(1, isolation("cgroup")), row(1, less), row(1, server("a", "Disabled"))];
        assert_eq!(cells(&rows), ["ISOLATION", "cgroup", "guard (less than asked)", "-"]);
    }

    #[test]
    fn the_last_column_ends_with_the_terminal() {
        let error = Server { last_error: Some("x".repeat(300)), ..server("a", "Disabled") };
        let screen = Screen { size: Some((100, 24)), ..Screen::default() };
        let text = table(&[row(1, error)], screen);
        assert_eq!(text.lines().nth(1).unwrap().width(), 100);
        assert!(text.ends_with("x…\n"));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(cut("服务器错误", 10), "服务器错误");
        assert_eq!(cut("服务器错误", 9), "服务器错…");
        assert_eq!(cut("服务器错误", 8), "服务器…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }

    #[test]
    fn only_states_are_coloured() {
        let screen = Screen { colour: true, ..Screen::default() };
        let text = table(&[row(1, server("a", "PermanentlyFailed"))], screen);
        assert!(text.contains("\u{1b}[31mfailed\u{1b}[0m"), "{text:?}");
        assert_eq!(text.matches('\u{1b}').count(), 2);
    }

    #[test]
    fn ages() {
        for (seconds, wanted) in [(0, "0s"), (59, "59s"), (3599, "59m59s"), (7325, "2h2m"), (90_061, "1d1h")] {
            assert_eq!(age(seconds), wanted);
        }
    }

    fn server(name: &str, state: &str) -> Server {
        Server { name: name.to_owned(), state: state.to_owned(), ..Server::default() }
    }
}
