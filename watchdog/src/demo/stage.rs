//! The steps that scenes are made of. Each shows what it does, and fails where the product does not do what it promises.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::Fault;
use super::book::Answer;
use super::client::Client;
use super::screen::{Screen, Who, span};

/// The demonstration under way: who plays, and where it is shown.
pub(super) struct Stage<'a, 'b> {
    pub(super) screen: &'a mut Screen<'b>,
    pub(super) client: Client,
    /// The server's processes, the living one last.
    servers: Vec<Pid>,
}

/// A call that was sent.
pub(super) struct Call {
    id: u64,
    at: Instant,
    /// `add(2, 3)`
    text: String,
}

/// The answer to a call that succeeded.
pub(super) struct Returned {
    pub(super) text: String,
    /// How long the client waited.
    pub(super) after: Duration,
}

impl<'a, 'b> Stage<'a, 'b> {
    pub(super) const fn new(screen: &'a mut Screen<'b>, client: Client) -> Self {
        Self { screen, client, servers: Vec::new() }
    }

    /// Begins a scene. What the log still has to say about the last one is of no interest.
    pub(super) fn scene(&mut self, title: &str) -> Result<(), Fault> {
        self.client.forget_log();
        Ok(self.screen.scene(title)?)
    }

    /// Ends a scene.
    pub(super) fn good(&mut self, text: &str) -> Result<(), Fault> {
        Ok(self.screen.good(text)?)
    }

    /// Shows something that the client does or gets.
    pub(super) fn client_line(&mut self, at: Instant, text: &str) -> Result<(), Fault> {
        Ok(self.screen.line(at, Who::Client, text)?)
    }

    /// Waits for an event of the watchdog, shows it, and returns when it was.
    pub(super) fn event(&mut self, name: &str) -> Result<Instant, Fault> {
        let line = self.client.event(name)?;
        self.screen.line(line.at, Who::Watchdog, &line.text)?;
        Ok(line.at)
    }

    /// Waits for what the server says on stderr, and shows it.
    pub(super) fn server_line(&mut self) -> Result<(), Fault> {
        let line = self.client.server_line()?;
        Ok(self.screen.line(line.at, Who::Server, &line.text)?)
    }

    /// Sends a request, and waits for its result.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<(Instant, Value), Fault> {
        let id = self.client.request(method, params)?;
        let answer = self.client.answer(id)?;
        let result = answer.result().ok_or_else(|| odd(method, &answer))?.clone();
        Ok((answer.at, result))
    }

    /// Sends a call that is shown with its answer.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Call, Fault> {
        let at = Instant::now();
        let id = self.client.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let values = arguments.as_object().into_iter().flat_map(|arguments| arguments.values());
        let values: Vec<_> = values.map(Value::to_string).collect();
        Ok(Call { id, at, text: format!("{tool}({})", values.join(", ")) })
    }

    /// Sends a call that is shown at once, as its answer will take a while.
    pub(super) fn begin(&mut self, tool: &str, arguments: &Value) -> Result<Call, Fault> {
        let call = self.call(tool, arguments)?;
        self.client_line(call.at, &format!("calls {}", call.text))?;
        Ok(call)
    }

    /// Waits for the text that a tool returns, and shows it.
    pub(super) fn returned(&mut self, call: &Call) -> Result<Returned, Fault> {
        let answer = self.client.answer(call.id)?;
        let text = answer.text().ok_or_else(|| odd(&call.text, &answer))?.to_owned();
        let after = answer.at.saturating_duration_since(call.at);
        self.client_line(answer.at, &format!("{} -> {text} after {}", call.text, span(after)))?;
        Ok(Returned { text, after })
    }

    /// Waits for an error with this code, shows it, and returns when it was.
    pub(super) fn failed(&mut self, call: &Call, code: i64) -> Result<Instant, Fault> {
        let answer = self.client.answer(call.id)?;
        let error = answer.error().filter(|error| error["code"] == code).ok_or_else(|| odd(&call.text, &answer))?;
        let after = span(answer.at.saturating_duration_since(call.at));
        let message = error["message"].as_str().unwrap_or_default();
        self.client_line(answer.at, &format!("{} -> error {code} after {after}: {message}", call.text))?;
        Ok(answer.at)
    }

    /// Sends a signal to the server's process.
    pub(super) fn signal(&mut self, signal: Signal) -> Result<Instant, Fault> {
        let pid = *self.servers.last().ok_or_else(|| Fault::wrong("the server's process is unknown"))?;
        let at = Instant::now();
        kill(pid, signal).map_err(|error| Fault::wrong(format!("cannot signal process {pid}: {}", error.desc())))?;
        self.screen.line(at, Who::Demo, &format!("sends {signal} to the server, process {pid}"))?;
        Ok(at)
    }

    /// Asks the server for its process; says whether it is another one than before.
    pub(super) fn meet_server(&mut self) -> Result<bool, Fault> {
        let call = self.call("pid", &json!({}))?;
        let text = self.returned(&call)?.text;
        // 0 and less are groups of processes, and 1 is never ours.
        let pid = text.parse().ok().filter(|pid: &i32| *pid > 1).map(Pid::from_raw);
        let pid = pid.ok_or_else(|| Fault::wrong(format!("`{text}` is not the number of a process")))?;
        let is_new = self.servers.last() != Some(&pid);
        if is_new {
            self.servers.push(pid);
        }
        Ok(is_new)
    }

    /// How many processes the server has had.
    pub(super) const fn lives(&self) -> usize {
        self.servers.len()
    }

    /// Asks the server for its process, which has to be a new one, and the one before it gone.
    pub(super) fn meet_next_server(&mut self) -> Result<(), Fault> {
        let before = self.servers.last().copied();
        if !self.meet_server()? {
            return Err(Fault::wrong("the process that should be dead still answers"));
        }
        before.map_or(Ok(()), gone)
    }

    /// Nothing is alive of all that was: for after the end.
    pub(super) fn nothing_is_alive(&self) -> Result<(), Fault> {
        let watchdog = i32::try_from(self.client.pid()).map(Pid::from_raw);
        self.servers.iter().copied().chain(watchdog).try_for_each(gone)
    }
}

/// There is no such process.
fn gone(pid: Pid) -> Result<(), Fault> {
    if kill(pid, None) == Err(Errno::ESRCH) {
        Ok(())
    } else {
        Err(Fault::wrong(format!("process {pid} should be gone and is still there")))
    }
}

/// What is no answer to this request.
fn odd(request: &str, answer: &Answer) -> Fault {
    Fault::wrong(format!("{request} was answered with {}", answer.json()))
}
