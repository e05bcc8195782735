use super::*;

const BINARY: &str = "/opt/mcp-watchdog";

fn wrapping(options: &[&str]) -> Change {
    Change::Wrap { binary: BINARY.to_owned(), options: options.iter().map(|option| (*option).to_owned()).collect() }
}

fn undoing() -> Change {
    Change::Undo { binary: BINARY.to_owned() }
}

#[track_caller]
fn changed(text: &str, format: Format, change: &Change) -> Rewritten {
    let document = Document::parse(text, format).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    rewrite(&document, change).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Wraps, compares, and takes it back to the very bytes of before.
#[track_caller]
fn round_trip(format: Format, before: &str, after: &str) {
    let wrapped = changed(before, format, &wrapping(&[])).text;
    assert_eq!(wrapped, after);
    assert_eq!(changed(&wrapped, format, &wrapping(&[])).text, wrapped, "a second time changes nothing");
    assert_eq!(changed(&wrapped, format, &undoing()).text, before);
}

#[test]
fn a_file_of_claude_desktop() {
    round_trip(
        Format::Json,
        r#"{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem"
      ],
      "env": {
        "TOKEN": "s3cr3t"
      }
    }
  }
}
"#,
        r#"{
  "globalShortcut": "",
  "mcpServers": {
    "filesystem": {
      "command": "/opt/mcp-watchdog",
      "args": [
        "--name",
        "filesystem",
        "--",
        "npx",
        "-y",
        "@modelcontextprotocol/server-filesystem"
      ],
      "env": {
        "TOKEN": "s3cr3t"
      }
    }
  }
}
"#,
    );
}

#[test]
fn comments_and_trailing_commas_stay() {
    round_trip(
        Format::Json,
        "// mine\n{ \"servers\": {\n\t\"a b\": { /* x */ \"command\": \"n\\u0070x\", // the command\n\t\t\"args\": [ // these\n\t\t\t\"-y\", /* more */\n\t\t\t\"x\", // last\n\t\t], },\n},}\n",
        "// mine\n{ \"servers\": {\n\t\"a b\": { /* x */ \"command\": \"/opt/mcp-watchdog\", // the command\n\t\t\"args\": [ // these\n\t\t\t\"--name\",\n\t\t\t\"a-b\",\n\t\t\t\"--\",\n\t\t\t\"n\\u0070x\",\n\t\t\t\"-y\", /* more */\n\t\t\t\"x\", // last\n\t\t], },\n},}\n",
    );
}

