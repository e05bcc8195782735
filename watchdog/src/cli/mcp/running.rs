//! The servers of all watchdogs that run, or of the one that was named. They are looked for at each call, since they come and go.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::cli::operator::Whereabouts;
use crate::client::{ClientError, Lines, Watchdog, find};
use crate::config::hint;
use crate::control::mcp::{Backend, Cursor, Failure, Found, Heard, Listener, RetriedMany, Server, Target};
use crate::control::model::EventRecord;
use crate::core::refusal::Code;
use crate::engine::{Accepted, RetriedAll, ServerStatus, Which};

/// More is not held for a listener: it is asked for again with its cursor.
const BACKLOG: usize = 64;

/// All watchdogs of these places.
#[derive(Debug)]
pub(super) struct Running {
    there: Whereabouts,
}

/// One of them.
struct Peer {
    watchdog: Watchdog,
    pid: u32,
    servers: Vec<Server>,
}

/// Those who answered, and the words of those who did not.
struct Peers {
    peers: Vec<Peer>,
    problems: Vec<String>,
}

impl Running {
    pub(super) const fn new(there: Whereabouts) -> Self {
        Self { there }
    }

    /// Everybody. Nobody is an answer too, which says where was looked.
    async fn peers(&self) -> Result<Peers, Failure> {
        let survey = self.there.survey().await.map_err(|error| failure(&error))?;
        let mut problems = survey.all_problems();
        let mut peers = Vec::new();
        for find::Live { watchdog, servers } in survey.live {
            match peer(watchdog, servers).await {
                Ok(peer) => peers.push(peer),
                Err(problem) => problems.push(problem),
            }
        }
        if peers.is_empty() {
            let looked = self.there.looked().to_vec();
            return Err(failure(&ClientError::NoneFound { looked, problems }));
        }
        Ok(Peers { peers, problems })
    }

    /// The one server that is meant, with its watchdog.
    async fn find(&self, target: &Target) -> Result<(Watchdog, Server), Failure> {
        let Peers { peers, problems } = self.peers().await?;
        let meant = |server: &Server| {
            server.status.name == target.name && target.watchdog.is_none_or(|watchdog| server.watchdog == watchdog)
        };
        let all = peers.iter().flat_map(|peer| peer.servers.iter().map(|server| (&peer.watchdog, server)));
        let found: Vec<_> = all.clone().filter(|(_, server)| meant(server)).collect();
        match &found[..] {
            [(watchdog, server)] => Ok(((*watchdog).clone(), (*server).clone())),
            [] => {
                let names = all.clone().map(|(_, server)| server.status.name.as_str());
                let near = hint::did_you_mean(&target.name, names.filter(|name| *name != target.name));
                let known: Vec<_> =
                    all.map(|(_, server)| format!("{} (watchdog {})", server.status.name, server.watchdog)).collect();
                let whose = target.watchdog.map(|pid| format!(" in watchdog {pid}")).unwrap_or_default();
                let mut message =
                    format!("Server '{}' not found{whose}{near}; there are: {}", target.name, known.join(", "));
                // One of them may have it.
                message.extend(problems.iter().flat_map(|problem| ["; ", problem]));
                Err(Failure::of(Code::ServerNotFound, &message))
            }
            several => {
                let whose: Vec<_> = several.iter().map(|(_, server)| server.watchdog.to_string()).collect();
                let message = format!(
                    "{} watchdogs have a server called \"{}\": say which with `watchdog`, one of {}",
                    several.len(),
                    target.name,
                    whose.join(", ")
                );
                Err(Failure::new("server_ambiguous", message))
            }
        }
    }
}

/// Reads the servers of a watchdog, which may be of another version.
async fn peer(watchdog: Watchdog, servers: Vec<crate::client::Server>) -> Result<Peer, String> {
    let strange = |what: String| format!("{}: {what}", watchdog.endpoint());
    let pid = match watchdog.pid() {
        Some(pid) => pid,
        None => watchdog.info().await.map_err(|error| error.to_string())?.pid,
    };
    let read = |server: crate::client::Server| server_of(pid, server);
    let servers = servers.into_iter().map(read).collect::<Result<_, _>>().map_err(strange)?;
    Ok(Peer { watchdog, pid, servers })
}

