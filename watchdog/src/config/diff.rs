//! What a reload changes: two settled configurations, compared value by value.
//!
//! Settled ones, so that `60s` for `1m` is no change, and another value behind `${VAR}` is one. The structs are taken apart
//! field by field, so that a field that is forgotten here does not compile.

use super::{
    Bounds, Catalog, Command, Config, Control, Errors, EventFile, Events, Handshake, Health, Limits, Log, Management,
    Probe, Ready, Restart, Retry, Server, Shutdown,
};

/// Everything that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The servers that are gone, then those that are new or changed, in the order of the new configuration.
    pub servers: Vec<Change>,
    /// Keys of the process, which only a new process takes: they are about what is opened and promised at the start.
    pub restart: Vec<&'static str>,
}

impl Difference {
    /// Whether nothing differs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.restart.is_empty()
    }
}

/// What becomes of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added(String),
    /// It is gone.
    Removed(String),
    /// It has other values.
    Changed {
        /// Which server.
        name: String,
        /// Whether a running process was started in another way than the next one would be.
        spawn_relevant: bool,
        /// The keys with other values. `env` stands for everything that makes the environment.
        keys: Vec<&'static str>,
    },
}

/// The keys that say how a process is started.
const SPAWN: [&str; 9] = [
    "command",
    "args",
    "cwd",
    "env",
    "isolation",
    "limits.memory_max",
    "limits.open_files",
    "limits.core",
    "oom_score_adj",
];

/// What it takes to get from one configuration to another.
#[must_use]
pub fn diff(old: &Config, new: &Config) -> Difference {
    Difference { servers: servers(&old.servers, &new.servers), restart: process(old, new) }
}

fn servers(old: &[Server], new: &[Server]) -> Vec<Change> {
    let find = |among: &[Server], name: &str| among.iter().position(|server| server.name == name);
    let removed = old.iter().filter(|server| find(new, &server.name).is_none());
    let mut changes: Vec<Change> = removed.map(|server| Change::Removed(server.name.clone())).collect();
    for server in new {
        let name = server.name.clone();
        let Some(before) = find(old, &name).map(|at| &old[at]) else {
            changes.push(Change::Added(name));
            continue;
        };
        let keys = self::server(before, server);
        if !keys.is_empty() {
            let spawn_relevant = keys.iter().any(|key| SPAWN.contains(key));
            changes.push(Change::Changed { name, spawn_relevant, keys });
        }
    }
    changes
}

/// Adds the key of each field that differs. The fields behind `in` are left to other lines.
macro_rules! compare {
    ($keys:ident, $old:expr, $new:expr, $type:ident {
        $($field:ident: $key:literal),* $(,)? $(; in $($inner:ident),+)?
    }) => {{
        let ($type { $($field: _,)* $($($inner: _,)+)? }, $type { .. }) = (&$old, &$new);
        $(if $old.$field != $new.$field {
            $keys.push($key);
        })*
    }};
}

