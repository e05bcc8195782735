//! What the tests of the core share: a configuration to start from, a base for virtual time, and lines to read and write, and
//! a world for whole scenarios.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;

use super::ids::Generation;
use super::ledger::Request;
use super::slot::{Effect, Slot, keep_given};
use crate::config::{
    Bounds, Catalog, ChainMode, Command, Delays, Errors, Handshake, Health, Limits, Link, OnCall, OnProbeFailure,
    OnUnhealthy, Probe, Restart, Retry, RetryTools, Server, Shutdown, Start, StrayStdout, ToolErrors,
};
use crate::wire::framed::Framed;
use crate::wire::head::Method;
use crate::wire::id::{Id, IdKey};

mod lines;
#[cfg(test)]
mod model;
mod script;
mod world;

pub(crate) use lines::{
    INITIALIZE, INITIALIZED, acknowledged, answer_line, call_line, cancel_line, ids, raw_id, stateless,
};
#[cfg(test)]
pub(crate) use model::model;
pub(crate) use script::Script;
pub(crate) use world::World;

impl Slot {
    /// [`Slot::client_line`] for who does not have the line when it carries out what comes of it.
    pub(crate) fn client_told(&mut self, now: Instant, line: impl Into<Bytes>, out: &mut Vec<Effect>) {
        let (line, before) = (line.into(), out.len());
        self.client_line(now, &Framed::from(&line), out);
        keep_given(&mut out[before..], &Framed::from(&line));
    }

    /// The same of [`Slot::server_line`].
    pub(crate) fn server_told(
        &mut self,
        now: Instant,
        from: Generation,
        line: impl Into<Bytes>,
        out: &mut Vec<Effect>,
    ) {
        let (line, before) = (line.into(), out.len());
        self.server_line(now, from, &Framed::from(&line), out);
        keep_given(&mut out[before..], &Framed::from(&line));
    }
}

/// The instant from which a test counts. Which one it is does not matter, and no test asks the clock again.
pub(crate) fn base() -> Instant {
    static BASE: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The built-in values and the default preset, without jitter and without periodic checks, so that nothing happens at a
/// time that a test does not name.
pub(crate) fn server() -> Server {
    Server {
        name: "files".to_owned(),
        command: Command {
            program: "server".into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            bounds: Bounds::default(),
        },
        enabled: true,
        listen: Vec::new(),
        start: Start::Eager,
        tool_timeout: secs(40),
        tool_timeouts: BTreeMap::new(),
        request_deadline: None,
        restart: restart(),
        handshake: Handshake { timeout: secs(30), replay: true },
        shutdown: Shutdown { drain: secs(5), eof_grace: millis(1500), term_grace: millis(1500) },
        probe: probe(),
        health: Health {
            interval: None,
            jitter: 0.0,
            timeout: secs(60),
            threshold: 3,
            on_unhealthy: OnUnhealthy::Warn,
        },
        catalog: Catalog { serve_stale: true, announce: true, keep_on_permanent_failure: true },
        retry: Retry { tools: RetryTools::Never },
        errors: Errors { tool_calls: ToolErrors::Jsonrpc },
        limits: Limits { max_line: 64 << 20, stray_stdout: StrayStdout::Log, max_lifetime: None, memory: None },
        idle_stop: None,
        watch: Vec::new(),
    }
}

fn restart() -> Restart {
    Restart {
        delays: Delays::Schedule([0, 1, 2, 5, 10, 30, 60].map(secs).to_vec()),
        max_attempts: None,
        jitter: 0.0,
        min_uptime: secs(10),
        min_attempt_interval: secs(1),
        on_call: OnCall::Attempt,
        hold: secs(10),
        hold_max_requests: 64,
        hold_max_bytes: 1 << 20,
        attempts_are_errors: true,
    }
}

fn probe() -> Probe {
    let link = |kind: &str| Link::new(kind, Value::Null);
    Probe {
        mode: ChainMode::Any,
        timeout: secs(3),
        total_timeout: secs(10),
        confirmations: 1,
        busy_grace: secs(60),
        busy_max: secs(600),
        on_failure: OnProbeFailure::Restart,
        chain: vec![link("ping"), link("tools_list")],
    }
}

/// An id, from its JSON text.
pub(crate) fn id(raw: &str) -> Id {
    Id::parse(raw.as_bytes()).unwrap_or_else(|| panic!("{raw} is no id"))
}

/// The value of an id, from its JSON text.
pub(crate) fn key(raw: &str) -> IdKey {
    id(raw).key
}

/// A tool call of the client, which came at the base of time and is suspect 40 s later.
pub(crate) fn call(seq: u64, raw_id: &str) -> Request {
    Request {
        seq,
        tag: seq,
        id: id(raw_id),
        method: Method::ToolsCall,
        name: Some(b"tool"[..].into()),
        task: false,
        stateless: false,
        since: base(),
        patience: Some(secs(40)),
        suspect_at: Some(base() + secs(40)),
        reported: false,
        busy_since: None,
        deadline_at: None,
        read_only: false,
        repeatable: false,
        repeated: false,
        sent: false,
        token: None,
        details: None,
    }
}

/// A line as a value.
pub(crate) fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Checks that a line is the watchdog's own error with this id and code, and gives its `data`.
#[track_caller]
pub(crate) fn refused(line: &str, id: &str, code: i64) -> Value {
    let mut message = value(line);
    assert!(line.contains(&format!("\"id\":{id},")), "the id {id} as it was spelled: {line}");
    assert_eq!(message["error"]["code"], code, "{line}");
    let data = message["error"]["data"].take();
    let always = ["source", "code", "server", "state", "status", "generation", "sent", "retryable", "reason"];
    for member in always {
        assert!(!data[member].is_null(), "data.{member} is always there: {line}");
    }
    assert_eq!(data["source"], "mcp-watchdog");
    data
}
