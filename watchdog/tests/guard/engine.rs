//! Deaths of the engine and of the guard.
//!
//! The engine that dies here is this test binary once more: [`engine_process`] does nothing unless a variable tells it to.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::libc;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;
use watchdog::back::Ending;

use crate::rig::{LIMIT, is_alive, marked, send_signal, shell, start, state, until};

/// The leader, one of its group, one of a session of its own, and a daemon; each tells its pid, none obeys SIGTERM.
const FAMILY: &str = "trap '' TERM HUP
    sh -c 'echo $$; exec sleep 600 >/dev/null' &
    setsid sh -c 'echo $$; exec sleep 600 >/dev/null' &
    (setsid sh -c 'sh -c \"echo \\$\\$; exec sleep 600 >/dev/null\" &' &)
    echo $$
    while :; do sleep 60; done";

const SCRIPT: &str = "GUARD_TEST_SCRIPT";
const BLOCK: &str = "GUARD_TEST_BLOCK";

#[test]
fn engine_process() {
    let Ok(script) = std::env::var(SCRIPT) else { return };
    if std::env::var_os(BLOCK).is_some() {
        SigSet::all().thread_block().unwrap();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut command, mark) = crate::rig::command("sh", &["-c", &script]);
        command.env.retain(|(key, _)| key != SCRIPT);
        let mut rig = start(&command, mark);
        rig.started().await;
        tell(&format!("guard {}", rig.guard()));
        tell(&format!("mark {}", rig.mark));
        loop {
            let line = rig.line().await;
            tell(&format!("line {line}"));
            if line.is_empty() {
                break;
            }
        }
        tell(&format!("ended {:?}", rig.exited().await));
        tell(&format!("last {:?}", rig.event().await));
        let guard = rig.guard();
        until("the guard has ended", || !is_alive(guard)).await;
        tell(&format!("remains {:?}", state(guard)));
    });
}

/// Past the capturing of output.
fn tell(line: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n{line}").unwrap();
    stdout.flush().unwrap();
}

struct Engine {
    process: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Engine {
    fn start(mut command: Command, script: &str) -> Self {
        let mut process =
            command.env(SCRIPT, script).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    fn told(&mut self, kind: &str) -> String {
        let told = self.lines.by_ref().map(Result::unwrap).find_map(|line| {
            let (key, value) = line.split_once(' ')?;
            (key == kind).then(|| value.to_owned())
        });
        told.unwrap_or_else(|| panic!("the engine said no {kind}"))
    }

    fn family(&mut self) -> (i32, String, [i32; 4]) {
        let guard = self.told("guard").parse().unwrap();
        let mark = self.told("mark");
        (guard, mark, std::array::from_fn(|_| self.told("line").parse().unwrap()))
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.process.id()).unwrap())
    }
}

fn this_binary() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "engine::engine_process", "--nocapture"]);
    command
}

async fn nothing_is_left(guard: i32, mark: &str, family: [i32; 4]) {
    until("the guard is gone", || !is_alive(guard)).await;
    assert_eq!(family.map(is_alive), [false; 4]);
    assert_eq!(marked(mark), [0; 0]);
}

#[tokio::test]
async fn nothing_survives_an_engine_that_is_killed() {
    let mut engine = Engine::start(this_binary(), FAMILY);
    let (guard, mark, family) = engine.family();
    assert_eq!(family.map(is_alive), [true; 4]);
    engine.process.kill().unwrap();
    engine.process.wait().unwrap();
    nothing_is_left(guard, &mark, family).await;
}

#[tokio::test]
async fn nothing_survives_when_the_engines_group_is_killed() {
    let mut engine = Engine::start(this_binary(), FAMILY);
    let (guard, mark, family) = engine.family();
    killpg(engine.pid(), Signal::SIGKILL).unwrap();
    engine.process.wait().unwrap();
    nothing_is_left(guard, &mark, family).await;
}

