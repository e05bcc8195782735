//! Which layer wins.

use super::*;
use crate::config::{
    ControlListen, Delays, EventForm, LogLevel, OnCall, OnPermanentFailure, OnProbeFailure, OnUnhealthy, Start,
};

fn exponential(initial: u64, max: u64) -> Delays {
    Delays::Exponential { initial: secs(initial), multiplier: 2.0, max: secs(max) }
}

fn schedule(delays: &[u64]) -> Delays {
    Delays::Schedule(delays.iter().map(|delay| secs(*delay)).collect())
}

#[test]
fn nothing_written_means_the_defaults() {
    let config = Case::command().ok().config;
    let server = config.only().clone();
    assert_eq!((server.name.as_str(), server.enabled, server.start), ("fake-server", true, Start::Eager));
    assert_eq!((server.tool_timeout, server.request_deadline), (secs(40), None));
    let shutdown = server.shutdown;
    assert_eq!(
        (shutdown.drain.as_millis(), shutdown.eof_grace.as_millis(), shutdown.term_grace.as_millis()),
        (5000, 1000, 500)
    );
    assert_eq!((server.handshake.timeout, server.handshake.replay), (secs(30), true));
    assert_eq!(
        (server.restart.hold, server.restart.hold_max_requests, server.restart.hold_max_bytes),
        (secs(10), 64, 1 << 20)
    );
    let probe = server.probe;
    assert_eq!((probe.timeout, probe.total_timeout, probe.confirmations), (secs(3), secs(10), 1));
    assert_eq!((probe.busy_grace, probe.busy_max), (secs(60), secs(600)));
    assert_eq!(probe.chain.iter().map(|link| link.kind.as_str()).collect::<Vec<_>>(), ["ping", "tools_list"]);
    assert!(server.catalog.serve_stale && server.catalog.announce && server.catalog.keep_on_permanent_failure);
    assert_eq!(server.limits.max_line, 64 << 20);
    assert_eq!((config.on_permanent_failure, config.log.level), (OnPermanentFailure::Stay, LogLevel::Info));
    assert_eq!(config.events.stderr, EventForm::Text);
    assert_eq!(config.control.listen, ControlListen::Auto);
}

/// Each layer is laid over all those before it.
#[test]
fn later_layers_win() {
    let text = "defaults: {restart: {max_attempts: 2}}\nservers: {fs: {command: a, restart: {max_attempts: 3}}}\n";
    let attempts = |case: &Case| case.server().restart.max_attempts;
    let case = Case::file("servers: {fs: {command: a, preset: bounded}}");
    assert_eq!(attempts(&case), Some(5), "the preset");
    let case = Case::file("defaults: {preset: bounded, restart: {max_attempts: 2}}\nservers: {fs: {command: a}}");
    assert_eq!(attempts(&case), Some(2), "the file's defaults");
    let case = Case::file(text);
    assert_eq!(attempts(&case), Some(3), "the file's server");
    let case = case.env("CONNECTION_RETRY_ATTEMPTS", "4");
    assert_eq!(attempts(&case), Some(4), "CONNECTION_*");
    let case = case.env("MCP_WATCHDOG_RESTART__MAX_ATTEMPTS", "6");
    assert_eq!(attempts(&case), Some(6), "MCP_WATCHDOG_*");
    let case = case.env("MCP_WATCHDOG_SERVERS__FS__RESTART__MAX_ATTEMPTS", "7");
    assert_eq!(attempts(&case), Some(7), "a variable for this one server");
    let case = case.set("restart.max_attempts=8");
    assert_eq!(attempts(&case), Some(8), "an option");
    let case = case.option("--max-attempts", "restart.max_attempts", "9");
    assert_eq!(attempts(&case), Some(9), "a later option");
    let case = case.set("restart.max_attempts=unlimited");
    assert_eq!(attempts(&case), None, "and a later one still");
}

/// ACC-23.
#[test]
fn an_option_wins_over_a_variable() {
    let case = Case::command().env("MCP_WATCHDOG_RESTART__HOLD", "30s");
    assert_eq!(case.server().restart.hold, secs(30));
    assert_eq!(case.option("--hold", "restart.hold", "1s").server().restart.hold, secs(1));
}

#[test]
fn a_layer_changes_only_what_it_writes() {
    let case = Case::file(
        "defaults: {env: {A: x, B: y}, probe: {timeout: 1s}}\n\
         servers: {fs: {command: a, env: {B: z}, probe: {mode: all}, tool_timeouts: {t: 1m}}}",
    );
    let server = case.set("tool_timeouts.u.v=2m").set("env.C=w=1").server();
    let env: Vec<_> = server.command.env.iter().map(|(k, v)| format!("{}={}", k.display(), v.display())).collect();
    assert_eq!(env, ["A=x", "B=z", "C=w=1"]);
    assert_eq!(server.probe.timeout, secs(1));
    assert_eq!(server.tool_timeouts.get("t"), Some(&secs(60)));
    assert_eq!(server.tool_timeouts.get("u.v"), Some(&secs(120)), "behind a map the rest is one name");
}

