//! `mcp-watchdog status [NAME] [--json] [--watch | --wait STATE [--timeout DURATION]]`

use std::io;
use std::time::Duration;

use probe_api::options::Span;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::operator::terminal::Screen;
use super::operator::{Outcome, Output, Target, Whereabouts};
use crate::client::{ClientError, Condition, Server, Watchdog};
use crate::exit::Exit;

mod table;
mod watch;

/// How long is waited where nothing else is typed: what `kubectl wait` does too.
const USUAL_WAIT: Duration = Duration::from_secs(30);

/// Between two looks while waiting. A look costs a watchdog less than a millisecond.
const LOOK: Duration = Duration::from_millis(100);

/// What was typed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes:
  0  all servers are connected or stand by, and their health checks pass
  1  one is connecting, reconnecting or degraded
  3  one is disconnected, disabled, or has failed for good
  4  no watchdog found, or none that has the server")]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) target: Target,

    /// Print an array of objects, as the API has them; with --watch, one object a line
    #[arg(long)]
    json: bool,

    /// Go on, and show every change
    #[arg(long, conflicts_with = "wait")]
    watch: bool,

    /// Wait until the server is so; without NAME, until all are
    #[arg(long, value_name = "STATE")]
    wait: Option<Condition>,

    /// How long to wait at most; the exit code then is that of the present state [default: 30s]
    #[arg(long, value_name = "DURATION", requires = "wait")]
    timeout: Option<Span>,
}

/// A server in the list.
#[derive(Debug, Clone)]
struct Row {
    watchdog: Watchdog,
    server: Server,
}

/// A server as JSON: all that its watchdog says, and which watchdog that is.
#[derive(Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    server: &'a Map<String, Value>,
    watchdog: Origin,
}

#[derive(Serialize)]
struct Origin {
    pid: Option<u32>,
    socket: String,
}

/// What was seen.
#[derive(Debug)]
struct View {
    rows: Vec<Row>,
    /// Those who should have answered and did not.
    problems: Vec<String>,
}

impl Arguments {
    pub(super) async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        if self.watch {
            return watch::run(self, there, to).await;
        }
        let view = match self.wait {
            Some(wanted) => self.wait_for(wanted, there).await?,
            None => self.look(there).await?,
        };
        if self.json {
            let objects: Vec<_> = view.rows.iter().map(Row::object).collect();
            writeln!(to.out, "{}", serde_json::to_string_pretty(&objects).map_err(io::Error::from)?)?;
        } else {
            write!(to.out, "{}", table::table(&view.rows, Screen::of_stdout()))?;
        }
        for problem in &view.problems {
            writeln!(to.err, "warning: {problem}")?;
        }
        Ok(view.exit())
    }

    async fn look(&self, there: &Whereabouts) -> Result<View, ClientError> {
        let survey = there.survey().await?;
        let servers = survey.servers(self.target.name.as_deref(), there.looked())?;
        let row = |(watchdog, server): (&Watchdog, &Server)| Row { watchdog: watchdog.clone(), server: server.clone() };
        Ok(View { rows: servers.into_iter().map(row).collect(), problems: survey.all_problems() })
    }

    /// The first look at which all is as it is wanted, or the last one in time. A watchdog may come later than who waits for it.
    async fn wait_for(&self, wanted: Condition, there: &Whereabouts) -> Result<View, ClientError> {
        let limit = self.timeout.map_or(USUAL_WAIT, |Span(limit)| limit);
        let begun = Instant::now();
        loop {
            let view = self.look(there).await;
            let is_final = match &view {
                Ok(view) => view.satisfies(wanted),
                Err(error) => matches!(error, ClientError::Refused { .. } | ClientError::Strange { .. }),
            };
            let left = limit.saturating_sub(begun.elapsed());
            if is_final || left.is_zero() {
                return view;
            }
            sleep(left.min(LOOK)).await;
        }
    }
}

impl View {
    /// Whether all are so. Nobody knows how the servers of a watchdog are that does not answer.
    fn satisfies(&self, wanted: Condition) -> bool {
        self.problems.is_empty() && self.rows.iter().all(|row| row.server.condition().satisfies(wanted))
    }

    /// The worst of all.
    fn exit(&self) -> Exit {
        let exits = self.rows.iter().map(|row| exit_of(&row.server));
        let silent = self.problems.iter().map(|_| Exit::Failed);
        exits.chain(silent).max_by_key(|exit| exit.code()).unwrap_or(Exit::Done)
    }
}

fn exit_of(server: &Server) -> Exit {
    match server.condition() {
        Condition::Connected | Condition::Standby => Exit::Done,
        Condition::Unknown if server.connected => Exit::Done,
        Condition::Degraded | Condition::Connecting | Condition::Reconnecting | Condition::Unknown => Exit::Failed,
        Condition::Disconnected | Condition::Failed | Condition::Disabling | Condition::Disabled => Exit::Down,
    }
}

impl Row {
    fn object(&self) -> Object<'_> {
        let watchdog = Origin { pid: self.watchdog.pid(), socket: self.watchdog.endpoint().to_string() };
        Object { server: &self.server.raw, watchdog }
    }
}

#[cfg(test)]
mod tests;
