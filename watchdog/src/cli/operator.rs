//! What the commands that talk to running watchdogs have in common: whom they mean, where they write, how they end.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nix::unistd::getuid;

use super::{Stop, disable, enable, events, health, logs, mcp, probe, reload, retry, status};
use crate::client::{ClientError, Endpoint, Server, Watchdog, find};
use crate::config::Token;
use crate::control::runtime_dir;
use crate::event_loop;
use crate::exit::Exit;
use crate::telemetry::plain;

pub(super) mod terminal;

/// The variable that holds the token; it is above the file.
const TOKEN: &str = "MCP_WATCHDOG_TOKEN";

/// The longest name that is shown in full.
const LONGEST_NAME: usize = 64;

/// How long a watchdog that was named may take to tell of its servers.
const SOON: Duration = Duration::from_secs(5);

/// Whom a command means.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// The server. Without it, the only one that runs; `status` means all of them, `events` and `health` those of the only watchdog
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,

    #[command(flatten)]
    pub(super) access: Access,
}

/// How a watchdog is reached.
#[derive(Debug, Args)]
pub(super) struct Access {
    /// The watchdog that listens there: a path, or tcp://HOST:PORT [default: those in the runtime folder]
    #[arg(long, value_name = "SOCKET", value_parser = Endpoint::parse)]
    socket: Option<Endpoint>,

    /// The token for a TCP address, where MCP_WATCHDOG_TOKEN does not hold it
    #[arg(long, value_name = "FILE", requires = "socket")]
    token_file: Option<PathBuf>,
}

/// A command with all that it needs.
#[derive(Debug)]
pub struct Operate {
    task: Task,
    whereabouts: Whereabouts,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Task {
    /// Show how the servers of running watchdogs are
    Status(status::Arguments),
    /// Start a server again now, unless it is disabled
    Retry(retry::Arguments),
    /// Switch a server on
    Enable(enable::Arguments),
    /// Switch a server off, and stop its processes
    Disable(disable::Arguments),
    /// Run a server's probe chain once; nothing is restarted
    Probe(probe::Arguments),
    /// Show what has happened, and what happens
    Events(events::Arguments),
    /// Show the last lines of a server's stderr
    Logs(logs::Arguments),
    /// Say by the exit code, 0 or 1, whether all is well
    Health(health::Arguments),
    /// Make `mcp-watchdog serve` read its configuration again
    Reload(reload::Arguments),
    /// Offer models tools for all of this: an MCP server on stdin and stdout
    Mcp(mcp::Arguments),
}

/// Where a command writes.
pub(super) struct Output<'a> {
    /// What it finds.
    pub(super) out: &'a mut dyn Write,
    /// What it fails of.
    pub(super) err: &'a mut dyn Write,
}

/// Where watchdogs are.
#[derive(Debug, Clone)]
pub(super) enum Whereabouts {
    /// The one that was named.
    Named(Watchdog),
    /// All those of these folders.
    Folders(Vec<PathBuf>),
}

/// Why a command did not do what it should.
#[derive(Debug)]
pub(super) enum Failure {
    /// The watchdog, or the way to it.
    Client(ClientError),
    /// What was found cannot be written.
    Output(io::Error),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// How a command ends.
pub(super) type Outcome = Result<Exit, Failure>;

impl Task {
    /// Looks up what the command needs besides itself.
    pub(super) fn settle(self, environment: &[(OsString, OsString)]) -> Result<Operate, Stop> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(key, value)| key == name && !value.is_empty());
            found.map(|(_, value)| value.clone())
        };
        let Access { socket, token_file } = self.access();
        let whereabouts = match socket {
            Some(endpoint) => {
                let wrong = |what: &str, why: &str| Stop::usage(format!("error: {what}: {why}\n"));
                let token = match (variable(TOKEN), token_file) {
                    (Some(value), _) => {
                        let text = value.to_str().ok_or("the token is not UTF-8");
                        Some(text.and_then(Token::new).map_err(|why| wrong(TOKEN, why))?)
                    }
                    (None, Some(path)) => Some(Token::read(path).map_err(|why| wrong("--token-file", &why))?),
                    (None, None) => None,
                };
                Whereabouts::Named(Watchdog::new(endpoint.clone(), token))
            }
            None => Whereabouts::Folders(runtime_dir::places(variable, getuid().as_raw())),
        };
        Ok(Operate { task: self, whereabouts })
    }

    const fn access(&self) -> &Access {
        match self {
            Self::Status(typed) => &typed.target.access,
            Self::Retry(typed) => &typed.target.access,
            Self::Enable(typed) => &typed.target.access,
            Self::Disable(typed) => &typed.target.access,
            Self::Probe(typed) => &typed.target.access,
            Self::Events(typed) => &typed.target.access,
            Self::Logs(typed) => &typed.target.access,
            Self::Health(typed) => &typed.target.access,
            Self::Reload(typed) => &typed.target.access,
            Self::Mcp(typed) => &typed.access,
        }
    }

    async fn run(&self, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
        match self {
            Self::Status(typed) => typed.run(there, to).await,
            Self::Retry(typed) => typed.run(there, to).await,
            Self::Enable(typed) => typed.run(there, to).await,
            Self::Disable(typed) => typed.run(there, to).await,
            Self::Probe(typed) => typed.run(there, to).await,
            Self::Events(typed) => typed.run(there, to).await,
            Self::Logs(typed) => typed.run(there, to).await,
            Self::Health(typed) => typed.run(there, to).await,
            Self::Reload(typed) => typed.run(there, to).await,
            Self::Mcp(typed) => typed.run(there).await,
        }
    }
}