#[test]
fn null_leaves_what_is_below() {
    let text = "defaults: {cwd: /tmp, tool_timeout: 5s}\nservers: {fs: {command: a, cwd: null, tool_timeout: }}";
    let server = Case::file(text).server();
    assert_eq!((server.command.cwd, server.tool_timeout), (Some("/tmp".into()), secs(5)));
}

#[test]
fn the_highest_preset_counts_and_any_key_overrides_it() {
    let case =
        Case::file("defaults: {preset: private}\nservers: {fs: {command: a, preset: bounded, health: {threshold: 9}}}");
    let server = case.server();
    assert_eq!(server.probe.on_failure, OnProbeFailure::Count);
    assert_eq!((server.health.threshold, server.health.on_unhealthy), (9, OnUnhealthy::Restart));
    let server = case.option("--preset", "preset", "network").server();
    assert_eq!((server.health.threshold, server.restart.on_call), (9, OnCall::Wait));
}

#[test]
fn a_schedule_and_growing_delays_displace_each_other() {
    let case = Case::command().set("restart.initial_delay=2s");
    assert_eq!(case.server().restart.delays, exponential(2, 60));
    let case = case.set("restart.delays=[3s, 4]");
    assert_eq!(case.server().restart.delays, schedule(&[3, 4]));
    let case = case.option("--restart-delays", "restart.delays", "0s, 1,2m");
    assert_eq!(case.server().restart.delays, schedule(&[0, 1, 120]));
    let case = case.set("restart.max_delay=5s");
    assert_eq!(case.server().restart.delays, exponential(1, 5));
    let case = Case::command().set("restart.initial_delay=2m");
    assert_eq!(case.server().restart.delays, exponential(120, 120), "a maximum that nobody wrote gives way");
}

#[test]
fn aliases() {
    let case = Case::file(
        "servers: {fs: {command: a, disabled: true, healthProbe: listTools, max_retries: 3, retry_base_delay: 500ms, \
         retry_max_delay: 10s, x-note: anything}}\nx-common: {a: b}",
    );
    let server = case.server();
    assert!(!server.enabled);
    assert_eq!(server.probe.chain.iter().map(|link| link.kind.as_str()).collect::<Vec<_>>(), ["tools_list"]);
    assert_eq!(server.restart.max_attempts, Some(3));
    let delays = Delays::Exponential { initial: secs(1) / 2, multiplier: 2.0, max: secs(10) };
    assert_eq!(server.restart.delays, delays);
    let server = case.set("enabled=true").env("MCP_WATCHDOG_MAX_RETRIES", "4").server();
    assert!(server.enabled, "an alias and its key are one in all layers");
    assert_eq!(server.restart.max_attempts, Some(4));
}

#[test]
fn anchors_and_merge_keys() {
    let text = "x-base: &base {command: a, restart: {hold: 3s}, tool_timeout: 7s}\nservers:\n  fs:\n    <<: *base\n    tool_timeout: 9s\n";
    let server = Case::file(text).server();
    assert_eq!((server.restart.hold, server.tool_timeout), (secs(3), secs(9)));
}

#[test]
fn links_keep_their_own_options() {
    let case = Case::command().set("probe.chain=[{type: ping, timeout: 1s, deep: {n: 1, s: '1'}}]");
    let [link] = &case.server().probe.chain[..] else { panic!("one link") };
    assert_eq!(link.timeout, Some(secs(1)));
    assert_eq!(link.options, serde_json::json!({"deep": {"n": 1, "s": "1"}}));
}

#[test]
fn variables_reach_keys_of_both_kinds() {
    let loaded = Case::command()
        .env("MCP_WATCHDOG_ON_PERMANENT_FAILURE", "exit")
        .env("MCP_WATCHDOG_LOG", "error")
        .env("MCP_WATCHDOG_CONTROL__LISTEN", "tcp://127.0.0.1:9901")
        .env("MCP_WATCHDOG_EVENTS__STDERR", "off")
        .env("MCP_WATCHDOG_RESTART__DELAYS", "0s,1s")
        .env("MCP_WATCHDOG_TOOL_TIMEOUT", "2m")
        .env("MCP_WATCHDOG_HEALTH__INTERVAL", "")
        .env("MCP_WATCHDOG_TOKEN", "s")
        .env("MCP_WATCHDOG_RUNTIME_DIR", "/run/x")
        .ok();
    assert_eq!(loaded.warnings, [""; 0]);
    let config = loaded.config;
    assert_eq!((config.on_permanent_failure, config.log.level), (OnPermanentFailure::Exit, LogLevel::Error));
    assert_eq!(
        config.control.listen,
        ControlListen::Tcp(crate::config::TcpAddress { host: "127.0.0.1".to_owned(), port: 9901 })
    );
    assert_eq!(config.events.stderr, EventForm::Off);
    assert_eq!((config.only().restart.delays.clone(), config.only().tool_timeout), (schedule(&[0, 1]), secs(120)));
    assert_eq!(config.only().health.interval, Some(secs(120)), "an empty variable is as good as none");
    let case = Case::command().env("MCP_WATCHDOG_LOG", "error").env("MCP_WATCHDOG_LOG__LEVEL", "trace");
    assert_eq!(case.ok().config.log.level, LogLevel::Trace);
}

