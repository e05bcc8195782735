use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::super::Invocation;
use super::*;

const BEFORE: &str = "\u{feff}{ \"mcpServers\": {\r\n  \"fs\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\"] }, // mine\r\n  \"web\": { \"url\": \"http://x\" }\r\n} }\r\n";

/// A folder with a client's file in it.
fn client() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    fs::write(&file, BEFORE).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    (folder, file)
}

fn run(words: &[&str], file: &Path) -> (Exit, String, String) {
    let args = ["mcp-watchdog", "wrap", file.to_str().unwrap()].into_iter().chain(words.iter().copied());
    let wrap = match super::super::parse(args.map(Into::into), [], &|_, _| Ok(())) {
        Ok(Invocation::Wrap(wrap)) => wrap,
        other => panic!("{words:?}: {other:?}"),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = wrap.run(&|_, _| Ok(()), &mut out, &mut err).unwrap();
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_file_is_wrapped_and_kept_and_taken_back() {
    let (folder, file) = client();
    let name = file.display();
    let backup = folder.path().join("mcp.json.mcp-watchdog-backup");
    let (exit, out, err) = run(&["--binary", "/opt/mcp-watchdog"], &file);
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(
        out,
        format!(
            "{name}:\n  fs: `npx` runs under mcp-watchdog now\n  web: left as it is: is remote: there is no command to supervise\n\
             The file as it was is kept in {}.\nRestart the client, or its servers, to make it so.\n",
            backup.display()
        )
    );
    let args = r#"{ "command": "/opt/mcp-watchdog", "args": ["--name", "fs", "--", "npx", "-y", "x"] }, // mine"#;
    assert_eq!(read(&file), BEFORE.replace(r#"{ "command": "npx", "args": ["-y", "x"] }, // mine"#, args));
    assert_eq!((read(&backup), mode(&file), mode(&backup)), (BEFORE.to_owned(), 0o640, 0o640));
    assert_eq!(names(folder.path()), ["mcp.json", "mcp.json.mcp-watchdog-backup"]);

    let (exit, out, _) = run(&["--binary", "/opt/mcp-watchdog"], &file);
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("fs: left as it is: runs under mcp-watchdog already\n"), "{out}");
    assert!(out.ends_with("There is nothing to do.\n"), "{out}");
    assert_eq!(names(folder.path()).len(), 2);

    let wrapped = read(&file);
    let (exit, out, _) = run(&["--undo"], &file);
    assert_eq!((exit, read(&file)), (Exit::Done, BEFORE.to_owned()));
    assert!(out.contains("fs: `npx` runs without mcp-watchdog now\n"), "{out}");
    assert_eq!(read(&folder.path().join("mcp.json.mcp-watchdog-backup-2")), wrapped);

    // The third change finds both states kept already.
    assert_eq!(run(&["--binary", "/opt/mcp-watchdog"], &file).0, Exit::Done);
    assert_eq!((names(folder.path()).len(), read(&file)), (3, wrapped));
}

#[test]
fn this_binary_is_the_one_that_is_started() {
    let (_folder, file) = client();
    run(&[], &file);
    let own = std::env::current_exe().unwrap();
    let spelled = serde_json::Value::from(own.to_str().unwrap()).to_string();
    assert!(read(&file).contains(&format!("\"command\": {spelled}")), "{}", read(&file));
    // It is known as the watchdog, although a test is not called so.
    assert!(run(&[], &file).1.ends_with("There is nothing to do.\n"));
    run(&["--undo"], &file);
    assert_eq!(read(&file), BEFORE);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (folder, file) = client();
    let (exit, out, _) = run(&["--dry-run"], &file);
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("fs: `npx` would run under mcp-watchdog\n"), "{out}");
    assert!(out.ends_with("Nothing was changed: this was a dry run.\n"), "{out}");
    assert_eq!((read(&file), names(folder.path()).len()), (BEFORE.to_owned(), 1));
}

#[test]
fn a_link_stays_a_link() {
    let (folder, file) = client();
    let link = folder.path().join("link.json");
    symlink("mcp.json", &link).unwrap();
    run(&[], &link);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(read(&file).contains("--name"));
    assert_eq!(names(folder.path()), ["link.json", "link.json.mcp-watchdog-backup", "mcp.json"]);
}

#[test]
fn what_was_changed_meanwhile_is_not_lost() {
    let (folder, file) = client();
    let original = Original::read(&file).unwrap();
    fs::write(&file, "{}").unwrap();
    let error = original.replace_by("[]").unwrap_err();
    assert!(error.contains("changed by somebody else"), "{error}");
    assert_eq!(read(&file), "{}");
    assert_eq!(names(folder.path()), ["mcp.json", "mcp.json.mcp-watchdog-backup"]);
}

#[test]
fn options_are_checked_before_they_are_written() {
    let (_folder, file) = client();
    let (exit, _, _) = run(&["--option=--tool-timeout=9s", "--option", "--no-control"], &file);
    assert_eq!(exit, Exit::Done);
    assert!(read(&file).contains(r#""--name", "fs", "--tool-timeout=9s", "--no-control", "--", "npx""#));
    for (option, reason) in [
        ("--tol-timeout=9s", "error: --option: unexpected argument '--tol-timeout' found"),
        ("--tool-timeout=soon", "error: --option: --tool-timeout: \"soon\" is not a duration"),
        ("--", "error: --option: `--` is not an option"),
        ("--help", "error: --option: that is not an option"),
        ("demo", "error: --option: "),
    ] {
        let (_folder, file) = client();
        let (exit, out, err) = run(&["--option", option], &file);
        assert_eq!((exit, out.as_str()), (Exit::Config, ""), "{option}");
        assert!(err.starts_with(reason), "{option}: {err}");
        assert_eq!(read(&file), BEFORE);
    }
}

#[test]
fn what_cannot_be_done_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, reason) in [
        ("none.json", None, ": cannot be read: "),
        ("bad.json", Some("{\n \"mcpServers\": s3cr3t }"), ":2:16: not valid JSON: "),
        ("mcp-watchdog.yaml", Some("version: 1\n"), ":1:1: not valid JSON: "),
        ("other.json", Some("{}"), ": holds no servers of an MCP client"),
        ("bad.toml", Some("a ="), ":1:4: "),
        ("mcp-watchdog.json", Some(r#"{"version": 1, "servers": {}}"#), ": is a configuration of mcp-watchdog itself"),
    ] {
        let file = folder.path().join(name);
        if let Some(text) = text {
            fs::write(&file, text).unwrap();
        }
        let (exit, out, err) = run(&[], &file);
        assert_eq!((exit, out.as_str()), (Exit::Config, ""), "{name}");
        assert!(err.starts_with(&format!("error: {}{reason}", file.display())), "{name}: {err}");
        assert!(!err.contains("s3cr3t"), "{err}");
    }
    let (exit, _, err) = run(&[], folder.path());
    assert_eq!(exit, Exit::Config);
    assert!(err.contains("is not a file"), "{err}");
}
