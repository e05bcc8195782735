//! The control plane of a running watchdog, asked over its sockets.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::Duration;

use harness::{Session, Setup, Signal, Value, json, request, tool_call};

use crate::rig::{EAGER, FIXTURE, QUICK_STOP, WATCHDOG, poll_until, setup};

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
    connect_to(&socket_in(session.folder(), session))
}

fn connect_to(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).expect("somebody listens");
    stream.set_read_timeout(Some(LIMIT)).expect("it is open");
    stream
}

fn ask(session: &Session, method: &str, path: &str) -> Answer {
    ask_at(&socket_in(session.folder(), session), method, path)
}

fn ask_at(socket: &Path, method: &str, path: &str) -> Answer {
    let mut stream = connect_to(socket);
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

    /// Waits for the head of the answer: from then on nothing is missed.
    fn wait_begun(&mut self) {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("it is answered in time");
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
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
    for query in ["tail=1", "stderr=1&tail=200"] {
        let logs = get(&session, &format!("/mcp/servers/memory/logs?{query}"));
        assert_eq!(logs["lines"], json!(["hello from the server"]));
    }
    assert_eq!(get(&session, "/mcp/servers/memory")["publishedGeneration"], 1);
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
fn the_hash_of_the_configuration_is_that_of_the_one_in_use() {
    let folder = runtime_folder();
    let file = folder.path().join("servers.yaml");
    let write = |text: &str| fs::write(&file, text).expect("the folder can be written to");
    let text = |tool_timeout: &str| format!("servers: {{one: {{command: {FIXTURE}, tool_timeout: {tool_timeout}}}}}");
    write(&text("40s"));
    let serve = Setup::direct(WATCHDOG).several().options(["serve", "--config"]).options([&file]).start();
    let hash = || get(&serve, "/server_info")["configSha256"].as_str().map(ToOwned::to_owned).expect("there is a file");
    let first = hash();
    assert!(first.len() == 64 && first.bytes().all(|digit| digit.is_ascii_hexdigit()), "{first}");
    write(&text("50s"));
    assert_eq!(hash(), first, "it has not been read");
    post(&serve, "/config/reload", 200);
    let second = hash();
    assert_ne!(second, first);
    write(&text("soon"));
    post(&serve, "/config/reload", 422);
    assert_eq!(hash(), second, "it was rejected");
    write(&text("40s"));
    post(&serve, "/config/reload", 200);
    assert_eq!(hash(), first);
    serve.signal(Signal::SIGTERM);
    serve.ended(143);
}

#[test]
fn who_listens_and_reads_nothing_holds_nobody_up() {
    // Nobody waits for progress of this name: each line makes an event. All of them are far more than the ring and the buffers
    // of a socket hold.
    let late = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": "x", "progress": 1 } });
    let script = json!({ "rules": [{ "on": "tools/call", "tool": "babble", "do": [
        { "stdout": format!("{late}\n").repeat(5000) }, { "text": "done" },
    ] }] });
    let session = setup()
        .env("MCP_WATCHDOG_EVENTS__RING", "16")
        // What the log has no room for would make events of the same name.
        .env("MCP_WATCHDOG_EVENTS__STDERR", "off")
        .script(script)
        .start();
    session.initialize();
    let mut deaf: Vec<_> = (0..8).map(|_| Events::listen(&session, "")).collect();
    for listener in &mut deaf {
        listener.wait_begun();
    }
    session.send(tool_call(1, "babble", json!({})));
    assert_eq!(session.answer_within(1, LIMIT).text(), "done");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    assert!(session.took(2) < Duration::from_millis(800), "a call took {:?}", session.took(2));
    let told = get(&session, "/server_info")["sequence"].as_u64();
    assert!(told.is_some_and(|told| told > 5000), "{told:?}");
    for listener in &mut deaf {
        let (_, event) = listener.next("events_suppressed");
        assert!(event["data"]["dropped"].as_u64().is_some_and(|dropped| dropped > 0), "{event}");
    }
    drop(deaf);
    session.finish();
}

/// Concurrent readers, as document 002 wants them tested.
#[test]
fn s186_who_reads_while_servers_are_switched_and_replaced_misses_none() {
    let names = ["one", "two", "three"];
    let servers: String = names.iter().map(|name| format!("  {name}: {{ command: {FIXTURE} }}\n")).collect();
    let folder = runtime_folder();
    let file = folder.path().join("servers.yaml");
    fs::write(&file, format!("version: 1\nservers:\n{servers}")).expect("the folder can be written to");
    let session = Setup::direct(WATCHDOG).several().options(["serve", "--config"]).options([file]).start();
    let socket = socket_in(session.folder(), &session);
    let reads = AtomicUsize::new(0);
    let read = || {
        let list = ask_at(&socket, "GET", "/mcp/servers").json();
        let servers = list["servers"].as_array().expect("a list");
        let found: Vec<_> = servers.iter().map(|server| server["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(found, names, "{list}");
        reads.fetch_add(1, Relaxed);
        servers[1]["state"].as_str().unwrap_or_default().to_owned()
    };
    let states = thread::scope(|scope| {
        // Its end, of a failure too, ends the reader.
        let (running, ended) = mpsc::channel::<()>();
        let reader = scope.spawn(|| {
            let mut states = BTreeSet::new();
            let ended = ended;
            while ended.try_recv() == Err(TryRecvError::Empty) {
                states.insert(read());
            }
            states
        });
        for _ in 0..3 {
            for verb in ["disable", "enable", "retry?wait=10s", "restart?wait=10s"] {
                post(&session, &format!("/mcp/servers/two/{verb}"), 200);
                let before = reads.load(Relaxed);
                // The second has begun after the answer.
                poll_until("two more reads", || reads.load(Relaxed) >= before + 2);
            }
        }
        drop(running);
        reader.join().expect("the reader misses nobody")
    });
    assert!(states.contains("Disabled") && states.contains("Connected"), "{states:?}");
    session.signal(Signal::SIGTERM);
    session.ended(143);
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
    assert_eq!(ask_tcp(&address, "/mcp/events", &format!("{host}sec-fetch-site: cross-site\r\n")), 403);
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
