//! One running watchdog, and the client that speaks to it.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::answer::Answer;
use crate::message;
use crate::state::{Head, Line, Shared, State};
use crate::streams::{CLOSE, PAUSE, RESUME};

mod end;
mod server;

/// How long a wait lasts at the most where the test does not say.
const USUAL: Duration = Duration::from_secs(5);

/// How often processes are looked for that nothing tells of.
const LOOK: Duration = Duration::from_millis(20);

/// One running watchdog, and the client that speaks to it. Dropping it kills what is left of it.
#[must_use]
pub struct Session {
    pub(crate) shared: Arc<Shared>,
    folder: TempDir,
    pid: u32,
    stdin: Option<Sender<Vec<u8>>>,
    reader: UnixStream,
}

impl Session {
    pub(crate) fn new(
        folder: TempDir,
        pid: u32,
        shared: Arc<Shared>,
        stdin: Sender<Vec<u8>>,
        reader: UnixStream,
    ) -> Self {
        Self { shared, folder, pid, stdin: Some(stdin), reader }
    }

    /// Sends one message; the line end is added.
    pub fn send(&self, message: impl AsRef<str>) {
        self.send_all([message]);
    }

    /// Sends several messages in one write.
    pub fn send_all<S: AsRef<str>>(&self, messages: impl IntoIterator<Item = S>) {
        let mut bytes = Vec::new();
        self.shared.update(|state| {
            for message in messages {
                state.note_sent(message.as_ref());
                bytes.extend_from_slice(message.as_ref().as_bytes());
                bytes.push(b'\n');
            }
        });
        self.send_raw(bytes);
    }

    /// Sends bytes as they are.
    pub fn send_raw(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(stdin) = &self.stdin {
            // The thread ends only when the pipe is gone.
            let _ = stdin.send(bytes.into());
        }
    }

    /// Opens a session of revision 2025-11-25 with id 0, and returns the answer.
    ///
    /// # Panics
    /// When there is none in ten seconds, or an error.
    #[track_caller]
    pub fn initialize(&self) -> Answer {
        self.send(message::initialize(0, "2025-11-25"));
        let answer = self.answer_within(0, 2 * USUAL);
        let _ = answer.result();
        self.send(message::notification("notifications/initialized", Value::Null));
        answer
    }

    /// Answers a request of the server.
    pub fn respond(&self, request: &Line, result: Value) {
        let head = Head::all(&request.text).pop().map(|(head, _)| head);
        let id = head.as_ref().and_then(Head::id).unwrap_or("null");
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }

    /// Says that this request may stay without an answer.
    pub fn may_stay_open(&self, id: impl Into<Value>) {
        self.shared.update(|state| state.optional.insert(id.into().to_string()));
    }

    /// Closes the watchdog's stdin, once all that was sent is written.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes the client's end of the watchdog's stdout.
    pub fn close_stdout(&self) {
        self.order(CLOSE);
    }

    /// Reads no more of stdout until [`resume_reading`](Self::resume_reading).
    pub fn pause_reading(&self) {
        self.order(PAUSE);
    }

    /// Reads stdout again.
    pub fn resume_reading(&self) {
        self.order(RESUME);
    }

    fn order(&self, order: u8) {
        (&self.reader).write_all(&[order]).expect("the reader of stdout is there");
    }

    // -- what the client gets -----------------------------------------------------------------------------------------

    /// The answer to a request, within five seconds.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn answer(&self, id: impl Into<Value>) -> Answer {
        self.answer_within(id, USUAL)
    }

    /// The answer to a request, within so long.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn answer_within(&self, id: impl Into<Value>, within: Duration) -> Answer {
        let id = id.into().to_string();
        self.wait(within, &format!("an answer to id {id}"), |state| {
            state.answers.get(&id).and_then(|answers| answers.first()).cloned()
        })
    }

    /// Whether a request has been answered.
    #[must_use]
    pub fn is_answered(&self, id: impl Into<Value>) -> bool {
        self.shared.lock().answers.contains_key(&id.into().to_string())
    }

    /// How long the answer to a request took.
    ///
    /// # Panics
    /// When there is none yet, or no such request.
    #[must_use]
    #[track_caller]
    pub fn took(&self, id: impl Into<Value>) -> Duration {
        let id = id.into().to_string();
        let state = self.shared.lock();
        let answered = state.answers.get(&id).and_then(|answers| answers.first()).map(|answer| answer.at);
        let sent = state.sent.get(&id).map(|sent| sent.at);
        answered.zip(sent).map(|(answered, sent)| answered - sent).expect("the request was sent and answered")
    }

    /// The `count`-th request or notification of a method that reached the client, from 1.
    ///
    /// # Panics
    /// When there is none within five seconds.
    #[track_caller]
    pub fn from_server(&self, method: &str, count: usize) -> Line {
        self.wait(USUAL, &format!("{method} number {count} at the client"), |state| {
            state.lines.iter().filter(|line| line.method() == Some(method)).nth(count - 1).cloned()
        })
    }

    /// All lines of stdout so far.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.shared.lock().lines.clone()
    }

    /// All of stderr so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().stderr).into_owned()
    }

    /// Waits until stderr contains a text.
    ///
    /// # Panics
    /// When it does not within five seconds.
    #[track_caller]
    pub fn wait_stderr(&self, text: &str) {
        let has = |state: &State| String::from_utf8_lossy(&state.stderr).contains(text).then_some(());
        self.wait(USUAL, &format!("{text:?} on stderr"), has);
    }

    /// Waits for so long that nothing comes from the watchdog.
    ///
    /// # Panics
    /// When a line comes.
    #[track_caller]
    pub fn stays_quiet(&self, time: Duration) {
        let before = self.shared.lock().lines.len();
        let line = self.shared.wait(time, None, |state| state.lines.get(before).cloned());
        assert!(line.is_none(), "a line that was not expected: {line:?}");
    }

    // -- waiting ------------------------------------------------------------------------------------------------------

    #[track_caller]
    fn wait<T>(&self, within: Duration, what: &str, ready: impl FnMut(&State) -> Option<T>) -> T {
        match self.shared.wait(slack(within), None, ready) {
            Some(value) => value,
            None => self.fail(&format!("no {what} within {within:?}")),
        }
    }

    /// Fails, and shows what there was.
    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        let state = self.shared.lock();
        let lines: Vec<_> = state.lines.iter().rev().take(5).map(|line| clipped(&line.text)).collect();
        let stderr = String::from_utf8_lossy(&state.stderr).into_owned();
        let stderr: Vec<_> = stderr.lines().rev().take(20).map(clipped).collect();
        drop(state);
        let newest_last = |lines: Vec<String>| lines.into_iter().rev().collect::<Vec<_>>().join("\n  ");
        panic!("{why}\nstdout:\n  {}\nstderr:\n  {}", newest_last(lines), newest_last(stderr));
    }
}

fn clipped(line: &str) -> String {
    line.chars().take(300).collect()
}

/// Deadlines are longer where the machine is slow.
fn slack(within: Duration) -> Duration {
    let factor = std::env::var("MCP_HARNESS_SLACK").ok().and_then(|text| text.parse().ok());
    within.mul_f64(factor.filter(|factor| *factor >= 1.0).unwrap_or(1.0))
}
