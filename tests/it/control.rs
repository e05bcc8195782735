//! The control plane of a running watchdog, asked over its sockets.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::{Session, Setup, Value, json, request, tool_call};

use crate::rig::{EAGER, QUICK_STOP, poll_until, setup};

const LIMIT: Duration = Duration::from_secs(10);

/// An answer: status, head, body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn read(mut stream: impl Read) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the answer is text and comes to an end");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("it has a status");
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

fn text(method: &str, path: &str, head: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n{head}\r\n")
}

/// A folder in which sockets may be.
fn runtime_folder() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().expect("a folder can be made")
}

/// The control socket of a session, once it is there.
#[track_caller]
fn socket_in(folder: &Path, session: &Session) -> PathBuf {
    let end = format!("-{}.sock", session.pid());
    let mut found = None;
    poll_until("control socket", || {
        let entries = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
        found = entries.into_iter().find(|path| path.to_string_lossy().ends_with(&end));
        // It is there a moment before it is listened at.
        found.as_ref().is_some_and(|path| UnixStream::connect(path).is_ok())
    });
    found.expect("it was waited for")
}

fn connect(session: &Session) -> UnixStream {
    let stream = UnixStream::connect(socket_in(session.folder(), session)).expect("somebody listens");
    stream.set_read_timeout(Some(LIMIT)).expect("it is open");
    stream
}

fn ask(session: &Session, method: &str, path: &str) -> Answer {
    let mut stream = connect(session);
    stream.write_all(text(method, path, "host: x\r\n").as_bytes()).expect("it is read");
    Answer::read(stream)
}

fn get(session: &Session, path: &str) -> Value {
    let answer = ask(session, "GET", path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

#[track_caller]
fn post(session: &Session, path: &str, status: u16) -> Value {
    let answer = ask(session, "POST", path);
    assert_eq!(answer.status, status, "{path}: {}", answer.body);
    answer.json()
}

/// Over TCP, with these lines in the head.
fn ask_tcp(address: &str, path: &str, head: &str) -> u16 {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(LIMIT)).expect("it is open");
    stream.write_all(text("GET", path, head).as_bytes()).expect("it is read");
    Answer::read(stream).status
}

/// The TCP address that a watchdog says it listens at.
fn address(session: &Session) -> String {
    let before = "listening on http://";
    session.wait_stderr(before);
    let mut found = String::new();
    poll_until("whole line", || {
        let log = session.stderr();
        let rest = log.split(before).nth(1).and_then(|rest| rest.split_once(|c: char| c.is_whitespace() || c == '"'));
        found = rest.map(|(address, _)| address.to_owned()).unwrap_or_default();
        !found.is_empty()
    });
    found
}

/// Lines of a stream of events, without the framing of their chunks.
struct Events(BufReader<UnixStream>);

impl Events {
    fn listen(session: &Session, head: &str) -> Self {
        let mut stream = connect(session);
        stream.write_all(text("GET", "/mcp/events", &format!("host: x\r\n{head}")).as_bytes()).expect("it is read");
        Self(BufReader::new(stream))
    }

    /// The number and the JSON of the next event of a type.
    #[track_caller]
    fn next(&mut self, kind: &str) -> (String, Value) {
        let (mut id, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            let read = self.0.read_line(&mut line).expect("events come in time");
            assert!(read > 0, "the stream ended before {kind}");
            if let Some(number) = line.strip_prefix("id: ") {
                number.trim().clone_into(&mut id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).expect("it is JSON");
                if event["type"] == kind {
                    return (id, event);
                }
            }
        }
    }
}

#[test]
fn the_socket_is_for_its_user_alone_and_gone_at_the_end() {
    let folder = runtime_folder();
    let session = setup().options(["--name", "memory"]).env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).start();
    session.initialize();
    let socket = socket_in(folder.path(), &session);
    assert!(socket.file_name().is_some_and(|name| name.to_string_lossy().starts_with("memory-")), "{socket:?}");
    assert_eq!(fs::metadata(&socket).expect("it is there").permissions().mode() & 0o777, 0o600);
    session.finish();
    assert!(!socket.exists());
}

#[test]
fn sockets_of_dead_watchdogs_are_swept_up() {
    let folder = runtime_folder();
    // Above the largest number that a process can have.
    let (left, other) = (folder.path().join("dead-4194999.sock"), folder.path().join("dead-4194999.txt"));
    drop(UnixListener::bind(&left).expect("it can be bound"));
    fs::write(&other, "").expect("the folder can be written to");
    let session = setup().env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).start();
    session.initialize();
    socket_in(folder.path(), &session);
    assert!(!left.exists() && other.exists());
    session.finish();
}

