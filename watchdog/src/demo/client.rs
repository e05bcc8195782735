//! A client of the product: it starts the watchdog as a client starts any server, and keeps a book of what it asked.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Fault;
use super::book::{Answer, Book, Heard};
use super::log::{LogLine, Speaker};
use crate::os;

/// Far longer than anything here takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at a process that is about to end.
const PAUSE: Duration = Duration::from_millis(5);

/// The options of the watchdog. The limits are short, so that a demonstration takes seconds; `--log-level=debug` shows what
/// its probes find.
const OPTIONS: [&str; 9] = [
    "--name=demo",
    "--no-control",
    "--log-level=debug",
    "--tool-timeout=1s",
    "--probe-timeout=500ms",
    // Less than the pause before the next death: each is the first of its kind, and no crash loop that is slowed down.
    "--set=restart.min_uptime=100ms",
    // A server that hangs does not see the end of its stdin, nor does one that is stopped see SIGTERM.
    "--set=shutdown.eof_grace=200ms",
    "--set=shutdown.term_grace=200ms",
    "--",
];

/// What is behind `--`, apart from the program.
const SERVER: [&str; 2] = ["demo", "--server"];

/// The command line that a user would type for what [`Client::start`] starts.
pub(super) fn command_line() -> String {
    let words = ["mcp-watchdog"].iter().chain(&OPTIONS).chain(&["mcp-watchdog"]).chain(&SERVER);
    words.copied().collect::<Vec<_>>().join(" ")
}

/// A client, with the watchdog that it started.
pub(super) struct Client {
    process: Child,
    stdin: Option<ChildStdin>,
    heard: Receiver<Heard>,
    book: Book,
}

impl Client {
    /// Starts the watchdog, with the server of the demonstration behind it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start() -> Result<Self, Fault> {
        let program = os::own_program().map_err(Fault::Start)?;
        let mut command = Command::new(&program);
        command.args(OPTIONS).arg(&program).args(SERVER);
        // The user's settings are for the user's servers.
        std::env::vars_os().map(|(name, _)| name).filter(|name| is_setting(name)).for_each(|name| {
            command.env_remove(name);
        });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(Fault::Start)?;
        let (to, heard) = channel();
        if let (Some(stdout), Some(stderr)) = (process.stdout.take(), process.stderr.take()) {
            hear(stdout, to.clone(), Heard::Message).map_err(Fault::Start)?;
            hear(stderr, to, Heard::log).map_err(Fault::Start)?;
        }
        let stdin = process.stdin.take();
        Ok(Self { process, stdin, heard, book: Book::default() })
    }

    /// The number of the watchdog's process.
    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and returns its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<u64, Fault> {
        let id = self.book.ask();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        Ok(id)
    }

    /// Sends a notification without parameters.
    pub(super) fn notify(&mut self, method: &str) -> Result<(), Fault> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let Some(stdin) = &mut self.stdin else {
            return Err(Fault::wrong("the client has closed its stdin"));
        };
        let sent = stdin.write_all(format!("{message}\n").as_bytes());
        sent.map_err(|error| Fault::wrong(format!("the watchdog takes no more messages: {error}")))
    }

    /// Waits for the answer to a request.
    pub(super) fn answer(&mut self, id: u64) -> Result<Answer, Fault> {
        self.wait(&format!("an answer to request {id}"), |book| book.answer(id))
    }

    /// Waits for an event in the log; lines before it are looked at no more.
    pub(super) fn event(&mut self, name: &str) -> Result<LogLine, Fault> {
        self.log(&format!("the event `{name}` in the log"), |line| line.is(name))
    }

    /// Waits for a line that the server wrote to its stderr.
    pub(super) fn server_line(&mut self) -> Result<LogLine, Fault> {
        self.log("a line of the server in the log", |line| line.speaker == Speaker::Server)
    }

    fn log(&mut self, what: &str, is_it: impl Fn(&LogLine) -> bool) -> Result<LogLine, Fault> {
        self.wait(what, |book| book.find_in_log(&is_it))
    }

    /// Forgets what the log has said so far.
    pub(super) fn forget_log(&mut self) {
        while let Ok(heard) = self.heard.try_recv() {
            self.book.take(heard);
        }
        self.book.forget_log();
    }

    fn wait<T>(&mut self, what: &str, mut look: impl FnMut(&mut Book) -> Option<T>) -> Result<T, Fault> {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look(&mut self.book) {
                return Ok(found);
            }
            match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(heard) => self.book.take(heard),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Fault::wrong(format!("waited {}s in vain for {what}", LIMIT.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::wrong(format!("the watchdog ended before there was {what}")));
                }
            }
        }
    }

    /// Closes stdin, as a client does that leaves.
    pub(super) fn leave(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the watchdog and hears all that it still says.
    pub(super) fn ended(&mut self) -> Result<ExitStatus, Fault> {
        let deadline = Instant::now() + LIMIT;
        while let Ok(heard) = self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.book.take(heard);
        }
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(PAUSE),
                Ok(None) => return Err(Fault::wrong("the watchdog did not end when its client left")),
                Err(error) => return Err(Fault::wrong(format!("the watchdog's end is unknown: {error}"))),
            }
        }
    }

    /// What was asked and heard so far.
    pub(super) const fn book(&self) -> &Book {
        &self.book
    }

    /// The last lines of the log.
    pub(super) fn log_tail(&mut self) -> Vec<String> {
        self.forget_log();
        self.book.tail()
    }
}

/// Whatever went wrong: the watchdog goes too, and its server with it.
impl Drop for Client {
    fn drop(&mut self) {
        self.leave();
        if self.ended().is_err() {
            // Neither fails for a child that has not been waited for.
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Whether a variable would change how a watchdog behaves.
fn is_setting(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("MCP_WATCHDOG_") || name.starts_with("CONNECTION_")
}

/// Reads lines on a thread of its own, until the pipe ends or nobody listens.
fn hear(
    from: impl Read + Send + 'static,
    to: Sender<Heard>,
    heard: impl Fn(Instant, Vec<u8>) -> Heard + Send + 'static,
) -> io::Result<()> {
    let listen = move || {
        for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
            if to.send(heard(Instant::now(), line)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().spawn(listen).map(drop)
}

#[cfg(test)]
mod tests;
