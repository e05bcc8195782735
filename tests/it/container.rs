//! Containers without Docker: the files of the images of examples/container in a folder of their own, and their entry point as pid
//! 1 of fresh namespaces.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{Signal, Value, is_running, json, tool_call};
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::rig::{EAGER, FIXTURE, WATCHDOG, children, text, wait_event};
use image::{Copy, Image};
use place::{Contained, Mounts, Place, libraries};

mod image;
mod place;

#[track_caller]
fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).expect("a process number fits")), signal).expect("it can be signalled");
}

/// Runs a container whose server answers this call so, through the death of its server to the end by `docker stop`.
fn lives_through(container: Contained<'_>, tool: &str, arguments: &Value, answer: &str) {
    let session = &container.session;
    session.initialize();
    session.send(tool_call(1, tool, arguments.clone()));
    assert_eq!(session.answer(1).text(), answer);
    assert_eq!(container.health(), Some(0));
    let first = container.server();
    send(first, Signal::SIGKILL);
    // In either form of the log. What is sent before that may be lost with the server.
    session.wait_stderr("server_exited");
    session.send(tool_call(2, tool, arguments.clone()));
    assert_eq!(session.answer(2).text(), answer);
    assert_ne!(container.server(), first);
    let status = container.exec(&[container.watchdog(), "status", "--json"]);
    assert_eq!(status.status.code(), Some(0), "{}{}", text(&status.stdout), text(&status.stderr));
    send(container.first(), Signal::SIGTERM);
    container.session.ended(143);
}

// -- the image with a server in node, dynamically linked --------------------------------------------------------------------

/// Node, if it is here.
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn node() -> Option<PathBuf> {
    let output = Command::new("node").args(["-p", "process.execPath"]).output().ok().filter(|it| it.status.success());
    if output.is_none() {
        eprintln!("the image with a server in node is not tested: there is no node here");
    }
    output.map(|output| PathBuf::from(text(&output.stdout).trim()))
}

fn with_node() -> Option<Place> {
    let (watchdog, image) = (Path::new(WATCHDOG), Image::of("Dockerfile"));
    assert!(image.base.starts_with("node:"), "{}", image.base);
    let node = node()?;
    let place = Place::assemble(image, watchdog)?;
    Some(place.with_slim_debian(watchdog).with_program(&node, "/usr/local/bin/node"))
}

#[test]
fn the_image_lives_through_the_death_of_its_server() {
    let Some(place) = with_node() else { return };
    for mounts in [Mounts::Usual, Mounts::ReadOnly] {
        lives_through(place.start(mounts), "count_words", &json!({ "text": "one two  three" }), "3");
    }
}

#[test]
fn the_image_loads_its_plugin() {
    let Some(place) = with_node() else { return };
    let container = place.start(Mounts::Usual);
    container.session.initialize();
    wait_event(&container.session, "plugin_loaded");
    let probe = container.exec(&["mcp-watchdog", "probe", "words"]);
    let found = text(&probe.stdout);
    assert_eq!(probe.status.code(), Some(0), "{found}{}", text(&probe.stderr));
    assert!(found.lines().any(|line| line.contains("plugin") && line.contains("pass")), "{found}");
    container.session.finish();
}

#[test]
fn a_server_that_fails_for_good_ends_the_container_with_70() {
    let Some(place) = with_node() else { return };
    let command = ["mcp-watchdog", "--restart-delays", "0s", "--max-attempts", "1", "--", "node", "/nowhere.js"];
    let container = place.start_as(Mounts::Usual, &command);
    container.session.ended(70);
}

// -- without /proc ---------------------------------------------------------------------------------------------------------