#[test]
fn s216_s217_the_state_of_a_server_can_be_read() {
    let session = setup().options(EAGER).options(["--name", "memory"]).start();
    session.initialize();
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(1, "life", json!({})));
    session.answer(1);
    let list = get(&session, "/mcp/servers");
    let server = &list["servers"][0];
    assert_eq!(
        (&server["id"], &server["status"], &server["generation"]),
        (&json!("memory"), &json!("connected"), &json!(2))
    );
    assert_eq!((&server["lastExit"]["signal"], &server["clients"]), (&json!("SIGKILL"), &json!(1)));
    assert_eq!(server["stats"]["restarts"], 1);
    let detail = get(&session, "/mcp/servers/memory/status");
    let history: Vec<_> = detail["history"].as_array().expect("a list").iter().map(|event| &event["type"]).collect();
    assert!(
        history.contains(&&json!("server_exited")) && history.contains(&&json!("server_reconnected")),
        "{history:?}"
    );
    let metrics = ask(&session, "GET", "/metrics").body;
    assert!(metrics.contains("mcp_watchdog_server_up{server=\"memory\"} 1\n"), "{metrics}");
    assert_eq!(ask(&session, "GET", "/readyz").body, "ok");
    assert_eq!(ask(&session, "GET", "/livez").status, 200);
    assert_eq!(ask(&session, "GET", "/startupz").status, 200);
    session.finish();
}

#[test]
fn s214_s233_a_forced_retry_replaces_the_server_under_the_session() {
    let session = setup().options(QUICK_STOP).options(["--name", "memory"]).start();
    session.initialize();
    let accepted = post(&session, "/mcp/servers/memory/restart?wait=10s", 200);
    assert_eq!((&accepted["accepted"], &accepted["server"]), (&json!(true), &json!("memory")));
    assert_eq!(session.life(), 2);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    assert_eq!(post(&session, "/mcp/servers/retry-all", 202)["skipped"][0]["reason"], "connected");
    assert_eq!(ask(&session, "POST", "/mcp/servers/nobody/retry").status, 404);
    session.finish();
}

