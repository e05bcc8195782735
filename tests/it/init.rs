//! The init: as pid 1 of a real PID namespace, and as `--init` asks for it.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use harness::{Session, Setup, Signal, Value, What, cancelled, is_running, json, tool_call};
use nix::sys::signal::{kill, killpg};
use nix::unistd::Pid;

use crate::rig::{EAGER, FIXTURE, QUICK_STOP, WATCHDOG, children, guard_of, poll_until};

/// What [`QUICK_STOP`] gives a server that ends by neither of its rungs.
const GRACES: Duration = Duration::from_millis(400);
/// What a stop may take beyond that on a busy machine: well short of the ten seconds that a container is given.
const MARGIN: Duration = Duration::from_secs(3);

/// One of each kind: in the group, deaf to TERM, out of the group, out of the family.
const FAMILY: [&str; 4] = ["plain", "stubborn", "session", "daemon"];

// -- where it runs ----------------------------------------------------------------------------------------------------

/// Where the init runs.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Among other processes, with `--init`.
    Here,
    /// As pid 1 of a namespace of its own, without being asked.
    Namespace,
}

/// The places that there are on this machine.
fn places() -> Vec<Place> {
    match unshare() {
        Some(_) => vec![Place::Here, Place::Namespace],
        None => vec![Place::Here],
    }
}

/// The words that put a program into a PID namespace, if this user may do that.
#[expect(clippy::print_stderr, reason = "a test that did not run everywhere has to say so")]
fn unshare() -> Option<&'static [&'static str]> {
    const ALONE: &[&str] = &["--pid", "--fork", "--mount-proc", "--kill-child"];
    const AS_ROOT: &[&str] = &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"];
    static WORDS: OnceLock<Option<&[&str]>> = OnceLock::new();
    *WORDS.get_or_init(|| {
        let permitted = |words: &&&[&str]| {
            let output = Command::new("unshare").args(**words).arg("true").output();
            output.is_ok_and(|output| output.status.success())
        };
        let words = [ALONE, AS_ROOT].iter().find(permitted).copied();
        if words.is_none() {
            eprintln!("not tested as pid 1: `unshare --pid` is not permitted here");
        }
        words
    })
}

/// A watchdog in front of the fixture, below these words.
fn setup_below(place: Place, words: &[&str]) -> Setup {
    let words = match place {
        Place::Here => [words, &[WATCHDOG, "--init"]].concat(),
        Place::Namespace => [&["unshare"], unshare().expect("the place is there"), words, &[WATCHDOG]].concat(),
    };
    Setup::new(words[0], FIXTURE).options(&words[1..])
}

fn setup(place: Place) -> Setup {
    setup_below(place, &[]).options(QUICK_STOP)
}

/// A server whose every life has the whole family, and is as deaf as the worst of it.
fn with_family(place: Place) -> Setup {
    let children: Vec<Value> = FAMILY.iter().map(|kind| json!({ "child": [kind] })).collect();
    setup(place).script(json!({
        "ignore_eof": true, "ignore_signals": ["TERM", "INT", "HUP", "QUIT"],
        "rules": [{ "on": "boot", "do": children }],
    }))
}

/// The numbers of the init and the engine, as this side of the namespace knows them.
#[track_caller]
fn processes(session: &Session, place: Place) -> (u32, u32) {
    let child = |of: u32| {
        let mut found = None;
        poll_until("process of the watchdog", || {
            found = children(of).into_iter().find(|(_, _, command)| command == WATCHDOG);
            found.is_some()
        });
        found.map(|(pid, ..)| pid).expect("it was waited for")
    };
    let init = match place {
        Place::Here => session.pid(),
        Place::Namespace => child(session.pid()),
    };
    (init, child(init))
}

#[track_caller]
fn send(pid: u32, signal: Signal) {
    kill(number(pid), signal).expect("a process of ours can be signalled");
}

fn number(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).expect("a process number fits"))
}

/// Waits until the server has all its family.
#[track_caller]
fn wait_family(session: &Session) {
    let running = || session.entries().iter().filter(|entry| matches!(entry.what, What::Child(_))).count();
    poll_until("the server with its children", || running() == FAMILY.len());
}

/// Whether a process has a handler for a signal.
fn catches(pid: u32, signal: Signal) -> bool {
    has_bit(pid, "SigCgt:", signal)
}

/// Whether a process has blocked a signal.
fn blocks(pid: u32, signal: Signal) -> bool {
    has_bit(pid, "SigBlk:", signal)
}

fn has_bit(pid: u32, mask: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(mask));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 << (signal as u32 - 1) != 0)
}

/// `R`, `S`, `T` … of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

// -- what it is -------------------------------------------------------------------------------------------------------

