use super::*;

#[test]
fn the_watchdogs_own_variables_are_not_inherited() {
    let names = [
        "PATH",
        "MCP_WATCHDOG_TOKEN",
        "MCP_WATCHDOG_RUNTIME_DIR",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
        "LISTEN_FDS",
        "LISTEN_PID",
        "LISTEN_FDNAMES",
        "LISTEN_PIDFDID",
        "FDSTORE",
    ];
    let environment = names.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect();
    let kept: Vec<OsString> = inherited(&environment).into_keys().collect();
    assert_eq!(kept, ["MCP_WATCHDOG_RUNTIME_DIR", "PATH"]);
}

#[test]
fn lines_of_a_file() {
    let text = "\u{feff}# comment\n\nA=1\nexport B = two words  # comment\r\nC='a # \"b\" \\n'\nD=\"x\\ty\\\"\\\\\\z\" # c\nE=\nF=a=b#c\nG=''\n";
    let pairs = parse_file(text).unwrap();
    let expected = [
        ("A", "1"),
        ("B", "two words"),
        ("C", "a # \"b\" \\n"),
        ("D", "x\ty\"\\\\z"),
        ("E", ""),
        ("F", "a=b#c"),
        ("G", ""),
    ];
    assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn lines_that_are_wrong() {
    for (text, line, message) in [
        ("A=1\nsecret", 2, "expected KEY=VALUE"),
        ("=x", 1, "expected KEY=VALUE"),
        ("A B=x", 1, "expected KEY=VALUE"),
        ("A='x", 1, "a quote is not closed"),
        ("A=\"x\\", 1, "a quote is not closed"),
        ("A='x'y", 1, "text follows the closing quote"),
        ("A=\0", 1, "a NUL byte cannot stand in an environment"),
    ] {
        assert_eq!(parse_file(text), Err((line, message)), "{text:?}");
    }
}
