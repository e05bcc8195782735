//! What a user types, and what comes back: exit codes, errors, configuration, secrets, and a watchdog behind a watchdog.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};

use harness::{Session, Setup, Signal, What, initialize, is_running, json, tool_call};
use tempfile::TempDir;

use crate::rig::{
    EAGER, FIXTURE, JSON_LOG, QUICK_STOP, SHORT_DRAIN, WATCHDOG, children, guard_of, run, setup, text, wait_event,
};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder can be written to");
}

// -- exit codes -------------------------------------------------------------------------------------------------------

#[test]
fn exit_code_0_when_the_client_closes_its_end_of_stdout() {
    let session = setup().options(QUICK_STOP).start();
    session.initialize();
    session.close_stdout();
    session.ended(0);
}

/// In words, whatever the limit keeps it from opening first.
#[test]
fn too_few_open_files_are_said_with_the_remedy_and_are_the_exit_code_125() {
    let folder = folder();
    write(folder.path(), "w.yaml", &format!("version: 1\nservers: {{a: {{command: {FIXTURE}}}}}\n"));
    let limited = |files: usize, arguments: &[&str]| {
        // Who runs the tests may have left us descriptors of his own, which would count.
        let script = format!(
            "for fd in /proc/self/fd/*; do fd=${{fd##*/}}; [ $fd -le 2 ] || eval \"exec $fd>&-\"; done; \
             ulimit -n {files} && exec \"$@\""
        );
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &script, "bash", WATCHDOG]).args(arguments).current_dir(folder.path());
        shell.env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).stdin(std::process::Stdio::null());
        let output = shell.output().expect("there is bash");
        (output.status.code(), text(&output.stderr))
    };
    let mut served = 0;
    for files in 5..40 {
        let (code, said) = limited(files, &["--", FIXTURE]);
        if code == Some(0) {
            served += 1;
            continue;
        }
        assert_eq!((code, served), (Some(125), 0), "{files}: {said}");
        assert!(
            said.contains(&format!(
                "raise the limit of open files (`ulimit -n`, `LimitNOFILE=` in a unit), which is {files}"
            )),
            "{files}: {said}"
        );
        assert!(!said.contains("panicked"), "{files}: {said}");
    }
    assert!(served > 0, "40 are enough");
    for files in 5..11 {
        for arguments in [&["serve", "--config", "w.yaml"][..], &["probe", "--", FIXTURE]] {
            let (code, said) = limited(files, arguments);
            assert_eq!(code, Some(if arguments[0] == "serve" { 125 } else { 1 }), "{files}: {said}");
            assert!(said.contains("raise the limit of open files (`ulimit -n`"), "{files}: {said}");
        }
    }
}

#[test]
fn exit_code_0_after_what_is_in_flight_is_answered() {
    let mut session = setup().start();
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 300 })));
    session.close_stdin();
    assert_eq!(session.answer(1).text(), "slept 300 ms");
    session.ended(0);
}

#[test]
fn exit_code_0_and_answers_when_the_client_leaves_during_a_restart() {
    let mut session = setup()
        .options(SHORT_DRAIN)
        .script(json!({ "rules": [{ "on": "boot", "life": 2, "do": [{ "sleep_ms": 60_000 }] }] }))
        .options(QUICK_STOP)
        .start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    session.close_stdin();
    let _ = session.answer(1).error();
    session.ended(0);
}

#[test]
fn exit_code_70_when_the_budget_is_used_up() {
    let session = setup()
        .options(JSON_LOG)
        .options(["--max-attempts", "2", "--restart-delays", "0s"])
        .env("MCP_WATCHDOG_ON_PERMANENT_FAILURE", "exit")
        .env("MCP_FIXTURE_FAIL_RESTART_ATTEMPTS", "9")
        .start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    session.wait_read("tools/call", 1);
    session.kill_server();
    let _ = session.answer(1).own_error("server_disconnected");
    let stopped = wait_event(&session, "watchdog_stopped");
    assert_eq!(stopped["data"]["code"], 70);
    session.ended(70);
}

#[test]
fn exit_codes_126_and_127_when_the_command_cannot_be_started() {
    let folder = folder();
    write(folder.path(), "plain", "not a program");
    let plain = folder.path().join("plain");
    let plain = plain.to_str().expect("a path of letters");
    for (command, code) in [(plain, 126), ("/no/such/program", 127), ("no-such-program-at-all", 127)] {
        // Started by the client's first word, so that there is somebody to tell.
        let session = Setup::new(WATCHDOG, command).options(["--set", "start=lazy"]).start();
        session.send(initialize(0, "2025-11-25"));
        let data = session.answer(0).own_error("server_permanently_failed");
        assert_eq!((&data["reason"], &data["sent"]), (&json!("cannot-start"), &json!(false)));
        session.wait_stderr(command);
        session.ended(code);
        // Started at once, and perhaps gone before there is somebody.
        let session = Setup::new(WATCHDOG, command).start();
        session.may_stay_open(0);
        session.send(initialize(0, "2025-11-25"));
        session.wait_stderr(command);
        session.ended(code);
    }
}

