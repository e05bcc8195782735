//! Which file, and which server.

use super::*;

#[test]
fn the_name_of_a_command() {
    for (program, name) in [
        ("/usr/bin/npx", "npx"),
        ("./my server.py", "my-server.py"),
        ("C:\\x", "C--x"),
        ("/", "server"),
        ("/opt/grüße", "gr--e"),
    ] {
        let input = Input { command: vec![program.into()], ..Input::default() };
        assert_eq!(Case::with(input).server().name, name, "{program}");
    }
    let long = "x".repeat(200);
    let input = Input { command: vec![long.into()], ..Input::default() };
    assert_eq!(Case::with(input).server().name.len(), 64);
}

#[test]
fn a_name_is_asked_for_by_option_or_variable() {
    assert_eq!(Case::command().env("MCP_WATCHDOG_NAME", "outer").server().name, "outer");
    assert_eq!(Case::command().env("MCP_WATCHDOG_NAME", "outer").name("inner").server().name, "inner");
    assert_eq!(
        Case::command().env("MCP_WATCHDOG_NAME", "a b").error(),
        "MCP_WATCHDOG_NAME: \"a b\" is not a server name: letters, digits, `.`, `_` and `-`, at most 64"
    );
}

#[test]
fn one_of_several_servers_is_chosen_by_name() {
    let text = "servers: {fs: {command: a}, memory: {command: b}}";
    assert_eq!(Case::file(text).name("memory").server().command.program, "b");
    assert_eq!(
        Case::file(text).error(),
        "config.yaml: has 2 servers, and this runs one; choose it with --name (fs, memory)"
    );
    assert_eq!(
        Case::file(text).name("memori").error(),
        "config.yaml: has no server \"memori\" (did you mean \"memory\"?); it has fs, memory"
    );
}

#[test]
fn files_without_a_server() {
    for text in ["", "servers: {}", "servers:", "log: {level: warn}"] {
        assert_eq!(
            Case::file(text).error(),
            "config.yaml: describes no server: add one under `servers:`, or write its command behind `--`",
            "{text}"
        );
    }
}

#[test]
fn a_command_takes_defaults_and_the_section_of_its_name() {
    let text = "defaults: {tool_timeout: 5s}\nservers: {fake-server: {command: other, args: [x], restart: {hold: 2s}}, b: {command: c}}";
    let mut case = Case::file(text);
    case.input.command = vec!["/bin/fake-server".into(), "${A}".into()];
    let server = case.server();
    assert_eq!((server.tool_timeout, server.restart.hold), (secs(5), secs(2)));
    assert_eq!(server.command.program, "/bin/fake-server");
    assert_eq!(server.command.args, ["${A}"], "the shell has had its turn");
    assert_eq!(case.name("unheard-of").server().restart.hold, secs(10));
}

#[test]
fn usual_files_are_looked_for_without_a_command_only() {
    let case = Case::with(Input::default());
    let found = |case: &Case| case.server().name;
    case.write("etc.yaml", "servers: {system: {command: a}}");
    assert_eq!(found(&case), "system");
    let home = case.folder.path().join("home").display().to_string();
    let case = case.env("HOME", &home);
    case.write("home/.config/mcp-watchdog/config.yaml", "servers: {home: {command: a}}");
    assert_eq!(found(&case), "home");
    let xdg = case.folder.path().join("xdg").display().to_string();
    let case = case.env("XDG_CONFIG_HOME", &xdg);
    case.write("xdg/mcp-watchdog/config.yaml", "servers: {xdg: {command: a}}");
    assert_eq!(found(&case), "xdg");
    case.write("mcp-watchdog.yaml", "servers: {here: {command: a}}");
    assert_eq!(found(&case), "here");
    let named = case.write("named.yaml", "servers: {named: {command: a}}").display().to_string();
    let mut case = case.env("MCP_WATCHDOG_CONFIG", &named);
    assert_eq!(found(&case), "named");
    case.input.config = Some(case.write("option.yaml", "servers: {option: {command: a}}"));
    assert_eq!(found(&case), "option");

    let mut case = Case::command();
    case.write("mcp-watchdog.yaml", "servers: {here: {tool_timeout: soon}}");
    assert_eq!(found(&case), "fake-server", "with a command no file is read that nobody named");
    case.input.config = Some("missing.yaml".into());
    assert!(case.error().starts_with("missing.yaml: cannot be read: "), "{}", case.error());
}

#[test]
fn nothing_at_all_names_the_remedies() {
    assert_eq!(
        Case::with(Input::default()).error(),
        "no server to run: write its command behind `--` (mcp-watchdog -- COMMAND ARGS...), or name a file with --config \
         (looked for mcp-watchdog.yaml, etc.yaml)"
    );
}

#[test]
fn a_file_must_be_text_of_a_sane_length() {
    let case = Case::file("servers: {fs: {command: a}}");
    std::fs::write(case.input.config.as_ref().unwrap(), b"a: \xff").unwrap();
    assert_eq!(case.error(), "config.yaml: is not UTF-8 text (byte 3)");
    std::fs::write(case.input.config.as_ref().unwrap(), vec![b' '; 5 << 20]).unwrap();
    assert_eq!(case.error(), "config.yaml: is longer than 4 MiB");
    std::fs::write(case.input.config.as_ref().unwrap(), "\u{feff}servers: {fs: {command: a}}").unwrap();
    assert_eq!(case.server().name, "fs");
    let as_sha256sum_prints_it = "060bc9173494255c5a6acf82ea15849fea34e6e646ad52d19081c12b2cbf7585";
    assert_eq!(case.ok().sha256.as_deref(), Some(as_sha256sum_prints_it));
}

#[test]
fn remote_servers_are_refused_with_a_remedy() {
    for (section, place) in [
        ("{type: sse, url: 'http://x/sse'}", "config.yaml:1:22: servers.fs.type: "),
        ("{url: 'http://x/mcp'}", "config.yaml:1:21: servers.fs.url: "),
    ] {
        let error = Case::file(&format!("servers: {{fs: {section}}}")).error();
        assert!(error.starts_with(&format!("{place}a remote server cannot be run by this version")), "{error}");
        assert!(error.contains("`command: npx` with `args: [mcp-remote, URL]`"), "{error}");
    }
}

#[test]
fn checking_a_file_looks_at_every_server() {
    let text = "servers: {fs: {command: a, enabled: false}, docs: {type: http, url: 'http://x'}, b: {command: c}}";
    let checked = check(&Case::file(text).input, &known).unwrap();
    assert_eq!(
        checked.loaded.config.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(),
        ["fs", "b"]
    );
    assert_eq!(checked.others, [("docs".to_owned(), "remote (http), not run by this version".to_owned())]);
    let text = "defaults: {restart: {delays: []}}\nservers: {a: {command: x}, b: {args: [x]}}";
    let errors = check(&Case::file(text).input, &known).unwrap_err();
    assert_eq!(errors.errors().len(), 2, "the error in `defaults` is reported once: {errors}");
}

#[test]
fn checking_needs_a_file() {
    let error = check(&Case::with(Input::default()).input, &known).unwrap_err();
    assert!(error.to_string().starts_with("no file to check: name one (looked for "), "{error}");
}
