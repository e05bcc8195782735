use super::*;
use crate::config::{ControlListen, Delays, LogFormat, LogLevel, OnCall, OnUnhealthy};

fn parse_words(words: &[&str], environment: &[(&str, &str)]) -> Result<Invocation, Stop> {
    let args = std::iter::once("mcp-watchdog").chain(words.iter().copied()).map(OsString::from);
    let environment = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    parse(args, environment, &|link, _| {
        if link.kind == "nope" { Err("no such probe".to_owned()) } else { Ok(()) }
    })
}

/// The words of a line that has no quoting.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn sidecar(line: &str) -> Loaded {
    match parse_words(&words(line), &[]) {
        Ok(Invocation::Sidecar(loaded)) => *loaded,
        Ok(other) => panic!("{line}: {other:?}"),
        Err(stop) => panic!("{line}: {}", stop.text),
    }
}

#[track_caller]
fn stop(line: &str) -> Stop {
    parse_words(&words(line), &[]).expect_err(line)
}

/// contract.md, "Command line".
#[test]
fn every_option_of_the_contract() {
    let loaded = sidecar(
        "--name n --preset bounded --tool-timeout 1s --request-deadline 2m --handshake-timeout 3s --probe-timeout 500ms \
         --health-interval 0s --on-unhealthy warn --restart-delays 0s,500ms,1h30m --max-attempts 3 --hold 4.5 \
         --set restart.min_uptime=2s --set limits.max_line=1MiB --set restart.on_call=wait --log-level debug --log-format json \
         --no-control -- /bin/cat -A --hold",
    );
    let config = loaded.config;
    let server = config.only();
    let millis = |duration: std::time::Duration| duration.as_millis();
    assert_eq!(server.name, "n");
    assert_eq!(millis(server.tool_timeout), 1000);
    assert_eq!(server.request_deadline.map(millis), Some(120_000));
    assert_eq!(millis(server.handshake.timeout), 3000);
    assert_eq!(millis(server.probe.timeout), 500);
    assert_eq!((server.health.interval, server.health.on_unhealthy), (None, OnUnhealthy::Warn));
    let Delays::Schedule(delays) = &server.restart.delays else { panic!("{:?}", server.restart.delays) };
    assert_eq!(delays.iter().copied().map(millis).collect::<Vec<_>>(), [0, 500, 5_400_000]);
    assert_eq!((server.restart.max_attempts, server.restart.on_call), (Some(3), OnCall::Wait));
    assert_eq!((millis(server.restart.hold), millis(server.restart.min_uptime)), (4500, 2000));
    assert_eq!(server.limits.max_line, 1 << 20);
    assert_eq!((config.log.level, config.log.format), (LogLevel::Debug, LogFormat::Json));
    assert_eq!(config.control.listen, ControlListen::Off);
    assert_eq!(server.command.program, "/bin/cat");
    assert_eq!(server.command.args, ["-A", "--hold"]);
}

#[test]
fn options_take_their_values_with_an_equals_sign_too() {
    let server = sidecar("--hold=3s --set=health.threshold=1 --max-attempts=unlimited -- x").config.only().clone();
    assert_eq!((server.restart.hold.as_secs(), server.health.threshold, server.restart.max_attempts), (3, 1, None));
}

#[test]
fn of_two_options_for_one_key_the_later_wins() {
    let hold = |line: &str| sidecar(line).config.only().restart.hold.as_secs();
    assert_eq!(hold("--hold 1s --set restart.hold=2s -- x"), 2);
    assert_eq!(hold("--set restart.hold=2s --hold 1s -- x"), 1);
    assert_eq!(hold("--set restart.hold=2s --hold 1s --set restart.hold=3s -- x"), 3);
    assert_eq!(hold("--hold 1s --hold 4s -- x"), 4);
    assert_eq!(hold("--hold 1s --set restart.hold=2s --hold 5s -- x"), 5);
}

#[test]
fn options_win_over_the_environment() {
    let environment = [("MCP_WATCHDOG_RESTART__HOLD", "30s"), ("MCP_WATCHDOG_TOOL_TIMEOUT", "9s")];
    let Ok(Invocation::Sidecar(loaded)) = parse_words(&["--hold", "1s", "--", "x"], &environment) else { panic!() };
    let server = loaded.config.only();
    assert_eq!((server.restart.hold.as_secs(), server.tool_timeout.as_secs()), (1, 9));
}

