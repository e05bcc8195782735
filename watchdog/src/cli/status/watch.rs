//! `status --watch`: a table that is drawn again and again on a terminal, a line for each change elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Arguments, Row, View, table};
use crate::cli::operator::terminal::Screen;
use crate::cli::operator::{Outcome, Output, Whereabouts, shown};
use crate::client::{ClientError, Condition, Watchdog};
use crate::telemetry::{plain, timestamp};

/// Between two looks where nothing happens: times are counted in seconds, and watchdogs come and go without a word.
const LOOK: Duration = Duration::from_secs(1);

/// Events come in groups; one look is enough for all of them.
const GROUP: Duration = Duration::from_millis(30);

/// Moves to the top, and clears what is left of a line, and of the screen.
const TOP: &str = "\u{1b}[H";
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

/// Watches until it is interrupted, or nobody reads.
pub(super) async fn run(arguments: &Arguments, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
    let mut pulse = Pulse::new();
    let mut seen = Seen::default();
    // Whoever watches nothing from the beginning has mistyped; later, watchdogs may come and go.
    let mut view = Ok(arguments.look(there).await?);
    loop {
        let screen = Screen::of_stdout();
        let rows = view.as_ref().map_or(&[][..], |view: &View| &view.rows);
        if screen.is_terminal && !arguments.json {
            write!(to.out, "{}", drawn(&view, screen))?;
        } else {
            for line in seen.changes(rows, arguments.json, SystemTime::now())? {
                writeln!(to.out, "{line}")?;
            }
        }
        to.out.flush()?;
        pulse.follow(rows.iter().map(|row| &row.watchdog));
        pulse.wait().await;
        view = arguments.look(there).await;
    }
}

/// The whole screen, no higher than the terminal.
fn drawn(view: &Result<View, ClientError>, screen: Screen) -> String {
    let text = match view {
        Ok(View { rows, problems }) => {
            let problems = problems.iter().map(|problem| format!("warning: {problem}\n"));
            table::table(rows, screen) + &problems.collect::<String>()
        }
        Err(error) => format!("{error}\n"),
    };
    // The cursor takes the last line.
    let most = screen.size.map_or(usize::MAX, |(_, rows)| rows.saturating_sub(1).max(1));
    let lines = text.lines().take(most).map(|line| format!("{line}{CLEAR_LINE}\n"));
    format!("{TOP}{}{CLEAR_BELOW}", lines.collect::<String>())
}

/// What was told of each server: by its watchdog and its name.
#[derive(Default)]
struct Seen(BTreeMap<(String, String), Told>);

/// What is worth a line when it changes.
#[derive(PartialEq)]
struct Told {
    condition: Condition,
    state: String,
    generation: u64,
    last_error: Option<String>,
}

impl Seen {
    /// A line for each server that is not as it was, or is gone.
    fn changes(&mut self, rows: &[Row], json: bool, now: SystemTime) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut here = BTreeSet::new();
        for row in rows {
            let server = &row.server;
            let key = (row.watchdog.endpoint().to_string(), server.name.clone());
            let told = Told {
                condition: server.condition(),
                state: server.state.clone(),
                generation: server.generation,
                last_error: server.last_error.clone(),
            };
            here.insert(key.clone());
            if self.0.get(&key) != Some(&told) {
                lines.push(if json { serde_json::to_string(&row.object())? } else { line(row, now) });
                self.0.insert(key, told);
            }
        }
        self.0.retain(|key, _| {
            let stays = here.contains(key);
            if !stays && !json {
                lines.push(format!("{} {} gone", timestamp(now), shown(&key.1)));
            }
            stays
        });
        Ok(lines)
    }
}

/// `TIME NAME STATE generation=N lastError="…"`
fn line(row: &Row, now: SystemTime) -> String {
    let server = &row.server;
    let state = table::state(server);
    let mut line = format!("{} {} {state} generation={}", timestamp(now), shown(&server.name), server.generation);
    if let Some(error) = &server.last_error {
        line.push_str(&format!(" lastError={:?}", plain::text(error, table::LONGEST_ERROR)));
    }
    line
}

/// Tells when it is worth to look again: when one of the watchdogs has told of an event, or after a while.
struct Pulse {
    /// One place: whoever is about to look need not be told twice.
    bell: mpsc::Sender<()>,
    rung: mpsc::Receiver<()>,
    /// Those who are listened to.
    followed: BTreeSet<String>,
    /// Ends with the name of one who is not any more.
    listening: JoinSet<String>,
}

impl Pulse {
    fn new() -> Self {
        let (bell, rung) = mpsc::channel(1);
        Self { bell, rung, followed: BTreeSet::new(), listening: JoinSet::new() }
    }

    /// Listens to these too.
    fn follow<'a>(&mut self, watchdogs: impl Iterator<Item = &'a Watchdog>) {
        while let Some(ended) = self.listening.try_join_next() {
            if let Ok(name) = ended {
                self.followed.remove(&name);
            }
        }
        for watchdog in watchdogs {
            let name = watchdog.endpoint().to_string();
            if self.followed.insert(name.clone()) {
                let (bell, watchdog) = (self.bell.clone(), watchdog.clone());
                self.listening.spawn(async move {
                    ring(&watchdog, &bell).await;
                    name
                });
            }
        }
    }

    async fn wait(&mut self) {
        if timeout(LOOK, self.rung.recv()).await.is_ok() {
            sleep(GROUP).await;
            // Whatever was told meanwhile is seen by the look that follows.
            while self.rung.try_recv().is_ok() {}
        }
    }
}

/// Rings for each event of a watchdog, until it ends. One that cannot be listened to is looked at all the same.
async fn ring(watchdog: &Watchdog, bell: &mpsc::Sender<()>) {
    let Ok(mut lines) = watchdog.events(None).await else { return };
    while let Ok(Some(_)) = lines.next().await {
        // It is full when it has rung already.
        _ = bell.try_send(());
    }
    _ = bell.try_send(());
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::cli::status::tests::row;
    use crate::client::Server;

    fn server(state: &str, generation: u64) -> Server {
        Server { name: "a".to_owned(), state: state.to_owned(), generation, ..Server::default() }
    }

    #[test]
    fn a_line_for_each_change_and_none_for_none() {
        let mut seen = Seen::default();
        let mut changes = |rows: &[Row]| seen.changes(rows, false, UNIX_EPOCH).unwrap();
        let at = "1970-01-01T00:00:00.000Z a";
        assert_eq!(changes(&[row(1, server("Connected", 1))]), [format!("{at} connected generation=1")]);
        assert!(changes(&[row(1, Server { uptime_ms: Some(5), ..server("Connected", 1) })]).is_empty());
        let failing = Server { last_error: Some("exit \"1\"".to_owned()), ..server("Reconnecting", 1) };
        let wanted = format!(r#"{at} reconnecting generation=1 lastError="exit \"1\"""#);
        assert_eq!(changes(&[row(1, failing)]), [wanted]);
        assert_eq!(changes(&[]), [format!("{at} gone")]);
        assert!(changes(&[]).is_empty());
    }

    #[test]
    fn a_screen_is_no_higher_than_the_terminal() {
        let rows = (0..50).map(|_| row(1, server("Connected", 1))).collect();
        let screen = Screen { is_terminal: true, size: Some((80, 10)), ..Screen::default() };
        let text = drawn(&Ok(View { rows, problems: Vec::new() }), screen);
        assert_eq!(text.matches('\n').count(), 9);
        assert!(text.starts_with(TOP) && text.ends_with(CLEAR_BELOW));
    }
}
