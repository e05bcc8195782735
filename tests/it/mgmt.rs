//! The tools for models, by a client made with the SDK for Rust: on the control socket and on stdio, in both eras.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::{Session, Setup, json};
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, UnixSocketHttpClient};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::Value;

use crate::rig::{EAGER, WATCHDOG, poll_until, setup};

/// A client of the tools.
type Client = RunningService<RoleClient, ()>;

/// How a client speaks to the tools.
#[derive(Debug, Clone, Copy)]
enum Way {
    Socket,
    Stdio,
}

/// A watchdog whose client has opened a session, and whose control socket is there.
fn started(setup: Setup) -> Session {
    let session = setup.start();
    session.initialize();
    poll_until("control socket", || socket(&session).is_some());
    session
}

fn named(name: &str) -> Setup {
    setup().options(EAGER).options(["--name", name])
}

/// The control socket of a session's watchdog.
fn socket(session: &Session) -> Option<PathBuf> {
    let entries = std::fs::read_dir(session.folder()).expect("the folder can be read");
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| path.extension().is_some_and(|end| end == "sock"))
}

fn stateless() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn connect(way: Way, session: &Session, mode: ClientLifecycleMode) -> Client {
    match way {
        Way::Socket => {
            let path = socket(session).expect("it was waited for");
            let url = "http://localhost/mcp";
            let client = UnixSocketHttpClient::new(path.to_str().expect("a path of letters"), url);
            let config = StreamableHttpClientTransportConfig::with_uri(url);
            let transport = StreamableHttpClientTransport::with_client(client, config);
            within(().serve_with_lifecycle(transport, mode)).await.expect("the control socket speaks MCP")
        }
        Way::Stdio => over_stdio(session.folder(), &[], mode).await,
    }
}

async fn over_stdio(folder: &Path, options: &[&str], mode: ClientLifecycleMode) -> Client {
    let mut command = tokio::process::Command::new(WATCHDOG);
    command.arg("mcp").args(options).env("MCP_WATCHDOG_RUNTIME_DIR", folder).env_remove("MCP_WATCHDOG_TOKEN");
    let transport = TokioChildProcess::new(command).expect("the watchdog can be started");
    within(().serve_with_lifecycle(transport, mode)).await.expect("`mcp-watchdog mcp` speaks MCP")
}

/// What is awaited comes soon.
async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("it comes within ten seconds")
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    within(client.call_tool(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments))).await
}

async fn good(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments).await.expect("the call is answered");
    assert_ne!(result.is_error, Some(true), "{result:?}");
    result.structured_content.expect("our tools have structured results")
}

async fn bad(client: &Client, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await.expect("the call is answered");
    assert_eq!(result.is_error, Some(true), "{result:?}");
    result.content[0].as_text().expect("a text").text.clone()
}

/// Everything that a model does to a server that it finds.
async fn serves(way: Way, mode: ClientLifecycleMode) {
    let session = started(named("notes"));
    let client = connect(way, &session, mode).await;
    let about = client.peer_info().expect("the server has said who it is");
    assert!(about.instructions.as_deref().is_some_and(|text| text.contains("list_servers")));
    let tools = within(client.list_all_tools()).await.expect("the tools are listed");
    let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
    let expected = [
        "list_servers",
        "get_server_status",
        "retry_server",
        "retry_all_servers",
        "reconnect_server",
        "await_activity",
    ];
    assert_eq!(names, expected);

    let list = good(&client, "list_servers", json!({})).await;
    let server = &list["servers"][0];
    assert_eq!((&server["name"], &server["status"]), (&json!("notes"), &json!("connected")));
    assert_eq!(server["watchdog"], session.pid());

    let before = good(&client, "await_activity", json!({ "timeout_ms": 0 })).await;
    assert_eq!(before["timedOut"], true);
    let retried = good(&client, "reconnect_server", json!({ "name": "notes" })).await;
    assert_eq!((&retried["success"], &retried["status"]), (&json!(true), &json!("connected")));
    assert_eq!(retried["generation"], 2);
    session.wait_life(2);
    let arguments = json!({ "cursor": before["cursor"], "types": ["server_reconnected"], "timeout_ms": 5000 });
    let after = good(&client, "await_activity", arguments).await;
    assert_eq!(after["events"][0]["server"], "notes");
    assert_eq!(after["missed"], false);

    let status = good(&client, "get_server_status", json!({ "name": "notes" })).await;
    assert_eq!((&status["generation"], &status["healthStatus"]), (&json!(2), &json!("healthy")));
    let all = good(&client, "retry_all_servers", json!({})).await;
    assert_eq!(all["skipped"][0]["reason"], "connected");

    let text = bad(&client, "get_server_status", json!({ "name": "nodes" })).await;
    assert!(
        text.starts_with("server_not_found: Server 'nodes' not found (did you mean \"notes\"?); there are: notes"),
        "{text}"
    );
    let error = call(&client, "disable_server", json!({ "name": "notes" })).await;
    assert!(matches!(&error, Err(ServiceError::McpError(error)) if error.code.0 == -32602), "{error:?}");

    within(client.cancel()).await.expect("the client ends");
    session.finish();
}

