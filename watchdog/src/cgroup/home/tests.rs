//! In the real hierarchy, where there is one that may be divided.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// A group of the test's own, killed and removed at its end.
struct Scene(Group, PathBuf);

impl Scene {
    fn make(name: &str) -> Option<Self> {
        let read = |file| fs::read(format!("/proc/self/{file}")).unwrap_or_default();
        let place = place::own(&read("cgroup"), &read("mountinfo")).map_err(str::to_owned).and_then(|own| {
            let folder = own.join(format!("watchdog-test-{}-{name}", std::process::id()));
            fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            if folder.join("cgroup.kill").exists() { Ok(folder) } else { Err("no cgroup.kill".to_owned()) }
        });
        place
            .map_err(|why| eprintln!("SKIPPED {name}: no cgroup v2 that may be divided: {why}"))
            .ok()
            .map(|folder| Self(Group::at(folder.clone()), folder))
    }

    fn folder(&self) -> &Path {
        &self.1
    }

    /// A process in a group.
    fn sleeper(group: &Path) -> Child {
        let sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        enter(group, sleeper.id()).unwrap();
        sleeper
    }

    /// A shell in a group.
    fn shell(group: &Path, script: &str) -> Child {
        let script = format!("echo 0 > \"$0\"/cgroup.procs; {script}");
        Command::new("sh").args(["-c", &script]).arg(group).spawn().unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.0.remove();
    }
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_dead_watchdogs_have_left_is_killed_and_what_living_ones_hold_is_not() {
    let Some(scene) = Scene::make("stale") else { return };
    let (dead, living) = (scene.folder().join("mcp-watchdog-1-dead"), scene.folder().join("mcp-watchdog-1-living"));
    let strange = scene.folder().join("another");
    for folder in [&dead, &living, &strange] {
        fs::create_dir_all(folder.join("1")).unwrap();
    }
    let [mut left_over, mut guarded, mut stranger] =
        [&dead, &living, &strange].map(|folder| Scene::sleeper(&folder.join("1")));
    let lock = hold(&living, FlockArg::LockSharedNonblock).unwrap();
    let home = Home::make(scene.folder()).unwrap();
    left_over.wait().unwrap();
    until("the group is removed", || !dead.exists());
    for sleeper in [&mut guarded, &mut stranger] {
        assert!(sleeper.try_wait().unwrap().is_none());
    }
    assert!(home.folder.is_dir());
    scene.0.kill();
    for sleeper in [&mut guarded, &mut stranger] {
        sleeper.wait().unwrap();
    }
    drop(lock);
}

#[test]
fn each_tree_has_a_place_of_its_own_in_a_home_that_nobody_takes_for_left_over() {
    let Some(scene) = Scene::make("places") else { return };
    let home = Home::make(scene.folder()).unwrap();
    let (first, second) = (home.place(None), home.place(Some(1)));
    assert_eq!(first.folder.parent(), Some(home.folder.as_path()));
    assert_ne!(first.folder, second.folder);
    assert_eq!(second.memory_max, Some(1));
    Home::make(scene.folder()).unwrap();
    assert!(home.folder.is_dir());
    // As a guard that was killed leaves it.
    fs::create_dir(&first.folder).unwrap();
    home.remove();
    assert!(!home.folder.exists());
}

#[test]
fn one_write_kills_a_session_of_its_own_too() {
    let Some(scene) = Scene::make("kill") else { return };
    let mut shell = Command::new("sh")
        .args(["-c", "read go; setsid sleep 60 & trap '' TERM; wait"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    enter(scene.folder(), shell.id()).unwrap();
    shell.stdin.take().unwrap().write_all(b"\n").unwrap();
    until("both run", || scene.0.members().len() == 2);
    scene.0.kill();
    shell.wait().unwrap();
    until("both are gone", || scene.0.members().is_empty());
}

/// With whatever controller the group has; which one makes no difference to the rule.
#[test]
fn a_controller_is_handed_on_once_those_that_are_ours_have_stepped_aside() {
    let Some(scene) = Scene::make("controller") else { return };
    let listed = fs::read_to_string(scene.folder().join("cgroup.controllers")).unwrap();
    // Of threads, not of processes: these exempt a group from the rule.
    let threaded = ["cpu", "cpuset", "perf_event", "pids"];
    let Some(controller) = listed.split_ascii_whitespace().find(|name| !threaded.contains(name)) else {
        return eprintln!("SKIPPED controller: no controller is handed down to {}", scene.folder().display());
    };
    let home = Home::make(scene.folder()).unwrap();
    // As guards are, and the servers below them.
    let mut sleeper = Scene::sleeper(scene.folder());
    let mut shell = Scene::shell(scene.folder(), "sleep 60 & wait");
    until("a child of a child", || scene.0.members().len() == 3);
    home.enable(controller).unwrap();
    assert_eq!(group::numbers(&home.folder.join(SELF)).len(), 3);
    assert!(lists(&home.folder, "cgroup.subtree_control", controller));
    scene.0.kill();
    for child in [&mut sleeper, &mut shell] {
        child.wait().unwrap();
    }
}

#[test]
fn a_stranger_in_the_group_is_named_and_everybody_is_put_back() {
    let Some(scene) = Scene::make("strangers") else { return };
    let listed = fs::read_to_string(scene.folder().join("cgroup.controllers")).unwrap();
    let Some(controller) = listed.split_ascii_whitespace().find(|name| *name == "memory" || *name == "hugetlb") else {
        return eprintln!("SKIPPED strangers: no controller is handed down to {}", scene.folder().display());
    };
    let home = Home::make(scene.folder()).unwrap();
    let mut ours = Scene::sleeper(scene.folder());
    // Whose parent has ended, so that it is nobody's here.
    Scene::shell(scene.folder(), "sleep 60 &").wait().unwrap();
    let stranger = scene.0.members().into_iter().find(|pid| *pid != ours.id()).unwrap();
    let why = home.enable(controller).unwrap_err();
    assert!(why.contains("DelegateSubgroup=") && why.contains(&format!("({stranger})")), "{why}");
    assert_eq!(group::numbers(scene.folder()).len(), 2);
    assert!(!home.folder.join(SELF).exists());
    scene.0.kill();
    ours.wait().unwrap();
}

#[test]
fn a_controller_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cgroup.controllers"), "cpu pids\n").unwrap();
    let lock = hold(folder.path(), FlockArg::LockSharedNonblock).unwrap();
    let home = Home {
        folder: folder.path().join("home"),
        delegated: folder.path().to_owned(),
        next: AtomicU64::new(1),
        memory: OnceLock::new(),
        _lock: lock,
    };
    assert!(home.limit_memory().unwrap_err().contains("Delegate=yes"));
}

#[test]
fn a_folder_that_takes_no_groups_is_refused_with_a_remedy() {
    let why = Home::make(Path::new("/no/such/hierarchy")).unwrap_err();
    assert!(why.contains("isolation: guard"), "{why}");
    // Any folder takes folders, but only the kernel puts files into them.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cgroup.procs"), "").unwrap();
    let why = Home::make(folder.path()).unwrap_err();
    assert!(why.contains("5.14"), "{why}");
    assert_eq!(group::subgroups(folder.path()), Vec::<PathBuf>::new());
}
