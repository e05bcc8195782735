//! What is left of the server's processes, for each way in which the watchdog, its guard or the server can end: the rows of
//! the guarantee table in docs/processes.md, with real processes.
//!
//! The fixture's `stubborn`, `session` and `daemon` children ignore TERM, left the group, and forked twice; each life
//! tells when a process of an earlier one still runs, which [`harness::Session::finish`] checks.
#![cfg(target_os = "linux")]

use std::time::Duration;

use harness::{Session, Setup, Signal, Value, What, initialize, is_running, json, tool_call};
use nix::sys::signal::{kill, killpg};
use nix::unistd::Pid;

use crate::rig::{EAGER, JSON_LOG, QUICK_STOP, children, events, guard_of, open_descriptors, poll_until, setup};

/// One of each kind: in the group, deaf to TERM, out of the group, out of the family.
const FAMILY: [&str; 4] = ["plain", "stubborn", "session", "daemon"];

fn family_at(occasion: &Value, kinds: &[&str]) -> Value {
    let mut actions: Vec<Value> = kinds.iter().map(|kind| json!({ "child": [kind] })).collect();
    let mut rule = occasion.clone();
    if let Some(more) = rule["do"].as_array() {
        actions.extend(more.iter().cloned());
    }
    rule["do"] = actions.into();
    json!({ "ignore_eof": true, "ignore_signals": ["TERM", "INT"], "rules": [rule] })
}

/// A server whose every life has the whole family, and is as deaf as the worst of it.
fn with_family(kinds: &[&str]) -> Setup {
    setup().options(QUICK_STOP).script(family_at(&json!({ "on": "boot" }), kinds))
}

/// Waits until so many processes have told that they run, and returns their numbers.
#[track_caller]
fn wait_processes(session: &Session, life: u64, kinds: &[&str]) -> Vec<u32> {
    let of_life = || {
        let entries = session.entries();
        let running =
            entries.iter().filter(|entry| entry.life == life && matches!(entry.what, What::Start | What::Child(_)));
        running.map(|entry| entry.pid).collect::<Vec<_>>()
    };
    poll_until("the server with its children", || of_life().len() == kinds.len() + 1);
    of_life()
}

#[track_caller]
fn kill_process(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).expect("a process number fits");
    kill(Pid::from_raw(pid), signal).expect("a process of ours can be signalled");
}

/// The guard has a cleared environment, so that it is not found by its mark.
#[track_caller]
fn assert_guard_ends(guard: u32) {
    poll_until("the end of the guard", || !is_running(guard));
}

// -- the watchdog ends ------------------------------------------------------------------------------------------------

#[test]
fn nothing_outlives_a_watchdog_that_is_killed() {
    let session = with_family(&FAMILY).start();
    session.initialize();
    let family = wait_processes(&session, 1, &FAMILY);
    let guard = guard_of(session.pid());
    session.signal(Signal::SIGKILL);
    session.killed();
    assert!(family.iter().all(|pid| !is_running(*pid)));
    assert_guard_ends(guard);
}

#[test]
fn nothing_outlives_a_process_group_that_is_killed() {
    let session = with_family(&FAMILY).start();
    session.initialize();
    let family = wait_processes(&session, 1, &FAMILY);
    let guard = guard_of(session.pid());
    // The harness gives the watchdog a group of its own, as clients do that kill groups.
    let group = i32::try_from(session.pid()).expect("a process number fits");
    killpg(Pid::from_raw(group), Signal::SIGKILL).expect("the group is there");
    session.killed();
    assert!(family.iter().all(|pid| !is_running(*pid)));
    assert_guard_ends(guard);
}

#[test]
fn nothing_outlives_a_watchdog_that_crashes() {
    let session = with_family(&FAMILY).start();
    session.initialize();
    wait_processes(&session, 1, &FAMILY);
    let guard = guard_of(session.pid());
    session.signal(Signal::SIGABRT);
    session.killed();
    assert_guard_ends(guard);
}

#[test]
fn nothing_outlives_the_client_that_leaves() {
    let session = with_family(&FAMILY).start();
    session.initialize();
    wait_processes(&session, 1, &FAMILY);
    let guard = guard_of(session.pid());
    session.finish();
    assert_guard_ends(guard);
}

#[test]
fn nothing_outlives_a_signal() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let session = with_family(&FAMILY).start();
        session.initialize();
        wait_processes(&session, 1, &FAMILY);
        session.signal(signal);
        session.ended(code);
    }
}

// -- the guard ends ---------------------------------------------------------------------------------------------------

