//! Ends of the leader, and what it leaves behind.

use std::time::{Duration, Instant};

use nix::libc;
use nix::sys::signal::Signal;
use watchdog::back::Ending;

use crate::rig::{is_alive, run, send_signal, shell, state};

#[tokio::test]
async fn every_way_to_end_is_reported_as_it_was() {
    for (script, ending) in [
        ("exit 0", Ending::Code(0)),
        ("exit 3", Ending::Code(3)),
        ("exit 255", Ending::Code(255)),
        ("kill -KILL $$", Ending::Signal(libc::SIGKILL)),
        ("kill -TERM $$", Ending::Signal(libc::SIGTERM)),
        ("kill -SEGV $$", Ending::Signal(libc::SIGSEGV)),
        // Real-time signals have no name in most libraries.
        ("kill -40 $$", Ending::Signal(40)),
    ] {
        let mut rig = shell(script);
        rig.started().await;
        assert_eq!(rig.exited().await, ending, "{script}");
        rig.empty().await;
    }
}

/// What `npx` does: the wrapper dies, the server lives on with the pipes in its hands.
#[tokio::test]
async fn a_dead_leader_is_reported_at_once_and_the_tree_when_the_rest_is_gone() {
    let mut rig = shell("sh -c 'trap \"\" TERM; echo $$; while :; do sleep 60; done' & wait");
    let leader = rig.started().await;
    let server = rig.number().await;
    send_signal(leader, Signal::SIGKILL);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    let exited = Instant::now();
    assert!(is_alive(server), "the end of the leader waited for the server");
    rig.empty().await;
    assert!(exited.elapsed() >= Duration::from_millis(150), "no grace after SIGTERM: {:?}", exited.elapsed());
}

#[tokio::test]
async fn what_a_leader_leaves_behind_may_clean_up() {
    let mut rig = shell(
        "sh -c 'trap \"echo cleaned; exit\" TERM; echo ready; while :; do sleep 60 & wait; done' & read x; exit 7",
    );
    rig.started().await;
    assert_eq!(rig.line().await, "ready");
    rig.write("\n").await;
    assert_eq!(rig.exited().await, Ending::Code(7));
    let exited = Instant::now();
    rig.empty().await;
    assert_eq!(rig.rest().await, "cleaned\n");
    assert!(exited.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_leader_alone_is_empty_at_once() {
    let mut rig = run("cat", &[]);
    rig.started().await;
    rig.stdin = None;
    rig.exited().await;
    let exited = Instant::now();
    rig.empty().await;
    // Far below the grace that leftovers have.
    assert!(exited.elapsed() < Duration::from_millis(150), "{:?}", exited.elapsed());
}

#[tokio::test]
async fn orphans_are_reaped_while_the_leader_lives() {
    let mut rig = shell("(sh -c 'echo $$' &); sleep 0.05; (sh -c 'echo $$' &); read x; exit 0");
    rig.started().await;
    let orphans = [rig.number().await, rig.number().await];
    crate::rig::until("the orphans are reaped", || orphans.iter().all(|&orphan| state(orphan).is_none())).await;
    rig.write("\n").await;
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
}

#[tokio::test]
async fn sessions_and_double_forks_do_not_escape() {
    let mut rig = shell(
        "setsid sh -c 'trap \"\" TERM HUP; echo $$; exec sleep 600' &
         (setsid sh -c '(trap \"\" TERM HUP; exec sh -c \"echo \\$\\$; exec sleep 600 >/dev/null 2>&1 </dev/null\") &' &)
         read x; exit 4",
    );
    rig.started().await;
    let escaped = [rig.number().await, rig.number().await];
    rig.write("\n").await;
    assert_eq!(rig.exited().await, Ending::Code(4));
    rig.empty().await;
    assert_eq!(escaped.map(is_alive), [false, false]);
}

#[tokio::test]
async fn the_facts_of_the_tree_are_those_below_the_guard() {
    let mut rig = shell("sleep 600 & echo $!; read x; kill $!");
    let leader = rig.started().await;
    let grandchild = rig.number().await;
    let facts = watchdog::back::facts::tree(rig.child.guard_pid().unwrap()).unwrap();
    assert_eq!(facts.pids, [leader, grandchild].map(i32::cast_unsigned));
    assert!(facts.resident_bytes > 0);
    rig.write("\n").await;
    rig.exited().await;
    rig.empty().await;
}