fn server(old: &Server, new: &Server) -> Vec<&'static str> {
    let mut keys = Vec::new();
    compare!(keys, old.command, new.command, Command {
        program: "command", args: "args", cwd: "cwd", env: "env"; in bounds
    });
    compare!(
        keys,
        old.command.bounds,
        new.command.bounds,
        Bounds {
            isolation: "isolation",
            memory_max: "limits.memory_max",
            open_files: "limits.open_files",
            core: "limits.core",
            oom_score_adj: "oom_score_adj",
        }
    );
    compare!(keys, *old, *new, Server {
        enabled: "enabled",
        start: "start",
        listen: "listen",
        tool_timeout: "tool_timeout",
        tool_timeouts: "tool_timeouts",
        request_deadline: "request_deadline",
        idle_stop: "idle_stop",
        watch: "watch";
        in name, command, restart, handshake, shutdown, probe, health, catalog, retry, errors, limits
    });
    compare!(
        keys,
        old.restart,
        new.restart,
        Restart {
            delays: "restart.delays",
            max_attempts: "restart.max_attempts",
            jitter: "restart.jitter",
            min_uptime: "restart.min_uptime",
            min_attempt_interval: "restart.min_attempt_interval",
            on_call: "restart.on_call",
            hold: "restart.hold",
            hold_max_requests: "restart.hold_max_requests",
            hold_max_bytes: "restart.hold_max_bytes",
            attempts_are_errors: "restart.attempts_are_errors",
        }
    );
    compare!(
        keys,
        old.handshake,
        new.handshake,
        Handshake { timeout: "handshake.timeout", replay: "handshake.replay" }
    );
    compare!(
        keys,
        old.shutdown,
        new.shutdown,
        Shutdown { drain: "shutdown.drain", eof_grace: "shutdown.eof_grace", term_grace: "shutdown.term_grace" }
    );
    compare!(
        keys,
        old.probe,
        new.probe,
        Probe {
            mode: "probe.mode",
            timeout: "probe.timeout",
            total_timeout: "probe.total_timeout",
            confirmations: "probe.confirmations",
            busy_grace: "probe.busy_grace",
            busy_max: "probe.busy_max",
            on_failure: "probe.on_failure",
            chain: "probe.chain",
        }
    );
    compare!(
        keys,
        old.health,
        new.health,
        Health {
            interval: "health.interval",
            jitter: "health.jitter",
            timeout: "health.timeout",
            threshold: "health.threshold",
            on_unhealthy: "health.on_unhealthy",
        }
    );
    compare!(
        keys,
        old.catalog,
        new.catalog,
        Catalog {
            serve_stale: "catalog.serve_stale",
            announce: "catalog.announce",
            keep_on_permanent_failure: "catalog.on_permanent_failure",
        }
    );
    compare!(keys, old.retry, new.retry, Retry { tools: "retry.tools" });
    compare!(keys, old.errors, new.errors, Errors { tool_calls: "errors.tool_calls" });
    compare!(
        keys,
        old.limits,
        new.limits,
        Limits {
            max_line: "limits.max_line",
            stray_stdout: "limits.stray_stdout",
            max_lifetime: "limits.max_lifetime",
            memory: "limits.memory",
        }
    );
    keys
}

fn process(old: &Config, new: &Config) -> Vec<&'static str> {
    let mut keys = Vec::new();
    compare!(
        keys,
        old.control,
        new.control,
        Control {
            listen: "control.listen",
            health_listen: "control.health_listen",
            token: "control.token_file",
            allow_remote: "control.allow_remote",
        }
    );
    compare!(
        keys,
        old.mgmt,
        new.mgmt,
        Management { inject: "mgmt.inject", tool_prefix: "mgmt.tool_prefix", allow_disable: "mgmt.allow_disable" }
    );
    compare!(keys, old.events, new.events, Events {
        stderr: "events.stderr",
        format: "events.format",
        ring: "events.ring",
        throttle: "events.throttle";
        in file
    });
    event_file(old, new, &mut keys);
    compare!(keys, old.log, new.log, Log { level: "log.level", format: "log.format" });
    compare!(keys, old.ready, new.ready, Ready { require: "ready.require" });
    compare!(keys, *old, *new, Config {
        on_permanent_failure: "on_permanent_failure",
        state_file: "state_file";
        in servers, ready, events, log, control, mgmt
    });
    keys
}

/// How it is rotated matters only where there is one.
fn event_file(old: &Config, new: &Config, keys: &mut Vec<&'static str>) {
    let (old, new) = (&old.events.file, &new.events.file);
    match (old, new) {
        (Some(old), Some(new)) => compare!(
            keys,
            *old,
            *new,
            EventFile { path: "events.file", max_size: "events.rotate.max_size", keep: "events.rotate.keep" }
        ),
        (None, None) => {}
        _ => keys.push("events.file"),
    }
}

#[cfg(test)]
mod tests;
