use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::Invocation;
use super::*;

fn run(words: &[&str], environment: &[(&str, &str)]) -> (Exit, String, String) {
    let args = ["mcp-watchdog", "import"].into_iter().chain(words.iter().copied()).map(Into::into);
    let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
    let import = match super::super::parse(args, environment, &|_, _| Ok(())) {
        Ok(Invocation::Import(import)) => import,
        other => panic!("{words:?}: {other:?}"),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = import.run(&|_, _| Ok(()), &mut out, &mut err).unwrap();
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn what_is_imported_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let [file, result] = ["mcp.json", "out.yaml"].map(|name| folder.path().join(name));
    let text =
        r#"{"mcpServers": {"fs": {"command": "npx", "args": ["${T}"], "timeout": 3000}, "web": {"url": "http://x"}}}"#;
    fs::write(&file, text).unwrap();
    let [file, path] = [&file, &result].map(|path| path.to_str().unwrap());
    let words = [file, "--timeout-unit", "ms", "-o", path];
    let (exit, out, err) = run(&words, &[("T", "1")]);
    assert_eq!((exit, out), (Exit::Done, format!("{path}: written\n")));
    assert_eq!(err.lines().filter(|line| line.starts_with("warning: ")).count(), 2, "{err}");
    assert_eq!(fs::metadata(&result).unwrap().permissions().mode() & 0o777, 0o600);
    let input = Input { config: Some(result.clone()), environment: vec![("T".into(), "1".into())], ..Input::default() };
    let checked = load::check(&input, &|_, _| Ok(())).unwrap();
    assert_eq!(checked.loaded.config.servers[0].command.args, ["1"]);
    assert_eq!(checked.loaded.config.servers[0].tool_timeout.as_secs(), 2);
    assert_eq!(checked.others[0].0, "web");

    let (exit, out, err) = run(&words, &[("T", "1")]);
    assert_eq!((exit, out.as_str()), (Exit::Config, ""));
    assert!(err.contains("error: ") && err.contains("exists already"), "{err}");
    let (exit, out, _) = run(&words[..3], &[("T", "1")]);
    assert_eq!((exit, out), (Exit::Done, fs::read_to_string(&result).unwrap()));
}

#[test]
fn what_would_not_run_on_this_machine_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let file = file.to_str().unwrap();
    for (text, doubt) in [
        (r#"{"mcpServers": {"fs": {"command": "${T}"}}}"#, "the variable `T` is not set"),
        (
            r#"{"mcpServers": {"fs": {"command": "x", "x-mcp-watchdog": {"tol_timeout": 1}}}}"#,
            "unknown field \"tol_timeout\"",
        ),
        (r#"{"mcpServers": {"fs": {"url": "http://x"}}}"#, "remote"),
    ] {
        fs::write(file, text).unwrap();
        let (exit, out, err) = run(&[file], &[]);
        assert_eq!(exit, Exit::Done);
        assert!(out.contains("servers:\n  fs:\n"), "{out}");
        assert!(err.starts_with("warning: ") && err.contains(doubt), "{err}");
    }
}

#[test]
fn what_cannot_be_imported_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let name = file.to_str().unwrap();
    fs::write(&file, r#"{"servers": {"a": {"command": "${input:x}"}, "b": {"command": "${input:y}"}}}"#).unwrap();
    let (exit, out, err) = run(&[name], &[]);
    assert_eq!((exit, out.as_str()), (Exit::Config, ""));
    let starts: Vec<_> = err.lines().map(|line| line.split(": `command`").next().unwrap()).collect();
    assert_eq!(starts, [format!("error: {name}: a"), format!("error: {name}: b")]);
    fs::write(&file, "{").unwrap();
    assert!(run(&[name], &[]).2.starts_with(&format!("error: {name}:1:")));
}

#[test]
fn an_entry_that_cannot_be_imported_is_left_out_and_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcp.json");
    let name = file.to_str().unwrap();
    fs::write(&file, r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": ["b"]}, "c": {"command": "c"}}}"#)
        .unwrap();
    let (exit, out, err) = run(&[name], &[]);
    assert_eq!(exit, Exit::Done);
    assert!(out.ends_with("servers:\n  a:\n    command: a\n  c:\n    command: c\n"), "{out}");
    assert_eq!(err, "warning: b: has a `command` that is not text; it is left out\n");
    let (exit, out, err) = run(&[name, "--server", "b"], &[]);
    let refused = format!("error: {name}: b: has a `command` that is not text\n");
    assert_eq!((exit, out.as_str(), err), (Exit::Config, "", refused));
}
