//! The stop ladder.

use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::Signal;
use watchdog::back::Ending;

use crate::rig::{is_alive, run, send_signal, shell, state, until};

/// Ignores the end of stdin and SIGTERM, as its children do.
const STUBBORN: &str =
    "trap '' TERM; (trap '' TERM; while :; do sleep 60; done) & echo ready; while :; do sleep 60; done";

#[tokio::test]
async fn the_end_of_stdin_is_enough_for_a_good_server() {
    let mut rig = run("cat", &[]);
    rig.started().await;
    let stopped = rig.stop(10_000, 10_000);
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
    assert!(stopped.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn term_comes_after_the_eof_grace_and_not_before() {
    let mut rig = shell("trap 'echo term; exit 9' TERM; echo ready; while :; do sleep 60 & wait; done");
    rig.started().await;
    rig.line().await;
    let stopped = rig.stop(150, 10_000);
    assert_eq!(rig.exited().await, Ending::Code(9));
    assert!(stopped.elapsed() >= Duration::from_millis(140), "{:?}", stopped.elapsed());
    rig.empty().await;
    assert_eq!(rig.rest().await, "term\n");
}

#[tokio::test]
async fn a_tree_that_ignores_term_is_killed() {
    let mut rig = shell(STUBBORN);
    rig.started().await;
    rig.line().await;
    let stopped = rig.stop(50, 100);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    assert!(stopped.elapsed() >= Duration::from_millis(140), "{:?}", stopped.elapsed());
    rig.empty().await;
}

#[tokio::test]
async fn kill_does_not_wait_for_anything() {
    let mut rig = shell(STUBBORN);
    rig.started().await;
    rig.line().await;
    rig.stop(60_000, 60_000);
    rig.child.kill();
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    rig.empty().await;
}

#[tokio::test]
async fn a_second_stop_only_shortens() {
    let mut rig = shell(STUBBORN);
    rig.started().await;
    rig.line().await;
    let stopped = rig.stop(0, 200);
    rig.stop(60_000, 60_000);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    assert!(stopped.elapsed() >= Duration::from_millis(190), "{:?}", stopped.elapsed());
    assert!(stopped.elapsed() < Duration::from_secs(30));
    rig.empty().await;
}

#[tokio::test]
async fn a_stopped_child_meets_term() {
    let mut rig = shell("trap 'exit 5' TERM; echo ready; while :; do :; done");
    let leader = rig.started().await;
    rig.line().await;
    send_signal(leader, Signal::SIGSTOP);
    until("the child is stopped", || state(leader) == Some('T')).await;
    let stopped = rig.stop(0, 10_000);
    assert_eq!(rig.exited().await, Ending::Code(5));
    rig.empty().await;
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
}

#[tokio::test]
async fn term_reaches_descendants_outside_the_group_and_each_only_once() {
    let counter = "trap 'echo term' TERM; echo ready; while :; do sleep 60 & wait; done";
    let script = format!(
        "setsid sh -c \"{counter}\" & sh -c \"{counter}\" & trap '' TERM; echo ready; while :; do sleep 60; done"
    );
    let mut rig = shell(&script);
    rig.started().await;
    for _ in 0..3 {
        assert_eq!(rig.line().await, "ready");
    }
    rig.stop(0, 400);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    rig.empty().await;
    assert_eq!(rig.rest().await, "term\nterm\n");
}

#[tokio::test]
async fn the_term_grace_is_the_trees_not_the_leaders() {
    // The leader ends on SIGTERM at once; the server below it takes longer than leftovers of a leader that just died have.
    let server = "trap 'sleep 0.5; echo saved; exit' TERM; echo ready; while :; do sleep 60 & wait \\$!; done";
    let mut rig = shell(&format!("sh -c \"{server}\" & trap 'exit 1' TERM; echo ready; wait; wait"));
    rig.started().await;
    for _ in 0..2 {
        assert_eq!(rig.line().await, "ready");
    }
    rig.stop(0, 10_000);
    assert_eq!(rig.exited().await, Ending::Code(1));
    rig.empty().await;
    assert_eq!(rig.rest().await, "saved\n");
}

/// The leader's last act is to start another one, which was not there for SIGTERM.
#[tokio::test]
async fn what_is_started_in_the_term_grace_has_term_when_the_leader_ends() {
    // Loops instead of `sleep`: a process between fork and exec has its shell's traps, and loses what comes then.
    let late = "trap 'echo late; exit' TERM; echo up; while :; do :; done";
    let last_act = format!("sh -c \"{late}\" & read x <&3; exit 1");
    let script = format!("exec 3<&0; last() {{ {last_act}; }}; trap last TERM; echo ready; while :; do :; done");
    let mut rig = shell(&script);
    rig.started().await;
    assert_eq!(rig.line().await, "ready");
    rig.child.stop(Duration::ZERO, Duration::from_secs(60));
    assert_eq!(rig.line().await, "up");
    rig.write("\n").await;
    assert_eq!(rig.exited().await, Ending::Code(1));
    rig.empty().await;
    assert_eq!(rig.rest().await, "late\n");
}

/// Each process starts the next one in a session of its own and ends; whoever is listed has gone when it is signalled.
#[tokio::test]
async fn a_chain_that_forks_away_for_ever_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::fs::write(&link, "#!/bin/sh\ntrap '' TERM\nsetsid -f \"$0\"\n").unwrap();
    std::fs::set_permissions(&link, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for _ in 0..5 {
        let script = format!("for i in 1 2 3; do {} & done; echo ready; read x", link.display());
        let mut rig = shell(&script);
        rig.started().await;
        rig.line().await;
        let killed = Instant::now();
        rig.child.kill();
        rig.exited().await;
        rig.empty().await;
        assert!(killed.elapsed() < Duration::from_secs(2), "{:?}", killed.elapsed());
    }
}

/// The same without `exec`, so that there is no gap, and inside the group.
#[tokio::test]
async fn a_chain_of_forks_without_a_gap_is_caught() {
    for _ in 0..5 {
        let mut rig = shell("trap '' TERM; next() { next & exit; }; (next) & (next) & echo ready; read x");
        rig.started().await;
        rig.line().await;
        rig.child.kill();
        rig.exited().await;
        rig.empty().await;
    }
}

#[tokio::test]
async fn many_children_are_gone_together() {
    let mut rig =
        shell("trap '' TERM; for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep 600 & sleep 600 & done; echo ready; wait");
    rig.started().await;
    rig.line().await;
    rig.child.kill();
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn signals_to_the_guard_do_not_end_it() {
    let mut rig = run("cat", &[]);
    let leader = rig.started().await;
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGPIPE] {
        send_signal(rig.guard(), signal);
    }
    rig.write("still here\n").await;
    assert_eq!(rig.line().await, "still here");
    assert!(is_alive(leader));
    rig.stop(10_000, 0);
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
}

#[tokio::test]
async fn two_hundred_generations_leave_nothing_behind() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut guards = Vec::new();
    let mut before = 0;
    for round in 0..200 {
        let mut rig = run("cat", &[]);
        rig.started().await;
        guards.push(rig.guard());
        rig.stop(10_000, 0);
        rig.exited().await;
        rig.empty().await;
        drop(rig);
        // The first round opens what the runtime keeps.
        if round == 0 {
            before = descriptors();
        }
    }
    // Other tests of this process come and go meanwhile, each with a dozen.
    assert!(descriptors() < before + 150, "{before} descriptors became {}", descriptors());
    until("all guards are reaped", || guards.iter().all(|&guard| state(guard).is_none())).await;
}
