//! What the lives of the fixture tell: the other end of `MCP_FIXTURE_EVENTS`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::state::Shared;

/// Something that a life told.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When it was heard.
    pub at: Instant,
    /// The life, from 1.
    pub life: u64,
    /// The process that told it: the server, or a child of its.
    pub pid: u32,
    /// What.
    pub what: What,
}

/// What a life can tell.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The server began.
    Start,
    /// A child of the server began; its kind.
    Child(String),
    /// It read a line.
    Read(String),
    /// It wrote a line.
    Wrote(String),
    /// Anything else.
    Event(String),
    /// The process ended.
    Gone,
}

/// Listens for as long as the test process lives; there is no end to wait for.
pub(crate) fn listen(listener: UnixListener, shared: Arc<Shared>) {
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let shared = Arc::clone(&shared);
            thread::spawn(move || hear(connection, &shared));
        }
    });
}

fn hear(connection: UnixStream, shared: &Shared) {
    let mut last = None;
    for line in BufReader::new(&connection).lines().map_while(Result::ok) {
        if let Some(entry) = parse(&line) {
            last = Some((entry.life, entry.pid));
            shared.update(|state| state.entries.push(entry));
        }
        // The fixture goes on only now: what it does next cannot be seen before this is known.
        if (&connection).write_all(b"+").is_err() {
            break;
        }
    }
    if let Some((life, pid)) = last {
        shared.update(|state| state.entries.push(Entry { at: Instant::now(), life, pid, what: What::Gone }));
    }
}

fn parse(line: &str) -> Option<Entry> {
    let entry: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let what = match entry["kind"].as_str()? {
        "start" => What::Start,
        "child" => What::Child(text("role")),
        "in" => What::Read(text("line")),
        "out" => What::Wrote(text("line")),
        _ => What::Event(text("text")),
    };
    let pid = u32::try_from(entry["pid"].as_u64()?).ok()?;
    Some(Entry { at: Instant::now(), life: entry["life"].as_u64()?, pid, what })
}
