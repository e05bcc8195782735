//! A client and a server made with the SDK for Rust, with the watchdog between them and a kill in the middle: the client
//! goes on with the same object, in both eras.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::{Signal, is_running};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use tempfile::TempDir;
use tokio::process::Command;

use crate::rig::{EAGER, FIXTURE, WATCHDOG};

const SERVER: &str = env!("CARGO_BIN_EXE_rmcp-server");

/// A client with its watchdog.
struct Pair {
    client: RunningService<RoleClient, ()>,
    watchdog: u32,
    folder: TempDir,
}

fn stateless() -> Vec<ProtocolVersion> {
    vec![ProtocolVersion::V_2026_07_28]
}

fn automatic() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto { preferred_versions: stateless(), legacy_version: None }
}

impl Pair {
    async fn open(server: &str, mode: ClientLifecycleMode) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut command = Command::new(WATCHDOG);
        command
            .args(EAGER)
            .args(["--", server])
            .current_dir(&folder)
            .env("RMCP_SERVER_HELD", folder.path().join("held"))
            .env("MCP_FIXTURE_STATE_FILE", folder.path().join("state"));
        let transport = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
        let (transport, _) = transport.expect("the watchdog can be started");
        let watchdog = transport.id().expect("it runs");
        let client = within(().serve_with_lifecycle(transport, mode)).await;
        Self { client: client.expect("a session can be opened"), watchdog, folder }
    }

    async fn call(&self, tool: &'static str) -> Result<String, ServiceError> {
        let result = within(self.client.call_tool(CallToolRequestParams::new(tool))).await?;
        let text = result.content.first().and_then(|content| content.as_text());
        Ok(text.expect("these tools answer with a text").text.clone())
    }

    async fn server(&self) -> u32 {
        let pid = self.call("pid").await.expect("the server answers");
        pid.parse().expect("a number")
    }

    /// Kills the server while idle, and waits until it is reaped: its main thread is a zombie while others still hold its
    /// stdin open, and a call that is written there is lost with it.
    async fn kill_server(&self) -> u32 {
        let pid = self.server().await;
        kill_process(pid);
        let process = PathBuf::from(format!("/proc/{pid}"));
        until("the end of the server", || !process.exists()).await;
        pid
    }

    /// The client leaves, and everything is gone.
    async fn close(self) {
        let server = self.server().await;
        within(self.client.cancel()).await.expect("the client ends");
        until("the end of all", || !is_running(server) && !is_running(self.watchdog)).await;
    }
}

fn kill_process(pid: u32) {
    let pid = i32::try_from(pid).expect("a process number fits");
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("the server runs");
}

/// What is awaited comes soon.
async fn within<T>(what: impl Future<Output = T>) -> T {
    let ten_seconds = Duration::from_secs(10);
    tokio::time::timeout(ten_seconds, what).await.expect("it comes within ten seconds")
}

/// Waits for something that nothing tells of, and lets the client go on meanwhile.
async fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while !ready() {
        assert!(Instant::now() < end, "no {what} within five seconds");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The server is killed while idle and in a call; the client object stays the same.
async fn survives_kills(mode: ClientLifecycleMode) {
    let pair = Pair::open(SERVER, mode).await;
    let tools = within(pair.client.list_all_tools()).await.expect("the tools are listed");
    assert_eq!(tools.len(), 2);

    let first = pair.kill_server().await;
    let second = pair.server().await;
    assert_ne!(second, first, "another process answers");

    let held = pair.folder.path().join("held");
    let (answer, ()) = tokio::join!(pair.call("hold"), async {
        until("the call at the server", || held.exists()).await;
        kill_process(second);
    });
    let Err(ServiceError::McpError(error)) = answer else {
        panic!("expected the watchdog's error, got {answer:?}");
    };
    assert_eq!(error.code.0, -31000);
    let data = error.data.expect("the error has data");
    assert_eq!(data["code"], "server_disconnected");
    assert_eq!(data["exit"]["signal"], "SIGKILL");

    let third = pair.server().await;
    assert!(third != second && third != first);
    let tools = within(pair.client.list_all_tools()).await.expect("the tools are listed");
    assert_eq!(tools.len(), 2);
    assert!(!pair.client.is_closed());
    pair.close().await;
}

#[tokio::test]
async fn with_a_handshake() {
    survives_kills(ClientLifecycleMode::Initialize).await;
}

#[tokio::test]
async fn without_a_handshake() {
    survives_kills(ClientLifecycleMode::Discover { preferred_versions: stateless() }).await;
}

#[tokio::test]
async fn with_a_client_that_finds_out() {
    survives_kills(automatic()).await;
}

#[tokio::test]
async fn with_a_client_that_finds_a_server_of_the_older_era() {
    // The fixture answers `server/discover` as an older server does.
    let pair = Pair::open(FIXTURE, automatic()).await;
    assert_eq!(pair.call("life").await.expect("the server answers"), "1");
    pair.kill_server().await;
    assert_eq!(pair.call("life").await.expect("the next one answers"), "2");
    pair.close().await;
}
