//! How a session begins.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;

use serde_json::Value;

use crate::process::MARK;
use crate::session::Session;
use crate::state::Shared;
use crate::{lives, streams};

/// What the test itself was started with must not configure what it tests.
pub fn remove_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["MCP_WATCHDOG_", "CONNECTION_", "MCP_FIXTURE_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
}

/// A watchdog that is about to be started in front of the fixture.
#[derive(Debug, Clone)]
pub struct Setup {
    program: PathBuf,
    options: Vec<OsString>,
    command: Vec<OsString>,
    script: Option<Value>,
    environment: Vec<(OsString, OsString)>,
    several: bool,
}

impl Setup {
    /// The watchdog in front of the fixture; both are paths of programs.
    #[must_use]
    pub fn new(watchdog: impl AsRef<Path>, fixture: impl AsRef<Path>) -> Self {
        let command = vec![fixture.as_ref().as_os_str().to_owned()];
        Self { command, ..Self::direct(watchdog) }
    }

    /// A program that is spoken to as it is: the fixture without a watchdog, or a watchdog whose options name all.
    #[must_use]
    pub fn direct(program: impl AsRef<Path>) -> Self {
        let program = program.as_ref().to_owned();
        Self {
            program,
            options: Vec::new(),
            command: Vec::new(),
            script: None,
            environment: Vec::new(),
            several: false,
        }
    }

    /// Options of the watchdog, before `--`.
    #[must_use]
    pub fn options<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.options.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
        self
    }

    /// Another COMMAND than the fixture alone, after `--`.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        self.command = command.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// The fixture's script.
    #[must_use]
    pub fn script(mut self, script: Value) -> Self {
        self.script = Some(script);
        self
    }

    /// An environment variable of the watchdog, and so of the fixture.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// It has several servers, whose lives overlap: they tell nothing, and no order of theirs is checked.
    #[must_use]
    pub const fn several(mut self) -> Self {
        self.several = true;
        self
    }

    /// Starts it, in a folder of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(self) -> Session {
        // As private as a runtime folder has to be, whatever the umask.
        let private = fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().prefix("mcp").permissions(private).tempdir();
        let folder = folder.expect("a temporary folder can be made");
        let path = folder.path();
        if let Some(script) = &self.script {
            fs::write(path.join("script.json"), script.to_string()).expect("the folder can be written to");
        }
        let shared = Arc::new(Shared::default());
        let listener = UnixListener::bind(path.join("events")).expect("a socket can be bound");
        lives::listen(listener, Arc::clone(&shared));

        let mut child = self.build(path).spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let pid = child.id();
        let (send, lines) = channel();
        let (orders, reader) = UnixStream::pair().expect("a pair of sockets can be made");
        streams::write_stdin(child.stdin.take().expect("stdin is a pipe"), lines);
        streams::read_stdout(child.stdout.take().expect("stdout is a pipe"), reader, Arc::clone(&shared));
        streams::read_stderr(child.stderr.take().expect("stderr is a pipe"), Arc::clone(&shared));
        streams::await_exit(child, Arc::clone(&shared));
        Session::new(folder, pid, shared, send, orders)
    }

    fn build(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.options);
        if !self.command.is_empty() {
            command.arg("--").args(&self.command);
        }
        remove_settings(&mut command);
        if self.script.is_some() {
            command.env("MCP_FIXTURE_SCRIPT", folder.join("script.json"));
        }
        if !self.several {
            command.env("MCP_FIXTURE_EVENTS", folder.join("events"));
        }
        command
            .env(MARK, folder)
            .env("MCP_WATCHDOG_RUNTIME_DIR", folder)
            .env("MCP_FIXTURE_STATE_FILE", folder.join("state"))
            .envs(self.environment.iter().cloned())
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}
