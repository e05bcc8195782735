//! All servers of a file, for one process.

use super::*;

const TWO: &str = "\
defaults:
  preset: patient
  env: {LOG: warn, A: d}
servers:
  memory:
    command: npx
    args: [memory]
    env: {A: m}
  browser-2: {command: browser, restart: {hold: 2s}, enabled: false}
log: {level: warn}
";

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.config.servers.iter().map(|server| server.name.as_str()).collect()
}

fn env<'a>(server: &'a Server, name: &str) -> Option<&'a std::ffi::OsStr> {
    server.command.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

#[test]
fn every_server_has_the_defaults_key_by_key() {
    let loaded = Case::file(TWO).all();
    assert_eq!(names(&loaded), ["memory", "browser-2"], "in the order of the file");
    let [memory, browser] = &loaded.config.servers[..] else { panic!("two servers") };
    assert_eq!((env(memory, "LOG"), env(memory, "A")), (Some("warn".as_ref()), Some("m".as_ref())));
    assert_eq!((env(browser, "LOG"), env(browser, "A")), (Some("warn".as_ref()), Some("d".as_ref())));
    assert_eq!((memory.restart.hold, browser.restart.hold), (secs(10), secs(2)));
    assert_eq!((memory.enabled, browser.enabled), (true, false));
    assert_eq!((loaded.preset("memory"), loaded.preset("browser-2")), ("patient", "patient"));
    assert_eq!(loaded.config.log.level, crate::config::LogLevel::Warn);
    assert!(loaded.file.is_some() && loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn a_name_selects_one_of_them() {
    assert_eq!(names(&Case::file(TWO).name("browser-2").all()), ["browser-2"]);
}

#[test]
fn variables_are_for_one_server_or_for_all() {
    let case = Case::file(TWO)
        .env("MCP_WATCHDOG_SERVERS__MEMORY__ENABLED", "false")
        .env("MCP_WATCHDOG_SERVERS__BROWSER_2__ENABLED", "true")
        .env("MCP_WATCHDOG_TOOL_TIMEOUT", "7")
        .env("MCP_WATCHDOG_SERVERS__OTHER__ENABLED", "false");
    let loaded = case.all();
    let seen: Vec<_> = loaded.config.servers.iter().map(|server| (server.enabled, server.tool_timeout)).collect();
    assert_eq!(seen, [(false, secs(7)), (true, secs(7))]);
    assert_eq!(
        loaded.warnings,
        ["MCP_WATCHDOG_SERVERS__OTHER__ENABLED has no effect: the servers here are memory, browser-2"]
    );
}

#[test]
fn all_errors_of_all_servers_are_told_together() {
    let text = "\
defaults: {restart: {delays: []}}
servers:
  a: {args: [x]}
  b: {command: \"${NO}\"}
  c: {command: x, probe: {chain: [{type: pong}]}}
";
    let error = Case::file(text).error_of_all();
    let heads: Vec<&str> = error.lines().filter(|line| line.starts_with("config")).collect();
    let expected = [
        "config.yaml:3:3: servers: the server `a` has no `command`",
        "config.yaml:1:30: defaults.restart.delays: needs at least one delay; the last one is held",
        "config.yaml:4:16: servers.b.command: the variable `NO` is not set, and has no default (`${NO:-default}`)",
        "config.yaml:5:35: servers.c.probe.chain[0]: there is no probe `pong`",
    ];
    assert_eq!(heads, expected, "the error in `defaults` only once");
}

#[test]
fn a_name_twice_is_an_error_that_names_both_lines() {
    let text = "servers:\n  fs: {command: a}\n  b: {command: b}\n  fs: {command: c}\n";
    let error = Case::file(text).error_of_all();
    assert!(error.starts_with("config.yaml:4:3: servers: duplicate server name \"fs\" (first at line 2)"), "{error}");
}

#[test]
fn a_remote_server_is_refused_among_others() {
    let error = Case::file("servers: {a: {command: x}, docs: {type: sse, url: 'http://x/sse'}}").error_of_all();
    assert!(error.starts_with("config.yaml:1:41: servers.docs.type: a remote server cannot be run by this"), "{error}");
}

#[test]
fn without_a_file_the_places_are_named() {
    let error = load_all(&Case::with(Input::default()).input, &known).unwrap_err().to_string();
    assert!(error.starts_with("no servers to run: name a file with --config (looked for "), "{error}");
}

/// A client's file, by its usual name.
fn client(text: &str) -> Case {
    let mut case = Case::with(Input::default());
    case.input.config = Some(case.write("mcp.json", text));
    case
}

#[test]
fn a_clients_file_is_read_as_it_is() {
    let case = client(
        r#"{
  // comments are the custom of some clients
  "mcpServers": {
    "memory": { "command": "npx", "args": ["-y", "m"], "env": { "A": "${env:A}" }, "disabled": true },
    "files 2": { "type": "stdio", "command": "srv", "envFile": "s.env", "autoApprove": ["x"],
      "x-mcp-watchdog": { "tool_timeout": "5s", "listen": ["unix:///run/f.sock"] }, },
  }
}"#,
    )
    .env("A", "1");
    case.write("s.env", "B=2\n");
    let loaded = case.all();
    assert_eq!(names(&loaded), ["memory", "files-2"]);
    let [memory, files] = &loaded.config.servers[..] else { panic!("two servers") };
    assert_eq!((memory.enabled, env(memory, "A")), (false, Some("1".as_ref())));
    assert_eq!((files.tool_timeout, env(files, "B"), files.listen.len()), (secs(5), Some("2".as_ref()), 1));
    assert_eq!(
        loaded.warnings.iter().map(|warning| case.shown(warning)).collect::<Vec<_>>(),
        [
            "mcp.json: files 2: is called `files-2` here: names are letters, digits, `.`, `_` and `-`",
            "mcp.json: files 2: `autoApprove` is the client's own and is left out",
        ]
    );
    assert_eq!(case.name("memory").server().command.program, "npx", "also in the sidecar form");
}

#[test]
fn a_file_of_vs_code_is_told_from_ours_by_what_only_it_has() {
    let entry = |rest: &str| format!(r#"{{"servers": {{"a": {{"type": "stdio", "command": "srv", {rest}}}}}}}"#);
    let variable = client(&entry(r#""args": ["${env:A}", "${env:NO:-b}"]"#)).env("A", "1").all();
    assert_eq!(variable.config.servers[0].command.args, ["1", "b"]);
    let comment = client(&format!("// mine\n{}", entry(r#""dev": {"watch": "*"},"#))).all();
    assert!(comment.warnings[0].contains("`dev` is the client's own"), "{:?}", comment.warnings);
    let question = client(&entry(r#""env": {"K": "${input:key}"}"#)).error_of_all();
    assert!(question.contains("a: `env.K`: `${input:key}` is a question to the user"), "{question}");
    let wrapped =
        client(&entry("").replace("\"srv\", ", r#""/bin/mcp-watchdog", "args": ["--name", "b", "--", "srv", "x"]"#))
            .all();
    let command = &wrapped.config.servers[0].command;
    assert_eq!(
        (command.program.as_os_str(), &command.args[..]),
        ("srv".as_ref(), &["x".into()][..]),
        "no watchdog below a watchdog"
    );
    assert!(wrapped.warnings[0].contains("runs under mcp-watchdog already"), "{:?}", wrapped.warnings);
    let ours = client(&entry(r#""restart": {"hold": "3s"}"#)).all();
    assert_eq!(ours.config.servers[0].restart.hold, secs(3), "ours need no `version`");
}

#[test]
fn errors_of_a_clients_file_name_the_entry() {
    let error = client(r#"{"mcpServers": {"a": {"command": "${input:key}"}, "b": {"args": []}}}"#).error_of_all();
    assert!(error.starts_with("mcp.json: a: `command`: `${input:key}` is a question to the user"), "{error}");
    assert!(error.ends_with("mcp.json: b: has no `command`"), "{error}");
    let remote = client(r#"{"mcpServers": {"a": {"url": "http://x/mcp"}}}"#).error_of_all();
    assert!(remote.starts_with("mcp.json (imported):5:10: servers.a.url: a remote server cannot be run"), "{remote}");
    assert!(!remote.contains("http://x"), "{remote}");
}

#[test]
fn a_faulty_entry_of_a_clients_file_is_the_error_of_who_would_run_it() {
    let case = || client(r#"{"mcpServers": {"a": {"command": "x"}, "b": {"args": []}}}"#);
    assert!(case().error_of_all().ends_with("mcp.json: b: has no `command`"), "all are to be run");
    assert_eq!(case().name("a").server().command.program, "x");
    assert_eq!(names(&case().name("a").all()), ["a"]);
    assert!(case().name("b").error().ends_with("mcp.json: b: has no `command`"));
    let unnamed = case().error();
    assert!(unnamed.contains("has 2 servers") && unnamed.ends_with("(a, b)"), "{unnamed}");
}
