//! `serve` and `connect`: several servers in one process, whose clients come and go.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use harness::plugins::text_file;
use harness::{Session, Setup, Signal, Value, json, tool_call};

use crate::rig::{FIXTURE, WATCHDOG, poll_until};

const LIMIT: Duration = Duration::from_secs(10);

/// A process that serves, and the folder with its file.
struct Serving {
    process: Session,
    folder: tempfile::TempDir,
}

fn server(more: &str) -> String {
    format!("{{ command: {FIXTURE}, restart: {{ delays: [0s], min_uptime: 0s }}{more} }}")
}

fn file(servers: &[(&str, String)]) -> String {
    let lines: String = servers.iter().map(|(name, server)| format!("  {name}: {server}\n")).collect();
    format!("version: 1\nservers:\n{lines}")
}

impl Serving {
    fn start(text: &str) -> Self {
        Self::start_with(text, |setup| setup)
    }

    fn start_with(text: &str, change: impl FnOnce(Setup) -> Setup) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::write(folder.path().join("servers.yaml"), text).expect("it can be written to");
        let setup = Setup::direct(WATCHDOG).several().options(["serve", "--no-control", "--config"]);
        let setup = setup.options([folder.path().join("servers.yaml")]);
        Self { process: change(setup).start(), folder }
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.process.folder().join("servers").join(format!("{name}.sock"))
    }

    /// A client that was started as `mcp-watchdog connect`.
    #[track_caller]
    fn client(&self, name: &str) -> Session {
        let socket = self.socket(name);
        poll_until("socket", || socket.exists());
        Setup::direct(WATCHDOG).options(["connect".as_ref(), socket.as_os_str()]).start()
    }

    fn rewrite(&self, text: &str) {
        fs::write(self.folder.path().join("servers.yaml"), text).expect("the folder can be written to");
        self.process.signal(Signal::SIGHUP);
    }

    fn end(self) {
        self.process.signal(Signal::SIGTERM);
        self.process.ended(143);
    }
}

fn life(session: &Session, id: u64) -> String {
    session.send(tool_call(id, "life", json!({})));
    session.answer(id).text().to_owned()
}

fn pid(session: &Session, id: u64) -> u32 {
    session.send(tool_call(id, "pid", json!({})));
    session.answer(id).text().parse().expect("the tool answers with a number")
}

fn kill(pid: u32) {
    let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
    nix::sys::signal::kill(pid, Signal::SIGKILL).expect("the server is ours");
}

#[test]
fn each_server_has_its_own_client_and_its_own_deaths() {
    let serving = Serving::start(&file(&[("one", server("")), ("two", server(""))]));
    let (one, two) = (serving.client("one"), serving.client("two"));
    one.initialize();
    two.initialize();
    let (first, other) = (pid(&one, 1), pid(&two, 1));
    kill(first);
    serving.process.wait_stderr("one: reconnected");
    assert_ne!(pid(&one, 2), first, "it was brought back");
    assert_eq!(pid(&two, 2), other, "the other one has not noticed");
    one.finish();
    two.finish();
    serving.end();
}

/// Short lines cost the most: each is looked at, and goes to the log.
#[test]
fn servers_that_write_without_end_delay_nobody() {
    let loud = |script: &str| format!("{{ command: sh, args: ['-c', '{script}'] }}");
    let servers = [("calm", server("")), ("complains", loud("yes >&2")), ("babbles", loud("yes"))];
    let serving = Serving::start_with(&file(&servers), |setup| setup.env("MCP_WATCHDOG_LOG__FORMAT", "json"));
    let client = serving.client("calm");
    client.initialize();
    for target in ["stderr", "stdout"] {
        serving.process.wait_stderr(&format!(r#""target":"{target}""#));
    }
    for id in 1..40 {
        life(&client, id);
        assert!(client.took(id) < Duration::from_millis(800), "call {id} took {:?}", client.took(id));
    }
    client.finish();
    serving.end();
}

#[test]
fn a_client_that_leaves_makes_room_for_the_next_who_finds_a_fresh_server() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    let client = serving.client("one");
    client.initialize();
    let first = pid(&client, 1);
    client.finish();
    let client = serving.client("one");
    client.initialize();
    assert_ne!(pid(&client, 1), first, "no state of the last session is left");
    client.finish();
    serving.end();
}

#[test]
fn an_idle_server_costs_no_process_with_a_client_and_without() {
    let serving = Serving::start(&file(&[("one", server(", idle_stop: 500ms"))]));
    serving.process.wait_stderr("one: nobody has needed it");
    let client = serving.client("one");
    client.initialize();
    let first = pid(&client, 1);
    poll_until("the end of an idle server", || !harness::is_running(first));
    let second = pid(&client, 2);
    assert_ne!(second, first, "it is there again");
    poll_until("its end", || !harness::is_running(second));
    let starts = || serving.process.stderr().matches("one: starting").count();
    let before = starts();
    client.finish();
    let client = serving.client("one");
    client.initialize();
    assert_eq!(starts(), before + 1, "no process was started for nobody");
    client.finish();
    serving.end();
}

#[test]
fn somebody_who_only_knocks_costs_nothing() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    serving.process.wait_stderr("one: connected");
    for _ in 0..20 {
        drop(UnixStream::connect(serving.socket("one")).unwrap());
    }
    let client = serving.client("one");
    client.initialize();
    assert_eq!(life(&client, 1), "1", "no process was replaced");
    client.finish();
    serving.end();
}

