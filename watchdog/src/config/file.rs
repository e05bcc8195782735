//! What is written: the keys of a configuration file, one struct for each map. Every key may be left out.
//!
//! Aliases are not here: they are renamed in the tree before it is read, so that the layers agree about names.
//! No `flatten`, `untagged` or `tag`: with them serde loses the place of an error. No `Debug` either: it would show secrets.
#![expect(dead_code, reason = "some keys are read only so that their values are checked")]

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::{Above, FileLimit, LineLimit, MemoryLimit, OrOff, Size, SizeOrUnlimited};
use super::preset::Preset;
use super::text::{Attempts, Count, Factor, Fraction, OomScoreAdj, ToolPrefix, Written};
use super::words::{Announce, Dropped, Transport, Version};
use super::{
    ChainMode, ControlListen, EventForm, EventFormat, Isolation, Listen, LogFormat, LogLevel, OnCall,
    OnPermanentFailure, OnProbeFailure, OnUnhealthy, Require, RetryTools, Start, StrayStdout, TcpAddress, ToolErrors,
};

mod link;

pub(crate) use link::Link;

type Text = Option<Written<String>>;
type Switch = Option<Written<bool>>;

/// The keys of the file that are not a server's.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Top {
    pub(crate) version: Option<Written<Version>>,
    pub(crate) control: Option<Control>,
    pub(crate) mgmt: Option<Management>,
    pub(crate) events: Option<Events>,
    pub(crate) log: Option<Log>,
    pub(crate) on_permanent_failure: Option<Written<OnPermanentFailure>>,
    pub(crate) ready: Option<Ready>,
    pub(crate) state_file: Text,
    pub(crate) frontends: Option<Vec<Frontend>>,
    pub(crate) defaults: Option<Server>,
    pub(crate) servers: Option<BTreeMap<String, Option<Server>>>,
}

/// `control`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    pub(crate) listen: Option<Written<ControlListen>>,
    pub(crate) health_listen: Option<Written<TcpAddress>>,
    pub(crate) token_file: Text,
    pub(crate) allow_remote: Switch,
}

/// `mgmt`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Management {
    pub(crate) inject: Switch,
    pub(crate) tool_prefix: Option<Written<ToolPrefix>>,
    pub(crate) allow_disable: Switch,
}

/// `events`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Events {
    pub(crate) stderr: Option<Written<EventForm>>,
    pub(crate) file: Text,
    pub(crate) format: Option<Written<EventFormat>>,
    pub(crate) ring: Option<Written<Count>>,
    pub(crate) throttle: Option<Throttle>,
    pub(crate) rotate: Option<Rotate>,
}

/// `events.throttle`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Throttle {
    pub(crate) burst: Option<Written<Attempts>>,
    pub(crate) every: Option<Written<Above>>,
}

/// `events.rotate`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rotate {
    pub(crate) max_size: Option<Written<FileLimit>>,
    pub(crate) keep: Option<Written<usize>>,
}

/// `ready`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ready {
    pub(crate) require: Option<Written<Require>>,
}

/// `log`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: Option<Written<LogLevel>>,
    pub(crate) format: Option<Written<LogFormat>>,
}

/// One of `frontends`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Frontend {
    pub(crate) listen: Text,
    pub(crate) keepalive: Option<KeepAlive>,
}

/// `keepalive`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeepAlive {
    pub(crate) interval: Option<Written<OrOff>>,
    pub(crate) timeout: Option<Written<Above>>,
}

