use super::*;

fn listed(keys: &[Key]) -> String {
    let line = |key: &Key| match key.holds {
        Holds::Scalar => key.path.clone(),
        Holds::List => format!("{} []", key.path),
        Holds::Map => format!("{} {{}}", key.path),
    };
    keys.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A key that appears, disappears or changes its kind is a change of the contract: of files, variables and `--set`.
#[test]
fn the_keys_of_a_server() {
    assert_eq!(
        listed(&server()),
        "\
command
args []
cwd
env {}
env_file
inherit_env
enabled
start
preset
tool_timeout
tool_timeouts {}
request_deadline
restart.delays []
restart.initial_delay
restart.multiplier
restart.max_delay
restart.max_attempts
restart.jitter
restart.min_uptime
restart.min_attempt_interval
restart.on_call
restart.hold
restart.hold_max_requests
restart.hold_max_bytes
restart.attempts_are_errors
handshake.timeout
handshake.replay
shutdown.drain
shutdown.eof_grace
shutdown.term_grace
probe.mode
probe.timeout
probe.total_timeout
probe.confirmations
probe.busy_grace
probe.busy_max
probe.on_failure
probe.chain []
health.interval
health.jitter
health.timeout
health.threshold
health.on_unhealthy
catalog.serve_stale
catalog.announce
catalog.on_permanent_failure
retry.tools
errors.tool_calls
limits.max_line
limits.stray_stdout
limits.memory_max
limits.open_files
limits.core
limits.max_lifetime
limits.memory
isolation
oom_score_adj
idle_stop
watch []
type
url
headers {}
keepalive.interval
keepalive.timeout
shared
sharing.client_capabilities
sharing.idle_shutdown
sharing.max_clients
listen []
disabled
envFile
healthProbe
max_retries
retry_base_delay
retry_max_delay"
    );
}

#[test]
fn the_keys_of_the_process() {
    assert_eq!(
        listed(&top()),
        "\
version
control.listen
control.health_listen
control.token_file
control.allow_remote
mgmt.inject
mgmt.tool_prefix
mgmt.allow_disable
events.stderr
events.file
events.format
events.ring
events.throttle.burst
events.throttle.every
events.rotate.max_size
events.rotate.keep
log.level
log.format
on_permanent_failure
ready.require
state_file
frontends []
events.throttle"
    );
}

#[test]
fn every_alias_stands_for_a_key() {
    let keys = server();
    for (_, key) in ALIASES {
        assert!(keys.iter().any(|known| known.path == key), "{key}");
    }
}

#[test]
fn no_key_means_two_things_in_a_variable() {
    let mut all: Vec<String> = server().into_iter().chain(top()).map(|key| key.path.to_lowercase()).collect();
    all.sort();
    let before = all.len();
    all.dedup();
    assert_eq!(all.len(), before);
}
