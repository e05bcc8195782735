//! The server of the demonstration: enough of MCP to be called, killed and hung. It keeps no files and starts no processes.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The revision that the handshake settles on.
pub(crate) const HANDSHAKE: &str = "2025-11-25";
/// The revision without a handshake.
const STATELESS: &str = "2026-07-28";
/// A call of `slow` cannot keep a server for longer, in milliseconds.
const LONGEST_NAP: u64 = 60_000;

/// Serves stdin and stdout until stdin ends.
///
/// # Errors
/// When one of the two fails.
pub(super) fn run() -> io::Result<()> {
    let mut server = Server::default();
    for line in io::stdin().lock().lines() {
        match server.step(&line?) {
            Step::Say(message) => say(&message)?,
            Step::SayAfter(nap, message) => say_after(nap, message)?,
            Step::Hang => hang(),
            Step::Nothing => {}
        }
    }
    Ok(())
}

fn say(message: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{message}\n").as_bytes())?;
    out.flush()
}

/// Says it on a thread of its own: a slow call must not make the server deaf.
fn say_after(nap: Duration, message: Value) -> io::Result<()> {
    note(&format!("slow: working for {nap:?}"));
    thread::Builder::new().spawn(move || {
        thread::sleep(nap);
        // Nobody is left to be told that stdout has gone.
        let _ = say(&message);
    })?;
    Ok(())
}

/// Reads no more and does not see the end of stdin either: only a signal ends it.
fn hang() -> ! {
    note("hang: reading no more");
    loop {
        thread::park();
    }
}

/// A line for the log, which the demonstration waits for.
fn note(text: &str) {
    // The log is not worth a failure.
    let _ = writeln!(io::stderr(), "{text}");
}

/// What a line leads to.
#[derive(Debug, PartialEq)]
enum Step {
    Say(Value),
    SayAfter(Duration, Value),
    Hang,
    Nothing,
}

/// The answer of a well server in an open session to one request, as a whole message.
#[cfg(feature = "plugins")]
pub(crate) fn answer_one(method: &str, params: &Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    match (Server { initialized: true }).step(&request.to_string()) {
        Step::Say(message) | Step::SayAfter(_, message) => message,
        Step::Hang | Step::Nothing => error(&json!(1), -32601, "not in this server"),
    }
}

/// What one process knows: nothing of it comes over a death.
#[derive(Debug, Default)]
struct Server {
    /// The handshake took place in this process.
    initialized: bool,
}

impl Server {
    fn step(&mut self, line: &str) -> Step {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            return Step::Say(error(&Value::Null, -32700, "not JSON"));
        };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return Step::Nothing;
        };
        let params = &message["params"];
        let stateless = params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let result = match method {
            "initialize" => {
                self.initialized = true;
                json!({ "protocolVersion": HANDSHAKE, "capabilities": { "tools": {} }, "serverInfo": information() })
            }
            "ping" => json!({}),
            "server/discover" => json!({
                "supportedVersions": [STATELESS, HANDSHAKE],
                "capabilities": { "tools": {} },
                "_meta": { "io.modelcontextprotocol/serverInfo": information() },
            }),
            _ if !(self.initialized || stateless) => return Step::Say(error(id, -32600, "no session in this process")),
            "tools/list" => json!({ "tools": tools() }),
            "tools/call" => return call(id, params, stateless),
            _ => return Step::Say(error(id, -32601, "no such method")),
        };
        Step::Say(answer(id, result, stateless))
    }
}

fn call(id: &Value, params: &Value, stateless: bool) -> Step {
    let arguments = &params["arguments"];
    let text = |text: String| {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        answer(id, result, stateless)
    };
    match params["name"].as_str() {
        Some("add") => match (arguments["a"].as_i64(), arguments["b"].as_i64()) {
            (Some(a), Some(b)) => Step::Say(text(i128::from(a).saturating_add(i128::from(b)).to_string())),
            _ => Step::Say(error(id, -32602, "add wants the integers a and b")),
        },
        Some("pid") => Step::Say(text(std::process::id().to_string())),
        Some("slow") => {
            let nap = Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default().min(LONGEST_NAP));
            Step::SayAfter(nap, text("done".into()))
        }
        Some("hang") => Step::Hang,
        _ => Step::Say(error(id, -32602, "no such tool")),
    }
}

fn information() -> Value {
    json!({ "name": "demo-server", "version": env!("CARGO_PKG_VERSION") })
}

fn tools() -> Value {
    let tool = |name: &str, description: &str, arguments: &[&str]| {
        let properties: serde_json::Map<_, _> =
            arguments.iter().map(|&name| (name.into(), json!({ "type": "integer" }))).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": arguments });
        json!({ "name": name, "description": description, "inputSchema": schema })
    };
    json!([
        tool("add", "Adds two numbers", &["a", "b"]),
        tool("pid", "Tells the number of the server's process", &[]),
        tool("slow", "Answers after so many milliseconds", &["ms"]),
        tool("hang", "Makes the server read no more", &[]),
    ])
}

fn answer(id: &Value, mut result: Value, stateless: bool) -> Value {
    if stateless {
        result["resultType"] = "complete".into();
        // Only discovery and lists may be cached, and elsewhere unknown keys do no harm.
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error(id: &Value, code: i32, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
}

#[cfg(test)]
mod tests;