#[test]
fn a_command_may_be_called_as_a_subcommand() {
    for name in ["status", "demo", "check-config", "--help", "--"] {
        let command = sidecar(&format!("--name a -- {name} --version")).config.only().command.clone();
        assert_eq!((command.program, command.args), (name.into(), vec!["--version".into()]));
    }
}

#[cfg(unix)]
#[test]
fn commands_need_not_be_text() {
    use std::os::unix::ffi::OsStringExt;
    let raw = OsString::from_vec(b"\xff".to_vec());
    let args = ["mcp-watchdog", "--"].map(OsString::from).into_iter().chain([raw.clone(), raw.clone()]);
    let Ok(Invocation::Sidecar(loaded)) = parse(args, [], &|_, _| Ok(())) else { panic!() };
    assert_eq!(loaded.config.only().command.program, raw);
    assert_eq!(loaded.config.only().command.args, std::slice::from_ref(&raw));
    let args = ["mcp-watchdog", "--hold"].map(OsString::from).into_iter().chain([raw, "--".into(), "x".into()]);
    let stop = parse(args, [], &|_, _| Ok(())).unwrap_err();
    assert_eq!(stop, Stop { exit: Exit::Config, text: "error: --hold: the value is not UTF-8\n".to_owned() });
}

#[test]
fn usage_errors_end_with_the_configuration_code() {
    for (line, text) in [
        (
            "--tool-timeout soon -- x",
            "error: --tool-timeout: \"soon\" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)\n",
        ),
        ("--set no.such.key=1 -- x", "error: --set: unknown key \"no.such.key\"\n"),
        ("--set probe.chain=[{type:nope}] -- x", "error: --set probe.chain[0]: a link needs a `type`"),
        (
            "--max-attempts 0 -- x",
            "error: --max-attempts: expected a whole number from 1 on, or `unlimited`, not \"0\"\n",
        ),
        ("--name a:b -- x", "error: --name: \"a:b\" is not a server name"),
        ("--hold", "error: a value is required for '--hold <DURATION>'"),
        ("--holt 1s -- x", "error: unexpected argument '--holt' found"),
        ("npx -y server", "error: unexpected argument 'npx' found"),
        ("--hold 1s npx", "error: unexpected argument 'npx' found"),
        ("--hold 1s demo", "error: "),
        ("--hold 1s --", "error: nothing follows `--`"),
        ("--config /no/such/file.yaml", "error: /no/such/file.yaml: cannot be read: "),
        ("check-config --nope", "error: unexpected argument '--nope' found"),
        ("demo x", "error: unexpected argument 'x' found"),
    ] {
        let stop = stop(line);
        assert_eq!(stop.exit, Exit::Config, "{line}");
        assert!(stop.text.starts_with(text), "{line}: {}", stop.text);
        assert!(stop.text.ends_with('\n'), "{line}");
    }
}

#[test]
fn a_command_without_dashes_is_told_where_it_belongs() {
    for line in ["npx -y server", "--hold 1s npx"] {
        assert!(stop(line).text.ends_with("goes behind `--`: mcp-watchdog [OPTIONS] -- COMMAND [ARGS]...\n"), "{line}");
    }
}

#[test]
fn an_unknown_option_is_not_taken_for_a_servers_command() {
    for line in ["-v", "-version", "--foo", "-y npx"] {
        assert!(stop(line).text.ends_with("\nFor more information, try '--help'.\n"), "{line}: {}", stop(line).text);
    }
}

#[test]
fn help_is_a_subcommand_too() {
    assert_eq!(stop("help"), stop("--help"));
    for line in ["status", "plugins check", "mcp"] {
        let (asked, option) = (stop(&format!("help {line}")), stop(&format!("{line} --help")));
        assert_eq!(asked, option, "{line}");
        assert_eq!(asked.exit, Exit::Done, "{line}");
    }
    for (line, end) in [
        ("help staus", "\nA similar subcommand exists: mcp-watchdog status\n"),
        ("help npx", "\nFor more information, try '--help'.\n"),
    ] {
        let typo = stop(line);
        assert_eq!(typo.exit, Exit::Config, "{line}");
        assert!(typo.text.ends_with(end), "{line}: {}", typo.text);
    }
}

