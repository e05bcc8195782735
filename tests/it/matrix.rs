//! The survivors matrix: for each event of the table "What happens to processes" in docs/processes.md, and each kind of isolation, who
//! of a server's family is left. All members are deaf to every polite signal.
//!
//! Rows about restarts, stops and storms are in [`crate::survivors`], those about an init with the container's own kernel in
//! [`crate::init`].
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, process};

use harness::{Session, Setup, Signal, What, is_running, json, tool_call};
use nix::sys::signal::{kill, killpg};
use nix::unistd::Pid;

use crate::rig::{FIXTURE, QUICK_STOP, WATCHDOG, children, guard_of, poll_until};

/// The server itself, one of its group, one in a session of its own, and one that forked twice and holds no descriptor.
const MAIN: &str = "main";
const GROUP: &str = "stubborn";
const SESSION: &str = "session";
const DAEMON: &str = "daemon";

const NOBODY: &[&str] = &[];

/// What holds the tree.
#[derive(Debug)]
pub(crate) enum Tier {
    Guard,
    /// Below this group, which is the test's own.
    Cgroup(Group),
}

/// A cgroup, with all that is in it killed and removed at the end.
#[derive(Debug)]
pub(crate) struct Group(PathBuf);

impl Group {
    /// Made below our own group, where that is permitted and the kernel can kill groups.
    #[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
    pub(crate) fn make() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let read = |file| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
        let (mounts, groups) = (read("mounts"), read("cgroup"));
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
        let mount = mount.and_then(|line| line.split(' ').nth(1)).unwrap_or("/no/cgroup2");
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let name = format!("mcp-matrix-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(mount).join(own).join(name);
        let made = fs::create_dir(&folder).map(|()| Self(folder.clone()));
        let usable = made.as_ref().is_ok_and(|_| folder.join("cgroup.kill").exists());
        if !usable {
            eprintln!("SKIPPED: no cgroup v2 that can be killed can be made as {}: {made:?}", folder.display());
        }
        made.ok().filter(|_| usable)
    }

    /// What watchdogs have made in it.
    pub(crate) fn homes(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.path()).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fn remove(folder: &Path) {
            let below = fs::read_dir(folder).into_iter().flatten().flatten();
            below.filter(|entry| entry.path().is_dir()).for_each(|entry| remove(&entry.path()));
            let _ = fs::remove_dir(folder);
        }
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        poll_until("end of the test's cgroup", || {
            remove(&self.0);
            !self.0.exists()
        });
    }
}

