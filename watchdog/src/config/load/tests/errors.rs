//! The texts of errors, layer by layer.

use super::*;

#[test]
fn all_errors_of_a_file_are_reported_together() {
    let text = "\
servers:
  fs:
    command: npx
    tol_timeout: 3s
    restart: {hold: soon, delays: [1s, -2s]}
    health:
      treshold: 0
      jitter: 1.5
    probe:
      chain:
        - type: ping
        - timeout: 1s
";
    assert_eq!(
        Case::file(text).error(),
        "\
config.yaml:4:5: servers.fs: unknown field \"tol_timeout\" (did you mean \"tool_timeout\"?)
  4 |     tol_timeout: ***
    |     ^
config.yaml:5:21: servers.fs.restart.hold: \"soon\" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)
  5 |     restart: {hold: soon, delays: [1s, -2s]}
    |                     ^
config.yaml:5:40: servers.fs.restart.delays[1]: a duration cannot be negative, as \"-2s\" is
  5 |     restart: {hold: soon, delays: [1s, -2s]}
    |                                        ^
config.yaml:7:7: servers.fs.health: unknown field \"treshold\" (did you mean \"threshold\"?)
  7 |       treshold: ***
    |       ^
config.yaml:8:15: servers.fs.health.jitter: expected a number from 0 to 1, not \"1.5\"
  8 |       jitter: 1.5
    |               ^
config.yaml:12:11: servers.fs.probe.chain[1]: a link needs a `type`, such as `type: ping`
  12 |         - timeout: 1s
     |           ^"
    );
}

#[test]
fn semantic_errors_are_reported_together() {
    let text = "\
servers:
  fs:
    command: npx
    args: ['${NO}']
    restart: {initial_delay: 10s, max_delay: 1s}
    probe: {chain: [{type: pong}, {type: ping}, {type: pang}]}
";
    let error = Case::file(text).error();
    let heads: Vec<_> = error.lines().filter(|line| line.starts_with("config.yaml")).collect();
    assert_eq!(
        heads,
        [
            "config.yaml:4:12: servers.fs.args[0]: the variable `NO` is not set, and has no default (`${NO:-default}`)",
            "config.yaml:5:46: servers.fs.restart.max_delay: is shorter than `restart.initial_delay`",
            "config.yaml:6:21: servers.fs.probe.chain[0]: there is no probe `pong`",
            "config.yaml:6:49: servers.fs.probe.chain[2]: there is no probe `pang`",
        ]
    );
}

#[test]
fn slips_in_other_servers_are_reported_too() {
    let case = Case::file("servers: {fs: {command: a}, b: {comand: c}}").name("fs");
    assert!(
        case.error().starts_with("config.yaml:1:33: servers.b: unknown field \"comand\" (did you mean \"command\"?)")
    );
}

#[test]
fn syntax_ends_the_search() {
    let text = "servers:\n  fs:\n    command: a\n   bad: 1\n    tool_timeout: soon\n";
    assert_eq!(
        Case::file(text).error(),
        "config.yaml:4:4: did not find expected key, while parsing a block mapping at line 2 column 3\n  \
         4 |    bad: 1\n    |    ^"
    );
}

#[test]
fn tabs_that_indent_are_named_for_what_they_are() {
    let tabs = "is indented by spaces, not by tabs";
    for text in ["servers:\n\tfs:\n\t\tcommand: a\n", "servers:\n  fs:\n  \tcommand: a\n", "\tservers: {}\n"] {
        let error = Case::file(text).error();
        assert!(error.lines().next().is_some_and(|line| line.ends_with(tabs)), "{text:?}: {error}");
    }
    for text in ["servers:\n  fs:\n   command: a\n  bad\n", "servers: {fs: {command: 'a\tb'}\n"] {
        assert!(!Case::file(text).error().contains(tabs), "{text:?}");
    }
}