#[tokio::test]
async fn nothing_survives_a_handle_that_is_dropped() {
    let mut rig = shell(FAMILY);
    rig.started().await;
    let mut family = [0; 4];
    for pid in &mut family {
        *pid = rig.number().await;
    }
    let (guard, mark) = (rig.guard(), rig.mark.clone());
    drop(rig);
    nothing_is_left(guard, &mark, family).await;
    until("the guard is reaped", || state(guard).is_none()).await;
}

#[tokio::test]
async fn a_handle_that_is_dropped_before_the_start_leaves_nothing() {
    for _ in 0..20 {
        let mut rig = shell("sleep 600 & sleep 600");
        rig.guarded().await;
        let (guard, mark) = (rig.guard(), rig.mark.clone());
        drop(rig);
        until("the guard is gone", || state(guard).is_none()).await;
        assert_eq!(marked(&mark), [0; 0]);
    }
}

#[tokio::test]
async fn a_handle_that_is_dropped_before_its_guard_is_there_leaves_nothing() {
    for _ in 0..20 {
        let dropped = shell("sleep 600 & sleep 600").mark.clone();
        // Guards are started one after the other, so the first one has begun, or never will.
        let mut next = shell("true");
        next.started().await;
        next.exited().await;
        next.empty().await;
        until("nothing is left", || marked(&dropped).is_empty()).await;
    }
}

#[tokio::test]
async fn a_killed_guard_takes_the_group_with_it_and_the_events_are_filled_in() {
    let mut rig = shell("sh -c 'trap \"\" TERM; echo $$; exec sleep 600' & echo $$; sleep 600");
    let leader = rig.started().await;
    let pids = [rig.number().await, rig.number().await];
    assert!(pids.contains(&leader));
    send_signal(rig.guard(), Signal::SIGKILL);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    rig.empty().await;
    assert_eq!(pids.map(is_alive), [false; 2]);
}

/// With both gone only the kernel is left, and it knows the leader alone.
#[tokio::test]
async fn the_leader_dies_with_its_guard_even_when_the_engine_cannot_act() {
    let mut engine = Engine::start(this_binary(), "echo $$; sleep 600 >/dev/null & wait");
    let guard = engine.told("guard").parse().unwrap();
    let mark = engine.told("mark");
    let leader: i32 = engine.told("line").parse().unwrap();
    let engine_pid = engine.pid().as_raw();
    send_signal(engine_pid, Signal::SIGSTOP);
    until("the engine is stopped", || state(engine_pid) == Some('T')).await;
    send_signal(guard, Signal::SIGKILL);
    until("the leader is dead", || !is_alive(leader)).await;
    // Once it can act again it ends the rest of the group.
    send_signal(engine_pid, Signal::SIGCONT);
    assert_eq!(engine.told("last"), "Empty { survivors: [] }");
    assert_eq!(marked(&mark), [0; 0]);
    engine.process.wait().unwrap();
}

#[tokio::test]
async fn a_guard_killed_after_the_leaders_end_is_followed_by_the_empty_tree_alone() {
    let mut rig = shell("sh -c 'trap \"\" TERM; echo $$; exec sleep 600' & read x; exit 2");
    rig.started().await;
    rig.number().await;
    rig.write("\n").await;
    assert_eq!(rig.exited().await, Ending::Code(2));
    send_signal(rig.guard(), Signal::SIGKILL);
    rig.empty().await;
}