impl Tier {
    /// A watchdog in this tier.
    pub(crate) fn setup(&self) -> Setup {
        match self {
            Self::Guard => Setup::direct(WATCHDOG),
            // The shell becomes the watchdog, with the same number.
            Self::Cgroup(Group(folder)) => Setup::direct("/bin/sh")
                .options(["-c", r#"echo 0 > "$0/cgroup.procs" && exec "$@""#])
                .options([folder.as_path(), Path::new(WATCHDOG)])
                .options(["--set", "isolation=cgroup"]),
        }
    }
}

/// A watchdog in this tier, with these options and the family.
fn setup(tier: &Tier, options: &[&str]) -> Setup {
    tier.setup().options(QUICK_STOP).options(options).command([FIXTURE]).script(json!({
        "ignore_eof": true,
        "ignore_signals": ["TERM", "INT", "HUP"],
        "rules": [{ "on": "boot", "do": [{ "child": [GROUP] }, { "child": [SESSION] }, { "child": [DAEMON] }] }],
    }))
}

/// A session whose first server has its whole family.
struct Scene {
    session: Session,
    family: Vec<(&'static str, u32)>,
    guard: u32,
}

impl Scene {
    #[track_caller]
    fn start(setup: Setup) -> Self {
        let session = setup.start();
        session.initialize();
        let mut family = Vec::new();
        poll_until("the whole family", || {
            family = family_of(&session, 1);
            family.len() == 4
        });
        let above = if children(session.pid()).iter().any(|(_, _, command)| command == WATCHDOG) {
            engine_of(session.pid())
        } else {
            session.pid()
        };
        let guard = guard_of(above);
        Self { session, family, guard }
    }

    fn alive(&self) -> BTreeSet<&'static str> {
        self.family.iter().filter(|(_, pid)| is_running(*pid)).map(|(kind, _)| *kind).collect()
    }

    /// Waits until those that are not promised to be left are gone, and sees that the others are still there.
    #[track_caller]
    fn left(&self, event: &str, promised: &[&'static str]) {
        let promised: BTreeSet<_> = promised.iter().copied().collect();
        poll_until(&format!("{event}: {promised:?} alone, but {:?}", self.alive()), || {
            self.alive().is_subset(&promised)
        });
        assert_eq!(self.alive(), promised, "{event}");
    }
}

fn family_of(session: &Session, life: u64) -> Vec<(&'static str, u32)> {
    let kind = |what: &What| match what {
        What::Start => Some(MAIN),
        What::Child(kind) => [GROUP, SESSION, DAEMON].into_iter().find(|known| kind == known),
        _ => None,
    };
    let entries = session.entries();
    entries
        .iter()
        .filter(|entry| entry.life == life)
        .filter_map(|entry| Some((kind(&entry.what)?, entry.pid)))
        .collect()
}

/// The engine below an init.
#[track_caller]
fn engine_of(init: u32) -> u32 {
    let mut found = None;
    poll_until("engine", || {
        found = children(init).into_iter().find(|(_, _, command)| command == WATCHDOG);
        found.is_some()
    });
    found.map(|(pid, ..)| pid).expect("it was waited for")
}

#[track_caller]
fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).expect("a process number fits");
    kill(Pid::from_raw(pid), signal).expect("a process of ours can be signalled");
}

/// One row: the event, and who is left of the family with a guard alone and with a cgroup.
fn row(event: &str, options: &[&str], happens: impl Fn(&Scene), guard: &[&'static str], cgroup: &[&'static str]) {
    let scene = Scene::start(setup(&Tier::Guard, options));
    happens(&scene);
    scene.left(&format!("{event}, guard"), guard);
    drop(scene);
    let Some(group) = Group::make() else { return };
    let tier = Tier::Cgroup(group);
    let scene = Scene::start(setup(&tier, options));
    happens(&scene);
    scene.left(&format!("{event}, cgroup"), cgroup);
    // Whatever it was, nobody is left who would have to remove a group that is empty.
    if let (Tier::Cgroup(group), true) = (&tier, cgroup.is_empty() && !is_running(scene.session.pid())) {
        poll_until("removal of the home", || group.homes().is_empty());
    }
}

#[test]
fn nobody_is_left_when_the_engine_is_killed() {
    row("SIGKILL of the engine", &[], |scene| scene.session.signal(Signal::SIGKILL), NOBODY, NOBODY);
}

#[test]
fn nobody_is_left_when_the_engine_aborts() {
    row("SIGABRT of the engine", &[], |scene| scene.session.signal(Signal::SIGABRT), NOBODY, NOBODY);
}

#[test]
fn nobody_is_left_when_the_engine_faults() {
    let fault = |scene: &Scene| {
        // The handler of Rust takes a signal that was sent for a fault that comes again, and steps aside.
        poll_until("end of the engine", || {
            scene.session.signal(Signal::SIGSEGV);
            !is_running(scene.session.pid())
        });
    };
    row("SIGSEGV of the engine", &[], fault, NOBODY, NOBODY);
}

#[test]
fn nobody_is_left_when_the_client_kills_our_group() {
    let group_killed = |scene: &Scene| {
        let group = i32::try_from(scene.session.pid()).expect("a process number fits");
        killpg(Pid::from_raw(group), Signal::SIGKILL).expect("the group is there");
    };
    row("SIGKILL of the client to our group", &[], group_killed, NOBODY, NOBODY);
}

#[test]
fn who_left_the_group_survives_the_guard_alone_but_not_the_cgroup() {
    let guard_killed = |scene: &Scene| {
        send(scene.guard, Signal::SIGKILL);
        // The next life begins when this one is over as far as the watchdog can see.
        scene.session.wait_life(2);
    };
    row("SIGKILL of the guard", &[], guard_killed, &[SESSION, DAEMON], NOBODY);
}

/// Stopped first, so that the guard cannot do its work between the two.
fn kill_both(scene: &Scene) {
    send(scene.guard, Signal::SIGSTOP);
    scene.session.signal(Signal::SIGKILL);
    scene.session.wait_exit(Duration::from_secs(5));
    send(scene.guard, Signal::SIGKILL);
}

#[test]
fn the_kernel_ends_the_server_alone_when_engine_and_guard_are_killed() {
    let others = &[GROUP, SESSION, DAEMON];
    row("SIGKILL of engine and guard", &[], kill_both, others, others);
}

#[test]
fn the_next_start_in_the_same_cgroup_ends_what_engine_and_guard_left() {
    let Some(group) = Group::make() else { return };
    let tier = Tier::Cgroup(group);
    let scene = Scene::start(setup(&tier, &[]));
    kill_both(&scene);
    scene.left("SIGKILL of engine and guard", &[GROUP, SESSION, DAEMON]);
    let next = Scene::start(setup(&tier, &[]));
    scene.left("the next start", NOBODY);
    assert_eq!(next.alive().len(), 4, "the new ones are nobody's left-overs");
}

#[test]
fn nobody_is_left_when_the_engine_below_an_init_is_killed() {
    let engine_killed = |scene: &Scene| send(engine_of(scene.session.pid()), Signal::SIGKILL);
    row("SIGKILL of the engine below --init", &["--init"], engine_killed, NOBODY, NOBODY);
}

#[test]
fn nobody_is_left_when_an_init_is_killed() {
    let init_killed = |scene: &Scene| scene.session.signal(Signal::SIGKILL);
    row("SIGKILL of the init", &["--init"], init_killed, NOBODY, NOBODY);
}

#[test]
fn an_init_ends_what_a_killed_guard_left_when_the_watchdog_ends() {
    let all_end = |scene: &Scene| {
        send(scene.guard, Signal::SIGKILL);
        scene.session.wait_life(2);
        scene.session.signal(Signal::SIGTERM);
    };
    row("SIGKILL of the guard below --init, then SIGTERM", &["--init"], all_end, NOBODY, NOBODY);
}

#[test]
fn nobody_is_left_when_the_launcher_of_the_server_is_killed() {
    // As `npx` is: a wrapper, a shell below it, and the server behind that. Nothing in the shells' words needs quotes.
    let below = format!("{FIXTURE} ; true");
    let wrapper = format!("sh -c '{below}' ; true");
    let tiers = [Some(Tier::Guard), Group::make().map(Tier::Cgroup)];
    for tier in tiers.into_iter().flatten() {
        let scene = Scene::start(setup(&tier, &[]).command(["sh", "-c", wrapper.as_str()]));
        let launcher = children(scene.guard)[0].0;
        assert!(scene.family.iter().all(|(_, pid)| *pid != launcher));
        send(launcher, Signal::SIGKILL);
        scene.session.wait_life(2);
        scene.left(&format!("SIGKILL of the launcher, {tier:?}"), NOBODY);
        scene.session.send(tool_call(1, "life", json!({})));
        assert_eq!(scene.session.answer(1).text(), "2");
        scene.session.finish();
    }
}
