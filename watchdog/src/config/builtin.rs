//! The values that hold when nothing is written, in the form in which they would be written.
//!
//! The values that differ between presets stand in `preset.rs`, also those of the default preset.

/// A server's section.
pub(super) const SERVER: &str = "
inherit_env: true
enabled: true
start: eager
preset: relentless
# The usual client gives up after 60 s; a verdict is due before that.
tool_timeout: 40s
tool_timeouts: {}
request_deadline: off
restart:
  # A server that answers the handshake and then dies must not loop without delay.
  min_uptime: 10s
  min_attempt_interval: 1s
  hold: 10s
  hold_max_requests: 64
  hold_max_bytes: 1MiB
handshake: {timeout: 30s, replay: true}
# A client waits 2 s after it closed stdin, and as long again after TERM; the whole tree must be gone before it kills us.
shutdown: {drain: 5s, eof_grace: 1s, term_grace: 500ms}
probe:
  mode: any
  timeout: 3s
  total_timeout: 10s
  confirmations: 1
  busy_grace: 60s
  busy_max: 10m
  chain: [{type: ping}, {type: tools_list}]
health: {jitter: 0.1, timeout: 60s, threshold: 3, on_unhealthy: warn}
catalog: {serve_stale: true, announce: auto, on_permanent_failure: keep}
retry: {tools: never}
errors: {tool_calls: jsonrpc}
limits:
  max_line: 64MiB
  stray_stdout: log
  memory_max: unlimited
  core: 0
  max_lifetime: never
  memory: unlimited
isolation: guard
idle_stop: never
watch: []
";

/// The other keys.
pub(super) const TOP: &str = "
control: {listen: auto, allow_remote: false}
mgmt: {inject: false, tool_prefix: mcp_watchdog_, allow_disable: false}
# A row of attempts is told ten times, then four times an hour: 10 and about 96 a day instead of 1,440.
events: {stderr: text, format: jsonl, ring: 1024, throttle: {burst: 10, every: 15m}, rotate: {max_size: 10MiB, keep: 5}}
ready: {require: any}
log: {level: info, format: text}
on_permanent_failure: stay
";

/// What growing delays are where only some of their keys are written.
pub(super) const GROWING: &str = "restart: {initial_delay: 1s, multiplier: 2, max_delay: 60s}";
