//! A host in C, with no Rust in it, drives plugins in both languages: what they hand over is what the header says.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use harness::plugins::{c_example, c_host, c_plugin, rust_plugin, text_file};

const CONTEXT: &str = r#"{"server":"s","generation":1,"trigger":"manual","era":"handshake"}"#;

fn run(library: &Path, code: i32, reply: &str, configs: &[&str]) -> Output {
    let mut command = Command::new(c_host());
    command.arg(library).arg(CONTEXT).arg(code.to_string()).arg(reply).args(configs);
    command.output().expect("it was just built")
}

/// What the host has written, line by line.
#[track_caller]
fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn the_example_in_c_works() {
    let example = |code, config| lines(&run(&c_example(), code, "{}", &[config]));
    let call = "call ping  2500";
    assert_eq!(example(0, r#"{"max_ms":60000}"#), ["latency", call, "check 0 ", call, "check 0 "]);
    assert_eq!(example(1, r#"{"max_ms":60000}"#)[2], "check 0 ", "an error is an answer");
    assert!(example(-1, r#"{"max_ms": 60000}"#)[2].starts_with("check 2 no answer to ping within "));
    assert_eq!(example(-2, r#"{"max_ms":60000}"#)[2], "check 3 the ping could not be sent");
    assert!(example(0, "null")[1].starts_with("refused max_ms: "));
    assert!(example(0, r#"{"max_ms":0}"#)[1].starts_with("refused max_ms: "));
}

#[test]
fn a_plugin_in_rust_works() {
    let output = run(
        &rust_plugin("hostile-rs"),
        0,
        r#"{"a":1}"#,
        &[
            r#"{"do":"pass"}"#,
            r#"{"do":"fail","text":"why"}"#,
            r#"{"do":"count"}"#,
            r#"{"do":"call","text":"ping"}"#,
            r#"{"do":"refuse","text":"not so"}"#,
            r#"{"do":"panic_in_new"}"#,
            r#"{"do":"panic_in_payload"}"#,
            r#"{"do":"panic_in_drop"}"#,
            r#"{"dx":1}"#,
        ],
    );
    let mut seen = lines(&output);
    seen.retain(|line| !line.starts_with("log "));
    let called = "check 1 Result(Object {\"a\": Number(1)})";
    let expected = [
        "hostile",
        "check 0 ",
        "check 0 ",
        "check 2 why",
        "check 2 why",
        "check 1 1",
        "check 1 2",
        "call ping  2500",
        called,
        "call ping  2500",
        called,
        "refused not so",
        "refused the probe panicked: in new",
        "check 3 the probe panicked: no message",
        "check 3 the probe panicked: no message",
        "check 0 ",
        "check 0 ",
    ];
    assert_eq!(seen[..expected.len()], expected);
    assert!(seen[expected.len()].starts_with("refused unknown field `dx`"), "{seen:?}");
}

#[test]
fn a_panic_is_one_line_of_the_log() {
    let output = run(&rust_plugin("hostile-rs"), 0, "", &[r#"{"do":"panic_in_turns"}"#]);
    let seen = lines(&output);
    assert!(seen[1].starts_with("log 1 panicked at ") && seen[1].ends_with(": in check 1"), "{seen:?}");
    assert_eq!(seen[2..], ["check 3 the probe panicked: in check 1", "check 0 "]);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn hostile_plugins_are_hostile() {
    const SEGV: i32 = 11;
    const ABRT: i32 = 6;
    let signal = |library: &Path, config: &str| run(library, 0, "", &[config]).status.signal();
    assert_eq!(signal(&c_plugin("segfault_in_check"), "{}"), Some(SEGV));
    assert_eq!(signal(&c_plugin("segfault_in_constructor"), "{}"), Some(SEGV));
    let rust = rust_plugin("hostile-rs");
    assert_eq!(signal(&rust, r#"{"do":"stack_overflow"}"#), Some(SEGV));
    assert_eq!(signal(&rust, r#"{"do":"abort"}"#), Some(ABRT));
    assert_eq!(signal(&rust, r#"{"do":"panic_in_panic"}"#), Some(ABRT));

    let refused = run(&c_plugin("undefined_symbol"), 0, "", &["{}"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("mcp_nowhere_defined"), "{refused:?}");
    assert_eq!(run(&text_file(), 0, "", &["{}"]).status.code(), Some(1));
    assert_eq!(lines(&run(&c_plugin("create_null"), 0, "", &["{}"])), ["create_null", "refused "]);
    assert_eq!(lines(&run(&c_plugin("unknown_verdict"), 0, "", &["{}"]))[1], "check 42 forty-two");
}
