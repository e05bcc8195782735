//! Who is meant: the watchdogs that run here, and the one that has a server.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{ClientError, Endpoint, Server, Watchdog};
use crate::control::runtime_dir::{self, RuntimeDirError};

/// How long one of many may take to answer: who is stopped must not hide the others.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watchdog and its servers.
#[derive(Debug, Clone)]
pub struct Live {
    /// The watchdog.
    pub watchdog: Watchdog,
    /// Its servers, in the order of its configuration.
    pub servers: Vec<Server>,
}

/// Everybody who runs.
#[derive(Debug, Default)]
pub struct Survey {
    /// Those who answered, by the names of their sockets.
    pub live: Vec<Live>,
    /// Those who did not, and folders that could not be looked into.
    pub problems: Vec<String>,
}

/// The control sockets in these folders. What cannot be looked into is told, what is not there is not.
#[must_use]
pub fn sockets(folders: &[PathBuf], user: u32) -> (Vec<PathBuf>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for folder in folders {
        match in_folder(folder, user) {
            Ok(sockets) => found.extend(sockets),
            Err(error) if error.is_missing() => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    found.sort();
    (found, problems)
}

fn in_folder(folder: &Path, user: u32) -> Result<Vec<PathBuf>, RuntimeDirError> {
    runtime_dir::check(folder, user)?;
    let entries =
        std::fs::read_dir(folder).map_err(|source| RuntimeDirError::Unusable { path: folder.to_owned(), source })?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| runtime_dir::process_of(path).is_some()).collect())
}

/// Asks all of these at once for their servers. Sockets whose watchdog has ended are passed over in silence.
pub async fn survey(sockets: Vec<PathBuf>, problems: Vec<String>) -> Survey {
    let mut asked = JoinSet::new();
    for (place, path) in sockets.into_iter().enumerate() {
        let watchdog = Watchdog::new(Endpoint::Unix(path), None);
        asked.spawn(async move { (place, watchdog.servers(PATIENCE).await, watchdog) });
    }
    let mut survey = Survey { live: Vec::new(), problems };
    let mut live = Vec::new();
    // A task that panicked has printed why.
    while let Some(Ok((place, answer, watchdog))) = asked.join_next().await {
        match answer {
            Ok(servers) => live.push((place, Live { watchdog, servers })),
            Err(error) if is_gone(&error) => {}
            Err(error) => survey.problems.push(error.to_string()),
        }
    }
    live.sort_by_key(|(place, _)| *place);
    survey.live = live.into_iter().map(|(_, live)| live).collect();
    survey
}

fn is_gone(error: &ClientError) -> bool {
    let ClientError::Unreachable { source, .. } = error else { return false };
    matches!(source.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

/// Those of these sockets behind which somebody listens. Costs a connection each.
pub async fn listening(sockets: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut asked = JoinSet::new();
    for path in sockets {
        asked.spawn(async move {
            let endpoint = Endpoint::Unix(path.clone());
            matches!(timeout(PATIENCE, endpoint.connect()).await, Ok(Ok(_))).then_some(path)
        });
    }
    let mut found = Vec::new();
    while let Some(answer) = asked.join_next().await {
        found.extend(answer.ok().flatten());
    }
    found.sort();
    found
}

impl Survey {
    /// All servers of this name, or all at all, each with its watchdog.
    ///
    /// # Errors
    /// When there is none of the name, or nobody runs.
    pub fn servers(&self, name: Option<&str>, looked: &[PathBuf]) -> Result<Vec<(&Watchdog, &Server)>, ClientError> {
        self.some(looked)?;
        let all = self.live.iter().flat_map(|live| live.servers.iter().map(move |server| (&live.watchdog, server)));
        let matching: Vec<_> = all.filter(|(_, server)| name.is_none_or(|name| server.name == name)).collect();
        match name {
            Some(name) if matching.is_empty() => {
                let problems = self.problems.clone();
                Err(ClientError::NoServer { name: name.to_owned(), known: self.names(), problems })
            }
            _ => Ok(matching),
        }
    }

    /// The server that a name means, with its watchdog; without a name, the only server that there is.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn server(&self, name: Option<&str>, looked: &[PathBuf]) -> Result<(&Watchdog, &Server), ClientError> {
        let matching = self.servers(name, looked)?;
        if let [one] = &matching[..] {
            return Ok(*one);
        }
        let question = match name {
            Some(name) => format!("more than one watchdog has a server \"{name}\": choose one with --socket"),
            None => "which server? Give its NAME".to_owned(),
        };
        let found = matching.into_iter().map(|(watchdog, server)| line(watchdog, [server])).collect();
        Err(ClientError::Several { question, found })
    }

    /// The watchdog that has this server; without a name, the only one.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn watchdog(&self, name: Option<&str>, looked: &[PathBuf]) -> Result<&Watchdog, ClientError> {
        if name.is_some() {
            return self.server(name, looked).map(|(watchdog, _)| watchdog);
        }
        self.some(looked)?;
        match &self.live[..] {
            [one] => Ok(&one.watchdog),
            several => {
                let question = "which watchdog? Give the NAME of one of its servers, or its --socket".to_owned();
                let found = several.iter().map(|live| line(&live.watchdog, &live.servers)).collect();
                Err(ClientError::Several { question, found })
            }
        }
    }

    /// That there is anybody.
    fn some(&self, looked: &[PathBuf]) -> Result<(), ClientError> {
        if self.live.is_empty() {
            return Err(ClientError::NoneFound { looked: looked.to_vec(), problems: self.problems.clone() });
        }
        Ok(())
    }

    /// The names of all servers, each once.
    fn names(&self) -> Vec<String> {
        let all = self.live.iter().flat_map(|live| &live.servers);
        let mut names: Vec<_> = all.map(|server| server.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// One watchdog in a list: `files, memory: process 12, --socket /run/…`.
fn line<'a>(watchdog: &Watchdog, servers: impl IntoIterator<Item = &'a Server>) -> String {
    let names: Vec<_> = servers.into_iter().map(|server| server.name.as_str()).collect();
    let process = watchdog.pid().map(|pid| format!("process {pid}, ")).unwrap_or_default();
    format!("{}: {process}--socket {}", names.join(", "), watchdog.endpoint())
}

#[cfg(test)]
mod tests;
