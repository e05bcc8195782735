//! The server under the watchdog: answers at once, in both eras, and dies as it is told.

use std::fs;
use std::io::{self, BufRead, Write};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

/// The first argument that makes this binary the server.
pub(crate) const ROLE: &str = "server";

/// Serves its stdin and stdout until they close.
pub(crate) fn run() -> ExitCode {
    // Who is to be killed finds the number here.
    let place = std::env::args().nth(2).unwrap_or_default();
    if fs::write(&place, std::process::id().to_string()).is_err() {
        return ExitCode::from(74);
    }
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) else {
            continue;
        };
        let Some(result) = answer(method, &message["params"], &mut out) else { continue };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn answer(method: &str, params: &Value, out: &mut impl Write) -> Option<Value> {
    let info = json!({ "name": "soak", "version": "1" });
    let capabilities = json!({ "tools": {} });
    let result = match method {
        "initialize" => {
            json!({ "protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": info })
        }
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": info,
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        }),
        "ping" => json!({}),
        "tools/list" => json!({
            "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }],
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        }),
        "tools/call" => {
            act(params["arguments"]["do"].as_str().unwrap_or_default(), out)?;
            json!({ "content": [{ "type": "text", "text": params["arguments"]["text"] }], "resultType": "complete" })
        }
        _ => json!({}),
    };
    Some(result)
}

/// What a call asks for beside its answer; `None` is no answer.
#[expect(clippy::exit, reason = "it is what was asked for")]
fn act(what: &str, out: &mut impl Write) -> Option<()> {
    match what {
        "exit-0" => std::process::exit(0),
        "exit-1" => std::process::exit(1),
        "half-a-line" => {
            _ = out.write_all(br#"{"jsonrpc":"2.0","id":1,"resu"#).and_then(|()| out.flush());
            std::process::exit(0);
        }
        "hang" => std::thread::sleep(std::time::Duration::from_secs(3600)),
        "silence" => return None,
        "orphan" => {
            // It leaves the session and the group, and holds nothing of ours.
            let mut orphan = Command::new("setsid");
            orphan.args(["--fork", "sleep", "3600"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            _ = orphan.status();
        }
        _ => {}
    }
    Some(())
}