fn server_of(watchdog: u32, server: crate::client::Server) -> Result<Server, String> {
    let status = ServerStatus::deserialize(Value::Object(server.raw));
    let status =
        status.map_err(|error| format!("a watchdog of another version, whose servers cannot be read: {error}"));
    Ok(Server { watchdog, status: status? })
}

fn failure(error: &ClientError) -> Failure {
    let message = error.to_string();
    match error {
        ClientError::NoServer { .. } | ClientError::Refused { status: 404, .. } => {
            Failure::of(Code::ServerNotFound, &message)
        }
        ClientError::Refused { status: 409, .. } => Failure::of(Code::ServerDisabled, &message),
        ClientError::Refused { status: 504, .. } => Failure::of(Code::Reconnecting, &message),
        ClientError::NoneFound { .. } => Failure::new("watchdog_not_found", message),
        _ => Failure::new("watchdog_unreachable", message),
    }
}

#[async_trait]
impl Backend for Running {
    async fn servers(&self) -> Result<Found, Failure> {
        let Peers { peers, problems } = self.peers().await?;
        Ok(Found { servers: peers.into_iter().flat_map(|peer| peer.servers).collect(), problems })
    }

    async fn server(&self, target: &Target) -> Result<Server, Failure> {
        self.find(target).await.map(|(_, server)| server)
    }

    async fn retry(&self, target: &Target, wait: Option<Duration>) -> Result<(u32, Accepted), Failure> {
        let (watchdog, server) = self.find(target).await?;
        let accepted = watchdog.retry(&target.name, wait).await.map_err(|error| failure(&error))?;
        Ok((server.watchdog, accepted))
    }

    async fn retry_all(&self, which: Which) -> Result<RetriedMany, Failure> {
        let Peers { peers, problems } = self.peers().await?;
        let mut asked = JoinSet::new();
        for Peer { watchdog, pid, .. } in peers {
            asked.spawn(async move { (pid, watchdog.retry_all(which).await) });
        }
        let mut retried = RetriedMany { each: Vec::new(), problems };
        // A task that panicked has printed why.
        while let Some(Ok((pid, outcome))) = asked.join_next().await {
            match outcome {
                Ok(all) => retried.each.push((pid, all)),
                Err(error) => retried.problems.push(error.to_string()),
            }
        }
        retried.each.sort_by_key(|(pid, _): &(u32, RetriedAll)| *pid);
        Ok(retried)
    }

    async fn switch(&self, target: &Target, on: bool) -> Result<Server, Failure> {
        let (watchdog, server) = self.find(target).await?;
        let switched = watchdog.switch(&target.name, on).await.map_err(|error| failure(&error))?;
        server_of(server.watchdog, switched).map_err(|what| Failure::new("watchdog_unreachable", what))
    }

    async fn listen(&self, cursor: &Cursor) -> Result<Listener, Failure> {
        let mut begun = Cursor::default();
        let (sender, heard) = mpsc::channel(BACKLOG);
        let mut tasks = JoinSet::new();
        for Peer { watchdog, pid, .. } in self.peers().await?.peers {
            let since = match cursor.of(pid) {
                Some(since) => since,
                None => watchdog.info().await.map_err(|error| failure(&error))?.sequence,
            };
            let lines = watchdog.events(Some(since)).await.map_err(|error| failure(&error))?;
            begun.advance(pid, since);
            tasks.spawn(tell(pid, lines, sender.clone()));
        }
        Ok(Listener::new(begun, heard, tasks))
    }
}

/// Tells everything, until nobody listens or the watchdog ends. Of one that breaks nothing more is heard.
async fn tell(pid: u32, mut lines: Lines, to: mpsc::Sender<Heard>) {
    while let Ok(Some(line)) = lines.next().await {
        // What is no event tells of a gap, or comes from another version.
        let heard = serde_json::from_str::<EventRecord>(&line).map(|event| Heard::Event(pid, Box::new(event)));
        if to.send(heard.unwrap_or(Heard::Missed)).await.is_err() {
            return;
        }
    }
}