#[tokio::test]
async fn a_group_whose_guard_is_dead_goes_with_the_handle() {
    let mut rig = shell("sh -c 'trap \"\" TERM; echo $$; exec sleep 600' & sleep 600");
    rig.started().await;
    rig.number().await;
    let (guard, mark) = (rig.guard(), rig.mark.clone());
    send_signal(guard, Signal::SIGKILL);
    until("the guard is dead", || !is_alive(guard)).await;
    drop(rig);
    until("nothing is left", || marked(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_stopped_guard_obeys_all_the_same() {
    let mut rig = shell("sleep 600 & sleep 600");
    rig.started().await;
    let guard = rig.guard();
    send_signal(guard, Signal::SIGSTOP);
    until("the guard is stopped", || state(guard) == Some('T')).await;
    rig.child.kill();
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    rig.empty().await;
}

#[tokio::test]
async fn a_guard_that_hangs_is_given_up() {
    let mut rig = shell("trap '' TERM; echo ready; while :; do sleep 600; done");
    rig.started().await;
    rig.line().await;
    rig.stop(500, 0);
    // After the SIGCONT that goes with the order, and before anything is due.
    send_signal(rig.guard(), Signal::SIGSTOP);
    assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL));
    rig.empty().await;
}

/// The shell that starts the engine ignores signals and allows core files, the engine blocks all signals: the child has none of
/// it.
#[tokio::test]
async fn ignored_and_blocked_signals_and_core_files_do_not_reach_the_child() {
    let mut ignoring = Command::new("sh");
    ignoring.args([
        "-c",
        "ulimit -S -c $(ulimit -H -c); trap '' TERM HUP INT USR1 PIPE; exec env --ignore-signal=CHLD \"$@\"",
        "sh",
    ]);
    let binary = this_binary();
    ignoring.arg(binary.get_program()).args(binary.get_args()).env(BLOCK, "1");
    // The shell sets handlers only for what it traps, so what it shows is what it was born with.
    let mut engine = Engine::start(ignoring, "ulimit -S -c; exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
    assert_eq!(engine.told("line"), "0", "no core files");
    let signals = [engine.told("line"), engine.told("line")];
    assert_eq!(signals, ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]);
    assert_eq!(engine.told("ended"), "Code(0)");
    // Nor did the ignored SIGCHLD have the kernel reap the guard, whose number the engine may still signal.
    assert_eq!(engine.told("remains"), "Some('Z')");
    let deadline = std::time::Instant::now() + LIMIT;
    while engine.process.try_wait().unwrap().is_none() {
        assert!(std::time::Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Another user's process: a set-uid program that changed its real user id too. Only root can set that up, and root can kill
/// everything, so the engine is somebody else.
#[tokio::test]
async fn what_cannot_be_killed_is_reported_and_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let Some(set_uid) = set_uid_program(folder.path()) else {
        return;
    };
    let mut somebody = as_nobody();
    let binary = this_binary();
    somebody.arg(binary.get_program()).args(binary.get_args());
    let script = format!(
        "{set_uid} --reuid 0 sleep 600 >/dev/null 2>&1 </dev/null & echo $!
         until grep -q sleep /proc/$!/comm; do :; done; sleep 600 >/dev/null & echo; exit 6"
    );
    let mut engine = Engine::start(somebody, &script);
    let survivor: i32 = engine.told("line").parse().unwrap();
    assert_eq!(engine.told("ended"), "Code(6)");
    let ended = std::time::Instant::now();
    assert_eq!(engine.told("last"), format!("Empty {{ survivors: [{survivor}] }}"));
    assert!(ended.elapsed() < Duration::from_secs(10), "{:?}", ended.elapsed());
    assert!(is_alive(survivor));
    send_signal(survivor, Signal::SIGKILL);
    engine.process.wait().unwrap();
}

fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command
}

/// A copy of `setpriv` that is root's whoever calls it; `None` where this user or this place cannot have one, or where nobody
/// else may execute the binaries of this test.
fn set_uid_program(folder: &Path) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let original = std::env::split_paths(&path).map(|place| place.join("setpriv")).find(|file| file.is_file())?;
    let copy = folder.join("set-uid");
    fs::copy(original, &copy).ok()?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).ok()?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o4755)).ok()?;
    let copy = copy.to_str()?.to_owned();
    let succeeds = |args: &[&str]| as_nobody().args(args).status().is_ok_and(|status| status.success());
    let becomes_root = ["sh", "-c", "test \"$(\"$0\" --reuid 0 id -ru)\" = 0", &copy];
    let binaries = [std::env::current_exe().ok()?, crate::rig::binary().to_owned()];
    let usable = binaries.iter().all(|file| file.to_str().is_some_and(|file| succeeds(&["test", "-x", file])));
    (succeeds(&becomes_root) && usable).then_some(copy)
}
