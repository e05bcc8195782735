//! docs/probes.md, followed as a reader would: its files are written, its commands run, and they say what stands there.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::Value;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use probe_api::{Era, Snapshot, Trigger};

use crate::rig::{WATCHDOG, root};

/// Where a reader has the checkout.
const CHECKOUT: &str = "/path/to/mcp-watchdog";
/// Between the outputs of two blocks; a control character that no program here prints.
const MARK: char = '\u{1e}';
/// For all commands together, the first build of what the plugin needs included.
const LIMIT: Duration = Duration::from_secs(300);

/// A fenced block: the line on which its text begins, the language, the file that it is, if it is one.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    line: usize,
    language: &'a str,
    title: Option<&'a str>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (language, rest) = info.split_once(' ').unwrap_or((info, ""));
                let title = rest.strip_prefix("title=\"").and_then(|rest| rest.strip_suffix('"'));
                assert_eq!(title.is_some(), !rest.is_empty(), "line {}: {info}", at + 1);
                open = Some(Block { line: at + 2, language, title, text: String::new() });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert_eq!(open, None, "a block without an end");
    found
}

/// One script of the page, so that variables and the current folder hold from block to block as they do for a reader.
fn script(blocks: &[Block<'_>], folder: &Path, target: &Path) -> String {
    // A plugin that others may write to is refused.
    let mut script = "set -e\numask 022\n".to_owned();
    for block in blocks {
        let Block { line, language, title, text } = block;
        if let Some(title) = title {
            let path = folder.join(title);
            let path = path.display();
            _ = write!(script, "cat > '{path}' <<'END OF {line}'\n{text}END OF {line}\n");
        } else if *language == "sh" {
            // What cargo builds is kept from run to run.
            let folder = folder.display();
            let target = target.display();
            _ = writeln!(
                script,
                "for project in '{folder}'/*/Cargo.toml; do\n  \
                   [ ! -e \"$project\" ] || [ -e \"${{project%/*}}/target\" ] || ln -s '{target}' \"${{project%/*}}/target\"\n\
                 done"
            );
            _ = writeln!(script, "printf '{MARK}{line}\\n'");
            script += &text.replace(CHECKOUT, &root().display().to_string());
        }
    }
    script + &format!("printf '{MARK}end\\n'\n")
}

/// What each block of commands printed, by its line. The last block is where the script has ended: `end`, if all went well.
fn follow(blocks: &[Block<'_>]) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    let (work, bin) = (folder.path().join("work"), folder.path().join("bin"));
    for folder in [&work, &bin] {
        fs::create_dir(folder).expect("the folder is ours");
    }
    std::os::unix::fs::symlink(WATCHDOG, bin.join("mcp-watchdog")).expect("the folder is ours");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    fs::create_dir_all(&target).expect("cargo's folder for tests is writable");
    let (steps, output) = (folder.path().join("steps.sh"), folder.path().join("output"));
    fs::write(&steps, script(blocks, &work, &target)).expect("the folder is ours");
    let printed = fs::File::create(&output).expect("the folder is ours");

    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.arg(&steps).current_dir(&work).stdin(Stdio::null()).process_group(0);
    command.stdout(printed.try_clone().expect("a file has many ends")).stderr(printed);
    command.env("PATH", format!("{}:{path}", bin.display())).env("CARGO_NET_OFFLINE", "true");
    // What holds for the run of this test is not what a reader has.
    for (name, _) in std::env::vars() {
        let ours = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"];
        if name.starts_with("MCP_WATCHDOG_") || ours.contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
    let mut shell = command.spawn().expect("there is a shell");
    let begin = Instant::now();
    while shell.try_wait().expect("it is our child").is_none() {
        if begin.elapsed() > LIMIT {
            _ = killpg(Pid::from_raw(i32::try_from(shell.id()).expect("it is a pid")), Signal::SIGKILL);
            _ = shell.wait();
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let printed = fs::read(&output).expect("it was written");
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let parts = printed.split(MARK).skip(1).map(|part| part.split_once('\n').unwrap_or((part, "")));
    parts.map(|(line, text)| (line.to_owned(), text.to_owned())).collect()
}

/// Follows a page. The error names the line of the block that is not true.
fn check(page: &str) -> Result<(), String> {
    let blocks = blocks(page);
    let outputs = follow(&blocks);
    let output_of = |line: usize| {
        let line = line.to_string();
        outputs.iter().find(|(at, _)| *at == line).map_or("", |(_, text)| text.as_str())
    };
    let mut commands = None;
    for block in &blocks {
        match block.language {
            "sh" if block.title.is_none() => commands = Some(block.line),
            "text" => {
                let line = commands.take().ok_or_else(|| format!("line {}: the output of what?", block.line))?;
                // Where the script has ended early, that is what has to be told.
                if outputs.iter().any(|(at, _)| at == "end") {
                    compare(&block.text, output_of(line), block.line)?;
                }
            }
            _ => {}
        }
    }
    match outputs.last() {
        Some((line, _)) if line == "end" => Ok(()),
        Some((line, text)) => Err(format!("line {line}: the commands fail, or do not end in {LIMIT:?}:\n{text}")),
        None => Err("the shell ran nothing".to_owned()),
    }
}

/// Every expected line comes, one after the other; others may come between them.
fn compare(expected: &str, output: &str, line: usize) -> Result<(), String> {
    let mut said = output.lines().map(plain);
    for (at, wanted) in expected.lines().enumerate() {
        let pattern = plain(wanted);
        if !said.any(|said| is_like(&said, &pattern)) {
            return Err(format!("line {}: not printed, or not in this place: {wanted}\n{output}", line + at));
        }
    }
    Ok(())
}

/// A line with single spaces, and `~` for every duration.
fn plain(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut plain: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let word = word.trim_end_matches([',', ':', ';']);
        let rest = &words[at][word.len()..];
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let unit = |text: &str| matches!(text.trim_end_matches([',', ':', ';']), "ms" | "s");
        let next = words.get(at + 1).filter(|next| rest.is_empty() && number(word) && unit(next));
        let is_span = ["ms", "s", "m"].iter().any(|unit| word.strip_suffix(unit).is_some_and(number));
        if let Some(next) = next {
            plain.push(format!("~{}", next.trim_start_matches(char::is_alphabetic)));
            at += 1;
        } else if is_span {
            plain.push(format!("~{rest}"));
        } else {
            plain.push(words[at].to_owned());
        }
        at += 1;
    }
    // `1s 24ms` is as good as `1s`.
    plain.dedup_by(|next, last| {
        last == "~" && next.starts_with('~') && {
            last.clone_from(next);
            true
        }
    });
    plain.join(" ")
}

/// Whether a line is as expected; `…` stands for anything.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn page() -> String {
    fs::read_to_string(root().join("docs/probes.md")).expect("it is there")
}

#[test]
fn the_tutorial_is_true() {
    let page = page();
    let blocks = blocks(&page);
    let count = |test: fn(&Block<'_>) -> bool| blocks.iter().filter(|block| test(block)).count();
    assert!(count(|block| block.language == "sh" && block.title.is_none()) >= 8, "{blocks:?}");
    assert!(count(|block| block.language == "text") >= 8 && count(|block| block.title.is_some()) >= 5, "{blocks:?}");
    assert_eq!(page.matches(CHECKOUT).count(), 1);
    check(&page).unwrap_or_else(|why| panic!("docs/probes.md, {why}"));
}

#[test]
fn a_page_that_is_not_true_is_told_by_its_line() {
    let file = "```sh title=\"a.txt\"\n$x and 'y'\n```\n";
    let cat = "```sh\nhere=1\ncat a.txt\n```\n";
    let told = |rest: &str| check(&format!("# A page\n{file}{cat}{rest}")).unwrap_err();
    assert_eq!(check(&format!("{file}{cat}```text\n$x …\n```\n```sh\ntest $here = 1\n```\n")), Ok(()));
    assert!(
        told("```text\n$x and 'z'\n```\n")
            .starts_with("line 10: not printed, or not in this place: $x and 'z'\n$x and 'y'")
    );
    assert!(told("```sh\necho begun\nfalse\necho done\n```\n").starts_with("line 10: the commands fail"));
    assert!(told("```text\n```\n```text\n```\n").starts_with("line 12: the output of what?"));
}

#[test]
fn outputs_are_alike_but_for_times_and_what_is_left_out() {
    let alike = |line: &str, pattern: &str| is_like(&plain(line), &plain(pattern));
    assert!(alike("exec  pass     9 ms", "exec  pass   1234 ms"));
    assert!(alike("dead after 9 ms: exec: no", "dead after 60 ms: exec: no"));
    assert!(alike("down for 1s 24ms, lost: x", "down for 45ms, …"));
    assert!(alike("2026 INFO x, pid 7 end", "… INFO x, pid … end"));
    assert!(!alike("exec  fail     9 ms", "exec  pass   9 ms"));
    assert!(!alike("exit code 2", "exit code 1"));
    assert!(!alike("a b", "a") && !alike("a", "a b") && !alike("ab", "…a") && !alike("b a", "a…"));
}

/// Every key of an object, with a dot between levels.
fn keys(value: &Value, above: &str, found: &mut Vec<String>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{above}{key}");
        match inner {
            Value::Object(_) => keys(inner, &format!("{path}."), found),
            _ => found.push(path),
        }
    }
}

#[test]
fn the_table_of_the_context_has_its_keys() {
    let page = page();
    let section = page.split("## What a probe is told").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.expect("there is such a section");
    let mut told: Vec<_> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key).collect();
    let snapshot = as_json(&Snapshot::new("s", 1, Trigger::ToolTimeout));
    let mut known = Vec::new();
    keys(&snapshot, "", &mut known);
    told.sort_unstable();
    known.sort_unstable();
    assert!(known.len() > 10, "{known:?}");
    assert_eq!(told, known);

    let words = [Trigger::ToolTimeout, Trigger::Periodic, Trigger::Manual].map(|word| as_json(&word));
    let words = words.into_iter().chain([Era::Handshake, Era::Stateless].map(|word| as_json(&word)));
    for word in words {
        let word = word.as_str().expect("it is a word").to_owned();
        assert!(section.contains(&format!("`{word}`")), "{word}");
    }
}

fn as_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("it is JSON")
}
