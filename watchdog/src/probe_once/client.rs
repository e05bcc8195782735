//! The client of a one-time probe: it opens a session in the era that the server speaks, and answers nothing.

use std::io;
use std::os::unix::net::UnixStream as BlockingStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The latest revision with a handshake.
const HANDSHAKE: &str = "2025-11-25";
/// The first one without.
const STATELESS: &str = "2026-07-28";

/// How long the answer may take that shows that the session is complete.
const SETTLE: Duration = Duration::from_secs(1);

/// A session with the watchdog.
#[derive(Debug)]
pub(super) struct Session {
    stream: BufReader<UnixStream>,
    next_id: u64,
}

impl Session {
    /// A session that is not open yet.
    pub(super) fn begin(stream: BlockingStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream: BufReader::new(UnixStream::from_std(stream)?), next_id: 1 })
    }

    /// Opens it: with a handshake, or, where the server has none, in the stateless era.
    ///
    /// # Errors
    /// What the server, or the watchdog for it, answered.
    pub(super) async fn open(&mut self, limit: Duration) -> Result<(), String> {
        let us = json!({ "name": "mcp-watchdog probe", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": us });
        let refused = match self.ask("initialize", &params, limit).await? {
            Ok(()) => {
                self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
                self.settle("ping", &Value::Null).await;
                return Ok(());
            }
            Err(error) if is_ours(&error) => return Err(not_there(&error)),
            Err(error) => error,
        };
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": us,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        match self.ask("server/discover", &json!({ "_meta": meta }), limit).await? {
            // The first request that is not a question for the era settles it.
            Ok(()) => {
                self.settle("tools/list", &json!({ "_meta": meta })).await;
                Ok(())
            }
            Err(error) => Err(format!(
                "the server opens no session: to initialize it answered {}, to server/discover {}",
                told(&refused),
                told(&error)
            )),
        }
    }

    /// Sends a request so that the session is complete before the chain begins: what was written before it has been read once it
    /// is answered. A server that does not answer is for the chain to judge.
    async fn settle(&mut self, method: &str, params: &Value) {
        let id = self.next_id;
        if self.ask(method, params, SETTLE).await.is_err() {
            // Nothing that is in flight is to explain the silence.
            let params = json!({ "requestId": id });
            _ = self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        }
    }

    async fn ask(&mut self, method: &str, params: &Value, limit: Duration) -> Result<Result<(), Value>, String> {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            request["params"] = params.clone();
        }
        self.say(&request).await?;
        let answer = timeout(limit, self.answer(id)).await;
        answer.unwrap_or_else(|_| Err(format!("no answer to {method} within {} s", limit.as_secs_f64())))
    }

    async fn answer(&mut self, id: u64) -> Result<Result<(), Value>, String> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = self.stream.read_until(b'\n', &mut line).await;
            if length.map_err(|error| error.to_string())? == 0 {
                return Err("the server could not be started; see the log above".to_owned());
            }
            let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
            // Questions and notifications of the server are not for a client that only opens the session.
            if message["id"] == id && message.get("method").is_none() {
                return Ok(message.get("error").map_or(Ok(()), |error| Err(error.clone())));
            }
        }
    }

    async fn say(&mut self, message: &Value) -> Result<(), String> {
        let written = self.stream.get_mut().write_all(format!("{message}\n").as_bytes()).await;
        written.map_err(|error| error.to_string())
    }
}

/// Whether the watchdog answered for a server that is not there.
fn is_ours(error: &Value) -> bool {
    error["data"]["source"] == "mcp-watchdog"
}

/// Why the watchdog answered for the server. What it says to a client that stays, that there will be another attempt, is not so here.
fn not_there(error: &Value) -> String {
    match error["data"]["lastError"].as_str() {
        Some(why) if error["data"]["code"] == "server_reconnecting" => format!("the server does not start: {why}"),
        _ => told(error),
    }
}

fn told(error: &Value) -> String {
    error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned)
}