#[test]
fn a_folder_of_path_that_may_not_be_searched_is_no_program_that_may_not_be_executed() {
    const NOBODY: u32 = 65_534;
    // Whoever that is must get there.
    let folder = tempfile::tempdir_in("/tmp").expect("a temporary folder can be made");
    let (watchdog, closed) = (folder.path().join("mcp-watchdog"), folder.path().join("closed"));
    fs::copy(WATCHDOG, &watchdog).expect("the program can be copied");
    fs::create_dir(&closed).expect("a folder can be made");
    write(folder.path(), "plain", "not a program");
    let allow = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("modes can be set");
    allow(folder.path(), 0o755);
    allow(&closed, 0);
    let path = format!("{}:{}:/usr/bin:/bin", closed.display(), folder.path().display());
    for (program, code, why) in
        [("no-such-program", 127, "cannot find `no-such-program`"), ("plain", 126, "permission denied")]
    {
        let mut command = std::process::Command::new(&watchdog);
        command.args(["--no-control", "--", program]).env("PATH", &path).current_dir(folder.path());
        // Nothing is closed to root.
        let is_root = nix::unistd::geteuid().is_root();
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = match command.stdin(std::process::Stdio::null()).output() {
            Ok(output) => output,
            Err(error) if is_root => return eprintln!("left out: root cannot be somebody else here ({error})"),
            Err(error) => panic!("the copy can be executed: {error}"),
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(why), "{said}");
    }
    allow(&closed, 0o700);
}

#[test]
fn a_working_directory_that_cannot_be_entered_is_named() {
    let session = Setup::new(WATCHDOG, "cat").options(["--set", "cwd=/no/such/folder"]).start();
    session.send(initialize(0, "2025-11-25"));
    let answer = session.answer(0);
    assert!(answer.error()["message"].to_string().contains("`/no/such/folder`"), "{}", answer.error());
    session.ended(126);
}

#[test]
fn a_signal_ends_it_although_its_parent_had_blocked_all_of_them() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).expect("a mask can be set");
        let session = setup().options(QUICK_STOP).start();
        before.thread_set_mask().expect("a mask can be set");
        session.initialize();
        session.signal(signal);
        session.ended(code);
    }
}

#[test]
fn a_second_signal_kills_at_once() {
    let session = setup()
        .options(["--set", "shutdown.eof_grace=60s", "--set", "shutdown.term_grace=60s"])
        .script(json!({ "ignore_eof": true, "ignore_signals": ["TERM", "INT"] }))
        .start();
    session.initialize();
    session.signal(Signal::SIGTERM);
    session.wait_entry("the end of the server's stdin", |entry| {
        (entry.what == What::Event("eof".to_owned())).then_some(())
    });
    session.signal(Signal::SIGTERM);
    session.ended(143);
}