#[test]
fn an_init_holds_nothing_of_the_clients_and_has_one_thread() {
    for place in places() {
        let session = setup(place).start();
        session.initialize();
        let (init, engine) = processes(&session, place);
        let held = || {
            let links = fs::read_dir(format!("/proc/{init}/fd")).into_iter().flatten().flatten();
            let mut targets: Vec<_> = links
                .filter(|link| link.file_name() != "2")
                .filter_map(|link| Some(fs::read_link(link.path()).ok()?.display().to_string()))
                .collect();
            targets.sort();
            targets
        };
        // The engine may have been quicker than its parent.
        poll_until("init without the client's pipes", || held() == ["/dev/null", "/dev/null", "anon_inode:[signalfd]"]);
        assert_eq!(fs::read_dir(format!("/proc/{init}/task")).map(Iterator::count).ok(), Some(1), "{place:?}");
        let name = |pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        assert_eq!((name(init).as_str(), name(engine) == name(init)), ("watchdog-init\n", false), "{place:?}");
        session.send(tool_call(1, "life", json!({})));
        assert_eq!(session.answer(1).text(), "1");
        session.finish();
    }
}

#[test]
fn a_client_that_leaves_or_never_was_is_a_clean_end() {
    for place in places() {
        let session = with_family(place).start();
        session.initialize();
        wait_family(&session);
        session.finish();
        for stdin in ["exec \"$0\" \"$@\" <&-", "exec \"$0\" \"$@\" </dev/null"] {
            let session = setup_below(place, &["sh", "-c", stdin]).options(QUICK_STOP).start();
            session.wait_stderr("stdin is /dev/null: no client is there");
            session.ended(0);
        }
    }
}

#[test]
fn codes_are_the_engines_own() {
    for place in places() {
        setup(place).options(["--nonsense"]).start().ended(78);
        let version = setup(place).options(["--version"]).command([] as [&str; 0]).start();
        assert_eq!(version.wait_exit(GRACES + MARGIN).code(), Some(0));
        let absent = setup(place).command(["/nowhere/at/all"]).start();
        absent.ended(127);
    }
}

// -- reaping ----------------------------------------------------------------------------------------------------------

#[test]
fn orphans_come_to_the_init_which_reaps_them_and_ends_the_rest() {
    const ORPHANS: usize = 4;
    for place in places() {
        // Their lives overlap: a guard that is killed cannot end who has left the group.
        let session = setup(place).options(EAGER).several().start();
        session.initialize();
        for id in 1..=ORPHANS {
            session.send(tool_call(id, "spawn_child", json!({ "kind": "daemon" })));
            assert_eq!(session.answer(id).text(), "spawned");
        }
        let (init, engine) = processes(&session, place);
        send(guard_of(engine), Signal::SIGKILL);
        let orphans = || children(init).into_iter().filter(|(pid, ..)| *pid != engine).collect::<Vec<_>>();
        poll_until("orphans at the init", || orphans().len() == ORPHANS);
        let mut ended = orphans();
        let (left, ..) = ended.pop().expect("there are some");
        for (pid, ..) in ended {
            send(pid, Signal::SIGKILL);
        }
        poll_until("end of the orphans, zombies too", || orphans().iter().all(|(pid, ..)| *pid == left));
        session.send(tool_call(9, "echo", json!({ "text": "on" })));
        assert_eq!(session.answer(9).text(), "on");
        session.finish();
        assert!(!is_running(left), "{place:?}");
    }
}

/// A watchdog in a namespace of its own that sees the /proc of the one above, as below `bwrap --unshare-pid` without `--proc`.
fn below_another_proc() -> Option<Setup> {
    let words = unshare()?.iter().filter(|word| **word != "--mount-proc");
    Some(Setup::new("unshare", FIXTURE).options(words).options([WATCHDOG]).options(EAGER).options(QUICK_STOP))
}

#[test]
fn the_numbers_in_another_namespaces_proc_are_signalled_by_nobody() {
    let Some(setup) = below_another_proc() else { return };
    let mut session = setup.several().start();
    session.initialize();
    session.wait_stderr("/proc is that of another PID namespace");
    session.send(tool_call(1, "exit", json!({ "code": 0 })));
    let _ = session.answer(1).own_error("server_disconnected");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.close_stdin();
    assert_eq!(session.wait_exit(GRACES + MARGIN).code(), Some(0));
    assert!(!session.stderr().contains("could not be killed"), "{}", session.stderr());
}

#[test]
fn a_server_is_not_condemned_by_the_proc_of_another_namespace() {
    let Some(setup) = below_another_proc() else { return };
    let session = setup.options(["--tool-timeout", "200ms", "--set", "probe.chain=[{type: process}]"]).start();
    session.initialize();
    session.send(tool_call(1, "silence", json!({})));
    session.wait_stderr("probing could not tell, nothing is done");
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "1");
    session.send(cancelled(1));
    session.finish();
}