#[test]
fn clients_that_follow_each_other_at_once_are_all_served() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    serving.process.wait_stderr("one: connected");
    for _ in 0..20 {
        let mut client = UnixStream::connect(serving.socket("one")).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        client.write_all(format!("{}\n", harness::initialize(0, "2025-11-25")).as_bytes()).unwrap();
        let answer = BufReader::new(client).lines().next().unwrap().unwrap();
        assert!(answer.contains("serverInfo"), "{answer}");
    }
    serving.end();
}

#[test]
fn a_client_that_comes_while_the_last_one_s_session_ends_waits_for_it() {
    let stubborn = ", shutdown: { eof_grace: 700ms, term_grace: 100ms }";
    let serving = Serving::start_with(&file(&[("one", server(stubborn))]), |setup| {
        setup.script(json!({ "ignore_eof": true, "ignore_signals": ["TERM"] }))
    });
    let client = serving.client("one");
    client.initialize();
    client.finish();
    let next = serving.client("one");
    next.initialize();
    next.finish();
    serving.end();
}

#[test]
fn a_client_that_reads_nothing_and_leaves_half_does_not_keep_its_place() {
    let serving = Serving::start(&file(&[("one", server(", shutdown: { drain: 200ms }"))]));
    poll_until("socket", || serving.socket("one").exists());
    let mut stuck = UnixStream::connect(serving.socket("one")).unwrap();
    stuck.write_all(format!("{}\n", harness::initialize(0, "2025-11-25")).as_bytes()).unwrap();
    for id in 1..40 {
        let line = tool_call(id, "big", json!({ "bytes": 100_000 }));
        stuck.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    stuck.shutdown(std::net::Shutdown::Write).unwrap();
    // Until the end of the one before is read, the next is told to come again.
    let knock = || {
        let mut next = UnixStream::connect(serving.socket("one")).unwrap();
        next.set_read_timeout(Some(LIMIT)).unwrap();
        next.write_all(format!("{}\n", harness::initialize(0, "2025-11-25")).as_bytes()).is_ok()
            && BufReader::new(next)
                .lines()
                .next()
                .is_some_and(|line| line.is_ok_and(|line| line.contains("serverInfo")))
    };
    poll_until("a place", knock);
    drop(stuck);
    serving.end();
}

#[test]
fn a_client_that_leaves_half_is_given_all_that_it_takes_in_its_own_time() {
    const BYTES: usize = 12 << 20;
    let serving = Serving::start(&file(&[("one", server(""))]));
    poll_until("socket", || serving.socket("one").exists());
    let mut client = UnixStream::connect(serving.socket("one")).unwrap();
    let call = tool_call(1, "big", json!({ "bytes": BYTES }));
    client.write_all(format!("{}\n{call}\n", harness::initialize(0, "2025-11-25")).as_bytes()).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    client.set_read_timeout(Some(LIMIT)).unwrap();
    let (mut got, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let n = client.read(&mut piece).unwrap();
        if n == 0 {
            break;
        }
        got.extend_from_slice(&piece[..n]);
        // A slow client, which is what this is about: two seconds for all of it.
        std::thread::sleep(Duration::from_millis(10));
    }
    let last = got.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap();
    let answer: Value = serde_json::from_slice(last).expect("the line is whole");
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(BYTES));
    serving.end();
}

/// `connect` hands on what its client takes, and asks for more only then.
#[test]
fn a_client_of_connect_that_pauses_at_the_end_is_given_all() {
    const BYTES: usize = 1 << 20;
    let serving = Serving::start(&file(&[("one", server(""))]));
    poll_until("socket", || serving.socket("one").exists());
    let mut connect = Command::new(WATCHDOG);
    connect.args(["connect", "one"]).env("MCP_WATCHDOG_RUNTIME_DIR", serving.process.folder());
    let mut connect = connect.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (connect.stdin.take().unwrap(), connect.stdout.take().unwrap());
    let call = tool_call(1, "big", json!({ "bytes": BYTES }));
    to.write_all(format!("{}\n{call}\n", harness::initialize(0, "2025-11-25")).as_bytes()).unwrap();
    drop(to);
    // Longer than a client without a door is waited for.
    std::thread::sleep(Duration::from_millis(2500));
    let mut got = String::new();
    from.read_to_string(&mut got).unwrap();
    let answer: Value = serde_json::from_str(got.lines().last().unwrap()).expect("the line is whole");
    assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(BYTES));
    assert!(connect.wait().unwrap().success());
    serving.end();
}