#[test]
fn unknown_variables_are_warnings_because_sidecars_nest() {
    let warnings = Case::command()
        .env("MCP_WATCHDOG_RESTART_HOLD", "1s")
        .env("MCP_WATCHDOG_SERVERS__OTHER__TOOL_TIMEOUT", "1s")
        .env("MCP_WATCHDOG_API_TOKEN", "s3cr3t")
        .ok()
        .warnings;
    assert_eq!(
        warnings,
        [
            "MCP_WATCHDOG_API_TOKEN is not a variable of this program and has no effect",
            "MCP_WATCHDOG_RESTART_HOLD is not a variable of this program and has no effect \
             (did you mean MCP_WATCHDOG_RESTART__HOLD?)",
            "MCP_WATCHDOG_SERVERS__OTHER__TOOL_TIMEOUT has no effect: the server here is `fake-server`",
        ]
    );
}

#[test]
fn variables_for_one_server_find_it_by_its_folded_name() {
    let text = "servers: {my-server.2: {command: a}, other: {command: b}}";
    let case = Case::file(text).env("MCP_WATCHDOG_SERVERS__MY_SERVER_2__ENABLED", "false");
    assert!(!case.name("my-server.2").server().enabled);
    let case = Case::file(text).env("MCP_WATCHDOG_SERVERS__MY_SERVER_2__ENABLED", "false").name("other");
    assert!(case.server().enabled);
    assert_eq!(case.ok().warnings, [""; 0], "the file has the server that the variable is for");
}

#[test]
fn retry_variables_alone_mean_growing_delays() {
    let case = Case::command().env("CONNECTION_RETRY_DELAY", "2s");
    let server = case.server();
    assert_eq!(server.restart.delays, exponential(2, 60));
    assert_eq!((server.restart.max_attempts, server.restart.jitter), (Some(5), 0.1));
    assert_eq!((server.health.threshold, server.health.on_unhealthy), (3, OnUnhealthy::Warn), "health stays as it was");
    let case = case.env("CONNECTION_RETRY_MAX_DELAY", "30").env("CONNECTION_RETRY_ATTEMPTS", "unlimited");
    let server = case.server();
    assert_eq!((server.restart.delays, server.restart.max_attempts), (exponential(2, 30), None));
    let case = Case::command().env("CONNECTION_KEEPALIVE_INTERVAL", "10s");
    assert_eq!(case.server().restart.max_attempts, None, "the others say nothing about restarts");
}

#[test]
fn retry_variables_keep_a_strategy_that_somebody_chose() {
    for case in [
        Case::command().option("--preset", "preset", "relentless"),
        Case::file("defaults: {preset: relentless}\nservers: {fs: {command: a}}"),
        Case::command().env("MCP_WATCHDOG_PRESET", "relentless"),
    ] {
        let loaded = case.env("CONNECTION_RETRY_DELAY", "2s").env("CONNECTION_RETRY_ATTEMPTS", "9").ok();
        assert_eq!(loaded.config.only().restart.delays, schedule(&[0, 1, 2, 5, 10, 30, 60]));
        assert_eq!(loaded.config.only().restart.max_attempts, Some(9));
        let [warning] = &loaded.warnings[..] else { panic!("{:?}", loaded.warnings) };
        assert!(warning.starts_with("CONNECTION_RETRY_DELAY has no effect"), "{warning}");
    }
    let case = Case::command().option("--preset", "preset", "patient").env("CONNECTION_RETRY_DELAY", "2s");
    assert_eq!(case.server().restart.delays, exponential(2, 180), "growing delays take the number");
    let case = Case::command().set("restart.delays=1s").env("CONNECTION_RETRY_DELAY", "2s");
    assert_eq!(case.server().restart.delays, schedule(&[1]));
}

#[test]
fn keys_of_later_versions_are_said_to_do_nothing() {
    let case = Case::file(
        "state_file: /s\nfrontends: [{listen: 'tcp://127.0.0.1:1', keepalive: {interval: 30s}}]\n\
         servers: {fs: {command: a, type: stdio, shared: true, sharing: {max_clients: 3}, listen: ['unix:///x'], \
         keepalive: {timeout: 90s}}}",
    );
    let warnings = case.shown(&case.ok().warnings.join("\n"));
    let one = "has no effect in this version: a server has one process, and one client at a time";
    assert_eq!(
        warnings.lines().collect::<Vec<_>>(),
        [
            format!("config.yaml:3:49: `shared` {one}").as_str(),
            &format!("config.yaml:3:64: `sharing` {one}"),
            "config.yaml:2:12: `frontends` has no effect in this version",
            "`listen` has no effect here: this one server speaks on stdin and stdout",
            "`state_file` has no effect here: it is for the servers of `mcp-watchdog serve`",
        ]
    );
}
