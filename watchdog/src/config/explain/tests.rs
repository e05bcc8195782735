use super::*;
use crate::config::load::{Input, Setting, load, load_all};

fn explained(input: &Input) -> String {
    let loaded = load(input, &|_, _| Ok(())).unwrap();
    let mut out = Vec::new();
    explain(&loaded, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn line<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let line =
        text.lines().find(|line| line.trim_start().starts_with(&format!("{key} "))).unwrap_or_else(|| panic!("{key}"));
    line.trim().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn every_value_has_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.yaml");
    let text = "servers:\n  fs:\n    command: npx\n    args: [-y, 1.10]\n    env: {T: x}\n    disabled: false\nlog:\n  level: warn\n";
    std::fs::write(&file, text).unwrap();
    let name = file.display();
    let environment =
        vec![("MCP_WATCHDOG_TOOL_TIMEOUT".into(), "7".into()), ("CONNECTION_RETRY_ATTEMPTS".into(), "3".into())];
    let settings = vec![
        Setting::Named { flag: "--hold", key: "restart.hold", value: "1s".into() },
        Setting::Set("health.threshold=9".into()),
    ];
    let out = explained(&Input { config: Some(file.clone()), environment, settings, ..Input::default() });
    assert!(out.starts_with("fs\n"), "{out}");
    for (key, value, source) in [
        ("command", "npx", format!("{name}:3:14")),
        ("args", "[-y, 1.10]", format!("{name}:4:11")),
        ("env.T", "(hidden)", format!("{name}:5:14")),
        ("enabled", "true", format!("{name}:6:15")),
        ("log.level", "warn", format!("{name}:8:10")),
        ("tool_timeout", "7", "MCP_WATCHDOG_TOOL_TIMEOUT".to_owned()),
        ("restart.max_attempts", "3", "CONNECTION_RETRY_ATTEMPTS".to_owned()),
        ("restart.initial_delay", "1s", "preset network".to_owned()),
        ("restart.hold", "1s", "--hold".to_owned()),
        ("health.threshold", "9", "--set health.threshold".to_owned()),
        ("health.interval", "120s", "preset relentless".to_owned()),
        ("probe.chain", "[{type: ping}, {type: tools_list}]", "default".to_owned()),
        ("on_permanent_failure", "stay", "default".to_owned()),
    ] {
        assert_eq!(line(&out, key), [key, value, source.as_str()], "{out}");
    }
}

#[test]
fn a_command_of_the_command_line_replaces_the_files() {
    let out = explained(&Input { command: vec!["/bin/x".into(), "a\u{1b}b".into()], ..Input::default() });
    assert_eq!(line(&out, "command"), ["command", "/bin/x", "command line"]);
    assert_eq!(line(&out, "args"), ["args", "[a b]", "command line"]);
}

#[test]
fn several_servers_and_the_process_have_a_part_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.yaml");
    std::fs::write(&file, "servers:\n  a: {command: x}\n  b: {command: y}\n").unwrap();
    let loaded = load_all(&Input { config: Some(file), ..Input::default() }, &|_, _| Ok(())).unwrap();
    let mut out = Vec::new();
    explain(&loaded, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let parts: Vec<&str> = out.split("\n\n").collect();
    let heads: Vec<_> = parts.iter().map(|part| part.lines().next().unwrap()).collect();
    assert_eq!(heads, ["a", "b", "(process)"], "{out}");
    assert_eq!((line(parts[0], "command")[1], line(parts[1], "command")[1]), ("x", "y"));
    assert!(parts[2].contains("  log.level") && !parts[0].contains("  log.level"), "{out}");
}

#[test]
fn a_secret_in_a_link_hides_nothing_but_itself() {
    let chain = "[{type: x, command: [y, --token=s, '--port', 5], env: {A: s}, name: n}, {type: z}]";
    let settings = vec![Setting::Set(format!("probe.chain={chain}").into())];
    let out = explained(&Input { command: vec!["x".into()], settings, ..Input::default() });
    let shown = "[{type: x, command: [y, --token=(hidden), --port, 5], env: (hidden), name: n}, {type: z}]";
    assert_eq!(line(&out, "probe.chain")[1], shown);
}
