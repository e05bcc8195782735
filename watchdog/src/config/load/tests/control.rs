//! The control plane, the management tools and the events.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::config::{ControlListen, EventFile, EventFormat, EventThrottle, Listen, Require, TcpAddress};

const SERVER: &str = "servers: {fs: {command: a}}\n";

fn case(keys: &str) -> Case {
    Case::file(&format!("{SERVER}{keys}\n"))
}

/// A token file with these permissions.
fn with_token(keys: &str, text: &str, mode: u32) -> Case {
    let case = case(keys);
    let path = case.write("token", text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    case
}

#[test]
fn what_holds_when_nothing_is_written() {
    let config = Case::command().ok().config;
    assert_eq!(config.control.listen, ControlListen::Auto);
    assert_eq!((config.control.health_listen, config.control.token, config.control.allow_remote), (None, None, false));
    assert_eq!(
        (config.mgmt.inject, config.mgmt.tool_prefix.as_str(), config.mgmt.allow_disable),
        (false, "mcp_watchdog_", false)
    );
    assert_eq!((config.ready.require, config.state_file), (Require::Any, None));
    assert_eq!((config.events.format, config.events.file, config.events.ring), (EventFormat::Jsonl, None, 1024));
    assert_eq!(config.events.throttle, Some(EventThrottle { burst: 10, every: secs(900) }));
}

#[test]
fn a_loopback_address_needs_no_token_but_is_warned_of() {
    let loaded = case("control: {listen: 'tcp://[::1]:9901', health_listen: '0.0.0.0:9902'}").ok();
    let health = TcpAddress { host: "0.0.0.0".to_owned(), port: 9902 };
    assert_eq!(loaded.config.control.health_listen, Some(health));
    assert_eq!(
        loaded.warnings,
        ["`control.listen`: every user of this machine can reach [::1]:9901, and there is no token \
          (`control.token_file` or MCP_WATCHDOG_TOKEN)"]
    );
    let loaded = case("control: {listen: 'tcp://[::1]:9901'}").env("MCP_WATCHDOG_TOKEN", "t").ok();
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn other_machines_need_permission_and_a_token() {
    let listen = "control: {listen: 'tcp://0.0.0.0:9901'}";
    let head = "config.yaml:2:19: control.listen: 0.0.0.0:9901 can be reached by other machines: that takes";
    let error = case(listen).env("MCP_WATCHDOG_TOKEN", "t").error();
    assert!(error.starts_with(&format!("{head} `control.allow_remote: true` and a token\n")), "{error}");
    let allowed = "control: {listen: 'tcp://0.0.0.0:9901', allow_remote: true}";
    let error = case(allowed).error();
    assert!(error.starts_with(&format!("{head} a token, in `control.token_file` or MCP_WATCHDOG_TOKEN\n")), "{error}");
    let control = case(allowed).env("MCP_WATCHDOG_TOKEN", "s3cr3t").ok().config.control;
    assert_eq!(control.token.as_ref().map(crate::config::Token::expose), Some("s3cr3t"));
    assert!(control.allow_remote && !format!("{control:?}").contains("s3cr3t"));
}

#[test]
fn health_and_commands_do_not_share_an_address() {
    let error = case("control: {listen: 'tcp://127.0.0.1:1', health_listen: '127.0.0.1:1'}").error();
    assert!(
        error.starts_with(
            "config.yaml:2:55: control.health_listen: 127.0.0.1:1 is the address of `control.listen` already"
        ),
        "{error}"
    );
}

#[test]
fn a_token_file_lies_beside_the_file_and_is_private() {
    let keys = "control: {token_file: token}";
    let token = |case: &Case| case.ok().config.control.token.unwrap().expose().to_owned();
    assert_eq!(token(&with_token(keys, "from-file\n", 0o600)), "from-file");
    assert_eq!(token(&with_token(keys, "from-file", 0o400)), "from-file");
    assert_eq!(token(&with_token(keys, "x", 0o600).env("MCP_WATCHDOG_TOKEN", "from-env")), "from-env");
    for mode in [0o640, 0o604, 0o620, 0o601] {
        let error = with_token(keys, "s3cr3t", mode).error();
        let head = format!(
            "config.yaml:2:23: control.token_file: token cannot be read: other users may use it (mode {mode:o}); chmod 600 it"
        );
        assert!(error.starts_with(&head) && !error.contains("s3cr3t"), "{error}");
    }
    let error = with_token(keys, "two s3cr3t", 0o600).error();
    assert!(
        error.starts_with("config.yaml:2:23: control.token_file: token: the token has characters")
            && !error.contains("s3cr3t"),
        "{error}"
    );
    assert!(with_token(keys, "\n", 0o600).error().contains("token: the token is empty"));
    assert!(with_token(keys, &"x".repeat(5000), 0o600).error().contains("longer than 4 KiB"));
    assert!(case(keys).error().starts_with("config.yaml:2:23: control.token_file: token cannot be read: No such file"));
    let off = case("control: {listen: off, token_file: token}");
    assert_eq!(off.ok().config.control.token, None, "no control plane, no need for its secret");
}

#[test]
fn a_token_of_the_environment_is_not_shown() {
    let error = case("").env("MCP_WATCHDOG_TOKEN", "two s3cr3t").error();
    assert!(error.starts_with("MCP_WATCHDOG_TOKEN: the token has characters") && !error.contains("s3cr3t"), "{error}");
}

#[test]
fn the_prefix_of_tools() {
    assert_eq!(case("mgmt: {tool_prefix: ''}").ok().config.mgmt.tool_prefix, "");
    let error = case("mgmt: {tool_prefix: 'a b'}").error();
    assert!(error.starts_with("config.yaml:2:21: mgmt.tool_prefix: \"a b\" cannot begin a tool's name: "), "{error}");
}

#[test]
fn events_have_a_file_and_a_throttle() {
    let case = case(
        "events: {file: '${LOGS}/e.jsonl', format: cloudevents, ring: 10, throttle: {burst: 3}, \
         rotate: {max_size: unlimited, keep: 0}}\nstate_file: state.json\nready: {require: all}",
    )
    .env("LOGS", "logs");
    let config = case.ok().config;
    let path = case.folder.path().join("logs/e.jsonl");
    assert_eq!(config.events.file, Some(EventFile { path, max_size: None, keep: 0 }));
    assert_eq!(config.events.throttle, Some(EventThrottle { burst: 3, every: secs(900) }));
    assert_eq!((config.events.format, config.events.ring), (EventFormat::CloudEvents, 10));
    assert_eq!(config.state_file, Some(case.folder.path().join("state.json")));
    assert_eq!(config.ready.require, Require::All);
}

#[test]
fn a_throttle_can_be_off() {
    assert_eq!(case("events: {throttle: off}").ok().config.events.throttle, None);
    assert_eq!(case("").env("MCP_WATCHDOG_EVENTS__THROTTLE", "off").ok().config.events.throttle, None);
    let some =
        case("events: {throttle: off}").env("MCP_WATCHDOG_EVENTS__THROTTLE__BURST", "2").ok().config.events.throttle;
    assert_eq!(some, Some(EventThrottle { burst: 2, every: secs(900) }));
    let error = case("events: {throttle: on}").error();
    assert!(
        error.starts_with("config.yaml:2:20: events.throttle: expected a map of keys, found a single value"),
        "{error}"
    );
}

#[test]
fn small_files_are_refused_and_missing_names_too() {
    let error = case("events: {rotate: {max_size: 1KiB}}\nstate_file: ''").error();
    assert!(error.contains("events.rotate.max_size: must be at least 64KiB, not \"1KiB\""), "{error}");
    assert!(case("events: {file: ''}\nstate_file: ''").error().matches("is empty").count() == 2, "both are told");
}

#[test]
fn a_socket_has_one_listener() {
    let text = "\
control: {listen: 'unix:///run/c.sock'}
servers:
  a: {command: x, listen: ['unix:///run/a.sock']}
  b: {command: y, listen: ['unix:///run/b.sock', 'unix:///run/a.sock', 'unix:///run/c.sock']}
";
    let error = Case::file(text).error_of_all();
    let heads: Vec<&str> = error.lines().filter(|line| line.starts_with("config")).collect();
    assert_eq!(
        heads,
        [
            "config.yaml:4:50: servers.b.listen[1]: /run/a.sock is the socket of the server `a` already; `b` needs one of its own",
            "config.yaml:4:72: servers.b.listen[2]: /run/c.sock is the socket of `control.listen` already; `b` needs one of its own",
        ]
    );
    let of_all = "defaults: {listen: ['unix:///run/x.sock']}\nservers: {a: {command: x}, b: {command: y}}";
    let error = Case::file(of_all).error_of_all();
    assert!(
        error.starts_with("config.yaml:1:21: defaults.listen[0]: /run/x.sock is the socket of the server `a`"),
        "{error}"
    );
    let loaded = Case::file("servers: {a: {command: x, listen: ['unix:///a', 'unix:///b']}}").all();
    assert_eq!(loaded.config.only().listen, [Listen::Unix("/a".into()), Listen::Unix("/b".into())]);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}