#[test]
fn a_negative_value_is_told_what_is_wrong_with_it() {
    for (line, text) in [
        ("--tool-timeout -5s -- x", "error: --tool-timeout: a duration cannot be negative, as \"-5s\" is\n"),
        (
            "--max-attempts -1 -- x -2",
            "error: --max-attempts: expected a whole number from 1 on, or `unlimited`, not \"-1\"\n",
        ),
        ("--no-control -1 -- x", "error: unexpected value '-1' for '--no-control' found"),
        ("-5 -- x", "error: unexpected argument '-5' found"),
    ] {
        assert!(stop(line).text.starts_with(text), "{line}: {}", stop(line).text);
    }
    assert_eq!(sidecar("--hold 1s -- x --hold -5").config.only().command.args, ["--hold", "-5"]);
}

#[test]
fn what_was_probably_meant_is_told() {
    for (line, text) in [
        ("chek-config x.yaml", "A similar subcommand exists: mcp-watchdog check-config\n"),
        ("warp x.json", "A similar subcommand exists: mcp-watchdog wrap\n"),
        ("--tol-timeout 5s -- x", "tip: a similar argument exists: '--tool-timeout'\n"),
        ("check-config --explian", "tip: a similar argument exists: '--explain'\n"),
        ("completions tcsh", "bash, zsh, fish, elvish, powershell, man"),
    ] {
        let stop = stop(line);
        assert!(stop.text.contains(text), "{line}: {}", stop.text);
        assert!(!stop.text.contains("to pass '"), "{line}: {}", stop.text);
    }
}

#[test]
fn a_subcommand_is_told_where_it_belongs_and_has_nothing_to_do_with_servers_commands() {
    for line in ["--hold 1s demo", "--config x.yaml serve"] {
        let word = line.split_whitespace().last().unwrap();
        let told = format!("\nA subcommand comes first, before its options: mcp-watchdog {word}\n");
        assert!(stop(line).text.ends_with(&told), "{line}: {}", stop(line).text);
    }
    for line in ["status --jsn", "status a b", "demo x", "connect a status"] {
        assert!(stop(line).text.ends_with("\nFor more information, try '--help'.\n"), "{line}: {}", stop(line).text);
    }
}

#[test]
fn what_is_left_out_of_an_error_leaves_no_gap() {
    for line in ["--frobnicate -- x", "-y -- x", "--frobnicate"] {
        let text = stop(line).text;
        assert!(text.contains(" found\n\nUsage: "), "{line}: {text}");
        assert!(!text.contains("\n\n\n"), "{line}: {text}");
    }
}

#[test]
fn several_errors_are_reported_together() {
    let stop = stop("--hold a --tool-timeout b -- x");
    assert_eq!(stop.text.lines().filter(|line| line.starts_with("error: --")).count(), 2, "{}", stop.text);
}

#[test]
fn help_and_version_are_no_errors() {
    let help = stop("--help");
    assert_eq!(help.exit, Exit::Done);
    for part in [
        "mcp-watchdog [OPTIONS] -- COMMAND [ARGS]...",
        "check-config",
        "demo",
        "--restart-delays",
        "1h30m",
        "MCP_WATCHDOG_RESTART__HOLD",
        "Exit codes:",
    ] {
        assert!(help.text.contains(part), "{part} is missing in\n{}", help.text);
    }
    assert_eq!(stop("-h").exit, Exit::Done);
    let version = stop("--version");
    assert_eq!((version.exit, version.text), (Exit::Done, format!("mcp-watchdog {VERSION}\n")));
}

#[test]
fn options_are_the_parsers_own_invariants() {
    Arguments::command().debug_assert();
}