#[test]
fn lists_keep_their_manner() {
    let entry =
        |command: &str, args: &str| format!(r#"{{"mcpServers":{{"a":{{"args":{args},"command":"{command}"}}}}}}"#);
    for (before, after) in [
        (r#"["x","y"]"#, r#"["--name","a","--","npx","x","y"]"#),
        (r#"["x", "y"]"#, r#"["--name", "a", "--", "npx", "x", "y"]"#),
        (r#"["x"]"#, r#"["--name", "a", "--", "npx", "x"]"#),
        ("[]", r#"["--name", "a", "--", "npx"]"#),
        ("[ ]", r#"["--name", "a", "--", "npx" ]"#),
        ("[\r\n  1,\r\n  null]", "[\r\n  \"--name\",\r\n  \"a\",\r\n  \"--\",\r\n  \"npx\",\r\n  1,\r\n  null]"),
    ] {
        round_trip(Format::Json, &entry("npx", before), &entry(BINARY, after));
    }
}

#[test]
fn a_list_that_is_not_there_is_written_and_taken_away_again() {
    for (format, before, after) in [
        (
            Format::Json,
            "{\"mcpServers\": {\"a\": {\r\n    \"command\": \"x\" // c\r\n}}}",
            "{\"mcpServers\": {\"a\": {\r\n    \"command\": \"/opt/mcp-watchdog\",\r\n    \"args\": [\"--name=a\", \"--\", \"x\"] // c\r\n}}}",
        ),
        (
            Format::Json,
            r#"{"mcpServers": {"a": {"command": "x",}, "b": {"command": "y", "env": {}}, "c": {"env": {}, "command": "z"}}}"#,
            r#"{"mcpServers": {"a": {"command": "/opt/mcp-watchdog", "args": ["--name=a", "--", "x"],}, "b": {"command": "/opt/mcp-watchdog", "args": ["--name=b", "--", "y"], "env": {}}, "c": {"env": {}, "command": "/opt/mcp-watchdog", "args": ["--name=c", "--", "z"]}}}"#,
        ),
        (
            Format::Toml,
            "[mcp_servers]\nb = { command = 'y' }\nc.command = \"z\" # dotted\n[mcp_servers.a]\r\n  command = \"x\" # why\r\n  env = {}\r\n[mcp_servers.d]\ncommand = 'w'",
            "[mcp_servers]\nb = { command = \"/opt/mcp-watchdog\", args = [\"--name=b\", \"--\", 'y'] }\nc.command = \"/opt/mcp-watchdog\" # dotted\nc.args = [\"--name=c\", \"--\", \"z\"]\n[mcp_servers.a]\r\n  command = \"/opt/mcp-watchdog\" # why\r\n  args = [\"--name=a\", \"--\", \"x\"]\r\n  env = {}\r\n[mcp_servers.d]\ncommand = \"/opt/mcp-watchdog\"\nargs = [\"--name=d\", \"--\", 'w']",
        ),
    ] {
        round_trip(format, before, after);
    }
}

/// Whoever laid the file out anew, or put something beside the list, gets back what can be given back without touching that.
#[test]
fn a_list_that_was_not_there_goes_from_wherever_it_is_now() {
    for (format, wrapped, undone) in [
        (
            Format::Json,
            "{\"mcpServers\": {\"a\": {\n  \"args\": [\n    \"--name=a\",\n    \"--\",\n    \"x\"\n  ],\n  \"command\": \"mcp-watchdog\"\n}}}",
            "{\"mcpServers\": {\"a\": {\n  \"command\": \"x\"\n}}}",
        ),
        (
            Format::Json,
            r#"{"mcpServers": {"a": {"command": "mcp-watchdog", "args": ["--name=a", "--", "x", "new"]}}}"#,
            r#"{"mcpServers": {"a": {"command": "x", "args": ["new"]}}}"#,
        ),
        (
            Format::Json,
            r#"{"mcpServers": {"a": {"command": "mcp-watchdog", /* mine */ "args": ["--name=a", "--", "x"]}}}"#,
            r#"{"mcpServers": {"a": {"command": "x", /* mine */ "args": []}}}"#,
        ),
        (
            Format::Json,
            r#"{"mcpServers": {"a": {"args": ["y"], "command": "mcp-watchdog", "args": ["--name=a", "--", "x"]}}}"#,
            r#"{"mcpServers": {"a": {"args": ["y"], "command": "x", "args": []}}}"#,
        ),
        (
            Format::Toml,
            "[mcp_servers.a]\nargs = [\n  \"--name=a\",\n  \"--\",\n  'x',\n]  \ncommand = \"mcp-watchdog\"\n",
            "[mcp_servers.a]\ncommand = 'x'\n",
        ),
        (
            Format::Toml,
            "[mcp_servers.a]\ncommand = \"mcp-watchdog\"\nargs = [\"--name=a\", \"--\", 'x'] # mine\n",
            "[mcp_servers.a]\ncommand = 'x'\nargs = [] # mine\n",
        ),
    ] {
        assert_eq!(changed(wrapped, format, &undoing()).text, undone);
    }
}

#[test]
fn a_list_that_is_null_comes_back_as_an_empty_one() {
    let text =
        |command: &str, args: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "{command}", "args": {args}}}}}}}"#);
    let wrapped = changed(&text("x", "null"), Format::Json, &wrapping(&[])).text;
    assert_eq!(wrapped, text(BINARY, r#"["--name", "a", "--", "x"]"#));
    assert_eq!(changed(&wrapped, Format::Json, &undoing()).text, text("x", "[]"));
}

#[test]
fn a_file_of_codex() {
    round_trip(
        Format::Toml,
        r#"model = "x" # mine

[mcp_servers.everything]
command = 'npx'
args = [
  "-y", # yes
  "@modelcontextprotocol/server-everything",
]
startup_timeout_sec = 30

[mcp_servers."a \u007f".env]
A = "1"
[mcp_servers."a \u007f"]
args = ["1"]
command = """C:\\x"""
"#,
        r#"model = "x" # mine

[mcp_servers.everything]
command = "/opt/mcp-watchdog"
args = [
  "--name",
  "everything",
  "--",
  'npx',
  "-y", # yes
  "@modelcontextprotocol/server-everything",
]
startup_timeout_sec = 30

[mcp_servers."a \u007f".env]
A = "1"
[mcp_servers."a \u007f"]
args = ["--name", "a--", "--", """C:\\x""", "1"]
command = "/opt/mcp-watchdog"
"#,
    );
}

#[test]
fn every_section_of_every_client_is_found() {
    for (section, name) in [
        (r#"{"mcpServers": ENTRY}"#, "s"),
        (r#"{"servers": ENTRY, "inputs": []}"#, "s"),
        (r#"{"mcp": {"servers": ENTRY}}"#, "s"),
        (r#"{"context_servers": ENTRY}"#, "s"),
        (r#"{"mcp_servers": ENTRY}"#, "s"),
        (r#"{"projects": {"/home/me": {"mcpServers": ENTRY}, "/tmp": {}}}"#, "s (/home/me)"),
    ] {
        let text = section.replace("ENTRY", r#"{"s": {"command": "npx"}}"#);
        let outcomes = changed(&text, Format::Json, &wrapping(&[])).outcomes;
        let [Outcome { server, result: Ok(command) }] = outcomes.as_slice() else { panic!("{section}: {outcomes:?}") };
        assert_eq!((server.to_string().as_str(), server.name(), command.as_str()), (name, "s", "npx"));
    }
}

#[test]
fn what_cannot_be_wrapped_is_left_with_the_reason() {
    for (entry, reason) in [
        (r#"{"url": "http://x"}"#, "is remote"),
        (r#"{"serverUrl": "http://x"}"#, "is remote"),
        (r#"{"type": "sse", "command": "x"}"#, "is remote"),
        (r#"{"type": "carrier-pigeon", "command": "x"}"#, "`type` that is not known"),
        (r#"{"source": "extension", "settings": {}}"#, "an extension"),
        (r#"{"settings": {}}"#, "an extension"),
        ("{}", "no `command`"),
        (r#"{"command": {"path": "x"}}"#, "`command` that is not text"),
        (r#"{"command": ""}"#, "`command` that is not text"),
        (r#"{"command": "x", "args": "-y"}"#, "`args` that are not a list"),
        ("7", "not a map"),
        (r#"{"command": "/opt/mcp-watchdog", "args": ["--config", "x"]}"#, "already"),
        (r#"{"command": "C:\\x\\mcp-watchdog.exe", "args": ["--", "x"]}"#, "already"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}, "b": {{"command": "npx", "args": ["z"]}}}}}}"#);
        let rewritten = changed(&text, Format::Json, &wrapping(&[]));
        let [Outcome { result: Err(found), .. }, Outcome { result: Ok(_), .. }] = rewritten.outcomes.as_slice() else {
            panic!("{entry}: {:?}", rewritten.outcomes)
        };
        assert!(found.contains(reason), "{entry}: {found}");
        assert!(rewritten.text.contains(&format!("\"a\": {entry},")), "{}", rewritten.text);
    }
}

#[test]
fn undo_leaves_what_it_did_not_do() {
    for (entry, reason) in [
        (r#"{"command": "npx", "args": ["x"]}"#, "does not run under mcp-watchdog"),
        (
            r#"{"command": "/opt/wd", "args": ["--", "x"]}"#,
            "does not run under mcp-watchdog; if `/opt/wd` is one, say so by `--binary /opt/wd`",
        ),
        (r#"{"command": "mcp-watchdog", "args": ["--config", "x"]}"#, "without a command"),
        (r#"{"command": "mcp-watchdog", "args": ["--"]}"#, "without a command"),
        (r#"{"command": "mcp-watchdog", "args": ["--", 7]}"#, "without a command"),
        (r#"{"command": "mcp-watchdog"}"#, "without a command"),
    ] {
        let text = format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        let rewritten = changed(&text, Format::Json, &undoing());
        assert_eq!(rewritten.text, text);
        assert!(
            rewritten.outcomes[0].result.as_ref().is_err_and(|why| why.contains(reason)),
            "{:?}",
            rewritten.outcomes
        );
    }
}

#[test]
fn undo_keeps_edits_made_meanwhile() {
    let text = r#"{"mcpServers": {
  "a": {"command": "mcp-watchdog", "args": ["--name", "a", "--tool-timeout", "9s", "--", "uvx", "new", "args"], "env": {"NEW": "1"}},
  "b": {"command": "mcp-watchdog", "args": [ "--", "node", ]}
}}"#;
    let rewritten = changed(text, Format::Json, &undoing());
    let undone = r#"{"mcpServers": {
  "a": {"command": "uvx", "args": ["new", "args"], "env": {"NEW": "1"}},
  "b": {"command": "node", "args": [  ]}
}}"#;
    assert_eq!(rewritten.text, undone);
}

#[test]
fn options_come_before_the_command() {
    let text = r#"{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}"#;
    let wrapped = changed(text, Format::Json, &wrapping(&["--tool-timeout=9s", "--set=x=\"\u{7f}\\"])).text;
    let args = r#"["--name", "a", "--tool-timeout=9s", "--set=x=\"\u007f\\", "--", "x", "y"]"#;
    assert!(wrapped.contains(args), "{wrapped}");
    assert_eq!(changed(&wrapped, Format::Json, &undoing()).text, text);
}

#[test]
fn of_a_key_that_is_written_twice_the_last_one_counts() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y", "command": "z", "args": []}}}"#;
    let rewritten = changed(text, Format::Json, &wrapping(&[]));
    assert_eq!(rewritten.outcomes.len(), 1);
    let after = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y", "command": "/opt/mcp-watchdog", "args": ["--name", "a", "--", "z"]}}}"#;
    assert_eq!(rewritten.text, after);
}

#[test]
fn other_files_are_refused() {
    for (text, reason) in [
        ("{}", "holds no servers of an MCP client"),
        ("[]", "holds no servers of an MCP client"),
        (r#"{"mcpServers": []}"#, "holds no servers of an MCP client"),
        (r#"{"version": 1, "servers": {}}"#, "configuration of mcp-watchdog itself"),
    ] {
        let document = Document::parse(text, Format::Json).unwrap();
        let error = rewrite(&document, &wrapping(&[])).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
    for (text, format, line, column) in [
        ("{\n  \"a\": é}", Format::Json, 2, 8),
        ("{\"a\": 1 \"b\": 2}", Format::Json, 1, 8),
        ("", Format::Json, 1, 1),
        ("a = 1\nb = s3cr3t\n", Format::Toml, 2, 5),
    ] {
        let Err(error) = Document::parse(text, format) else { panic!("{text}") };
        assert_eq!((error.line, error.column), (line, column), "{text}: {error:?}");
        assert!(!error.message.contains("s3cr3t"), "{error:?}");
    }
}

proptest::proptest! {
    /// Whatever the spacing and the texts: it means what it should, and back again to the same bytes.
    #[test]
    fn wrapping_and_undoing_is_no_change(
        name in ".{0,20}",
        command in ".{1,20}",
        args in proptest::option::of(proptest::collection::vec(".{0,10}", 0..4)),
        space in "[ \t\r\n]{0,3}",
        comment in "(/\\*[a-z,\\[\\]\"]{0,4}\\*/)?",
        toml in proptest::bool::ANY,
    ) {
        let json = |text: &str| quoted(text);
        let list = |items: &[String], separator| format!("[{}]", items.join(separator));
        let before = if toml {
            let args = args.map(|args| list(&args.iter().map(|arg| json(arg)).collect::<Vec<_>>(), ", "));
            let args = args.map(|args| format!("args = {args}\n")).unwrap_or_default();
            format!("[mcp_servers.{}]\ncommand = {}\n{args}", json(&name), json(&command))
        } else {
            let item = |arg: &String| format!("{space}{comment}{}{space}", json(arg));
            let args = args.map(|args| list(&args.iter().map(item).collect::<Vec<_>>(), ","));
            let args = args.map(|args| format!("\"args\":{args},{comment}")).unwrap_or_default();
            let command = json(&command);
            format!("{{\"mcpServers\":{space}{{{}:{space}{{{args}\"command\"{space}:{command}}}}}}}", json(&name))
        };
        let format = if toml { Format::Toml } else { Format::Json };
        let document = Document::parse(&before, format).map_err(|error| proptest::test_runner::TestCaseError::fail(format!("{error:?}: {before}")))?;
        let wrapped = rewrite(&document, &wrapping(&["--x"])).unwrap();
        proptest::prop_assert!(wrapped.outcomes[0].result.is_ok());
        let document = Document::parse(&wrapped.text, format).unwrap();
        proptest::prop_assert_eq!(rewrite(&document, &undoing()).unwrap().text, before);
    }
}
