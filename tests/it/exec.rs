//! Programs as probes, end to end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use harness::{Setup, Signal, Value, is_running, json, tool_call};

use crate::rig::{
    EAGER, JSON_LOG, QUICK_STOP, SHORT_DRAIN, WATCHDOG, children, events, open_descriptors, poll_until, setup,
    wait_event,
};

/// A call is suspect soon.
const SUSPICIOUS: [&str; 2] = ["--tool-timeout", "300ms"];

/// A check every moment.
const OFTEN: [&str; 4] = ["--health-interval", "20ms", "--set", "health.jitter=0"];

/// A folder with a shell script in it.
struct Script {
    folder: tempfile::TempDir,
}

impl Script {
    fn new(text: &str) -> Self {
        let script = Self { folder: tempfile::tempdir().expect("a folder can be made") };
        let path = script.path("check");
        fs::write(&path, format!("#!/bin/sh\ncd '{}'\n{text}\n", script.folder.path().display()))
            .expect("the folder can be written to");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
        script
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a run of the script has written to a file of its folder; empty until it has.
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn pid(&self, name: &str) -> u32 {
        let mut pid = None;
        poll_until(name, || {
            pid = self.read(name).strip_suffix('\n').and_then(|line| line.parse().ok());
            pid.is_some()
        });
        pid.expect("it was waited for")
    }

    /// A chain of this script alone.
    fn chain(&self, keys: &str) -> [String; 2] {
        chain(&self.path("check"), keys)
    }

    /// The fixture behind that chain, with calls that are suspect soon and events as JSON.
    fn setup(&self, keys: &str) -> Setup {
        setup()
            .options(SUSPICIOUS)
            .options(QUICK_STOP)
            .options(EAGER)
            .options(SHORT_DRAIN)
            .options(JSON_LOG)
            .options(self.chain(keys))
    }
}

fn chain(program: &Path, keys: &str) -> [String; 2] {
    let link = format!("{{type: exec, command: ['{}'], {keys}}}", program.display());
    ["--set".to_owned(), format!("probe.chain=[{link}]")]
}

fn error_of(event: &Value) -> &str {
    event["data"]["error"].as_str().unwrap_or_default()
}

#[test]
fn a_program_that_is_content_keeps_the_server_and_is_told_of_it() {
    let script = Script::new(
        "cat > in.$$; mv in.$$ stdin; printf %s \"$MCP_PROBE_CONTEXT\" > in.$$; mv in.$$ variable; echo fine; echo note >&2",
    );
    let session = script.setup("name: db").start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let mut note = Value::Null;
    poll_until("line of the program in the log", || {
        let log = session.stderr();
        let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        note = lines.find(|line| line["target"] == "probe").unwrap_or_default();
        !note.is_null()
    });
    assert_eq!((&note["probe"], &note["message"]), (&json!("db"), &json!("note")));

    let text = script.read("stdin");
    assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
    let context: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&context["generation"], &context["trigger"]), (&json!(1), &json!("tool_timeout")));
    assert_eq!((&context["inFlight"], &context["pid"]), (&json!(1), &json!(session.wait_life(1))));
    let variable: Value = serde_json::from_str(&script.read("variable")).unwrap();
    assert_eq!(variable["server"], context["server"]);

    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    assert!(events(&session, "probe_failed").is_empty());
    session.may_stay_open(1);
    session.finish();
}

