//! A client that keeps a few calls in flight and books every answer.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// So many calls at a time,
const DEPTH: usize = 4;
/// and so long between two of them.
const PAUSE: Duration = Duration::from_millis(20);
/// An answer that has not come by then will not come.
pub(crate) const LATE: Duration = Duration::from_secs(60);

/// Whose words the client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Handshake,
    Stateless,
}

/// What became of the requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book {
    pub(crate) sent: u64,
    pub(crate) results: u64,
    /// Errors by their code.
    pub(crate) errors: BTreeMap<i64, u64>,
    /// What breaks the promise of one answer for each request.
    pub(crate) broken: Vec<String>,
}

impl Book {
    pub(crate) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.results += other.results;
        for (code, count) in other.errors {
            *self.errors.entry(code).or_default() += count;
        }
        self.broken.extend(other.broken);
    }
}

/// One session of the client.
pub(crate) struct Client {
    era: Era,
    to: Option<Box<dyn Write + Send>>,
    from: Receiver<String>,
    next: i64,
    open: BTreeMap<i64, Instant>,
    refused: bool,
    book: Book,
}

/// What a socket says to a second client.
const OCCUPIED: i64 = -31007;

impl Client {
    /// Opens a session. The place of the client before may not be free yet: `WouldBlock`.
    pub(crate) fn open(era: Era, to: Box<dyn Write + Send>, from: impl Read + Send + 'static) -> io::Result<Self> {
        let (send, lines) = channel();
        thread::Builder::new().name("client".into()).spawn(move || {
            for line in BufReader::new(from).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        })?;
        let mut client = Self {
            era,
            to: Some(to),
            from: lines,
            next: 0,
            open: BTreeMap::new(),
            refused: false,
            book: Book::default(),
        };
        match era {
            Era::Handshake => {
                let info = json!({ "name": "soak", "version": "1" });
                let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
                client.knock("initialize", params)?;
                client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
            }
            Era::Stateless => {
                client.knock("server/discover", json!({}))?;
            }
        }
        Ok(client)
    }

    fn knock(&mut self, method: &str, params: Value) -> io::Result<()> {
        let written = self.request(method, params);
        self.settle(Instant::now() + LATE);
        if self.refused { Err(io::ErrorKind::WouldBlock.into()) } else { written }
    }

    /// Calls until then; `errand` may send a call of its own in between.
    pub(crate) fn call_until(
        &mut self,
        end: Instant,
        mut errand: impl FnMut() -> Option<&'static str>,
    ) -> io::Result<()> {
        while Instant::now() < end {
            while self.open.len() < DEPTH {
                let what = errand().unwrap_or_default();
                let text = "x".repeat(usize::try_from(self.next % 700).unwrap_or_default());
                if self.next % 50 == 7 && what.is_empty() {
                    self.request("tools/list", json!({}))?;
                } else {
                    self.request("tools/call", json!({ "name": "echo", "arguments": { "do": what, "text": text } }))?;
                }
            }
            self.take_for(PAUSE);
            let now = Instant::now();
            if let Some((id, _)) = self.open.iter().find(|(_, sent)| now.duration_since(**sent) > LATE) {
                let id = *id;
                self.open.remove(&id);
                self.book.broken.push(format!("request {id} has no answer after {LATE:?}"));
            }
        }
        Ok(())
    }

    /// Waits for what is open, and closes the session.
    pub(crate) fn close(mut self) -> Book {
        self.settle(Instant::now() + LATE);
        self.to = None;
        for (id, _) in std::mem::take(&mut self.open) {
            self.book.broken.push(format!("request {id} has no answer at the end"));
        }
        self.book
    }

    fn settle(&mut self, end: Instant) {
        while !self.open.is_empty() && Instant::now() < end {
            if !self.take_for(Duration::from_millis(100)) {
                break;
            }
        }
    }

    /// Books the answers of so long; whether more can come.
    fn take_for(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            match self.from.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.take(&line),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(end.saturating_duration_since(Instant::now()));
                    return false;
                }
            }
        }
    }

    fn take(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            self.book.broken.push(format!("no message: {line:.100}"));
            return;
        };
        if message.get("method").is_some() {
            return;
        }
        if message["id"].is_null() && message["error"]["code"] == OCCUPIED {
            self.refused = true;
            return;
        }
        let Some(id) = message["id"].as_i64().filter(|id| self.open.remove(id).is_some()) else {
            self.book.broken.push(format!("an answer that nothing waits for: {line:.100}"));
            return;
        };
        match message["error"]["code"].as_i64() {
            Some(code) => *self.book.errors.entry(code).or_default() += 1,
            None if message["result"].is_object() => self.book.results += 1,
            None => self.book.broken.push(format!("request {id} has neither result nor error")),
        }
    }

    fn request(&mut self, method: &str, mut params: Value) -> io::Result<()> {
        if self.era == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "soak", "version": "1" },
            });
        }
        let id = self.next;
        self.next += 1;
        self.open.insert(id, Instant::now());
        self.book.sent += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    fn write(&mut self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        let to = self.to.as_mut().ok_or_else(|| io::Error::other("the session is closed"))?;
        to.write_all(line.as_bytes()).and_then(|()| to.flush())
    }
}