/// The scripted server behind the watchdog, with the libraries of both.
fn with_fixture() -> Option<Place> {
    let watchdog = Path::new(WATCHDOG);
    let image = Image {
        copies: vec![Copy { is_built: true, from: "/mcp-watchdog".into(), to: "/mcp-watchdog".into() }],
        folders: vec!["/run/mcp-watchdog".into()],
        environment: vec![
            ("MCP_WATCHDOG_RUNTIME_DIR".into(), "/run/mcp-watchdog".into()),
            ("MCP_FIXTURE_STATE_FILE".into(), "/run/mcp-watchdog/state".into()),
        ],
        workdir: "/".into(),
        user: "65532:65532".into(),
        ..Image::default()
    };
    let place = Place::assemble(image, watchdog)?;
    Some(place.with_slim_debian(watchdog).with_program(Path::new(FIXTURE), "/fixture"))
}

#[test]
fn without_proc_what_a_server_leaves_in_its_group_still_ends() {
    let Some(place) = with_fixture() else { return };
    let container = place.start_as(Mounts::Null, &[&["/mcp-watchdog"], &EAGER[..], &["--", "/fixture"]].concat());
    let session = &container.session;
    session.initialize();
    session.wait_stderr("/proc is not mounted");
    for (id, kind) in [(1, "plain"), (2, "stubborn")] {
        session.send(tool_call(id, "spawn_child", json!({ "kind": kind })));
        assert_eq!(session.answer(id).text(), "spawned");
    }
    let server = container.server();
    let family = children(server);
    assert_eq!(family.len(), 2);
    send(server, Signal::SIGKILL);
    session.wait_stderr("server_exited");
    session.send(tool_call(3, "echo", json!({ "text": "on" })));
    assert_eq!(session.answer(3).text(), "on");
    for (pid, ..) in family {
        assert!(!is_running(pid), "{pid} is alive beside the next server");
    }
    container.session.finish();
}

// -- the static one --------------------------------------------------------------------------------------------------------

/// The static binary that .ci/run has built.
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
fn static_binary() -> Option<PathBuf> {
    let binary = std::env::var_os("STATIC_WATCHDOG").map(PathBuf::from);
    if binary.is_none() {
        eprintln!("the static binary is not tested: STATIC_WATCHDOG does not name one");
    }
    binary
}

fn empty_root() -> Option<Place> {
    let binary = static_binary()?;
    let image = Image::of("Dockerfile.scratch");
    assert_eq!(image.base, "scratch");
    assert!(libraries(&binary).is_empty(), "{} is not static", binary.display());
    Place::assemble(image, &binary)
}

#[test]
fn a_static_binary_lives_in_an_empty_root_whatever_is_mounted() {
    let Some(place) = empty_root() else { return };
    for mounts in [Mounts::Usual, Mounts::ReadOnly, Mounts::None] {
        let container = place.start(mounts);
        lives_through(container, "add", &json!({ "a": 2, "b": 3 }), "5");
    }
}

#[test]
fn without_proc_the_log_says_what_that_costs() {
    let Some(place) = empty_root() else { return };
    let container = place.start(Mounts::None);
    container.session.initialize();
    container.session.wait_stderr("/proc is not mounted");
    container.session.finish();
}

#[test]
fn a_static_binary_refuses_plugins_and_says_what_to_do() {
    let Some(place) = empty_root() else { return };
    let server = "{ command: /mcp-watchdog, probe: { chain: [{ type: plugin, library: /a.so }] } }";
    let place = place.with_text("/plugin.yaml", &format!("version: 1\nservers:\n  demo: {server}\n"));
    for command in [&["/mcp-watchdog", "--config", "/plugin.yaml"][..], &["/mcp-watchdog", "plugins", "check", "/a.so"]]
    {
        let output = place.run(Mounts::Usual, command);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains("this build loads no plugins") && said.contains("`type: exec`"), "{said}");
    }
}

#[test]
fn a_static_binary_looks_names_up() {
    let Some(place) = empty_root() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let port = listener.local_addr().expect("it has an address").port();
    let place = place.with_text("/etc/hosts", "127.0.0.1 backend\n");
    let chain = format!("[{{ type: tcp, address: 'backend:{port}' }}]");
    let command = ["/mcp-watchdog", "probe", "--chain", &chain, "--", "/mcp-watchdog", "demo", "--server"];
    let output = place.run(Mounts::Usual, &command);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}
