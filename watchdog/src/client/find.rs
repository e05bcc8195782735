//! Who is meant: the watchdogs that run here, and the one that has a server.

use std::io::{self, ErrorKind};
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
    /// Those who run and did not, in the words of what they did instead.
    pub silent: Vec<String>,
    /// Folders that could not be looked into.
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
    let mut survey = Survey { problems, ..Survey::default() };
    let mut live = Vec::new();
    // A task that panicked has printed why.
    while let Some(Ok((place, answer, watchdog))) = asked.join_next().await {
        match answer {
            Ok(servers) => live.push((place, Live { watchdog, servers })),
            Err(ClientError::Unreachable { source, .. }) if is_gone(&source) => {}
            Err(error) => survey.silent.push(error.to_string()),
        }
    }
    live.sort_by_key(|(place, _)| *place);
    survey.live = live.into_iter().map(|(_, live)| live).collect();
    survey
}

/// Whether a socket has outlived its watchdog. One that takes no connection for another reason, such as a full queue, is there.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

/// Those of these sockets whose watchdog has not ended. Costs a connection each.
pub async fn running(sockets: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut asked = JoinSet::new();
    for path in sockets {
        asked.spawn(async move {
            let endpoint = Endpoint::Unix(path.clone());
            let answer = timeout(PATIENCE, endpoint.connect()).await;
            (!matches!(answer, Ok(Err(error)) if is_gone(&error))).then_some(path)
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
                let problems = self.all_problems();
                Err(ClientError::NoServer { name: name.to_owned(), known: self.names(), problems })
            }
            _ => Ok(matching),
        }
    }

    /// The server that a name means, with its watchdog; without a name, the only server that there is. Who has told of none may have
    /// some, and may be who is meant.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn server(&self, name: Option<&str>, looked: &[PathBuf]) -> Result<(&Watchdog, &Server), ClientError> {
        let matching = self.servers(name, looked)?;
        let silent: &[String] = if name.is_none() { &self.silent } else { &[] };
        if let ([one], []) = (&matching[..], silent) {
            return Ok(*one);
        }
        let question = match name {
            Some(name) => format!("more than one watchdog has a server \"{name}\": choose one with --socket"),
            None => "which server? Give its NAME".to_owned(),
        };
        let found = matching.into_iter().map(|(watchdog, server)| line(watchdog, [server]));
        let found = found.chain(silent.iter().cloned()).collect();
        Err(ClientError::Several { question, found })
    }

    /// The watchdog that has this server; without a name, the only one that runs.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn watchdog(&self, name: Option<&str>, looked: &[PathBuf]) -> Result<&Watchdog, ClientError> {
        if name.is_some() {
            return self.server(name, looked).map(|(watchdog, _)| watchdog);
        }
        self.some(looked)?;
        match (&self.live[..], &self.silent[..]) {
            ([one], []) => Ok(&one.watchdog),
            (several, silent) => {
                let question = "which watchdog? Give the NAME of one of its servers, or its --socket".to_owned();
                let found = several.iter().map(|live| line(&live.watchdog, &live.servers));
                let found = found.chain(silent.iter().cloned()).collect();
                Err(ClientError::Several { question, found })
            }
        }
    }

    /// All that kept anybody from telling of their servers.
    #[must_use]
    pub fn all_problems(&self) -> Vec<String> {
        [&self.problems[..], &self.silent[..]].concat()
    }

    /// That there is anybody.
    fn some(&self, looked: &[PathBuf]) -> Result<(), ClientError> {
        if self.live.is_empty() {
            return Err(ClientError::NoneFound { looked: looked.to_vec(), problems: self.all_problems() });
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