#[test]
fn a_guard_that_is_killed_takes_the_server_and_its_group_along() {
    // Who has left the group is not promised here, and not started.
    let kinds = ["plain", "stubborn"];
    let session = with_family(&kinds).start();
    session.initialize();
    let family = wait_processes(&session, 1, &kinds);
    kill_process(guard_of(session.pid()), Signal::SIGKILL);
    session.wait_life(2);
    assert!(family.iter().all(|pid| !is_running(*pid)), "the old life is over before the new one begins");
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.finish();
}

#[test]
fn a_guard_that_is_killed_in_a_call_costs_that_call() {
    let session = setup().options(QUICK_STOP).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    session.wait_read("tools/call", 1);
    kill_process(guard_of(session.pid()), Signal::SIGKILL);
    assert_eq!(session.answer(1).own_error("server_disconnected")["sent"], true);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn watchdog_and_guard_both_killed_take_the_server_along() {
    // Only the server's own process is promised: the kernel kills it when the guard is gone. Its descendants are nobody's.
    let session = with_family(&["plain"]).start();
    session.initialize();
    let family = wait_processes(&session, 1, &["plain"]);
    let guard = guard_of(session.pid());
    // Whatever becomes of the test: a stopped guard would stay for ever.
    let end_of_guard = EndOfGuard(guard);
    // Stopped first, so that it cannot do its work between the two.
    kill_process(guard, Signal::SIGSTOP);
    session.signal(Signal::SIGKILL);
    session.wait_exit(Duration::from_secs(5));
    assert!(is_running(family[0]), "the guard is what holds the server");
    drop(end_of_guard);
    session.wait_gone(1);
}

/// Kills a guard that was stopped.
struct EndOfGuard(u32);

impl Drop for EndOfGuard {
    fn drop(&mut self) {
        kill_process(self.0, Signal::SIGKILL);
    }
}

// -- the server ends --------------------------------------------------------------------------------------------------

#[test]
fn generations_never_overlap() {
    let session = with_family(&FAMILY).options(EAGER).options(JSON_LOG).start();
    session.initialize();
    for life in 1..=3 {
        let family = wait_processes(&session, life, &FAMILY);
        session.kill_server();
        session.wait_life(life + 1);
        assert!(family.iter().all(|pid| !is_running(*pid)), "life {} began in the presence of its ancestors", life + 1);
    }
    assert!(events(&session, "close_failed").is_empty());
    session.finish();
}

#[test]
fn a_server_that_closes_its_stdout_is_ended_with_all_it_has() {
    let session = setup()
        .options(QUICK_STOP)
        .script(json!({ "ignore_eof": true, "ignore_signals": ["TERM"], "rules": [
            { "on": "tools/call", "tool": "leave", "do": [{ "child": ["daemon"] }, { "text": "bye" }, "close_stdout"] },
        ] }))
        .start();
    session.initialize();
    session.send(tool_call(1, "leave", json!({})));
    assert_eq!(session.answer(1).text(), "bye");
    session.wait_life(2);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.finish();
}

#[test]
fn a_launcher_that_dies_takes_the_server_behind_it_along() {
    // As `npx` does: a shell that waits for the server. The words are not quoted for it: they are one path without spaces.
    let script = format!("{} ; true", crate::rig::FIXTURE);
    let session = setup().options(QUICK_STOP).command(["sh", "-c", script.as_str()]).start();
    session.initialize();
    let server = session.wait_life(1);
    let shell = children(guard_of(session.pid()))[0].0;
    assert_ne!(shell, server);
    kill_process(shell, Signal::SIGKILL);
    session.wait_life(2);
    assert!(!is_running(server));
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "2");
    session.finish();
}

#[test]
fn a_fork_storm_is_ended_before_the_next_life() {
    let session = setup().options(QUICK_STOP).start();
    session.initialize();
    session.send(tool_call(1, "spawn_child", json!({ "kind": "storm", "ms": 20_000 })));
    assert_eq!(session.answer(1).text(), "spawned");
    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    let only: Vec<_> = session.survivors().into_iter().map(|process| process.command).collect();
    assert!(only.iter().all(|command| !command.contains("--child")), "{only:?}");
    session.finish();
}

#[test]
fn a_fork_storm_does_not_outlive_a_watchdog_that_is_killed() {
    let session = setup().start();
    session.initialize();
    session.send(tool_call(1, "spawn_child", json!({ "kind": "storm", "ms": 20_000 })));
    assert_eq!(session.answer(1).text(), "spawned");
    session.signal(Signal::SIGKILL);
    session.killed();
}