impl Operate {
    /// Carries the command out: what it finds goes to `out`, what it fails of to `err`.
    ///
    /// # Errors
    /// When one of the two cannot be written, but for a reader of `out` that has read enough.
    pub fn run(&self, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
        let runtime = event_loop::start()?;
        let outcome = runtime.block_on(self.task.run(&self.whereabouts, &mut Output { out, err }));
        // A read of stdin that waits would hold up the end.
        runtime.shutdown_background();
        match outcome.and_then(|exit| Ok(out.flush().map(|()| exit)?)) {
            Ok(exit) => Ok(exit),
            Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
            Err(Failure::Output(error)) => Err(error),
            Err(Failure::Client(error)) => {
                writeln!(err, "error: {error}")?;
                // Those who ask for health read two codes.
                let health = matches!(self.task, Task::Health(_));
                Ok(if health { Exit::Failed } else { error.exit() })
            }
        }
    }
}

impl Whereabouts {
    /// The folders that are looked into.
    pub(super) fn looked(&self) -> &[PathBuf] {
        match self {
            Self::Named(_) => &[],
            Self::Folders(folders) => folders,
        }
    }

    /// Everybody who may be meant, with their servers.
    ///
    /// # Errors
    /// When one that was named does not answer; in folders, nobody is an answer too.
    pub(super) async fn survey(&self) -> Result<find::Survey, ClientError> {
        match self {
            Self::Named(watchdog) => {
                let servers = watchdog.servers(SOON).await?;
                let live = vec![find::Live { watchdog: watchdog.clone(), servers }];
                Ok(find::Survey { live, ..find::Survey::default() })
            }
            Self::Folders(folders) => {
                let (sockets, problems) = find::sockets(folders, getuid().as_raw());
                Ok(find::survey(sockets, problems).await)
            }
        }
    }

    /// The server that is meant, and its watchdog.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(super) async fn server(&self, name: Option<&str>) -> Result<(Watchdog, Server), ClientError> {
        let survey = self.survey().await?;
        survey.server(name, self.looked()).map(|(watchdog, server)| (watchdog.clone(), server.clone()))
    }

    /// The watchdog that is meant. Nothing is asked where only one can be.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub(super) async fn watchdog(&self, name: Option<&str>) -> Result<Watchdog, ClientError> {
        match (self, name) {
            (Self::Named(watchdog), None) => Ok(watchdog.clone()),
            (Self::Folders(folders), None) => {
                let (sockets, problems) = find::sockets(folders, getuid().as_raw());
                let running = find::running(sockets).await;
                if let [one] = &running[..] {
                    return Ok(Watchdog::new(Endpoint::Unix(one.clone()), None));
                }
                find::survey(running, problems).await.watchdog(None, folders).cloned()
            }
            (_, Some(_)) => self.server(name).await.map(|(watchdog, _)| watchdog),
        }
    }
}

/// Switches the server that is meant on or off, and says how it is then.
pub(super) async fn switch(target: &Target, on: bool, there: &Whereabouts, to: &mut Output<'_>) -> Outcome {
    let (watchdog, server) = there.server(target.name.as_deref()).await?;
    let server = watchdog.switch(&server.name, on).await?;
    writeln!(to.out, "{}: {}", shown(&server.name), server.condition())?;
    Ok(Exit::Done)
}

/// A name, as it can be shown: it comes from a configuration, which may hold anything.
pub(super) fn shown(name: &str) -> String {
    plain::text(name, LONGEST_NAME)
}