#[test]
fn duplicates_name_both_lines() {
    let text = "servers:\n  fs:\n    command: a\n    command: d\n  b: {command: c}\n  fs:\n    command: e\n";
    let error = Case::file(text).error();
    let heads: Vec<_> = error.lines().filter(|line| line.starts_with("config.yaml")).collect();
    assert_eq!(
        heads,
        [
            "config.yaml:6:3: servers: duplicate server name \"fs\" (first at line 2)",
            "config.yaml:4:5: servers.fs: duplicate key \"command\" (first at line 3)",
        ],
        "{error}"
    );
}

#[test]
fn single_errors_of_files() {
    for (text, message) in [
        ("server: {}", "config.yaml:1:1: unknown field \"server\" (did you mean \"servers\"?)"),
        // Keys of a server at the top, the natural slip of whoever has one server; and the other way round.
        (
            "command: x",
            "config.yaml:1:1: unknown field \"command\": its place is `servers.NAME.command`, or `defaults.command` for all servers",
        ),
        (
            "probe: {chain: [{type: ping}]}",
            "config.yaml:1:1: unknown field \"probe\": its place is `servers.NAME.probe`, or `defaults.probe` for all servers",
        ),
        (
            "max_attempts: 3",
            "config.yaml:1:1: unknown field \"max_attempts\" (did you mean \"servers.NAME.restart.max_attempts\"?)",
        ),
        (
            "servers: {a: {command: x, restart: {tool_timeout: 3s}}}",
            "config.yaml:1:37: servers.a.restart: unknown field \"tool_timeout\": its place is `servers.a.tool_timeout`",
        ),
        (
            "servers: {a: {command: x, log: {level: info}}}",
            "config.yaml:1:27: servers.a: unknown field \"log\": its place is the top of the file, beside `servers`: `log`",
        ),
        (
            "defaults: {health: {restart: {}}}\nservers: {a: {command: x}}",
            "config.yaml:1:21: defaults.health: unknown field \"restart\": its place is `defaults.restart`",
        ),
        (
            "version: 2\nservers: {a: {command: x}}",
            "config.yaml:1:10: version: version \"2\" is not known to this program, only `1` is",
        ),
        ("- a", "config.yaml:1:1: expected a map of keys, found a list"),
        ("servers: [a]", "config.yaml:1:10: servers: expected a map, found a list"),
        (
            "servers: {'a b': {command: x}}",
            "config.yaml:1:11: servers: \"a b\" is not a server name: letters, digits, `.`, `_` and `-`, at most 64",
        ),
        ("a: 1\n---\nb: 2", "config.yaml: holds more than one YAML document"),
        (
            "mcpServers: {}",
            "config.yaml:1:1: unknown field \"mcpServers\": this is a client's file; `mcp-watchdog import` makes a configuration of it, and `mcp-watchdog wrap` puts the watchdog in front of its servers",
        ),
        (
            "servers: {a: {command: x, max_attempts: 3}}",
            "config.yaml:1:27: servers.a: unknown field \"max_attempts\" (did you mean \"restart.max_attempts\"?)",
        ),
        (
            "servers: {a: {command: x, preset: relentles}}",
            "config.yaml:1:35: servers.a.preset: expected `relentless`, `patient`, `bounded`, `network` or `private`, not \"relentles\" (did you mean \"relentless\"?)",
        ),
        (
            "servers: {a: {command: x, restart: {max_attempts: 0}}}",
            "config.yaml:1:51: servers.a.restart.max_attempts: expected a whole number from 1 on, or `unlimited`, not \"0\"",
        ),
        (
            "servers: {a: {command: x, max_retries: 0}}",
            "config.yaml:1:40: servers.a.max_retries: expected a whole number from 1 on, or `unlimited`, not \"0\"",
        ),
        (
            "servers: {a: {command: x, health: {threshold: 0}}}",
            "config.yaml:1:47: servers.a.health.threshold: expected a whole number from 1 on, not \"0\"",
        ),
        (
            "servers: {a: {command: x, limits: {memory_max: 1GiB}}}",
            "config.yaml:1:48: servers.a.limits.memory_max: takes `isolation: cgroup`: nothing else counts a tree's memory",
        ),
        (
            "servers: {a: {command: x, oom_score_adj: 1001}}",
            "config.yaml:1:42: servers.a.oom_score_adj: expected a whole number from -1000 to 1000, not \"1001\"",
        ),
        (
            "servers: {a: {command: x, limits: {max_line: 100}}}",
            "config.yaml:1:46: servers.a.limits.max_line: must be at least 1KiB, not \"100\"",
        ),
        (
            "servers: {a: {command: x, tool_timeout: 0s}}",
            "config.yaml:1:41: servers.a.tool_timeout: must be longer than zero, not \"0s\"",
        ),
        (
            "servers: {a: {command: x, restart: {delays: []}}}",
            "config.yaml:1:45: servers.a.restart.delays: needs at least one delay; the last one is held",
        ),
        (
            "servers: {a: {command: x, restart: {delays: 5s}}}",
            "config.yaml:1:45: servers.a.restart.delays: expected a list, found a single value",
        ),
        (
            "servers: {a: {command: x, restart: {delays: [1s], multiplier: 2}}}",
            "config.yaml:1:51: servers.a.restart: `restart.delays` and `restart.multiplier` exclude each other: a list of delays, or a growing one",
        ),
        (
            "servers: {a: {command: x, restart: {multiplier: 0.5}}}",
            "config.yaml:1:49: servers.a.restart.multiplier: expected a number from 1 to 1000, not \"0.5\"",
        ),
        (
            "servers: {a: {command: x, envFile: b, env_file: c}}",
            "config.yaml:1:27: servers.a: `envFile` and `env_file` are two names for one thing; keep one",
        ),
        (
            "servers: {a: {command: x, disabled: maybe}}",
            "config.yaml:1:37: servers.a.disabled: expected `true` or `false`, not \"maybe\"",
        ),
        (
            "servers: {a: {command: x, healthProbe: pong}}",
            "config.yaml:1:40: servers.a.healthProbe: expected `ping` or `listTools`, not \"pong\"",
        ),
        (
            "servers: {a: {command: x, probe: {chain: []}}}",
            "config.yaml:1:42: servers.a.probe.chain: needs at least one link, such as `{type: ping}`; to restart without asking, set `probe.on_failure: close`",
        ),
        (
            "control: {listen: 'tcp://x'}\nservers: {a: {command: x}}",
            "config.yaml:1:19: control.listen: expected `auto`, `off`, `unix:///PATH` or `tcp://HOST:PORT`, not \"tcp://x\"",
        ),
        (
            "servers: {a: {command: x, type: tcp}}",
            "config.yaml:1:33: servers.a.type: expected `stdio`, `http`, `streamable-http`, `streamableHttp`, `sse` or `ws`, not \"tcp\"",
        ),
        (
            "mgmt: {inject: 1}\nservers: {a: {command: x}}",
            "config.yaml:1:16: mgmt.inject: expected `true` or `false`, not \"1\"",
        ),
    ] {
        let error = Case::file(text).error();
        assert_eq!(error.lines().next(), Some(message), "{text}");
    }
}