#[test]
fn a_server_is_switched_off_and_on_again() {
    let session = setup().options(QUICK_STOP).options(["--name", "memory"]).start();
    session.initialize();
    let off = post(&session, "/mcp/servers/memory/disable", 200);
    assert_eq!((&off["state"], &off["enabled"], &off["pid"]), (&json!("Disabled"), &json!(false), &Value::Null));
    session.wait_gone(1);
    session.send(tool_call(1, "life", json!({})));
    let _ = session.answer(1).own_error("server_disabled");
    assert_eq!(post(&session, "/mcp/servers/memory/retry", 409)["code"], "server_disabled");
    assert_eq!(ask(&session, "GET", "/readyz").status, 503);
    assert_eq!(ask(&session, "GET", "/livez").status, 200);
    post(&session, "/mcp/servers/memory/enable", 200);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn a_probe_can_be_asked_for_and_lists_and_logs_be_read() {
    let script = json!({ "rules": [{ "on": "boot", "do": [{ "stderr": "hello from the server" }] }] });
    let session = setup().options(["--name", "memory"]).script(script).start();
    session.initialize();
    session.send(request(1, "tools/list", json!({})));
    session.answer(1);
    let report = post(&session, "/mcp/servers/memory/probe", 200);
    assert_eq!((&report["verdict"], &report["trigger"]), (&json!("alive"), &json!("manual")));
    assert_eq!(report["links"][0]["verdict"], "pass");
    assert_eq!(get(&session, "/mcp/servers/memory")["lastProbe"]["verdict"], "alive");
    let catalog = get(&session, "/mcp/servers/memory/catalog?full=1");
    let names = catalog["tools"]["names"].as_array().expect("the client has asked for it");
    assert!(names.contains(&json!("echo")) && catalog["prompts"].is_null(), "{catalog}");
    assert_eq!((&catalog["tools"]["generation"], &catalog["stale"]), (&json!(1), &json!(false)));
    assert!(catalog["tools"]["pages"][0]["tools"].is_array());
    session.wait_stderr("hello from the server");
    let logs = get(&session, "/mcp/servers/memory/logs?tail=1");
    assert_eq!(logs["lines"], json!(["hello from the server"]));
    session.finish();
}

#[test]
fn events_are_followed_across_connections() {
    let session = setup().options(EAGER).start();
    session.initialize();
    let mut events = Events::listen(&session, "");
    // Answered: it listens.
    get(&session, "/server_info");
    session.kill_server();
    let (id, event) = events.next("server_exited");
    assert_eq!(event["seq"].to_string(), id);
    drop(events);
    session.wait_life(2);
    let mut events = Events::listen(&session, &format!("last-event-id: {id}\r\n"));
    let (later, event) = events.next("server_reconnected");
    assert!(later.parse::<u64>().expect("a number") > id.parse().expect("a number"), "{event}");
    post(&session, "/shutdown", 202);
    assert_eq!(events.next("watchdog_stopped").1["data"]["code"], 143);
    session.ended(143);
}

#[test]
fn who_listens_and_reads_nothing_holds_nobody_up() {
    let session = setup().options(EAGER).start();
    session.initialize();
    let _deaf: Vec<_> = (0..8).map(|_| Events::listen(&session, "")).collect();
    get(&session, "/server_info");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}

fn on_tcp() -> Setup {
    setup().env("MCP_WATCHDOG_CONTROL__LISTEN", "tcp://127.0.0.1:0")
}

#[test]
fn a_page_in_a_browser_is_not_let_in_over_tcp() {
    let session = on_tcp().start();
    session.initialize();
    let address = address(&session);
    let host = format!("host: {address}\r\n");
    assert_eq!(ask_tcp(&address, "/mcp/servers", &host), 200);
    assert_eq!(ask_tcp(&address, "/mcp/servers", "host: localhost\r\n"), 200);
    assert_eq!(ask_tcp(&address, "/mcp/servers", "host: rebound.example\r\n"), 403);
    assert_eq!(ask_tcp(&address, "/mcp/servers", ""), 400);
    assert_eq!(ask_tcp(&address, "/livez", &format!("{host}origin: http://localhost\r\n")), 403);
    session.finish();
}

#[test]
fn a_token_is_asked_for_over_tcp() {
    let session = on_tcp().env("MCP_WATCHDOG_TOKEN", "correct-horse").start();
    session.initialize();
    let address = address(&session);
    let host = format!("host: {address}\r\n");
    assert_eq!(ask_tcp(&address, "/mcp/servers", &host), 401);
    assert_eq!(ask_tcp(&address, "/mcp/servers", &format!("{host}authorization: Bearer wrong-horse\r\n")), 401);
    assert_eq!(ask_tcp(&address, "/mcp/servers", &format!("{host}authorization: Bearer correct-horse\r\n")), 200);
    assert_eq!(ask_tcp(&address, "/readyz", &host), 200);
    assert!(!session.stderr().contains("correct-horse"));
    session.finish();
}

#[test]
fn the_listener_of_probes_tells_nothing_else() {
    let session = setup().options(["--no-control"]).env("MCP_WATCHDOG_CONTROL__HEALTH_LISTEN", "127.0.0.1:0").start();
    session.initialize();
    let address = address(&session);
    for (path, status) in
        [("/livez", 200), ("/readyz", 200), ("/metrics", 200), ("/mcp/servers", 404), ("/shutdown", 404)]
    {
        assert_eq!(ask_tcp(&address, path, "host: pod.example\r\n"), status, "{path}");
    }
    let sockets = fs::read_dir(session.folder()).expect("it is there").flatten();
    assert_eq!(sockets.filter(|entry| entry.path().extension().is_some_and(|end| end == "sock")).count(), 0);
    session.finish();
}

#[test]
fn without_a_control_socket_the_client_is_served_all_the_same() {
    let folder = runtime_folder();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    let session = setup().env("MCP_WATCHDOG_RUNTIME_DIR", folder.path()).start();
    session.initialize();
    session.wait_stderr("no control socket");
    session.wait_stderr("chmod 700 it");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();

    let taken = runtime_folder().path().join("not-there").join("x.sock");
    let listen = format!("unix://{}", taken.display());
    let session = setup().env("MCP_WATCHDOG_CONTROL__LISTEN", listen).start();
    session.initialize();
    session.wait_stderr("no control socket");
    session.finish();
}

#[test]
fn a_head_that_is_no_http_is_answered_and_forgotten() {
    let session = setup().start();
    session.initialize();
    let mut stream = connect(&session);
    stream.write_all(b"\x16\x03\x01 hello\r\n\r\n").expect("it is read");
    assert_eq!(Answer::read(stream).status, 400);
    let answer = ask(&session, "PUT", "/mcp/servers");
    assert_eq!(answer.status, 405);
    assert!(
        answer.head.contains("allow: get,head") && answer.head.contains("application/problem+json"),
        "{}",
        answer.head
    );
    session.finish();
}
