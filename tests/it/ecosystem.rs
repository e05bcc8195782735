//! The files of other programs: a client's servers are put under the watchdog, imported, run, and given back.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use harness::{Setup, json, tool_call};

use crate::rig::{FIXTURE, WATCHDOG, root};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(WATCHDOG);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("MCP_WATCHDOG_") || text.starts_with("CONNECTION_") {
            command.env_remove(&name);
        }
    }
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("the watchdog can be started")
}

#[track_caller]
fn good(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{stdout}");
    stdout
}

/// A client's file with the fixture as its server.
fn client_file() -> String {
    let command = json!(FIXTURE);
    format!(
        "{{\n  // mine\n  \"mcpServers\": {{\n    \"fix\": {{ \"command\": {command}, \"args\": [], }},\n  }},\n}}\n"
    )
}

#[test]
fn a_wrapped_entry_runs_as_the_client_would_run_it_and_survives_its_server() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("mcp.json");
    fs::write(&file, client_file()).expect("the folder can be written to");
    let told = good(&run(folder.path(), &["wrap", "mcp.json", "--option=--no-control"]));
    assert!(told.contains("runs under mcp-watchdog now"), "{told}");

    // The client reads its file and starts what is in it.
    let text = fs::read_to_string(&file).expect("the file is there");
    let entry = text.lines().find(|line| line.contains("\"fix\"")).expect("the entry has a line of its own");
    let list = entry.split_once("\"args\": ").expect("it has arguments").1;
    let arguments: Vec<String> =
        serde_json::from_str(&list[..=list.find(']').expect("the list ends")]).expect("they are texts");
    assert!(entry.contains(&format!("\"command\": {}", json!(WATCHDOG))), "{entry}");
    assert_eq!(arguments, ["--name", "fix", "--no-control", "--", FIXTURE]);
    let session = Setup::direct(WATCHDOG).options(&arguments).start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.finish();

    let told = good(&run(folder.path(), &["wrap", "mcp.json", "--undo"]));
    assert!(told.contains("runs without mcp-watchdog now"), "{told}");
    assert_eq!(fs::read_to_string(&file).expect("the file is there"), client_file());
}

#[test]
fn what_is_imported_passes_the_check_and_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::write(folder.path().join(".mcp.json"), client_file()).expect("the folder can be written to");
    good(&run(folder.path(), &["import", ".mcp.json", "--output", "ours.yaml"]));
    assert_eq!(
        good(&run(folder.path(), &["check-config", "ours.yaml"])),
        format!("ours.yaml: ok\n  fix: `{FIXTURE}`, preset relentless\n")
    );
    let ours = folder.path().join("ours.yaml");
    let session = Setup::direct(WATCHDOG).options(["--no-control", "--config"]).options([&ours]).start();
    session.initialize();
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}

/// The files that README shows: what runs under the watchdog there comes off, and goes back as it was.
#[test]
fn the_examples_of_every_client_are_understood() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("examples")).expect("there are examples") {
        let path = entry.expect("the folder can be read").path();
        if !path.extension().is_some_and(|extension| extension == "json" || extension == "toml") {
            continue;
        }
        seen += 1;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name of letters");
        let copy = folder.path().join(name);
        fs::copy(&path, &copy).expect("it can be copied");
        let before = fs::read_to_string(&copy).expect("it is text");
        good(&run(folder.path(), &["wrap", "--undo", name]));
        let bare = fs::read_to_string(&copy).expect("it is text");
        assert!(!bare.contains("mcp-watchdog"), "{bare}");
        let binary = if before.contains("/usr/local/bin/") { "/usr/local/bin/mcp-watchdog" } else { "mcp-watchdog" };
        good(&run(folder.path(), &["wrap", name, "--binary", binary]));
        let again = fs::read_to_string(&copy).expect("it is text");
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(words(&again), words(&before), "{name}");
        assert_eq!(run(folder.path(), &["import", name, "--output", "ours.yaml"]).status.code(), Some(0), "{name}");
        good(&run(folder.path(), &["check-config", "ours.yaml"]));
    }
    assert!(seen > 4);
}

#[test]
fn the_program_describes_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let printed = good(&run(folder.path(), &["print-schema"]));
    let committed = fs::read_to_string(root().join("schema/mcp-watchdog.schema.json")).expect("it is committed");
    assert!(printed == committed, "make it anew: cargo run -- print-schema > schema/mcp-watchdog.schema.json");
    for form in ["bash", "zsh", "fish", "elvish", "powershell", "man"] {
        let text = good(&run(folder.path(), &["completions", form]));
        assert!(text.contains("mcp") && text.lines().count() > 50, "{form}: {text}");
    }
}

#[test]
fn a_file_of_codex_can_be_run_and_other_toml_is_named_for_what_it_is() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |text: &str| fs::write(folder.path().join("config.toml"), text).expect("it can be written");
    write("[mcp_servers.a]\ncommand = \"x\"\n");
    let told = good(&run(folder.path(), &["check-config", "config.toml"]));
    assert!(told.contains("  a: `x`, preset relentless\n"), "{told}");
    write("[servers.a]\ncommand = \"x\"\nargs = [");
    let output = run(folder.path(), &["check-config", "config.toml"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    assert!(stderr.starts_with("error: config.toml: is TOML"), "{stderr}");
}
