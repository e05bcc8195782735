//! The server of all measurements: one tool, which gives its text back. The same process stands behind every proxy.

use std::io::{self, IoSlice, Write};

use serde_json::{Value, json};

use crate::lines::Lines;
use crate::message::{ANSWER, CALL, take, write_all};
use crate::relay::standard_streams;

/// Serves until its stdin ends.
///
/// # Errors
/// What reading and writing say.
pub(crate) fn run() -> io::Result<()> {
    let (stdin, mut stdout) = standard_streams()?;
    let mut lines = Lines::new(stdin);
    loop {
        match lines.next() {
            Ok(line) => answer(line, &mut stdout)?,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Answers a line, each with one write, as the servers of the SDKs do.
fn answer(line: &[u8], sink: &mut impl Write) -> io::Result<()> {
    if let Some((id, text)) = take(line, CALL) {
        let [begin, middle, end] = ANSWER.map(str::as_bytes);
        return write_all(sink, &mut [begin, id, middle, text, end, b"\n"].map(IoSlice::new));
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(message) if message.get("id").is_some() && message.get("method").is_some() => {
            let mut answer = json!({"jsonrpc": "2.0", "id": message["id"]});
            match result(&message) {
                Some(result) => answer["result"] = result,
                None => answer["error"] = json!({"code": -32601, "message": "Method not found"}),
            }
            sink.write_all(format!("{answer}\n").as_bytes())
        }
        _ => Ok(()),
    }
}

/// The same for who spells its calls in another way, and for all that is no call.
fn result(message: &Value) -> Option<Value> {
    let params = &message["params"];
    Some(match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": env!("CARGO_PKG_VERSION")},
        }),
        "ping" => json!({}),
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]});
            json!({"tools": [{"name": "echo", "description": "Gives its text back", "inputSchema": schema}]})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": params["arguments"]["s"]}]}),
        _ => return None,
    })
}