/// One of `servers`, and `defaults`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    pub(crate) command: Text,
    pub(crate) args: Option<Vec<Written<String>>>,
    pub(crate) cwd: Text,
    pub(crate) env: Option<BTreeMap<String, Text>>,
    pub(crate) env_file: Text,
    pub(crate) inherit_env: Switch,
    pub(crate) enabled: Switch,
    pub(crate) start: Option<Written<Start>>,
    pub(crate) preset: Option<Written<Preset>>,
    pub(crate) tool_timeout: Option<Written<Above>>,
    pub(crate) tool_timeouts: Option<BTreeMap<String, Option<Written<Above>>>>,
    pub(crate) request_deadline: Option<Written<OrOff>>,
    pub(crate) restart: Option<Restart>,
    pub(crate) handshake: Option<Handshake>,
    pub(crate) shutdown: Option<Shutdown>,
    pub(crate) probe: Option<Probe>,
    pub(crate) health: Option<Health>,
    pub(crate) catalog: Option<Catalog>,
    pub(crate) retry: Option<Retry>,
    pub(crate) errors: Option<Errors>,
    pub(crate) limits: Option<Limits>,
    pub(crate) isolation: Option<Written<Isolation>>,
    pub(crate) oom_score_adj: Option<Written<OomScoreAdj>>,
    pub(crate) idle_stop: Option<Written<OrOff>>,
    pub(crate) watch: Option<Vec<Written<String>>>,
    #[serde(rename = "type")]
    pub(crate) transport: Option<Written<Transport>>,
    pub(crate) url: Text,
    pub(crate) headers: Option<BTreeMap<String, Text>>,
    pub(crate) keepalive: Option<KeepAlive>,
    pub(crate) shared: Switch,
    pub(crate) sharing: Option<Sharing>,
    pub(crate) listen: Option<Vec<Written<Listen>>>,
}

/// `restart`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Restart {
    pub(crate) delays: Option<Vec<Written<Duration>>>,
    pub(crate) initial_delay: Option<Written<Duration>>,
    pub(crate) multiplier: Option<Written<Factor>>,
    pub(crate) max_delay: Option<Written<Duration>>,
    pub(crate) max_attempts: Option<Written<Attempts>>,
    pub(crate) jitter: Option<Written<Fraction>>,
    pub(crate) min_uptime: Option<Written<Duration>>,
    pub(crate) min_attempt_interval: Option<Written<Duration>>,
    pub(crate) on_call: Option<Written<OnCall>>,
    pub(crate) hold: Option<Written<Duration>>,
    pub(crate) hold_max_requests: Option<Written<usize>>,
    pub(crate) hold_max_bytes: Option<Written<Size>>,
    pub(crate) attempts_are_errors: Switch,
}

/// `handshake`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Handshake {
    pub(crate) timeout: Option<Written<Above>>,
    pub(crate) replay: Switch,
}

/// `shutdown`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shutdown {
    pub(crate) drain: Option<Written<Duration>>,
    pub(crate) eof_grace: Option<Written<Duration>>,
    pub(crate) term_grace: Option<Written<Duration>>,
}

/// `probe`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probe {
    pub(crate) mode: Option<Written<ChainMode>>,
    pub(crate) timeout: Option<Written<Above>>,
    pub(crate) total_timeout: Option<Written<Above>>,
    pub(crate) confirmations: Option<Written<Count>>,
    pub(crate) busy_grace: Option<Written<Duration>>,
    pub(crate) busy_max: Option<Written<Duration>>,
    pub(crate) on_failure: Option<Written<OnProbeFailure>>,
    pub(crate) chain: Option<Vec<Link>>,
}

/// `health`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Health {
    pub(crate) interval: Option<Written<OrOff>>,
    pub(crate) jitter: Option<Written<Fraction>>,
    pub(crate) timeout: Option<Written<Above>>,
    pub(crate) threshold: Option<Written<Count>>,
    pub(crate) on_unhealthy: Option<Written<OnUnhealthy>>,
}

/// `catalog`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalog {
    pub(crate) serve_stale: Switch,
    pub(crate) announce: Option<Written<Announce>>,
    pub(crate) on_permanent_failure: Option<Written<Dropped>>,
}

/// `retry`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Retry {
    pub(crate) tools: Option<Written<RetryTools>>,
}

/// `errors`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Errors {
    pub(crate) tool_calls: Option<Written<ToolErrors>>,
}

/// `limits`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) max_line: Option<Written<LineLimit>>,
    pub(crate) stray_stdout: Option<Written<StrayStdout>>,
    pub(crate) memory_max: Option<Written<SizeOrUnlimited>>,
    pub(crate) open_files: Option<Written<Count>>,
    pub(crate) core: Option<Written<SizeOrUnlimited>>,
    pub(crate) max_lifetime: Option<Written<OrOff>>,
    pub(crate) memory: Option<Written<MemoryLimit>>,
}

/// `sharing`
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sharing {
    pub(crate) client_capabilities: Text,
    pub(crate) idle_shutdown: Option<Written<OrOff>>,
    pub(crate) max_clients: Option<Written<Count>>,
}