#[tokio::test]
async fn s234_the_tools_on_the_control_socket_with_a_handshake() {
    serves(Way::Socket, ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn s234_the_tools_on_the_control_socket_without_a_handshake() {
    serves(Way::Socket, stateless()).await;
}

#[tokio::test]
async fn s234_the_tools_on_stdio_with_a_handshake() {
    serves(Way::Stdio, ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn s234_the_tools_on_stdio_without_a_handshake() {
    serves(Way::Stdio, stateless()).await;
}

/// Switches the server off and on.
async fn switches(client: Client, session: Session) {
    let off = good(&client, "disable_server", json!({ "name": "notes" })).await;
    assert_eq!((&off["state"], &off["enabled"]), (&json!("Disabled"), &json!(false)));
    let text = bad(&client, "reconnect_server", json!({ "name": "notes" })).await;
    assert!(text.starts_with("server_disabled: server \"notes\" is disabled"), "{text}");
    let on = good(&client, "enable_server", json!({ "name": "notes" })).await;
    assert_eq!(on["enabled"], true);
    session.wait_life(2);
    within(client.cancel()).await.expect("the client ends");
    session.finish();
}

#[tokio::test]
async fn a_server_is_switched_off_on_the_socket_where_the_configuration_allows_it() {
    let session = started(named("notes").env("MCP_WATCHDOG_MGMT__ALLOW_DISABLE", "true"));
    switches(connect(Way::Socket, &session, stateless()).await, session).await;
}

#[tokio::test]
async fn a_server_is_switched_off_on_stdio_where_the_command_line_allows_it() {
    let session = started(named("notes"));
    let client = over_stdio(session.folder(), &["--allow-disable"], ClientLifecycleMode::Initialize).await;
    switches(client, session).await;
}

#[tokio::test]
async fn all_watchdogs_are_found_and_servers_of_one_name_are_told_apart() {
    let first = started(named("notes"));
    let others: Vec<_> = ["notes", "files"]
        .map(|name| named(name).env("MCP_WATCHDOG_RUNTIME_DIR", first.folder()).start())
        .into_iter()
        .collect();
    others.iter().for_each(|session| drop(session.initialize()));
    let client = over_stdio(first.folder(), &[], stateless()).await;
    let mut servers = Vec::new();
    let end = Instant::now() + Duration::from_secs(5);
    while servers.len() < 3 {
        assert!(Instant::now() < end, "only {servers:?}");
        let list = good(&client, "list_servers", json!({})).await;
        servers = list["servers"].as_array().cloned().unwrap_or_default();
    }

    let text = bad(&client, "reconnect_server", json!({ "name": "notes" })).await;
    assert!(text.starts_with("server_ambiguous: 2 watchdogs have a server called \"notes\""), "{text}");
    assert!(text.contains(&first.pid().to_string()) && text.contains(&others[0].pid().to_string()), "{text}");
    let arguments = json!({ "name": "notes", "watchdog": others[0].pid() });
    let retried = good(&client, "reconnect_server", arguments).await;
    assert_eq!((&retried["generation"], &retried["watchdog"]), (&json!(2), &json!(others[0].pid())));
    assert_eq!(first.life(), 1, "the other one was left alone");
    let all = good(&client, "retry_all_servers", json!({ "state": "any" })).await;
    assert_eq!(all["accepted"].as_array().map(Vec::len), Some(3));

    within(client.cancel()).await.expect("the client ends");
    for session in others.into_iter().chain([first]) {
        session.finish();
    }
}

#[tokio::test]
async fn where_no_watchdog_runs_the_model_is_told_where_was_looked() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let client = over_stdio(folder.path(), &[], ClientLifecycleMode::Initialize).await;
    let text = bad(&client, "list_servers", json!({})).await;
    assert!(text.starts_with("watchdog_not_found: no running watchdog found in "), "{text}");
    assert!(text.contains(folder.path().to_str().expect("a path of letters")), "{text}");
    within(client.cancel()).await.expect("the client ends");
}

/// A client waits 2 s after it has closed stdin.
#[test]
fn a_call_that_waits_does_not_hold_up_the_end() {
    let session = started(named("notes"));
    let mut child = std::process::Command::new(WATCHDOG)
        .arg("mcp")
        .env("MCP_WATCHDOG_RUNTIME_DIR", session.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the watchdog can be started");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let request = |id, tool: &str| {
        let params = json!({ "name": tool, "arguments": {}, "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let lines = format!("{}\n{}\n", request(1, "await_activity"), request(2, "list_servers"));
    stdin.write_all(lines.as_bytes()).expect("it reads");
    drop(stdin);
    let closed = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(closed.elapsed() < Duration::from_secs(2), "{:?}", closed.elapsed());
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id}: {stdout}"));
    assert_eq!(answer(2)["result"]["structuredContent"]["servers"][0]["name"], "notes");
    assert_eq!(answer(1)["result"]["isError"], true);
    session.finish();
}