/// How a process ends by itself; one that does not in time is killed.
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < LIMIT {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("it is a child");
    child.wait().expect("it is a child");
    None
}

#[test]
fn a_client_of_connect_that_has_left_and_takes_nothing_is_not_waited_for() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    poll_until("socket", || serving.socket("one").exists());
    let mut connect = Command::new(WATCHDOG);
    connect.args(["connect", "one"]).env("MCP_WATCHDOG_RUNTIME_DIR", serving.process.folder());
    connect.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut connect = connect.spawn().unwrap();
    let call = tool_call(1, "big", json!({ "bytes": 1 << 20 }));
    let mut to = connect.stdin.take().unwrap();
    to.write_all(format!("{}\n{call}\n", harness::initialize(0, "2025-11-25")).as_bytes()).unwrap();
    drop(to);
    let ended = ended(&mut connect);
    let mut told = String::new();
    connect.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(ended.is_some_and(|status| status.success()), "{ended:?}: {told}");
    assert_eq!(told, "mcp-watchdog: the client did not take all that was for it\n");
    serving.end();
}

#[test]
fn a_second_client_is_told_that_there_is_one() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    let client = serving.client("one");
    client.initialize();
    let second = UnixStream::connect(serving.socket("one")).unwrap();
    second.set_read_timeout(Some(LIMIT)).unwrap();
    let mut all = String::new();
    BufReader::new(second).read_to_string(&mut all).expect("the stream ends");
    assert_eq!(all.find('\n'), Some(all.len() - 1), "one whole line: {all:?}");
    let told: Value = serde_json::from_str(&all).unwrap();
    assert_eq!((told["error"]["data"]["code"].as_str(), told["id"].is_null()), (Some("overloaded"), true));
    let data = told["error"]["data"].as_object().expect("our errors have data");
    let always = ["source", "code", "server", "state", "status", "generation", "sent", "retryable", "reason"];
    assert!(always.iter().all(|key| data.contains_key(*key)), "{told}");
    assert_eq!((data["server"].as_str(), data["sent"].as_bool()), (Some("one"), Some(false)));
    assert_eq!(life(&client, 1), "1", "the first client is served on");
    client.finish();
    serving.end();
}

#[test]
fn a_server_with_a_socket_of_its_own_is_found_by_its_name_too() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let own = folder.path().join("own.sock");
    let serving = Serving::start(&file(&[("one", server(&format!(", listen: [\"unix://{}\"]", own.display())))]));
    poll_until("socket", || own.exists());
    for target in ["one".as_ref(), own.as_os_str()] {
        let client = Setup::direct(WATCHDOG).options(["connect".as_ref(), target]);
        let client = client.env("MCP_WATCHDOG_RUNTIME_DIR", serving.process.folder()).start();
        client.initialize();
        client.finish();
    }
    serving.end();
}

#[test]
fn a_server_that_cannot_be_started_or_crashes_all_the_time_is_its_own_trouble() {
    let servers = [
        ("absent", "{ command: /nowhere/at/all }".to_owned()),
        ("crashing", "{ command: \"false\", restart: { delays: [0s, 10ms] } }".to_owned()),
        ("well", server("")),
    ];
    let serving = Serving::start(&file(&servers));
    let client = serving.client("well");
    client.initialize();
    serving.process.wait_stderr("absent: ");
    serving.process.wait_stderr("crashing: ");
    assert_eq!(life(&client, 1), "1");
    let other = serving.client("absent");
    other.send(harness::initialize(0, "2025-11-25"));
    other.answer_within(0, LIMIT).own_error("server_reconnecting");
    other.finish();
    client.finish();
    serving.end();
}

#[test]
fn a_name_that_another_process_serves_is_told_with_who_does_and_what_helps() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    poll_until("socket", || serving.socket("one").exists());
    let own = serving.folder.path().join("own.sock");
    for (more, remedy) in [
        (String::new(), "or name another folder for one of them in MCP_WATCHDOG_RUNTIME_DIR"),
        (format!(", listen: [\"unix://{}\"]", own.display()), "or name another path in `listen`"),
    ] {
        let first = Serving::start(&file(&[("two", server(&more))]));
        let taken = if more.is_empty() { first.socket("two") } else { own.clone() };
        poll_until("socket", || taken.exists());
        let mut second = Command::new(WATCHDOG);
        second.args(["serve", "--no-control", "--config"]).arg(first.folder.path().join("servers.yaml"));
        let second = second.env("MCP_WATCHDOG_RUNTIME_DIR", first.process.folder()).output().unwrap();
        let told = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(78), "{told}");
        let who = format!(
            "server \"two\" cannot listen on {}: another mcp-watchdog has it, process {}; end that, leave \"two\" out of one of the \
             two configurations, {remedy}",
            taken.display(),
            first.process.pid()
        );
        assert!(told.contains(&who), "{told}\n{who}");
        first.end();
    }
    serving.end();
}

