//! Processes that are stopped for longer than every timeout, as by SIGSTOP, `docker pause`, a debugger or a laptop's lid: time in
//! which nobody could do anything is held against nobody.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::Duration;

use harness::{Session, Setup, Signal, initialize, is_running, json, tool_call};
use nix::sys::signal::kill;
use nix::unistd::Pid;

use crate::rig::{FIXTURE, JSON_LOG, QUICK_STOP, SUSPICIOUS, WATCHDOG, children, events, guard_of, poll_until, setup};

/// Several times longer than the timeouts here, and than the second from which on a late timer counts as a standstill.
const STOP: Duration = Duration::from_millis(2500);

/// The timeouts, all shorter.
const TIMEOUTS: [&str; 6] = ["--handshake-timeout", "1s", "--request-deadline", "1200ms", "--set", "restart.hold=1s"];

/// Processes that are stopped until this is dropped.
struct Stopped(Vec<u32>);

impl Stopped {
    /// Stops them, and waits until they are.
    #[track_caller]
    fn all(pids: impl IntoIterator<Item = u32>) -> Self {
        let stopped = Self(pids.into_iter().collect());
        stopped.send(Signal::SIGSTOP);
        poll_until("stop of the processes", || stopped.0.iter().all(|pid| state(*pid) == Some('T')));
        stopped
    }

    fn send(&self, signal: Signal) {
        for pid in &self.0 {
            // One that has ended needs none.
            _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send(Signal::SIGCONT);
    }
}

/// `R`, `S`, `T` … of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn quick() -> Setup {
    setup().options(SUSPICIOUS).options(TIMEOUTS).options(JSON_LOG)
}

/// A session with a call that takes 200 ms in its server's hands.
fn in_a_call() -> Session {
    let session = quick().start();
    session.initialize();
    session.send(tool_call(1, "sleep_ms", json!({ "ms": 200 })));
    session.wait_read("tools/call", 1);
    session
}

#[test]
fn who_was_stopped_for_longer_than_every_timeout_is_not_judged() {
    let (engine, and_guard, and_server) = (in_a_call(), in_a_call(), in_a_call());
    // Its server answers the handshake after half of the time for that.
    let answer = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "slow", "version": "1" },
    });
    let rules = json!({ "rules": [{ "on": "initialize", "do": [{ "after_ms": [500, [{ "result": answer }]] }] }] });
    let opening = quick().script(rules).start();
    opening.send(initialize(0, "2025-11-25"));
    opening.wait_read("initialize", 1);

    let guard = |session: &Session| guard_of(session.pid());
    let mut stopped = vec![engine.pid(), and_guard.pid(), guard(&and_guard)];
    stopped.extend([and_server.pid(), guard(&and_server), and_server.wait_life(1)]);
    stopped.push(opening.pid());
    let stopped = Stopped::all(stopped);
    std::thread::sleep(STOP);
    drop(stopped);

    for session in [engine, and_guard, and_server] {
        assert_eq!(session.answer(1).text(), "slept 200 ms");
        for suspicion in ["tool_timeout", "probe_started", "server_disconnected"] {
            assert_eq!(events(&session, suspicion), [] as [serde_json::Value; 0]);
        }
        assert_eq!(session.life(), 1);
        session.finish();
    }
    assert_eq!(opening.answer(0).result()["serverInfo"]["name"], "slow");
    assert_eq!(opening.life(), 1, "the handshake had its time");
    opening.finish();
}

/// The client, its connection, the watchdog, the guard and the server, as a machine does that freezes.
#[test]
fn everything_that_is_stopped_at_once_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("servers.yaml");
    let more = "tool_timeout: 300ms, probe: { timeout: 300ms }, handshake: { timeout: 1s }, request_deadline: 1200ms";
    let text = format!("version: 1\nservers:\n  one: {{ command: {FIXTURE}, {more} }}\n");
    fs::write(&file, text).expect("it can be written to");
    let options = ["serve".as_ref(), "--no-control".as_ref(), "--config".as_ref(), file.as_os_str()];
    let serving = Setup::direct(WATCHDOG).several().options(options).start();
    let socket = serving.folder().join("servers/one.sock");
    poll_until("socket", || socket.exists());
    let client = Setup::direct(WATCHDOG).options(["connect".as_ref(), socket.as_os_str()]).start();
    client.initialize();
    client.send(tool_call(1, "pid", json!({})));
    let server: u32 = client.answer(1).text().parse().expect("the tool answers with a number");
    client.send(tool_call(2, "sleep_ms", json!({ "ms": 200 })));
    // The answer to a later call says that the server has the earlier one.
    client.send(tool_call(3, "life", json!({})));
    client.answer(3);

    let stopped = Stopped::all([client.pid(), serving.pid(), guard_of(serving.pid()), server]);
    client.send(tool_call(4, "pid", json!({})));
    std::thread::sleep(STOP);
    drop(stopped);

    assert_eq!(client.answer(2).text(), "slept 200 ms");
    assert_eq!(client.answer(4).text(), server.to_string(), "the same process");
    client.finish();
    serving.signal(Signal::SIGTERM);
    serving.ended(143);
}

#[test]
fn a_stop_that_was_interrupted_so_still_leaves_nothing() {
    let family: Vec<_> = ["stubborn", "session", "daemon"].iter().map(|kind| json!({ "child": [kind] })).collect();
    let script = json!({
        "ignore_eof": true, "ignore_signals": ["TERM"], "rules": [{ "on": "boot", "do": family }],
    });
    let session = setup().options(QUICK_STOP).script(script).start();
    session.initialize();
    let guard = guard_of(session.pid());
    poll_until("family", || children(session.wait_life(1)).len() >= 2);
    session.signal(Signal::SIGTERM);
    session
        .wait_entry("the end of stdin", |entry| (entry.what == harness::What::Event("eof".to_owned())).then_some(()));
    // Longer than the engine waits for a guard that hangs: all graces, two seconds for the kill, and one more.
    let (engine_stopped, guard_stopped) = (Stopped::all([session.pid()]), Stopped::all([guard]));
    std::thread::sleep(Duration::from_millis(400 + 2000 + 1000 + 1500));
    drop(engine_stopped);
    // The guard goes on a little later, as it may: the engine does not take it for one that hangs.
    std::thread::sleep(Duration::from_millis(300));
    drop(guard_stopped);
    session.ended(143);
    poll_until("end of the guard", || !is_running(guard));
}
