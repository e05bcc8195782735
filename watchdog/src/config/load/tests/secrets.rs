//! Values of `env`, `headers` and tokens appear in no error and no explanation.

use proptest::prelude::*;

use super::*;
use crate::config::explain::explain;

const SECRET: &str = "hunter2-s3cr3t";

/// Everything that a configuration makes the program say.
fn said(case: &Case) -> String {
    let said = match case.load() {
        Ok(loaded) => {
            let mut out = Vec::new();
            explain(&loaded, &mut out).unwrap();
            format!("{}{:?}{loaded:?}", String::from_utf8(out).unwrap(), loaded.warnings)
        }
        Err(errors) => format!("{errors}\n{errors:?}"),
    };
    // The folder has a random name.
    said.replace(&case.folder.path().display().to_string(), "")
}

#[track_caller]
fn silent(case: &Case) {
    let said = said(case);
    assert!(!said.contains(SECRET) && !said.contains("s3cr3t"), "{said}");
}

#[test]
fn files_that_are_wrong_around_a_secret() {
    for text in [
        "servers: {fs: {command: a, env: {T: SECRET}}}",
        "servers: {fs: {command: a, env: {T: SECRET}, tol_timeout: 3s}}",
        "servers: {fs: {command: a, tol_timeout: 3s, env: {T: SECRET}}}",
        "servers: {fs: {command: a, evn: {T: SECRET}, tool_timeout: x}}",
        "servers: {fs: {command: a, environment: {T: SECRET}}}",
        "servers: {fs: {command: a, env: SECRET}}",
        "servers: {fs: {command: a, env: [SECRET]}}",
        "servers: {fs: {command: a, env: {T: [SECRET]}}}",
        "servers: {fs: {command: a, env: {T: {x: SECRET}}}}",
        "servers: {fs: {command: a, env: {T: 'SECRET', T: 'SECRET'}}}",
        "servers: {fs: {command: a, env: {T: \"${SECRET\"}}}",
        "servers: {fs: {command: a, env: {T: \"SECRET\\0\"}}}",
        "servers: {fs: {command: a, env: {A=B: SECRET}}}",
        "servers: {fs: {command: a, headers: {Authorization: Bearer SECRET}, restart: {hold: x}}}",
        "servers: {fs: {type: http, url: 'http://u:SECRET@x/', headers: {A: SECRET}}}",
        "servers: {fs: {url: 'http://u:SECRET@x/'}}",
        "servers: {fs: {command: a, args: [--api-key=SECRET, --token, SECRET, {}], tool_timeout: x}}",
        "servers: {fs: {command: a, args: [--api-key=SECRET, --token, SECRET]}}",
        "servers: {fs: {command: a, probe: {chain: [{type: ping, token: SECRET, env: {A: SECRET}}]}}}",
        "servers: {fs: {command: a, probe: {chain: [{type: pong, token: SECRET, env: {A: SECRET}}]}}}",
        "servers:\n  fs:\n    env:\n      T: SECRET\n     U: SECRET\n",
        "servers:\n  fs:\n    env:\n      T: \"SECRET\n",
        "servers:\n  fs:\n    env:\n      T: 'SECRET' SECRET\n",
        "servers:\n  fs:\n    env:\n      T: *SECRET\n",
        "servers:\n  fs:\n    env:\n      T: !SECRET x\n",
        "servers:\n  fs:\n    env:\n\t T: SECRET\n",
        "servers:\n  fs:\n    env: {T: |\n  SECRET\n",
        "servers:\n  fs:\n    command: a\n    env:\n      T: |\n        SECRET\n        SECRET\n    hold: 3\n",
        "servers:\n  fs: {command: a, env: {T: \"one\n    SECRET\", T: x}, hold: 3}\n",
        "servers:\n  fs: {command: a, env: {T: one\n    SECRET}, tool_timeout: x}\n",
        "x-env: &e {T: SECRET, T: SECRET}\nservers: {fs: {command: a, env: *e, hold: 3}}",
        "x-env: &e {T: SECRET}\nservers: {fs: {command: a, env: {<<: *e, T: [SECRET]}, hold: 3}}",
    ] {
        silent(&Case::file(&text.replace("SECRET", SECRET)));
    }
}

#[test]
fn secrets_that_are_expanded_or_come_from_elsewhere() {
    let case =
        Case::file("servers: {fs: {command: a, args: ['${TOK}'], env: {T: 'x${TOK}', U: '${NO}'}}}").env("TOK", SECRET);
    silent(&case);
    silent(&case.env("NO", SECRET));
    let case = Case::file("servers: {fs: {command: a, env_file: s.env}}");
    case.write("s.env", &format!("T={SECRET}\n"));
    silent(&case);
    case.write("s.env", &format!("{SECRET}\nT='{SECRET}\n"));
    silent(&case);
    let case = Case::command().env("MCP_WATCHDOG_TOKEN", SECRET).env("MCP_WATCHDOG_API_TOKEN", SECRET).env("X", SECRET);
    silent(&case);
    for assignment in ["env.T=", "evn.T=", "headers.T=", "env=", "env={T: [x, ", "env.T=${", "env.=", "="] {
        silent(&Case::command().set(&format!("{assignment}{SECRET}")));
    }
    silent(&Case::command().env("MCP_WATCHDOG_ENV", SECRET));
    silent(&Case::command().env("MCP_WATCHDOG_ENV__T", SECRET));
    silent(&Case::command().env("MCP_WATCHDOG_ENV", &format!("{{T: [{SECRET}]}}")));
}

#[test]
fn command_line_arguments_with_telling_names_are_hidden() {
    let command =
        ["srv", "--api-key", SECRET, "--password=hunter2-s3cr3t", "--verbose", "file"].map(OsString::from).to_vec();
    let case = Case::with(Input { command, ..Input::default() });
    silent(&case);
    assert!(said(&case).contains("[--api-key, (hidden), --password=(hidden), --verbose, file]"), "{}", said(&case));
}

/// How a secret can be spelled as a YAML value at some indentation.
fn spelled(style: usize, secret: &str) -> String {
    match style {
        0 => secret.to_owned(),
        1 => format!("'{}'", secret.replace('\'', "''")),
        2 => format!("\"{}\"", secret.replace('\\', "\\\\").replace('"', "\\\"")),
        3 => format!("|\n          {secret}"),
        4 => format!("\"{}\"", secret.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect::<String>()),
        _ => format!("\"first\n          {}\"", secret.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

proptest! {
    /// Whatever its characters and its spelling, and whatever else is wrong.
    #[test]
    fn no_spelling_of_a_secret_is_shown(
        secret in "[a-z0-9\"'\\\\:{}#,\\[\\]&*!|>%@`-]{4,12}",
        style in 0_usize..6,
        slip in 0_usize..7,
        section in 0_usize..4,
    ) {
        // Long enough, and of characters that nothing else here has.
        let secret = format!("QZ{secret}ZQZQ");
        let key = ["env", "headers", "evn", "x-env"][section];
        let slip = [
            "", "tol_timeout: 3s", "tool_timeout: soon", "args: {}", "env: {T: 1}", "command: a", "'\"",
        ][slip];
        let value = spelled(style, &secret);
        let text = format!("servers:\n  fs:\n    command: a\n    {key}:\n        T: {value}\n        U: {value}\n    {slip}\n");
        let said = said(&Case::file(&text));
        for shown in ["QZ", "ZQ", "\\u0051"] {
            prop_assert!(!said.contains(shown), "{}\n{}", text, said);
        }
    }
}