#[test]
fn a_program_that_fails_has_the_server_replaced_although_that_answers() {
    let script = Script::new("[ -e failed ] && exit 0; touch failed; echo 'db is gone'; echo more; exit 3");
    let session = script.setup("name: db").start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    assert_eq!(error_of(&wait_event(&session, "probe_failed")), "db: exit code 3: db is gone");
    let data = session.answer(1).own_error("request_timeout");
    assert_eq!(data["restarted"], true, "{data}");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn a_program_that_writes_without_end_ends_in_time_and_delays_nobody() {
    for (flood, told) in [("yes >&2", true), ("yes", false)] {
        let script = Script::new(&format!("[ -e failed ] && exit 0; touch failed; {flood}"));
        let session = script.setup("name: db, timeout: 1s").start();
        session.initialize();
        let begin = Instant::now();
        session.send(tool_call(1, "silence", json!({})));
        poll_until("check", || script.path("failed").exists());
        let mut id = 2;
        while events(&session, "probe_failed").is_empty() {
            session.send(tool_call(id, "life", json!({})));
            session.answer(id);
            assert!(session.took(id) < Duration::from_millis(800), "call {id} took {:?}", session.took(id));
            assert!(begin.elapsed() < Duration::from_secs(5), "the check does not end");
            id += 1;
        }
        assert!(id > 5, "{id} calls in a second");
        assert_eq!(error_of(&wait_event(&session, "probe_failed")), "db: did not end within 1s");
        let left_out = " lines that probe db printed were left out: too many";
        if told {
            session.wait_stderr(left_out);
        }
        assert!(session.stderr().matches(r#""target":"probe""#).count() < 200, "the log has the beginning");
        session.wait_life(2);
        session.answer(1);
        session.finish();
    }
}

#[test]
fn nagios_codes_are_busy_bad_and_unknown() {
    let script = Script::new("echo state; read code < code; exit \"$code\"");
    let code = |code: &str| fs::write(script.path("code"), format!("{code}\n")).unwrap();
    code("1");
    let session = script.setup("exit_codes: nagios").options(["--set", "probe.busy_grace=300ms"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let busy = wait_event(&session, "probe_busy");
    assert_eq!(busy["data"]["evidence"], "exec: exit code 1: state", "{busy}");
    code("3");
    session.wait_stderr("exec: exit code 3: state");
    assert_eq!(session.life(), 1, "what is not known kills nothing");
    code("2");
    assert_eq!(error_of(&wait_event(&session, "probe_failed")), "exec: exit code 2: state");
    session.wait_life(2);
    let _ = session.answer(1).own_error("request_timeout");
    session.finish();
}

#[test]
fn a_program_that_does_not_end_is_killed_with_everything_that_it_started() {
    let script = Script::new(
        "[ -e slept ] && exit 0; trap '' TERM HUP; touch slept\n\
         setsid sh -c 'trap \"\" TERM HUP; echo $$ > far; sleep 60' &\n\
         echo $$ > near; sleep 60",
    );
    let session = script.setup("timeout: 3s").start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let (near, far) = (script.pid("near"), script.pid("far"));
    assert_eq!(error_of(&wait_event(&session, "probe_failed")), "exec: did not end within 3s");
    for pid in [near, far] {
        poll_until("end of the program's tree", || !is_running(pid));
    }
    let _ = session.answer(1).own_error("request_timeout");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn what_a_program_leaves_behind_ends_with_it_and_does_not_delay_its_verdict() {
    // It holds on to the program's stdout.
    let script =
        Script::new("setsid sh -c 'echo $$ > far; exec sleep 60' & while [ ! -s far ]; do :; done; echo left; exit 1");
    let session = script.setup("timeout: 5s").start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    assert_eq!(error_of(&wait_event(&session, "probe_failed")), "exec: exit code 1: left");
    let far = script.pid("far");
    poll_until("end of what was left", || !is_running(far));
    session.may_stay_open(1);
    session.finish();
}

#[test]
fn output_without_end_and_input_without_a_reader_hinder_nobody() {
    let script = Script::new(
        "exec < /dev/null; echo first; yes | head -c 20000000; head -c 1000000 /dev/zero >&2; yes | head -c 20000 >&2; touch ran",
    );
    let often = ["--set", "health.interval=50ms"];
    let session = script.setup("timeout: 10s").options(often).start();
    session.initialize();
    let mut id = 0;
    poll_until("end of the program", || {
        id += 1;
        session.send(tool_call(id, "echo", json!({ "text": "here" })));
        assert_eq!(session.answer(id).text(), "here");
        script.path("ran").exists()
    });
    assert!(events(&session, "server_health_degraded").is_empty());
    assert_eq!(session.life(), 1);
    session.finish();
}

#[test]
fn a_program_that_is_not_there_is_refused_before_anything_starts() {
    let nowhere = Path::new("/no/such/check");
    let session = setup().options(chain(nowhere, "name: db")).start();
    let status = session.wait_exit(Duration::from_secs(5));
    assert_eq!(status.code(), Some(78));
    assert!(
        session.stderr().contains("cannot execute `/no/such/check`: there is no such file"),
        "{}",
        session.stderr()
    );
    assert_eq!(session.life(), 0);
}

#[test]
fn a_program_that_goes_away_says_nothing_about_the_server() {
    let script = Script::new("exit 1");
    let session = script.setup("name: db").start();
    session.initialize();
    fs::remove_file(script.path("check")).unwrap();
    session.send(tool_call(1, "silence", json!({})));
    session.wait_stderr("no such file");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    assert!(events(&session, "probe_failed").is_empty());
    session.may_stay_open(1);
    session.finish();
}

#[test]
fn a_server_that_ends_takes_the_program_that_asks_about_it_along() {
    let script = Script::new("echo $$ > near; exec sleep 60");
    let session = script.setup("timeout: 30s").options(["--set", "probe.total_timeout=30s"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let near = script.pid("near");
    session.kill_server();
    poll_until("end of the program", || !is_running(near));
    let _ = session.answer(1).own_error("server_disconnected");
    session.finish();
}

#[test]
fn a_watchdog_that_is_killed_takes_the_program_along() {
    let script = Script::new("trap '' TERM; echo $$ > near; sleep 60");
    let session = script.setup("timeout: 30s").options(["--set", "probe.total_timeout=30s"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    let near = script.pid("near");
    session.signal(Signal::SIGKILL);
    poll_until("end of the program", || !is_running(near));
    session.wait_none_left(Duration::from_secs(5));
}

#[test]
fn the_environment_is_the_servers_and_holds_no_token() {
    let script = Script::new("{ pwd; echo \"$MCP_WATCHDOG_TOKEN-$SHARED-$OWN\"; } > in.$$; mv in.$$ out");
    let session = script
        .setup("env: {OWN: '${SHARED}'}")
        .env("MCP_WATCHDOG_TOKEN", "hush")
        .env("SHARED", "yes")
        .options(OFTEN)
        .start();
    session.initialize();
    poll_until("a run", || !script.read("out").is_empty());
    assert!(script.read("out").ends_with("\n-yes-yes\n"), "{}", script.read("out"));
    session.finish();
}

#[test]
fn hundreds_of_runs_leave_no_descriptors_and_no_processes() {
    const ROUNDS: usize = 200;
    let script = Script::new("echo >> rounds; (sleep 60 &); echo fine; [ $(($(wc -l < rounds) % 5)) -ne 0 ]");
    let rounds = || script.read("rounds").len();
    let session = script.setup("timeout: 5s").options(OFTEN).start();
    session.initialize();
    let reach = |wanted: usize| {
        let until = Instant::now() + Duration::from_secs(60);
        while rounds() < wanted {
            assert!(Instant::now() < until, "{} of {wanted} rounds", rounds());
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    reach(10);
    let before = open_descriptors(session.pid());
    reach(ROUNDS);
    // A few runs may be under way or be swept, with a handful of descriptors each; what leaks leaks in every round.
    let after = open_descriptors(session.pid());
    assert!(after <= before + ROUNDS / 4, "{before} descriptors became {after}");
    let left = children(session.pid());
    assert!(left.len() <= ROUNDS / 4, "{left:?}");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}

#[test]
fn check_config_knows_links_and_their_programs() {
    let script = Script::new("exit 0");
    let file = script.path("config.yaml");
    let check = |program: &str, keys: &str| {
        let link = format!("{{type: exec, command: [{program}, '--token=hush'], env: {{KEY: hush}}, {keys}}}");
        fs::write(&file, format!("servers: {{fs: {{command: true, probe: {{chain: [{link}]}}}}}}\n"))
            .expect("the folder can be written to");
        let output = Command::new(WATCHDOG).args(["check-config", "--explain"]).arg(&file).output();
        let output = output.expect("the watchdog can be started");
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!text.contains("hush"), "{text}");
        (output.status.code(), text)
    };
    let program = script.path("check").display().to_string();
    let (code, text) = check(&program, "name: db, timeout: 11s");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("name: db"), "{text}");
    assert!(text.contains("warning: `fs`: probe.chain[0]: its timeout of 11s is never used up"), "{text}");
    let (code, text) = check("/no/such/check", "name: db");
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("config.yaml:1:"), "{text}");
    assert!(text.contains("fs.probe.chain[0]: probe \"exec\": cannot execute `/no/such/check`"), "{text}");
    let (code, text) = check(&program, "exit_code: nagios");
    assert_eq!(code, Some(78), "{text}");
    assert!(text.contains("unknown field `exit_code` (did you mean \"exit_codes\"?)"), "{text}");
}

#[test]
fn a_program_that_stops_its_own_guard_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard");
    let script = format!("echo $PPID > {0}.new; kill -STOP $PPID; mv {0}.new {0}; exit 0", file.display());
    let chain = json!([{ "type": "exec", "command": ["sh", "-c", script] }, { "type": "ping" }]);
    let session = setup()
        .options(QUICK_STOP)
        .options([
            "--health-interval".to_owned(),
            "100ms".to_owned(),
            "--set".to_owned(),
            format!("probe.chain={chain}"),
        ])
        .start();
    session.initialize();
    poll_until("first check", || file.exists());
    let guard: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    session.finish();
    poll_until("end of the guard", || !is_running(guard));
}
