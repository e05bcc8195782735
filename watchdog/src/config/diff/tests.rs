use super::*;
use crate::config::keys;
use crate::config::load::{Input, load_all};

fn loaded(text: &str) -> Config {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    std::fs::write(&path, text).unwrap();
    let input = Input { config: Some(path), environment: vec![("TWO".into(), "2".into())], ..Input::default() };
    load_all(&input, &|_, _| Ok(())).unwrap_or_else(|errors| panic!("{errors}")).config
}

fn one(keys: &str) -> Config {
    loaded(&format!("servers:\n  a: {{command: x, {keys}}}\n"))
}

fn changed(name: &str, spawn_relevant: bool, keys: &[&'static str]) -> Change {
    Change::Changed { name: name.to_owned(), spawn_relevant, keys: keys.to_vec() }
}

/// A value for each key of a server that is not its default.
const OTHER: [(&str, &str); 55] = [
    ("command", "y"),
    ("args", "[y]"),
    ("cwd", "/"),
    ("env", "{A: b}"),
    ("enabled", "false"),
    ("start", "lazy"),
    ("tool_timeout", "1s"),
    ("tool_timeouts", "{t: 1s}"),
    ("request_deadline", "1s"),
    ("restart.delays", "[1s]"),
    ("restart.max_attempts", "1"),
    ("restart.jitter", "0.5"),
    ("restart.min_uptime", "1s"),
    ("restart.min_attempt_interval", "3s"),
    ("restart.on_call", "wait"),
    ("restart.hold", "1s"),
    ("restart.hold_max_requests", "1"),
    ("restart.hold_max_bytes", "1"),
    ("restart.attempts_are_errors", "false"),
    ("handshake.timeout", "1s"),
    ("handshake.replay", "false"),
    ("shutdown.drain", "1s"),
    ("shutdown.eof_grace", "3s"),
    ("shutdown.term_grace", "3s"),
    ("probe.mode", "all"),
    ("probe.timeout", "1s"),
    ("probe.total_timeout", "9s"),
    ("probe.confirmations", "2"),
    ("probe.busy_grace", "1s"),
    ("probe.busy_max", "1s"),
    ("probe.on_failure", "warn"),
    ("probe.chain", "[{type: ping}]"),
    ("health.interval", "1s"),
    ("health.jitter", "0.5"),
    ("health.timeout", "1s"),
    ("health.threshold", "1"),
    ("health.on_unhealthy", "restart"),
    ("catalog.serve_stale", "false"),
    ("catalog.announce", "off"),
    ("catalog.on_permanent_failure", "drop"),
    ("retry.tools", "read_only"),
    ("errors.tool_calls", "tool_result"),
    ("limits.max_line", "1MiB"),
    ("limits.stray_stdout", "drop"),
    ("limits.memory_max", "1GiB"),
    ("limits.open_files", "9"),
    ("limits.core", "unlimited"),
    ("isolation", "cgroup"),
    ("oom_score_adj", "1"),
    ("limits.max_lifetime", "1h"),
    ("limits.memory", "1GiB"),
    ("idle_stop", "1h"),
    ("watch", "[/]"),
    ("listen", "['unix:///x']"),
    ("restart.initial_delay", "3s"),
];

/// Keys that are seen in the values of others, or do nothing.
const SEEN_ELSEWHERE: [&str; 11] = [
    "env_file",
    "inherit_env",
    "preset",
    "restart.multiplier",
    "restart.max_delay",
    "type",
    "url",
    "headers",
    "keepalive",
    "shared",
    "sharing",
];

/// `a.b: value` as YAML.
fn flow(key: &str, value: &str) -> String {
    match key.split_once('.') {
        Some((outer, inner)) => format!("{outer}: {{{inner}: {value}}}"),
        None => format!("{key}: {value}"),
    }
}

#[test]
fn each_key_of_a_server_is_told_by_its_name() {
    for (key, value) in OTHER {
        // What a limit of memory takes.
        let isolation = if key == "limits.memory_max" { "isolation: cgroup" } else { "isolation: guard" };
        let base = one(if key == "isolation" { "" } else { isolation });
        let new = match key {
            "limits.memory_max" => one(&format!("{isolation}, {}", flow(key, value))),
            "command" => loaded(&format!("servers: {{a: {{command: {value}}}}}")),
            _ => one(&flow(key, value)),
        };
        let told = if key == "restart.initial_delay" { "restart.delays" } else { key };
        let expected = changed("a", SPAWN.contains(&key), &[told]);
        assert_eq!(diff(&base, &new), Difference { servers: vec![expected], ..Difference::default() }, "{key}");
    }
}

#[test]
fn no_key_of_a_server_is_forgotten() {
    let aliases = keys::ALIASES.map(|(alias, _)| alias);
    for key in keys::server() {
        let path = key.path.as_str();
        let known = OTHER.iter().any(|(name, _)| *name == path) || aliases.contains(&path);
        let section = path.split('.').next().unwrap_or(path);
        assert!(known || SEEN_ELSEWHERE.iter().any(|seen| [path, section].contains(seen)), "{path}");
    }
}

#[test]
fn each_key_of_the_process_is_told_by_its_name() {
    let server = "servers: {a: {command: x}}\n";
    let base = loaded(server);
    let with_file = format!("{server}events: {{file: /e");
    let cases = [
        ("control.listen", loaded(&format!("{server}control: {{listen: off}}"))),
        ("control.health_listen", loaded(&format!("{server}control: {{health_listen: 'h:1'}}"))),
        ("control.allow_remote", loaded(&format!("{server}control: {{allow_remote: true}}"))),
        ("mgmt.inject", loaded(&format!("{server}mgmt: {{inject: true}}"))),
        ("mgmt.tool_prefix", loaded(&format!("{server}mgmt: {{tool_prefix: x}}"))),
        ("mgmt.allow_disable", loaded(&format!("{server}mgmt: {{allow_disable: true}}"))),
        ("events.stderr", loaded(&format!("{server}events: {{stderr: off}}"))),
        ("events.format", loaded(&format!("{server}events: {{format: cloudevents}}"))),
        ("events.ring", loaded(&format!("{server}events: {{ring: 1}}"))),
        ("events.throttle", loaded(&format!("{server}events: {{throttle: off}}"))),
        ("events.file", loaded(&format!("{with_file}}}"))),
        ("log.level", loaded(&format!("{server}log: {{level: off}}"))),
        ("log.format", loaded(&format!("{server}log: {{format: json}}"))),
        ("ready.require", loaded(&format!("{server}ready: {{require: all}}"))),
        ("on_permanent_failure", loaded(&format!("{server}on_permanent_failure: exit"))),
        ("state_file", loaded(&format!("{server}state_file: /s"))),
    ];
    for (key, new) in &cases {
        let Difference { servers, restart } = diff(&base, new);
        assert_eq!((servers.len(), restart), (0, vec![*key]));
    }
    let rotated = |rest: &str| loaded(&format!("{with_file}, rotate: {{{rest}}}}}"));
    let told = |new: &Config| diff(&rotated(""), new).restart;
    assert_eq!(told(&rotated("keep: 1")), ["events.rotate.keep"]);
    assert_eq!(told(&rotated("max_size: 1MiB")), ["events.rotate.max_size"]);
    assert!(diff(&base, &loaded(&format!("{server}events: {{rotate: {{keep: 1}}}}"))).is_empty(), "there is no file");
}

#[test]
fn only_what_is_opened_at_the_start_waits_for_a_new_process() {
    let new = loaded("servers: {a: {command: x}}\nready: {require: all}\nlog: {level: off}\nmgmt: {inject: true}");
    let mut restart = diff(&one(""), &new).restart;
    restart.sort_unstable();
    assert_eq!(restart, ["log.level", "mgmt.inject", "ready.require"]);
}

#[test]
fn servers_come_and_go() {
    let old = loaded("servers: {a: {command: x}, b: {command: x}, c: {command: x}}");
    let new = loaded(
        "servers: {d: {command: x}, c: {command: x, args: [y], env: {A: b}, tool_timeout: 1s}, a: {command: x}}",
    );
    let servers = vec![
        Change::Removed("b".to_owned()),
        Change::Added("d".to_owned()),
        changed("c", true, &["args", "env", "tool_timeout"]),
    ];
    assert_eq!(diff(&old, &new), Difference { servers, ..Difference::default() });
    assert!(diff(&old, &old).is_empty());
}

#[test]
fn another_spelling_is_no_change_and_another_variable_is_one() {
    assert!(diff(&one("tool_timeout: 1m"), &one("tool_timeout: 60")).is_empty());
    assert!(diff(&one("env: {A: '2'}"), &one("env: {A: '${TWO}'}")).is_empty());
    assert_eq!(diff(&one("env: {A: '1'}"), &one("env: {A: '${TWO}'}")).servers, [changed("a", true, &["env"])]);
    assert_eq!(diff(&one(""), &one("preset: private")).servers.len(), 1);
}
