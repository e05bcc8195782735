//! The child's command and environment.

use super::*;

fn env(case: &Case) -> Vec<String> {
    case.server().command.env.iter().map(|(k, v)| format!("{}={}", k.display(), v.display())).collect()
}

#[test]
fn the_environment_is_inherited_then_the_file_then_env() {
    let case = Case::file(
        "servers: {fs: {command: a, env_file: secrets.env, env: {C: 'env ${BASE}', D: '${NO:-none}', PORT: 8080, V: 1.10, E: ~}}}",
    );
    case.write("secrets.env", "B=file\nC=file\n");
    let case = case
        .env("BASE", "x")
        .env("B", "inherited")
        .env("E", "kept")
        .env("NOTIFY_SOCKET", "/n")
        .env("MCP_WATCHDOG_TOKEN", "t");
    assert_eq!(env(&case), ["B=file", "BASE=x", "C=env x", "D=none", "E=kept", "PORT=8080", "V=1.10"]);
    let case = case.set("inherit_env=false");
    assert_eq!(env(&case), ["B=file", "C=env x", "D=none", "PORT=8080", "V=1.10"]);
}

#[test]
fn variables_expand_in_command_args_and_folder() {
    let case = Case::file("servers: {fs: {command: '${BIN}/x', args: ['${A:-1}', 2, '$${A}'], cwd: '${HOME}/w'}}")
        .env("BIN", "/opt")
        .env("HOME", "/home/u");
    let command = case.server().command;
    assert_eq!(command.program, "/opt/x");
    assert_eq!(command.args, ["1", "2", "${A}"]);
    assert_eq!(command.cwd, Some("/home/u/w".into()));
}

#[test]
fn a_command_with_spaces_is_a_warning() {
    let warnings = Case::file("servers: {fs: {command: npx -y server}}").ok().warnings;
    assert_eq!(
        warnings,
        ["`command` of `fs` has spaces and is not split: arguments go into `args`, there is no shell"]
    );
    assert_eq!(Case::file("servers: {fs: {command: '/my dir/server', args: [x]}}").ok().warnings, [""; 0]);
}

#[test]
fn what_cannot_be_started() {
    for (section, message) in [
        ("{args: [x]}", "config.yaml:1:11: servers: the server `fs` has no `command`"),
        ("{command: ''}", "config.yaml:1:25: servers.fs.command: is empty"),
        ("{command: \"a\\0b\"}", "config.yaml:1:25: servers.fs.command: cannot hold a NUL byte"),
        ("{command: a, env: {A=B: x}}", "config.yaml:1:39: servers.fs.env.A=B: is not the name of a variable"),
        (
            "{command: a, cwd: '${NO}'}",
            "config.yaml:1:33: servers.fs.cwd: the variable `NO` is not set, and has no default (`${NO:-default}`)",
        ),
    ] {
        let error = Case::file(&format!("servers: {{fs: {section}}}")).error();
        assert_eq!(error.lines().next(), Some(message), "{section}");
    }
    let input = Input { command: vec!["".into()], ..Input::default() };
    assert_eq!(Case::with(input).error(), "COMMAND is empty");
}

#[test]
fn an_env_file_that_cannot_be_used() {
    let case = Case::file("servers: {fs: {command: a, envFile: no.env}}");
    let error = case.error();
    assert!(error.starts_with("config.yaml:1:37: servers.fs.envFile: no.env cannot be read: "), "{error}");
    case.write("no.env", "A=1\nhunter2\n");
    let error = case.error();
    assert!(error.starts_with("config.yaml:1:37: servers.fs.envFile: no.env:2: expected KEY=VALUE\n"), "{error}");
    assert!(!error.contains("hunter2"));
}

#[cfg(unix)]
#[test]
fn arguments_and_inherited_values_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let raw = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let command = vec![raw(b"/bin/\xfe-server"), raw(b"\xff")];
    let environment = vec![(raw(b"A\xff"), raw(b"\xff")), (raw(b"B"), raw(b"\xfd"))];
    let server =
        Case::with(Input { command: command.clone(), environment: environment.clone(), ..Input::default() }).server();
    assert_eq!(server.command.program, command[0]);
    assert_eq!(server.command.args, command[1..]);
    assert_eq!(server.command.env, environment);
    assert_eq!(server.name, "server");

    let mut case = Case::file("servers: {fs: {command: '${B}'}}");
    case.input.environment = environment;
    assert_eq!(case.server().command.program, raw(b"\xfd"));
}

#[cfg(unix)]
#[test]
fn values_of_keys_must_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let raw = || OsString::from_vec(b"\xff".to_vec());
    let mut case = Case::command();
    case.input.environment.push(("MCP_WATCHDOG_TOOL_TIMEOUT".into(), raw()));
    case.input.environment.push(("CONNECTION_RETRY_DELAY".into(), raw()));
    case.input.settings.push(Setting::Set(raw()));
    case.input.settings.push(Setting::Named { flag: "--hold", key: "restart.hold", value: raw() });
    case.input.name = Some(raw());
    let error = case.error();
    for line in ["MCP_WATCHDOG_TOOL_TIMEOUT", "CONNECTION_RETRY_DELAY", "--set", "--hold"] {
        assert!(error.contains(&format!("{line}: the value is not UTF-8")), "{error}");
    }
}
