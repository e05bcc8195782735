use super::*;
use crate::ecosystem::Format;

const REQUEST: Request<'static> =
    Request { source: "mcp.json", folder: Some("/home/me/${x}"), server: None, workspace: None, timeout_unit: None };

#[track_caller]
fn imported(text: &str, format: Format, request: &Request<'_>) -> Imported {
    let document = Document::parse(text, format).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    import(&document, request).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// The section of the one server, without what is the same for all.
#[track_caller]
fn section(entry: &str, request: &Request<'_>) -> (String, Vec<String>) {
    let Imported { yaml, warnings, .. } =
        imported(&format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#), Format::Json, request);
    let head = "# Made of mcp.json by `mcp-watchdog import`.\nversion: 1\nservers:\n  s:\n";
    let section = yaml.strip_prefix(head).unwrap_or_else(|| panic!("{yaml}"));
    (section.to_owned(), warnings)
}

#[track_caller]
fn errors(text: &str, request: &Request<'_>) -> Vec<String> {
    let document = Document::parse(text, Format::Json).unwrap();
    import(&document, request).expect_err(text)
}

#[test]
fn a_file_of_vs_code() {
    let text = r#"{
  // what this project needs
  "inputs": [],
  "servers": {
    "fs": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "x", "${workspaceFolder}/data", "${userHome}${pathSeparator}y", 8080, true],
      "cwd": "${workspaceFolder}",
      "env": { "TOKEN": "${env:TOKEN}", "PORT": 80, "NONE": null, "YES": "no", "TILDE": "~" },
      "envFile": "${workspaceFolder}/.env",
      "dev": { "watch": "x" },
    },
  },
}"#;
    let request = Request { workspace: Some("/src/${p}"), ..REQUEST };
    let Imported { yaml, warnings, .. } = imported(text, Format::Json, &request);
    assert_eq!(warnings, ["fs: `dev` is the client's own and is left out"]);
    assert_eq!(
        yaml,
        r"# Made of mcp.json by `mcp-watchdog import`.
version: 1
servers:
  fs:
    command: npx
    args:
    - -y
    - x
    - /src/$${p}/data
    - ${HOME}/y
    - '8080'
    - 'true'
    cwd: /src/$${p}
    env:
      TOKEN: ${TOKEN}
      PORT: '80'
      YES: no
      TILDE: '~'
    env_file: /src/$${p}/.env
"
    );
}

#[test]
fn references_of_every_client() {
    let convert = |text| variables::convert(text, Some("/w"));
    for (text, ours) in [
        ("", ""),
        ("$HOME and {x} and $", "$HOME and {x} and $"),
        ("a${VAR}b${VAR:-d e}c", "a${VAR}b${VAR:-d e}c"),
        ("${env:VAR}${env:V_2:-x}", "${VAR}${V_2:-x}"),
        ("${workspaceFolder}/${workspaceFolderBasename}${/}", "/w/w/"),
        ("${not a variable}", "$${not a variable}"),
        ("${}", "$${}"),
        ("${open", "$${open"),
    ] {
        assert_eq!(convert(text).as_deref(), Ok(ours), "{text}");
    }
    for (text, reason) in [
        ("${input:key}", "a question to the user"),
        ("${command:x.y}", "known to the client alone"),
        ("${config:x}", "known to the client alone"),
        ("${env:a b}", "does not name a variable"),
        ("$${VAR}", "different things"),
    ] {
        assert!(convert(text).is_err_and(|error| error.contains(reason)), "{text}");
    }
    assert!(variables::convert("${workspaceFolder}", None).is_err_and(|error| error.contains("--workspace")));
}