#[test]
fn a_reload_touches_what_differs_and_nothing_else() {
    let serving = Serving::start(&file(&[("kept", server("")), ("changed", server("")), ("removed", server(""))]));
    let (kept, changed) = (serving.client("kept"), serving.client("changed"));
    kept.initialize();
    changed.initialize();
    let (stays, goes) = (pid(&kept, 1), pid(&changed, 1));
    let removed = serving.socket("removed");
    poll_until("socket", || removed.exists());
    let text = file(&[("kept", server("")), ("changed", server(", env: { A: b }")), ("added", server(""))]);
    serving.rewrite(&text);
    let added = serving.client("added");
    added.initialize();
    poll_until("new process", || pid(&changed, 100 + u64::from(rand())) != goes);
    assert_eq!(pid(&kept, 2), stays);
    poll_until("end of the removed server", || UnixStream::connect(&removed).is_err());
    serving.process.wait_stderr("added: added");
    serving.process.wait_stderr("removed: removed");

    let elsewhere = format!(", listen: [\"unix://{}\"]", serving.folder.path().join("else.sock").display());
    let moved = [("kept", server(&elsewhere)), ("changed", server(", env: { A: b }")), ("added", server(""))];
    serving.rewrite(&file(&moved));
    serving.process.wait_stderr("listen (takes a restart of the watchdog)");
    assert_eq!(pid(&kept, 5), stays, "nothing runs twice");

    serving.rewrite("version: 1\nservers:\n  kept: { comand: x }\n");
    serving.process.wait_stderr("config_rejected");
    assert_eq!(pid(&kept, 3), stays);
    for client in [kept, changed, added] {
        client.finish();
    }
    serving.end();
}

#[test]
fn a_reload_with_a_plugin_that_does_not_load_changes_nothing() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    let client = serving.client("one");
    client.initialize();
    let before = pid(&client, 1);
    let chain =
        format!(", env: {{ A: b }}, probe: {{ chain: [{{ type: plugin, library: {} }}] }}", text_file().display());
    serving.rewrite(&file(&[("one", server(&chain))]));
    serving.process.wait_stderr("config_rejected");
    assert_eq!(pid(&client, 2), before);
    client.finish();
    serving.end();
}

/// A fresh id for each look.
fn rand() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Relaxed)
}

#[test]
fn a_socket_that_another_process_serves_is_not_taken_away() {
    let serving = Serving::start(&file(&[("one", server(""))]));
    let client = serving.client("one");
    client.initialize();
    let second = Serving::start_with(&file(&[("one", server(""))]), |setup| {
        setup.env("MCP_WATCHDOG_RUNTIME_DIR", serving.process.folder())
    });
    second.process.wait_stderr(&format!("another mcp-watchdog has it, process {};", serving.process.pid()));
    second.process.ended(78);
    assert_eq!(life(&client, 1), "1");
    client.finish();
    serving.end();
}

#[test]
fn what_was_switched_off_stays_so_over_a_restart_of_the_watchdog() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.json");
    fs::write(&state, r#"{"version":1,"servers":{"one":{"enabled":false}}}"#).unwrap();
    let text = format!("{}state_file: {}\n", file(&[("one", server(""))]), state.display());
    let serving = Serving::start(&text);
    let client = serving.client("one");
    client.send(harness::initialize(0, "2025-11-25"));
    client.answer_within(0, LIMIT).own_error("server_disabled");
    client.finish();
    serving.end();
}

#[test]
fn connect_says_where_it_looked_for_a_server_that_is_not_there() {
    let client = Setup::direct(WATCHDOG).options(["connect", "nobody"]).start();
    client.wait_stderr("servers/nobody.sock");
    client.wait_stderr("mcp-watchdog serve");
    client.ended(1);
}

#[test]
fn a_killed_process_takes_all_its_servers_along() {
    let serving = Serving::start(&file(&[("one", server("")), ("two", server(""))]));
    for name in ["one", "two"] {
        let client = serving.client(name);
        client.initialize();
        client.finish();
    }
    assert!(Path::new(&serving.socket("one")).exists());
    serving.process.signal(Signal::SIGKILL);
    serving.process.killed();
}