#[test]
fn hundreds_of_zombies_that_somebody_else_made_are_reaped() {
    // Children of whoever was this process before: nobody has told the init of them.
    const STRANGERS: &str = "i=0; while [ $i -lt 300 ]; do sleep 0.$i & i=$((i+1)); done; exec \"$0\" \"$@\"";
    for place in places() {
        let session = setup_below(place, &["sh", "-c", STRANGERS]).options(QUICK_STOP).start();
        session.initialize();
        let (init, engine) = processes(&session, place);
        poll_until("end of the strangers", || children(init).iter().all(|(pid, ..)| *pid == engine));
        session.send(tool_call(1, "life", json!({})));
        assert_eq!(session.answer(1).text(), "1");
        session.finish();
    }
}

// -- signals ----------------------------------------------------------------------------------------------------------

#[test]
fn signals_end_it_within_the_graces_and_by_their_code() {
    for place in places() {
        let signals = [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129), (Signal::SIGQUIT, 131)];
        for (signal, code) in signals {
            let session = with_family(place).start();
            session.initialize();
            wait_family(&session);
            let init = processes(&session, place).0;
            let begin = Instant::now();
            send(init, signal);
            session.wait_exit(GRACES + MARGIN);
            let took = begin.elapsed();
            assert!(took >= GRACES, "{place:?}: {signal} took {took:?}");
            session.ended(code);
        }
    }
}

#[test]
fn a_signal_to_the_whole_group_counts_once() {
    // What `kill -- -PGID` and the keys of a terminal do. Twice would be an order to drop everything.
    let session = with_family(Place::Here).start();
    session.initialize();
    wait_family(&session);
    let begin = Instant::now();
    killpg(number(session.pid()), Signal::SIGTERM).expect("the group is there");
    session.wait_exit(GRACES + MARGIN);
    let took = begin.elapsed();
    assert!(took >= GRACES, "it took {took:?}");
    session.ended(143);
}

#[test]
fn a_second_signal_waits_for_nothing() {
    for place in places() {
        let session = with_family(place).options(["--set", "shutdown.eof_grace=1h"]).start();
        session.initialize();
        wait_family(&session);
        let init = processes(&session, place).0;
        send(init, Signal::SIGTERM);
        session.wait_entry("the end of stdin", |entry| (entry.what == What::Event("eof".to_owned())).then_some(()));
        send(init, Signal::SIGTERM);
        session.ended(143);
    }
}

#[test]
fn signals_of_the_users_own_reach_the_server() {
    const SERVER: &str = "for s in USR1 USR2 WINCH; do trap \"echo got-$s >&2\" $s; done; echo set >&2; \
                          while :; do sleep 0.02; done";
    let mut sessions: Vec<_> = places().into_iter().map(|place| (Some(place), setup(place))).collect();
    sessions.push((None, crate::rig::setup().options(QUICK_STOP)));
    for (place, setup) in sessions {
        let session = setup.command(["sh", "-c", SERVER]).start();
        session.wait_stderr("] sh: set");
        let init = place.map_or_else(|| session.pid(), |place| processes(&session, place).0);
        for (signal, name) in [(Signal::SIGUSR1, "USR1"), (Signal::SIGUSR2, "USR2"), (Signal::SIGWINCH, "WINCH")] {
            send(init, signal);
            session.wait_stderr(&format!("] sh: got-{name}"));
        }
        send(init, Signal::SIGTERM);
        session.ended(143);
    }
}

#[test]
fn a_terminals_stop_stops_the_engine_too_and_both_go_on() {
    let session = setup(Place::Here).start();
    session.initialize();
    let (init, engine) = processes(&session, Place::Here);
    send(init, Signal::SIGTSTP);
    poll_until("stop of both", || (state(init), state(engine)) == (Some('T'), Some('T')));
    send(init, Signal::SIGCONT);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}

#[test]
fn pid_1_is_not_stopped_by_a_terminal() {
    if unshare().is_none() {
        return;
    }
    let session = setup(Place::Namespace).start();
    session.initialize();
    send(processes(&session, Place::Namespace).0, Signal::SIGTSTP);
    session.send(tool_call(1, "life", json!({})));
    assert_eq!(session.answer(1).text(), "1");
    session.finish();
}

#[test]
fn an_engine_that_was_stopped_meets_the_signal_that_ends_it() {
    for place in places() {
        let session = setup(place).start();
        session.initialize();
        let (init, engine) = processes(&session, place);
        send(engine, Signal::SIGSTOP);
        poll_until("stop of the engine", || state(engine) == Some('T'));
        send(init, Signal::SIGTERM);
        session.ended(143);
    }
}

