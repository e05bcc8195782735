//! How the kernel is asked to schedule the data path, and nothing else.
#![cfg(target_os = "linux")]

use std::fs;

use harness::{json, tool_call};

use crate::rig::{guard_of, poll_until, setup};

/// The policies of a process's threads with this name, by their stat (proc_pid_stat(5)): 0 is the usual one, 3 `SCHED_BATCH`.
fn policies(pid: u32, name: &str) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    let facts = stats.filter_map(|stat| {
        let (begin, end) = stat.rsplit_once(") ")?;
        let called = begin.split_once('(')?.1.to_owned();
        Some((called, end.split(' ').nth(41 - 3)?.to_owned()))
    });
    facts.filter(|(called, _)| name.is_empty() || called == name).map(|(_, policy)| policy).collect()
}

/// A server that is started in the middle of it would inherit what the data path has for many calls in flight.
#[test]
fn many_calls_in_flight_make_the_data_path_patient_and_no_server() {
    let session = setup().start();
    session.initialize();
    let path = || policies(session.pid(), "data path");
    assert_eq!(path(), ["0"], "one call at a time");
    session.send_all((1..=20).map(|id| tool_call(id, "silence", json!({}))));
    poll_until("the data path waits for its turn", || path() == ["3"]);
    session.kill_server();
    for id in 1..=20 {
        session.answer(id).own_error("server_disconnected");
    }
    let server = session.wait_life(2);
    for pid in [server, guard_of(session.pid())] {
        assert!(policies(pid, "").iter().all(|policy| policy == "0"), "{pid}");
    }
    poll_until("one call at a time", || path() == ["0"]);
    session.finish();
}