// -- while it begins --------------------------------------------------------------------------------------------------

#[test]
fn nothing_outlives_a_watchdog_that_is_ended_while_the_server_starts() {
    let slow = json!({ "on": "boot", "do": [{ "sleep_ms": 60_000 }] });
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let session = setup().options(QUICK_STOP).script(family_at(&slow, &FAMILY)).start();
        wait_processes(&session, 1, &FAMILY);
        session.signal(signal);
        match signal {
            Signal::SIGKILL => session.killed(),
            _ => session.ended(143),
        }
    }
}

#[test]
fn nothing_outlives_a_watchdog_that_is_killed_as_soon_as_it_begins() {
    // Wherever in its start it is hit: before, while, or after the guard starts the server.
    for microseconds in [0, 500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000] {
        let session = with_family(&["daemon"]).start();
        std::thread::sleep(Duration::from_micros(microseconds));
        session.signal(Signal::SIGKILL);
        session.killed();
    }
}

#[test]
fn nothing_outlives_a_watchdog_that_is_ended_during_the_handshake() {
    let silent = json!({ "on": "initialize", "do": ["silence"] });
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let session = setup().options(QUICK_STOP).script(family_at(&silent, &FAMILY)).start();
        session.may_stay_open(0);
        session.send(initialize(0, "2025-11-25"));
        wait_processes(&session, 1, &FAMILY);
        session.signal(signal);
        match signal {
            Signal::SIGKILL => session.killed(),
            _ => session.ended(130),
        }
    }
}

#[test]
fn s187_a_handshake_that_fails_leaks_no_process() {
    let session = setup()
        .options(QUICK_STOP)
        .options(JSON_LOG)
        .options(["--handshake-timeout", "300ms", "--max-attempts", "1"])
        .script(family_at(&json!({ "on": "initialize", "do": ["silence"] }), &FAMILY))
        .start();
    session.send(initialize(0, "2025-11-25"));
    let family = wait_processes(&session, 1, &FAMILY);
    let data = session.answer(0).own_error("server_permanently_failed");
    assert_eq!(data["maxAttempts"], 1);
    poll_until("the end of the family", || family.iter().all(|pid| !is_running(*pid)));
    let left: Vec<_> = session.survivors().into_iter().map(|process| process.pid).collect();
    assert_eq!(left, [session.pid()], "only the watchdog is left");
    poll_until("the end of the guard", || children(session.pid()).is_empty());
    session.finish();
}

#[test]
fn s176_a_failed_start_is_cleaned_up_before_the_next() {
    let silent = json!({ "on": "initialize", "life": 1, "do": ["silence"] });
    let session = setup()
        .options(QUICK_STOP)
        .options(EAGER)
        .options(["--handshake-timeout", "300ms"])
        .script(family_at(&silent, &FAMILY))
        .start();
    session.send(initialize(0, "2025-11-25"));
    let family = wait_processes(&session, 1, &FAMILY);
    assert_eq!(session.answer(0).result()["serverInfo"]["version"], "2");
    assert!(family.iter().all(|pid| !is_running(*pid)));
    session.finish();
}

// -- many times -------------------------------------------------------------------------------------------------------

#[test]
fn thirty_restarts_leak_no_descriptor_and_no_zombie() {
    let session = setup().options(EAGER).start();
    session.initialize();
    let settled = |life: usize| {
        session.wait_read("notifications/initialized", life);
        guard_of(session.pid())
    };
    settled(1);
    let before = open_descriptors(session.pid());
    for life in 1..=30 {
        session.kill_server();
        settled(life + 1);
    }
    let guard = settled(31);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "31");
    let after = open_descriptors(session.pid());
    assert_eq!(after, before, "descriptors of the watchdog");
    let family = [children(session.pid()), children(guard)].concat();
    assert_eq!(family.len(), 2, "one guard and one server: {family:?}");
    assert!(family.iter().all(|(_, state, _)| *state != 'Z'), "{family:?}");
    session.finish();
}

#[test]
fn orphans_are_reaped_while_the_server_lives() {
    let session = setup().start();
    session.initialize();
    for id in 1..=10 {
        session.send(tool_call(id, "spawn_child", json!({ "kind": "orphan" })));
        assert_eq!(session.answer(id).text(), "spawned");
    }
    let guard = guard_of(session.pid());
    poll_until("end of the orphans", || children(guard).len() == 1);
    assert_eq!(children(guard)[0].0, session.wait_life(1));
    session.finish();
}