// -- moments ----------------------------------------------------------------------------------------------------------

#[test]
fn a_signal_that_comes_before_the_engine_is_up_is_not_lost() {
    for place in places() {
        for delay in [0, 200, 500, 1000, 2000, 4000] {
            let session = setup(place).start();
            let init = match place {
                Place::Here => session.pid(),
                Place::Namespace => {
                    let first = || children(session.pid()).into_iter().find(|(_, _, command)| command == WATCHDOG);
                    poll_until("first process", || first().is_some());
                    first().map_or(0, |(pid, ..)| pid)
                }
            };
            // From here on none is lost, whatever is not there yet.
            poll_until("init that listens", || blocks(init, Signal::SIGTERM));
            std::thread::sleep(Duration::from_micros(delay));
            send(init, Signal::SIGTERM);
            session.ended(143);
        }
    }
}

#[test]
fn two_signals_at_once_are_an_order_to_hurry() {
    for place in places() {
        let session = with_family(place).options(["--set", "shutdown.eof_grace=1h"]).start();
        session.initialize();
        wait_family(&session);
        let init = processes(&session, place).0;
        send(init, Signal::SIGSTOP);
        poll_until("stop of the init", || state(init) == Some('T'));
        send(init, Signal::SIGINT);
        send(init, Signal::SIGTERM);
        send(init, Signal::SIGCONT);
        let exit = session.wait_exit(MARGIN);
        // Either came first.
        let code = exit.code().unwrap_or_default();
        assert!([130, 143].contains(&code), "{place:?}: {exit}");
        session.ended(code);
    }
}

#[test]
fn sigterm_is_obeyed_whatever_the_server_is_doing() {
    let silent = json!({ "rules": [{ "on": "initialize", "do": ["silence"] }] });
    let dies = json!({ "rules": [{ "on": "boot", "do": [{ "exit": 3 }] }] });
    for place in places() {
        // It waits for its next attempt, is asked for its session, and is started again and again.
        for (script, delays) in [(&dies, "1h"), (&silent, "0s"), (&dies, "0s"), (&dies, "1ms"), (&dies, "3ms")] {
            let options = ["--restart-delays", delays, "--set", "restart.min_attempt_interval=1ms"];
            let session = setup(place).options(options).several().script(script.clone()).start();
            session.send(harness::initialize(0, "2025-11-25"));
            session.may_stay_open(0);
            session.wait_stderr("starting");
            let init = processes(&session, place).0;
            let begin = Instant::now();
            send(init, Signal::SIGTERM);
            session.wait_exit(GRACES + MARGIN);
            assert!(begin.elapsed() < GRACES + MARGIN, "{place:?} {delays}");
            session.ended(143);
        }
    }
}

// -- crashes ----------------------------------------------------------------------------------------------------------

#[test]
fn an_engine_that_crashes_is_told_of_and_leaves_nothing() {
    for place in places() {
        // SIGKILL is what the kernel sends for want of memory.
        for (signal, code) in [(Signal::SIGKILL, 137), (Signal::SIGABRT, 134), (Signal::SIGSEGV, 139)] {
            let session = with_family(place).start();
            session.initialize();
            wait_family(&session);
            let engine = processes(&session, place).1;
            send(engine, signal);
            if signal == Signal::SIGSEGV {
                // The first that was sent, and not caused, only takes away the handler which looks for stack overflows.
                poll_until("handler's end", || !catches(engine, signal));
                send(engine, signal);
            }
            session.wait_stderr(&format!("was killed by {signal}; what is left of its servers is ended"));
            session.ended(code);
        }
    }
}

#[test]
fn nothing_outlives_an_init_that_is_killed() {
    for place in places() {
        let session = with_family(place).start();
        session.initialize();
        wait_family(&session);
        let (init, engine) = processes(&session, place);
        let guard = guard_of(engine);
        send(init, Signal::SIGKILL);
        session.killed();
        poll_until("end of the guard", || !is_running(guard));
    }
}

#[test]
fn serve_has_an_init_too() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let file = folder.path().join("servers.yaml");
    let text = format!("version: 1\nservers:\n  one: {{ command: {FIXTURE} }}\n");
    fs::write(&file, text).expect("it can be written to");
    let words = ["serve", "--init", "--no-control", "--config"].map(std::ffi::OsString::from);
    let session = Setup::direct(WATCHDOG).several().options(words).options([&file]).start();
    let engine = processes(&session, Place::Here).1;
    guard_of(engine);
    session.signal(Signal::SIGTERM);
    session.ended(143);
}