#[test]
fn errors_of_options_and_variables() {
    let duration = "is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)";
    for (case, message) in [
        (Case::command().option("--tool-timeout", "tool_timeout", "soon"), format!("--tool-timeout: \"soon\" {duration}")),
        (Case::command().env("MCP_WATCHDOG_RESTART__HOLD", "soon"), format!("MCP_WATCHDOG_RESTART__HOLD: \"soon\" {duration}")),
        (Case::command().env("CONNECTION_RETRY_DELAY", "soon"), format!("CONNECTION_RETRY_DELAY: \"soon\" {duration}")),
        (Case::command().set("restart.delays=0s,x"), format!("--set restart.delays: \"x\" {duration}")),
        (Case::command().set("tool_timeouts.t=x"), format!("--set tool_timeouts.t: \"x\" {duration}")),
        (
            Case::command().env("CONNECTION_RETRY_ATTEMPTS", "many"),
            "CONNECTION_RETRY_ATTEMPTS: expected a whole number from 1 on, or `unlimited`, not \"many\"".to_owned(),
        ),
        (
            Case::command().option("--on-unhealthy", "health.on_unhealthy", "reboot"),
            "--on-unhealthy: expected `warn` or `restart`, not \"reboot\"".to_owned(),
        ),
        (
            Case::command().option("--log-level", "log.level", "wran"),
            "--log-level: expected `off`, `error`, `warn`, `info`, `debug` or `trace`, not \"wran\" (did you mean \"warn\"?)".to_owned(),
        ),
        (Case::command().set("no.such.key=1"), "--set: unknown key \"no.such.key\"".to_owned()),
        (Case::command().set("hold=1"), "--set: unknown key \"hold\" (did you mean `restart.hold`?)".to_owned()),
        (
            Case::command().set("restart.holt=1"),
            "--set: unknown key \"restart.holt\" (did you mean `restart.hold`?)".to_owned(),
        ),
        (
            Case::command().set("log.level=debug"),
            "--set: `log.level` is not a key of a server; use the file or MCP_WATCHDOG_LOG__LEVEL".to_owned(),
        ),
        (Case::command().set("hold"), "--set: expected KEY=VALUE, such as `--set restart.hold=5s`".to_owned()),
        (
            Case::command().set("restart.delays=[1s"),
            "--set restart.delays: not well-formed YAML: did not find expected ',' or ']', while parsing a flow sequence".to_owned(),
        ),
        (
            Case::command().set("probe.chain=[{type: ping}, {type: pong}]"),
            "--set probe.chain[1]: there is no probe `pong`".to_owned(),
        ),
        (
            Case::command().set("tool_timeouts=5s"),
            "--set tool_timeouts: expected a map such as `{name: value}`".to_owned(),
        ),
        (Case::command().set("disabled=1"), "--set disabled: expected `true` or `false`, not \"1\"".to_owned()),
    ] {
        assert_eq!(case.error(), message);
    }
}