#[test]
fn keys_of_other_clients() {
    for (entry, ours, warned) in [
        (r#"{"command": "x", "args": []}"#, "command: x", &[][..]),
        (r#"{"command": "x", "source": "custom", "args": null, "cwd": null}"#, "command: x", &[]),
        (r#"{"command": "x", "disabled": true}"#, "command: x\nenabled: false", &[]),
        (r#"{"command": "x", "disabled": false}"#, "command: x", &[]),
        (r#"{"command": "x", "enabled": false}"#, "command: x\nenabled: false", &[]),
        (
            r#"{"command": "x", "autoApprove": [], "alwaysAllow": []}"#,
            "command: x",
            &["`autoApprove` is", "`alwaysAllow` is"],
        ),
        (r#"{"command": "x y"}"#, "command: x y", &["has spaces and is not split"]),
        (r#"{"command": "x", "timeout": 60}"#, "command: x", &["`mcp-watchdog import --timeout-unit` takes it"]),
        (r#"{"command": "x", "startup_timeout_sec": 1.5}"#, "command: x\nhandshake:\n  timeout: 1.5s", &[]),
        (r#"{"command": "x", "startup_timeout_ms": 20000}"#, "command: x\nhandshake:\n  timeout: 20s", &[]),
        (r#"{"command": "x", "tool_timeout_sec": 60}"#, "command: x\ntool_timeout: 40s", &["`tool_timeout` is 40s"]),
        (r#"{"command": "x", "envFile": "a/.env"}"#, "command: x\nenv_file: /home/me/$${x}/a/.env", &[]),
        (r#"{"command": "x", "env_file": "${DIR}/.env"}"#, "command: x\nenv_file: ${DIR}/.env", &[]),
        (
            r#"{"command": "/b/mcp-watchdog", "args": ["--hold", "1s", "--", "npx", "-y"]}"#,
            "command: npx\nargs:\n- -y",
            &["without the options"],
        ),
        (
            r#"{"transport": "sse", "url": "http://x/${env:P}", "headers": {"A": "Bearer ${T}"},
                "connection": {"keepalive_timeout": 90, "heartbeat_interval": 30, "reconnect_attempts": 5, "reconnect_delay": 1000, "x": 1}}"#,
            "type: sse\nurl: http://x/${P}\nheaders:\n  A: Bearer ${T}\nkeepalive:\n  timeout: 1m30s\n  interval: 30s\nrestart:\n  max_attempts: 5\n  initial_delay: 1s",
            &["is remote", "`connection.x`"],
        ),
        (
            r#"{"command": "x", "tool_timeout_sec": 60, "env": {"A": "1", "B": "1"}, "x-mcp-watchdog":
                {"tool_timeout": "9s", "env": {"B": "2"}, "probe": {"chain": [{"type": "ping", "n": 1.5, "o": [null, false]}]}, "restart": {"max_attempts": 3}}}"#,
            "command: x\ntool_timeout: 9s\nenv:\n  A: '1'\n  B: '2'\nprobe:\n  chain:\n  - type: ping\n    n: 1.5\n    o:\n    - null\n    - false\nrestart:\n  max_attempts: 3",
            &["`tool_timeout` is 40s"],
        ),
    ] {
        let (section, warnings) = section(entry, &REQUEST);
        let expected: String = ours.lines().map(|line| format!("    {line}\n")).collect();
        assert_eq!(section, expected, "{entry}");
        assert_eq!(warnings.len(), warned.len(), "{entry}: {warnings:?}");
        for (warning, part) in warnings.iter().zip(warned) {
            assert!(warning.starts_with("s: ") && warning.contains(part), "{warning}");
        }
    }
}

/// Document 001's Toolman, whose delays are milliseconds and whose other times are seconds.
#[test]
fn s142_a_file_of_toolman() {
    let text = r#"{"mcp_servers": {"s": {"url": "http://x/sse", "transport": "sse", "connection":
        {"keepalive_timeout": 90, "reconnect_attempts": 5, "reconnect_delay": 1000, "heartbeat_interval": 30}}}}"#;
    let Imported { yaml, warnings, .. } = imported(text, Format::Json, &REQUEST);
    let section = "    url: http://x/sse\n    type: sse\n    keepalive:\n      timeout: 1m30s\n      interval: 30s\n    restart:\n      max_attempts: 5\n      initial_delay: 1s\n";
    assert!(yaml.ends_with(&format!("servers:\n  s:\n{section}")), "{yaml}");
    assert_eq!(warnings, ["s: is remote, and this version runs servers that are commands"]);
}

#[test]
fn a_timeout_has_the_unit_that_is_told() {
    for (unit, ours) in [(Unit::Seconds, "11h6m40s"), (Unit::Milliseconds, "40s")] {
        let request = Request { timeout_unit: Some(unit), ..REQUEST };
        let (section, _) = section(r#"{"command": "x", "timeout": 60000}"#, &request);
        assert_eq!(section, format!("    command: x\n    tool_timeout: {ours}\n"));
    }
}

#[test]
fn a_file_of_codex() {
    let text = "[mcp_servers.a]\ncommand = \"npx\"\nargs = ['-y']\nenv_vars = ['X']\n[mcp_servers.a.env]\nA = \"1\"\n";
    let Imported { yaml, warnings, .. } = imported(text, Format::Toml, &REQUEST);
    assert!(
        yaml.ends_with("servers:\n  a:\n    command: npx\n    args:\n    - -y\n    env:\n      A: '1'\n"),
        "{yaml}"
    );
    assert_eq!(warnings, ["a: `env_vars` is the client's own and is left out"]);
}

#[test]
fn what_has_no_meaning_here_is_an_error_that_names_the_entry() {
    for (entry, reason) in [
        (r#"{"command": "x", "env": {"K": "${input:key}"}}"#, "s: `env.K`: `${input:key}` is a question"),
        (r#"{"command": "${workspaceFolder}/x"}"#, "s: `command`: `${workspaceFolder}` is not known here"),
        (r#"{"command": "x", "args": [[]]}"#, "s: `args`: an argument is not text"),
        (r#"{"command": "x", "args": "y"}"#, "s: has `args` that are not a list"),
        (r#"{"command": "x", "env": []}"#, "s: `env` is not a map"),
        (r#"{"command": "x", "env": {"A": {}}}"#, "s: `env.A` is not text"),
        (r#"{"command": "x", "cwd": 7}"#, "s: `cwd` is not text"),
        (r#"{"command": "x", "disabled": "maybe"}"#, "s: `disabled` is neither"),
        (r#"{"command": "x", "startup_timeout_sec": -1}"#, "s: `startup_timeout_sec` is not a time"),
        (r#"{"command": "x", "startup_timeout_sec": 1e99}"#, "s: `startup_timeout_sec` is not a time"),
        (r#"{"command": "x", "x-mcp-watchdog": 7}"#, "s: `x-mcp-watchdog` is not a map"),
        (r#"{"command": "mcp-watchdog", "args": ["--config", "x"]}"#, "s: runs mcp-watchdog, but without"),
        (r#"{"env": {}}"#, "s: has no `command`"),
    ] {
        let found = errors(&format!(r#"{{"mcpServers": {{"s": {entry}}}}}"#), &REQUEST);
        assert!(found.len() == 1 && found[0].starts_with(reason), "{entry}: {found:?}");
    }
}

#[test]
fn what_an_extension_brings_is_left_out_beside_others_and_an_error_alone() {
    let text = r#"{"context_servers": {
        "own": {"source": "custom", "command": "a"},
        "theirs": {"source": "extension", "settings": {}},
        "older": {"settings": {"command": "x"}}
    }}"#;
    let made = imported(text, Format::Json, &REQUEST);
    assert!(made.yaml.ends_with("servers:\n  own:\n    command: a\n"), "{}", made.yaml);
    let told = |name| format!("{name}: is left out: it belongs to an extension of the client, which knows its command");
    assert_eq!(made.warnings, [told("theirs"), told("older")]);
    assert_eq!(errors(text, &Request { server: Some("theirs"), ..REQUEST }), [told("theirs")]);
}

#[test]
fn an_entry_that_cannot_be_turned_takes_none_of_the_others_along() {
    let text = r#"{"mcpServers": {
        "asks": {"command": "x", "env": {"K": "${input:key}"}, "cwd": 7},
        "good": {"command": "a"},
        "odd": 7,
        "second": {"args": []}
    }, "projects": {
        "/p": {"mcpServers": {"odd": 7, "second": {"command": "b"}, "good": {"args": "y"}}},
        "/q": {"mcpServers": {"odd": {"command": "c", "args": "y"}}}
    }}"#;
    let made = imported(text, Format::Json, &REQUEST);
    assert!(made.yaml.ends_with("servers:\n  good:\n    command: a\n  second:\n    command: b\n"), "{}", made.yaml);
    assert_eq!(made.warnings, ["good (/p): is left out, because good has the same name, `good`"]);
    let told: Vec<_> = made.refused.iter().map(|entry| (entry.name.as_str(), entry.reasons.len())).collect();
    // What is the same in two projects is told once.
    assert_eq!(told, [("asks", 2), ("odd", 2), ("second", 1)], "{:?}", made.refused);
    assert_eq!(made.refused[1].reasons, ["odd: is not a map of keys", "odd (/q): has `args` that are not a list"]);
    let alone = errors(text, &Request { server: Some("asks"), ..REQUEST });
    assert_eq!(alone.len(), 2, "{alone:?}");
}

#[test]
fn one_server_can_be_chosen() {
    let text = r#"{"mcpServers": {"one": {"command": "a"}, "two": {"command": "${input:x}"}}}"#;
    let request = |server| Request { server: Some(server), ..REQUEST };
    let yaml = imported(text, Format::Json, &request("one")).yaml;
    assert!(yaml.ends_with("servers:\n  one:\n    command: a\n"), "{yaml}");
    assert_eq!(errors(text, &request("tow")), ["has no server \"tow\" (did you mean \"two\"?); it has one, two"]);
    assert_eq!(errors(r#"{"mcpServers": {}}"#, &REQUEST), ["has no servers in it"]);
    assert!(errors("{}", &REQUEST)[0].starts_with("holds no servers"));
    assert!(errors(r#"{"version": 1, "servers": {}}"#, &REQUEST)[0].contains("can be used as it is"));
}

#[test]
fn names_become_names_of_ours() {
    let text = r#"{"mcpServers": {"My Files": {"command": "a"}, "My/Files": {"command": "b"}, "é": {"command": "c"}},
        "projects": {"/p": {"mcpServers": {"My-Files": {"command": "a"}}}}}"#;
    let Imported { yaml, warnings, .. } = imported(text, Format::Json, &REQUEST);
    assert!(yaml.ends_with("servers:\n  My-Files:\n    command: a\n  server:\n    command: c\n"), "{yaml}");
    assert_eq!(
        warnings,
        [
            "My Files: is called `My-Files` here: names are letters, digits, `.`, `_` and `-`",
            "My/Files: is called `My-Files` here: names are letters, digits, `.`, `_` and `-`",
            "My/Files: is left out, because My Files has the same name, `My-Files`",
            "é: is called `server` here: names are letters, digits, `.`, `_` and `-`",
        ]
    );
}