#[test]
fn usage_that_cannot_work_ends_with_78_and_says_why() {
    let folder = folder();
    write(folder.path(), "two.yaml", "servers: { a: { command: x }, b: { command: y } }");
    write(folder.path(), "typo.yaml", "servers: { a: { command: x, tol_timeout: 3s } }");
    let cases: [(&[&str], &str); 13] = [
        (&[], "no server to run"),
        (&["--"], "nothing follows `--`"),
        (&["--nope", "--", "x"], "unexpected argument '--nope'"),
        (&["npx", "server"], "goes behind `--`"),
        (&["--tool-timeout", "soon", "--", "x"], "--tool-timeout: \"soon\" is not a duration"),
        (&["--set", "no.such.key=1", "--", "x"], "--set: unknown key \"no.such.key\""),
        (&["--set", "restart.holt=1s", "--", "x"], "restart.hold"),
        (&["--set", "log.level=info", "--", "x"], "log.level"),
        (&["--preset", "nice", "--", "x"], "expected `relentless`"),
        (&["--max-attempts", "0", "--", "x"], "--max-attempts"),
        (&["--config", "none.yaml"], "none.yaml: cannot be read"),
        (&["--config", "two.yaml"], "choose it with --name"),
        (&["--config", "typo.yaml"], "did you mean \"tool_timeout\"?"),
    ];
    for (arguments, why) in cases {
        let output = run(folder.path(), arguments, &[]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{arguments:?}: {stderr}");
        assert!(stderr.contains(why), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{arguments:?}: stdout is the protocol");
    }
}

#[test]
fn version_and_help_are_on_stdout() {
    let folder = folder();
    let version = run(folder.path(), &["--version"], &[]);
    assert_eq!(version.status.code(), Some(0));
    assert_eq!(text(&version.stdout), format!("mcp-watchdog {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(folder.path(), &["--help"], &[]);
    assert_eq!(help.status.code(), Some(0));
    let help = text(&help.stdout);
    for option in [
        "--name",
        "--preset",
        "--tool-timeout",
        "--request-deadline",
        "--handshake-timeout",
        "--probe-timeout",
        "--health-interval",
        "--on-unhealthy",
        "--restart-delays",
        "--max-attempts",
        "--hold",
        "--set",
        "--log-level",
        "--log-format",
        "--no-control",
        "--config",
    ] {
        assert!(help.contains(option), "the help does not know {option}");
    }
}

// -- configuration ----------------------------------------------------------------------------------------------------

const FILE: &str = r#"version: 1
servers:
  files:
    command: server
    args: ["--token", "hunter2", "/data"]
    env: { API_KEY: hunter2 }
    tool_timeout: 3s
  other:
    command: b
    preset: bounded
    enabled: false
"#;

#[test]
fn check_config_tells_what_it_found() {
    let folder = folder();
    write(folder.path(), "good.yaml", FILE);
    let output = run(folder.path(), &["check-config", "good.yaml"], &[]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let golden = "\
good.yaml: ok
  files: `server`, preset relentless
  other: `b`, preset bounded, disabled
";
    assert_eq!(text(&output.stdout), golden);
}

#[test]
fn check_config_explains_where_values_come_from() {
    let folder = folder();
    write(folder.path(), "good.yaml", FILE);
    let environment = [("MCP_WATCHDOG_RESTART__HOLD", "4s"), ("CONNECTION_RETRY_ATTEMPTS", "7")];
    let arguments = ["check-config", "good.yaml", "--name", "files", "--explain"];
    let output = run(folder.path(), &arguments, &environment);
    let stdout = text(&output.stdout);
    let columns = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<_> = stdout.lines().map(columns).collect();
    for line in [
        "args [--token, (hidden), /data] good.yaml:5:11",
        "command server good.yaml:4:14",
        "env.API_KEY (hidden) good.yaml:6:21",
        "health.interval 120s preset relentless",
        "limits.max_line 64MiB default",
        "restart.hold 4s MCP_WATCHDOG_RESTART__HOLD",
        "restart.max_attempts 7 CONNECTION_RETRY_ATTEMPTS",
        "tool_timeout 3s good.yaml:7:19",
    ] {
        assert!(lines.iter().any(|have| have == line), "no {line:?} in\n{stdout}");
    }
    assert!(!stdout.contains("hunter2"));
}

#[test]
fn check_config_shows_the_place_of_each_error_and_the_nearest_key() {
    let folder = folder();
    let file = "\
version: 1
servers:
  files:
    command: npx
    tol_timeout: 3s
    restart:
      hold: soon
";
    write(folder.path(), "bad.yaml", file);
    let output = run(folder.path(), &["check-config", "bad.yaml"], &[]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(78), String::new()));
    let golden = r#"error: bad.yaml:5:5: servers.files: unknown field "tol_timeout" (did you mean "tool_timeout"?)
  5 |     tol_timeout: ***
    |     ^
error: bad.yaml:7:13: servers.files.restart.hold: "soon" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)
  7 |       hold: soon
    |             ^
"#;
    assert_eq!(text(&output.stderr), golden);
}

#[test]
fn the_examples_work() {
    let examples = crate::rig::root().join("examples");
    let mut seen = 0;
    for entry in fs::read_dir(examples).expect("there are examples") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.to_str().expect("a path of letters");
            let output = run(folder().path(), &["check-config", name], &[]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// Whether a line of so many bytes passes.
fn passes(session: &Session, id: i64, bytes: usize) -> bool {
    session.send(tool_call(id, "echo", json!({ "text": "x".repeat(bytes) })));
    session.answer(id).value.get("result").is_some()
}

#[test]
fn options_win_over_the_environment_and_that_over_the_file() {
    let folder = folder();
    let file = format!("servers: {{ s: {{ command: '{FIXTURE}', limits: {{ max_line: 4KiB }} }} }}");
    write(folder.path(), "server.yaml", &file);
    let path = folder.path().join("server.yaml");
    let from_file = || Setup::direct(WATCHDOG).options(["--config"]).options([&path]);
    let session = from_file().start();
    session.initialize();
    assert_eq!((passes(&session, 1, 3000), passes(&session, 2, 5000)), (true, false));
    session.finish();

    let session = from_file().env("MCP_WATCHDOG_LIMITS__MAX_LINE", "8KiB").start();
    session.initialize();
    assert_eq!((passes(&session, 1, 5000), passes(&session, 2, 9000)), (true, false));
    session.finish();

    let session =
        from_file().env("MCP_WATCHDOG_LIMITS__MAX_LINE", "8KiB").options(["--set", "limits.max_line=16KiB"]).start();
    session.initialize();
    assert_eq!((passes(&session, 1, 9000), passes(&session, 2, 17_000)), (true, false));
    session.finish();
}

#[test]
fn a_disabled_server_is_not_started_and_says_so() {
    let session = setup().options(["--set", "enabled=false"]).start();
    session.send(initialize(0, "2025-11-25"));
    let data = session.answer(0).own_error("server_disabled");
    assert_eq!(data["sent"], false);
    assert_eq!(session.life(), 0);
    session.finish();
}

#[test]
fn a_lazy_server_starts_with_the_first_message() {
    let session = setup().options(["--set", "start=lazy"]).start();
    session.stays_quiet(Duration::from_millis(300));
    assert_eq!(session.life(), 0);
    session.initialize();
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn s64_errors_of_tool_calls_can_be_results() {
    let session = setup().options(["--set", "errors.tool_calls=tool_result"]).start();
    session.initialize();
    session.send(tool_call(1, "exit", json!({ "code": 3 })));
    let answer = session.answer(1);
    assert_eq!(answer.result()["isError"], true);
    assert!(answer.text().contains("Server disconnected"), "{}", answer.value);
    session.finish();
}

// -- secrets ----------------------------------------------------------------------------------------------------------

#[test]
fn secrets_and_payloads_are_never_in_the_log() {
    const SECRET: &str = "hunter2-s3cr3t";
    let folder = folder();
    let file = format!(
        "servers: {{ s: {{ command: '{FIXTURE}', args: ['--token', '{SECRET}'], env: {{ API_KEY: '{SECRET}' }} }} }}"
    );
    write(folder.path(), "server.yaml", &file);
    let path = folder.path().join("server.yaml");
    for format in ["text", "json"] {
        let session = Setup::direct(WATCHDOG)
            .options(["--log-level", "trace", "--log-format", format, "--health-interval", "100ms", "--config"])
            .options([&path])
            .options(EAGER)
            .env("INHERITED_TOKEN", SECRET)
            .start();
        session.initialize();
        session.send(tool_call(1, "env", json!({ "name": "API_KEY" })));
        assert_eq!(session.answer(1).text(), SECRET, "the server has what it needs");
        session.send(tool_call(2, "echo", json!({ "text": SECRET })));
        assert_eq!(session.answer(2).text(), SECRET);
        session.wait_read("ping", 1);
        session.send(tool_call(3, "exit", json!({ "code": 3, "password": SECRET })));
        let error = session.answer(3);
        assert!(!error.error().to_string().contains(SECRET));
        session.wait_life(2);
        session.send(tool_call(4, "life", json!({})));
        assert_eq!(session.answer(4).text(), "2");
        session.wait_stderr("server_reconnected");
        assert!(!session.stderr().contains(SECRET), "{}", session.stderr());
        session.finish();
    }
}

#[test]
fn the_server_gets_none_of_the_watchdogs_own_variables() {
    let session =
        setup().env("MCP_WATCHDOG_TOKEN", "t0ken").env("NOTIFY_SOCKET", "/run/notify").env("ORDINARY", "kept").start();
    session.initialize();
    for (id, name, value) in [(1, "MCP_WATCHDOG_TOKEN", ""), (2, "NOTIFY_SOCKET", ""), (3, "ORDINARY", "kept")] {
        session.send(tool_call(id, "env", json!({ "name": name })));
        assert_eq!(session.answer(id).text(), value, "{name}");
    }
    session.finish();
}

// -- a watchdog in front of a watchdog --------------------------------------------------------------------------------

#[test]
fn s87_a_watchdog_in_front_of_a_watchdog() {
    let session = setup()
        .options(["--name", "outer"])
        .options(QUICK_STOP)
        .command([WATCHDOG, "--name", "inner", "--", FIXTURE])
        .start();
    session.initialize();
    let inner = children(guard_of(session.pid()))[0].0;
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2", "the inner one brings the server back");
    assert!(is_running(inner));

    let inner_number = i32::try_from(inner).expect("a process number fits");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(inner_number), Signal::SIGKILL).expect("it runs");
    session.wait_life(3);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "3", "the outer one brings the inner one back");
    assert_eq!(session.life(), 3);
    session.finish();
}
