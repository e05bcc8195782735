//! `mcp-watchdog demo`: a server that will die, hang and stop, a client, and the product between them.
//!
//! This is a user of the product and knows nothing of its inside: it starts the binary as a client would, speaks MCP to it
//! over pipes, reads its log, and kills the server by the number that the server itself tells. Every scene checks what it
//! shows, so the demonstration is also a test of an installation. It writes no files.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::exit::{Exit, chain_text};
use client::Client;
use screen::{Screen, span};
use stage::{Call, Stage};

mod book;
mod client;
mod log;
mod screen;
mod server;
mod stage;

pub(crate) use server::HANDSHAKE;
#[cfg(feature = "plugins")]
pub(crate) use server::answer_one;

/// Before the server is killed, so that idle is idle and the middle of a call its middle.
const PAUSE: Duration = Duration::from_millis(300);

/// An answer that takes so long was not given at once. The tool timeout of the demonstration is as long: an answer that
/// comes sooner waited for no timer.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Why a demonstration did not come to its end.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// Nobody reads what is shown.
    #[error("cannot write")]
    Output(#[from] io::Error),
    #[error("cannot start the watchdog")]
    Start(#[source] io::Error),
    /// The product did not do what it promises.
    #[error("{0}")]
    Wrong(String),
}

impl Fault {
    fn wrong(text: impl Into<String>) -> Self {
        Self::Wrong(text.into())
    }
}

/// Plays the demonstration and writes it to `out`, with colours if `colour`.
pub(crate) fn run(out: &mut dyn Write, colour: bool) -> Exit {
    let mut screen = Screen::new(out, colour);
    match play(&mut screen) {
        Ok(()) => Exit::Done,
        Err((fault, log)) => {
            if !matches!(fault, Fault::Output(_)) {
                // The exit code tells what cannot be written.
                let _ = screen.bad(&chain_text(&fault), &log);
            }
            Exit::Failed
        }
    }
}

/// Plays the server's part, on stdin and stdout.
pub(crate) fn serve() -> Exit {
    if server::run().is_ok() { Exit::Done } else { Exit::Failed }
}

/// From the first line to the last; with a fault, the end of the watchdog's log.
fn play(screen: &mut Screen<'_>) -> Result<(), (Fault, Vec<String>)> {
    let client = opening(screen).map_err(|fault| (fault, Vec::new()))?;
    let mut stage = Stage::new(screen, client);
    scenes(&mut stage).map_err(|fault| (fault, stage.client.log_tail()))
}

fn opening(screen: &mut Screen<'_>) -> Result<Client, Fault> {
    screen.plain("A client, a server that will die, hang and stop, and the watchdog between them:\n")?;
    screen.command(&client::command_line())?;
    screen.plain("\nThe time limits are short for the demonstration; by default a call is suspect after 40s.")?;
    Client::start()
}

fn scenes(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    session(stage)?;
    killed_while_idle(stage)?;
    killed_in_a_call(stage)?;
    slow_call(stage)?;
    hung(stage)?;
    stopped(stage)?;
    farewell(stage)?;
    summary(stage)
}

fn session(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("A client opens a session with the server, through the watchdog")?;
    let params = json!({
        "protocolVersion": HANDSHAKE,
        "capabilities": {},
        "clientInfo": { "name": "demo-client", "version": env!("CARGO_PKG_VERSION") },
    });
    let (at, result) = stage.request("initialize", &params)?;
    stage.event("server_connected")?;
    let text = format!("initialize -> {}", word(&result["serverInfo"]["name"]));
    stage.client_line(at, &text)?;
    stage.client.notify("notifications/initialized")?;

    let (at, result) = stage.request("tools/list", &json!({}))?;
    let tools = result["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<_> = tools.iter().map(|tool| word(&tool["name"])).collect();
    stage.client_line(at, &format!("tools/list -> {}", names.join(", ")))?;

    let call = stage.call("add", &json!({ "a": 2, "b": 3 }))?;
    let sum = stage.returned(&call)?.text;
    check(sum == "5", || format!("the answer to add(2, 3) is {sum}"))?;
    stage.meet_server()?;
    stage.good("all is well, and the watchdog does nothing but pass it on")
}

fn killed_while_idle(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("The server is killed while nothing is going on")?;
    thread::sleep(PAUSE);
    let killed = stage.signal(Signal::SIGKILL)?;
    stage.event("server_disconnected")?;
    // While it is down.
    let call = stage.call("add", &json!({ "a": 20, "b": 22 }))?;
    let down = stage.event("server_reconnected")?.saturating_duration_since(killed);
    let sum = stage.returned(&call)?;
    check(sum.text == "42", || format!("the answer to add(20, 22) is {}", sum.text))?;
    stage.meet_next_server()?;
    stage.good(&format!(
        "back {} after the kill, in the same session; all that the client saw is an answer that took {}",
        span(down),
        span(sum.after)
    ))
}

fn killed_in_a_call(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("The server is killed in the middle of a call")?;
    let call = stage.begin("slow", &json!({ "ms": 30_000 }))?;
    stage.server_line()?;
    thread::sleep(PAUSE);
    let killed = stage.signal(Signal::SIGKILL)?;
    stage.event("server_disconnected")?;
    let after = stage.failed(&call, -31000)?.saturating_duration_since(killed);
    stage.event("server_reconnected")?;
    stage.meet_next_server()?;
    check(after < AT_ONCE, || format!("the error came {} after the kill, which is not at once", span(after)))?;
    stage.good(&format!("an error {} after the kill, and no second try: the call may have had an effect", span(after)))
}

fn slow_call(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("A call is slow, and the server is well")?;
    let call = stage.begin("slow", &json!({ "ms": 1500 }))?;
    stage.server_line()?;
    stage.event("tool_timeout")?;
    stage.event("probe_passed")?;
    stage.returned(&call)?;
    check(!stage.meet_server()?, || "the server was replaced without need".into())?;
    stage.good("suspected, probed, left alone: a healthy server is not restarted because one call is slow")
}

fn hung(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("The server hangs")?;
    let call = stage.begin("hang", &json!({}))?;
    stage.server_line()?;
    replaced(stage, &call)
}

fn stopped(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("The server is stopped from outside, as by a debugger")?;
    stage.signal(Signal::SIGSTOP)?;
    let call = stage.begin("add", &json!({ "a": 1, "b": 1 }))?;
    replaced(stage, &call)
}

/// From an unanswered call to the next server.
fn replaced(stage: &mut Stage<'_, '_>, call: &Call) -> Result<(), Fault> {
    stage.event("tool_timeout")?;
    let dead = stage.event("probe_failed")?;
    let took = stage.event("server_reconnected")?.saturating_duration_since(dead);
    stage.failed(call, -31001)?;
    stage.meet_next_server()?;
    stage.good(&format!("silent to the probes as well, so it was killed and replaced within {}", span(took)))
}

fn farewell(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    stage.scene("The client leaves")?;
    let left = Instant::now();
    stage.client_line(left, "closes the stream")?;
    stage.client.leave();
    stage.event("client_disconnected")?;
    stage.event("watchdog_stopped")?;
    let status = stage.client.ended()?;
    let took = span(left.elapsed());
    check(status.success(), || format!("the watchdog ended with {status}"))?;
    stage.nothing_is_alive()?;
    let servers = count(stage.lives(), "process", "processes");
    stage.good(&format!("gone within {took}, and with it all {servers} that the server has had"))
}

fn summary(stage: &mut Stage<'_, '_>) -> Result<(), Fault> {
    let (sent, once) = (stage.client.book().sent(), stage.client.book().answered_once());
    let strange = stage.client.book().strange().first();
    check(strange.is_none(), || {
        format!("the client got what it did not ask for: {}", strange.map_or("", String::as_str))
    })?;
    check(sent == once, || format!("of {sent} requests, only {once} were answered exactly once"))?;
    let restarts = count(stage.lives().saturating_sub(1), "restart", "restarts");
    let text = format!("\n{sent} requests, each answered exactly once; 1 session, {restarts}; nothing is left alive");
    Ok(stage.screen.plain(&text)?)
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Wrong(otherwise())) }
}

/// A string, or nothing.
fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `1 restart`, `2 restarts`.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