fn check(words: &[&str], environment: &[(&str, &str)]) -> (Exit, String, String) {
    let Ok(Invocation::CheckConfig(check)) = parse_words(words, environment) else { panic!("{words:?}") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let known = |_: &crate::config::Link, _: Option<&crate::config::Command>| Ok(());
    let exit = check.run(&known, &mut out, &mut err).unwrap();
    (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn check_config_says_what_it_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    let name = path.display().to_string();
    std::fs::write(&path, "servers: {fs: {command: npx, args: [--token=s3cr3t], env: {T: s3cr3t}}, b: {url: 'http://x'}, c: {command: d, preset: patient, enabled: false}}").unwrap();
    let (exit, out, err) = check(&["check-config", &name], &[]);
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(
        out,
        format!(
            "{name}: ok\n  fs: `npx`, preset relentless\n  c: `d`, preset patient, disabled\n  b: remote, not run by this version\n"
        )
    );

    let (exit, out, _) = check(&["check-config", "--explain", "--name", "fs"], &[("MCP_WATCHDOG_CONFIG", &name)]);
    assert_eq!(exit, Exit::Done);
    assert!(out.contains("\n\nfs\n  args  ") && out.contains("restart.hold  "), "{out}");
    assert!(!out.contains("s3cr3t"), "{out}");

    std::fs::write(&path, "servers:\n  fs: {command: npx -y, tool_timeout: soon}\n").unwrap();
    let (exit, out, err) = check(&["check-config", &name], &[]);
    assert_eq!((exit, out.as_str()), (Exit::Config, ""));
    assert_eq!(
        err,
        format!(
            "error: {name}:2:39: servers.fs.tool_timeout: \"soon\" is not a duration (write 500ms, 30s, 2m, 1h30m, or a number of seconds)\n  2 |   fs: {{command: npx -y, tool_timeout: soon}}\n    |                                       ^\n"
        )
    );
}

#[test]
fn check_config_warns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.yaml");
    std::fs::write(&path, "frontends: []\nservers: {a: {command: x}, b: {command: y}}\n").unwrap();
    let name = path.display().to_string();
    let (exit, _, err) = check(&["check-config", &name], &[]);
    assert_eq!((exit, err), (Exit::Done, format!("warning: {name}:1:12: `frontends` has no effect in this version\n")));
}

#[test]
fn demo_is_a_subcommand() {
    assert!(matches!(parse_words(&["demo"], &[]), Ok(Invocation::Demo(_))));
}

// -- commands to running watchdogs ------------------------------------------------------------------------------------

#[test]
fn every_command_of_an_operator() {
    for line in [
        "status",
        "status a --json",
        "status a --watch --json",
        "status a --wait failed --timeout 1m30s",
        "retry a --wait 30s",
        "retry --all",
        "enable a",
        "disable a --socket /run/x-1.sock",
        "probe a --json",
        "events a --follow --since 7 --type server_exited --type tool_timeout --json",
        "logs a --tail 10",
        "health",
        "health a --live",
        "health --startup --socket tcp://127.0.0.1:9901",
        "reload",
    ] {
        assert!(matches!(parse_words(&words(line), &[]), Ok(Invocation::Operate(_))), "{line}");
    }
}

#[test]
fn what_an_operator_mistypes() {
    for (line, wanted) in [
        ("status --wait asleep", "[possible values: connected, degraded, "),
        ("status --timeout 3s", "--wait <STATE>"),
        ("status --watch --wait connected", "cannot be used with"),
        ("retry a --all", "cannot be used with"),
        ("probe a --config x", "cannot be used with"),
        ("probe --socket /x -- cat", "cannot be used with"),
        ("retry a --wait soon", "\"soon\" is not a duration"),
        ("disable --socket tcp://x", "`tcp://HOST:PORT`"),
        ("status --token-file x", "--socket <SOCKET>"),
        ("status --socket tcp://127.0.0.1:1 --token-file /no/such/file", "--token-file: /no/such/file cannot be read"),
    ] {
        let Stop { exit, text } = stop(line);
        assert!(text.contains(wanted), "{line}: {text}");
        assert_eq!(exit, Exit::Config, "{line}");
    }
    let token = [("MCP_WATCHDOG_TOKEN", "two words")];
    let Err(Stop { text, .. }) = parse_words(&["status", "--socket", "/x"], &token) else { panic!() };
    assert!(text.starts_with("error: MCP_WATCHDOG_TOKEN: ") && !text.contains("two"), "{text}");
    assert!(parse_words(&["status"], &token).is_ok(), "a unix socket needs none");
}

#[test]
fn health_has_two_exit_codes_whatever_is_typed() {
    assert_eq!(stop("health --nonsense").exit, Exit::Failed);
    assert_eq!(stop("health --live --ready").exit, Exit::Failed);
    assert_eq!(stop("health --help").exit, Exit::Done);
}