#[test]
fn errors_of_all_layers_are_reported_together() {
    let error = Case::file("servers: {a: {command: x, tool_timeout: y}}")
        .env("MCP_WATCHDOG_LOG", "loud")
        .env("CONNECTION_KEEPALIVE_TIMEOUT", "z")
        .set("nope=1")
        .option("--hold", "restart.hold", "h")
        .error();
    for head in ["config.yaml:1:41: ", "MCP_WATCHDOG_LOG: ", "CONNECTION_KEEPALIVE_TIMEOUT: ", "--set: ", "--hold: "] {
        assert_eq!(error.lines().filter(|line| line.starts_with(head)).count(), 1, "{head} in\n{error}");
    }
}

#[test]
fn a_hopeless_file_ends_after_some_errors() {
    let keys: String = (0..500).map(|key| format!("    k{key}: 1\n")).collect();
    let error = Case::file(&format!("servers:\n  a:\n    command: x\n{keys}")).error();
    assert!(error.lines().count() < 200);
}

proptest::proptest! {
    /// Whatever is written, loading ends with a value or with errors.
    #[test]
    fn no_text_is_a_panic(text in "([a-z_]{1,8}: ?|[\\[\\]{},&*!|>'\"\n -]|servers: |fs: |restart: |[0-9]s?){0,40}") {
        let _ = Case::file(&text).load();
        let _ = Case::command().set(&text).load();
        let _ = Case::command().env("MCP_WATCHDOG_PROBE__CHAIN", &text.replace('\0', "")).load();
    }
}
