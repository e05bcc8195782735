//! Rules that no compiler keeps: what may be used where, how long files are, and that papers and code say the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rig::root;

/// The longest source file, in lines.
const LONGEST: usize = 400;

/// A source file without its tests and comments: line numbers, and what is left of the lines.
struct Source {
    path: String,
    text: String,
    code: Vec<(usize, String)>,
}

/// The Rust files below a folder of the checkout.
fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "no sources below {folder}");
    found.sort();
    found.iter().map(|path| read(path)).collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the checkout can be read") {
        let path = entry.expect("a folder of the checkout can be read").path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Source {
    let text = fs::read_to_string(path).expect("a source file is text");
    let shown = path.strip_prefix(root()).expect("it lies in the checkout");
    let lines: Vec<_> = text.lines().collect();
    let is_inline = |rest: &[&str]| {
        let item = rest.iter().find(|line| !line.starts_with("#["));
        item.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let tests = (0..lines.len()).find(|at| is_test_attribute(lines[*at]) && is_inline(&lines[at + 1..]));
    let code = lines[..tests.unwrap_or(lines.len())]
        .iter()
        .enumerate()
        .map(|(at, line)| (at + 1, without_comment(line).to_owned()))
        .collect();
    Source { path: shown.display().to_string(), code, text }
}

fn is_test_attribute(line: &str) -> bool {
    line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test,")
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.find(" // ").map_or(line, |at| &line[..at])
}

impl Source {
    /// Whether it exists for tests alone.
    fn is_test(&self) -> bool {
        let in_crate = self.path.split("/src/").nth(1);
        let tests = |part: &str| matches!(part.trim_end_matches(".rs"), "tests" | "samples");
        in_crate.is_none_or(|path| path.split('/').any(tests)) || self.path.starts_with("watchdog/src/core/testing")
    }

    /// The lines that contain one of these words, as messages.
    fn lines_with(&self, words: &[&str]) -> Vec<String> {
        let has = |line: &str, word: &str| {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            line.match_indices(word).any(|(at, _)| {
                let (before, after) = (&line[..at], &line[at + word.len()..]);
                let starts = word.starts_with(|c: char| c.is_alphanumeric());
                let ends = word.ends_with(|c: char| c.is_alphanumeric());
                !(starts && is_part(before.chars().next_back()) || ends && is_part(after.chars().next()))
            })
        };
        let bad = self.code.iter().filter(|(_, line)| words.iter().any(|word| has(line, word)));
        bad.map(|(at, line)| format!("{}:{at}: {}", self.path, line.trim())).collect()
    }
}

fn product() -> Vec<Source> {
    let folders = ["watchdog/src", "probes/src", "probe-api/src"];
    let all = folders.iter().flat_map(|folder| sources(folder));
    all.filter(|source| !source.is_test()).collect()
}

#[track_caller]
fn assert_none(what: &str, bad: Vec<String>) {
    assert!(bad.is_empty(), "{what}:\n  {}", bad.join("\n  "));
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let code = ["let x = a.unwrap();", "unsafely();", "use tokio::io;", "// tokio", "let tokio_like = 1; // tokio"];
    let source = Source {
        path: "watchdog/src/core/x.rs".to_owned(),
        text: String::new(),
        code: code.iter().enumerate().map(|(at, line)| (at, without_comment(line).to_owned())).collect(),
    };
    assert_eq!(source.lines_with(&[".unwrap()", "unsafe"]).len(), 1);
    assert_eq!(source.lines_with(&["tokio"]), ["watchdog/src/core/x.rs:2: use tokio::io;"]);
    assert!(!source.is_test());
}

#[test]
fn core_and_wire_are_pure() {
    const IMPURE: [&str; 17] = [
        "tokio",
        "Instant::now",
        "SystemTime",
        "tracing",
        "rmcp",
        "async",
        "await",
        "Command::new",
        "spawn",
        "std::fs",
        "std::net",
        "std::thread",
        "std::process",
        "std::env",
        "nix::unistd",
        "Mutex",
        "static mut",
    ];
    let rooms = sources("watchdog/src/core").into_iter().chain(sources("watchdog/src/wire"));
    let bad = rooms.filter(|source| !source.is_test()).flat_map(|source| source.lines_with(&IMPURE));
    // The lifecycle calls what it decides by this name.
    let bad = bad.filter(|line| !line.contains("fn spawn") && !line.contains(".spawn(now"));
    assert_none("the core decides, and does nothing else", bad.collect());
}

#[test]
fn nothing_panics_or_prints_by_habit() {
    const HABITS: [&str; 8] =
        [".unwrap()", "todo!", "unimplemented!", "dbg!", "println!", "print!", "eprintln!", "eprint!"];
    let bad = product().iter().flat_map(|source| source.lines_with(&HABITS)).collect();
    assert_none("outside tests", bad);
}

#[test]
fn lints_are_expected_and_not_allowed() {
    let all = ["watchdog", "probes", "probe-api", "tests"].iter().flat_map(|folder| sources(folder));
    let bad =
        all.flat_map(|source| source.lines_with(&["#[allow(", "#![allow("])).filter(|line| !line.contains("[\"#"));
    assert_none("`expect` tells when it is no longer needed", bad.collect());
}

#[test]
fn unsafe_only_in_its_rooms() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is one");
    let rule = architecture.lines().skip_while(|line| !line.contains("**`unsafe` only in**"));
    let rule = rule.take_while(|line| line.starts_with("* **`unsafe`") || line.starts_with("  "));
    let rule = rule.collect::<Vec<_>>().join(" ");
    let rooms: Vec<_> = rule.split('`').skip(1).step_by(2).filter(|word| word.contains('/')).collect();
    let inside = |source: &Source, room: &str| {
        let rest = source.path.trim_end_matches(".rs").strip_prefix(room.trim_end_matches(".rs"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for room in &rooms {
        let mut files = product().into_iter().filter(|source| inside(source, room));
        assert!(
            files.any(|file| !file.lines_with(&["unsafe"]).is_empty()),
            "nothing unsafe in the room {room}: {rule}"
        );
    }
    let outside = product().into_iter().filter(|source| !rooms.iter().any(|room| inside(source, room)));
    let bad = outside.flat_map(|source| source.lines_with(&["unsafe"])).collect();
    assert_none("outside the rooms that ARCHITECTURE.md names", bad);
    let silent = product().into_iter().filter(|source| {
        let blocks = source.lines_with(&["unsafe {"]).len();
        blocks > source.text.matches("// SAFETY:").count()
    });
    assert_none("without a reason", silent.map(|source| source.path).collect());
}

#[test]
fn the_model_of_the_sdk_stays_in_its_room() {
    let manager = |source: &Source| source.path.starts_with("watchdog/src/control/mcp");
    let bad = sources("watchdog/src").into_iter().chain(sources("probe-api/src"));
    let bad = bad.filter(|source| !source.is_test() && !manager(source));
    let bad = bad.flat_map(|source| source.lines_with(&["rmcp"])).collect();
    assert_none("rmcp is for probes, and for the server that is our own", bad);
    let api = fs::read_to_string(root().join("probe-api/Cargo.toml")).expect("there is one");
    assert!(!api.contains("rmcp"), "probe-api depends on rmcp");
    assert!(!api.contains("tokio"), "authors of plugins would pay for it");
}

#[test]
fn files_are_short_and_called_by_their_name() {
    let mut bad = Vec::new();
    for source in ["watchdog", "probes", "probe-api", "tests"].iter().flat_map(|folder| sources(folder)) {
        if source.path.ends_with("/mod.rs") {
            bad.push(format!("{}: call it by its module's name", source.path));
        }
        let lines = source.text.lines().count();
        let in_crate = source.path.contains("/src/")
            || source.path.starts_with("tests/harness")
            || source.path.starts_with("tests/fixture");
        if in_crate && !source.is_test_file() && lines > LONGEST {
            bad.push(format!("{}: {lines} lines", source.path));
        }
    }
    assert_none("at most 400 lines, one idea each", bad);
}

impl Source {
    /// Test, harness and fixture files are told apart: the latter are programs of their own.
    fn is_test_file(&self) -> bool {
        self.path.contains("/src/") && self.is_test()
    }
}

/// The rows of a table in a paper, as trimmed cells.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter(|line| line.starts_with("| "));
    let cells = |line: &str| {
        let line = line.replace(r"\|", "\u{1}");
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    lines.map(cells).collect()
}

#[test]
fn the_readme_knows_the_errors_of_the_code() {
    let path = root().join("watchdog/src/core/refusal.rs");
    let source = fs::read_to_string(path).expect("it is there");
    let mut numbers = BTreeMap::new();
    let mut names = BTreeMap::new();
    for line in source.lines() {
        let Some((variant, value)) = line.trim().strip_prefix("Self::").and_then(|line| line.split_once(" => ")) else {
            continue;
        };
        let value = value.trim_end_matches(',');
        if let Ok(number) = value.parse::<i64>() {
            numbers.insert(variant.to_owned(), number);
        } else if value.starts_with('"') {
            names.insert(variant.to_owned(), value.trim_matches('"').to_owned());
        }
    }
    let in_code: BTreeMap<_, _> =
        numbers.iter().map(|(variant, number)| (*number, names.get(variant).cloned().unwrap_or_default())).collect();
    assert_eq!(in_code.len(), 10, "{in_code:?}");

    let readme = fs::read_to_string(root().join("README.md")).expect("there is one");
    let in_readme: BTreeMap<_, _> = rows(&readme)
        .into_iter()
        .filter_map(|cells| Some((cells[0].parse().ok()?, cells.get(1)?.trim_matches('`').to_owned())))
        .filter(|(number, _): &(i64, String)| *number < -30_000)
        .collect();
    assert_eq!(in_readme, in_code);
}

#[test]
fn the_readme_knows_the_options() {
    let output =
        std::process::Command::new(crate::rig::WATCHDOG).arg("--help").output().expect("the watchdog can be started");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    let readme = fs::read_to_string(root().join("README.md")).expect("there is one");
    let options: Vec<_> = help
        .split_whitespace()
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    assert!(options.len() > 10, "{help}");
    let missing = options
        .into_iter()
        .filter(|option| !["--help", "--version"].contains(option) && !readme.contains(option))
        .map(str::to_owned);
    assert_none("the README does not know", missing.collect());
}

#[test]
fn the_table_of_requirements_names_tests_that_exist() {
    let table = fs::read_to_string(root().join("docs/requirements.md")).expect("there is one");
    let mut bad = Vec::new();
    let mut last = 0;
    let mut named = 0;
    for cells in rows(&table) {
        let row = &cells[0];
        if let Some(id) = row.strip_prefix('S').and_then(|id| id.parse::<u32>().ok()) {
            if id <= last {
                bad.push(format!("S{id} comes after S{last}"));
            }
            last = id;
            if cells.len() != 3 || cells[2].is_empty() {
                bad.push(format!("S{id} has no third cell"));
            }
        }
        let [_, .., shown_by] = &cells[..] else { continue };
        for reference in shown_by.split('`').skip(1).step_by(2) {
            named += 1;
            if let Err(why) = check_reference(reference) {
                bad.push(format!("{row}: {reference}: {why}"));
            }
        }
    }
    assert!(named > 100, "only {named} tests are named");
    assert_none("docs/requirements.md", bad);
}

/// `path::name`, or a case of the acceptance pack.
fn check_reference(reference: &str) -> Result<(), String> {
    if let Some(number) = reference.strip_prefix("ACC-") {
        return number.parse::<u8>().map(drop).map_err(|_| "not a case of the acceptance pack".to_owned());
    }
    let Some((path, name)) = reference.rsplit_once("::") else {
        return Err("not a path and a name".to_owned());
    };
    let text = fs::read_to_string(root().join(path)).map_err(|_| format!("there is no file {path}"))?;
    match text.contains(&format!("fn {name}(")) {
        true => Ok(()),
        false => Err("there is no such test".to_owned()),
    }
}
