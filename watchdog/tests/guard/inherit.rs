//! What a child inherits, and what it does not.

use std::fs;

use crate::rig::{run, shell};

#[tokio::test]
async fn the_child_has_three_descriptors_and_a_session_of_its_own() {
    // A descriptor that the test leaks on purpose.
    let leaked = nix::unistd::dup(std::io::stdin()).unwrap();
    nix::fcntl::fcntl(&leaked, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    // `echo` is a builtin and the glob is expanded by the shell itself, with one descriptor of its own.
    let mut rig = shell("echo /proc/$$/fd/*; cut -d' ' -f1,5,6 /proc/$$/stat; ulimit -S -c; read x");
    let leader = rig.started().await;
    let descriptors = rig.line().await;
    let numbers: Vec<&str> = descriptors.split(' ').filter_map(|path| path.rsplit('/').next()).collect();
    assert!(numbers == ["0", "1", "2"] || numbers == ["0", "1", "2", "3"], "{descriptors}");
    let kept = fs::read_link(format!("/proc/{leader}/fd/3"));
    assert!(kept.is_err(), "descriptor 3 is {kept:?}");
    assert_eq!(rig.line().await, format!("{leader} {leader} {leader}"));
    assert_eq!(rig.line().await, "0");
    rig.stdin = None;
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn the_guard_shows_its_name_and_nothing_of_the_child() {
    let mut rig = run("sh", &["-c", "read x; exit 0", "secret-argument"]);
    rig.started().await;
    let guard = rig.guard();
    assert_eq!(fs::read(format!("/proc/{guard}/cmdline")).unwrap(), b"mcp-watchdog-guard\0");
    assert_eq!(fs::read_to_string(format!("/proc/{guard}/comm")).unwrap(), "watchdog-guard\n");
    let env = fs::read_to_string(format!("/proc/{guard}/environ")).unwrap();
    assert!(!env.contains(&rig.mark), "{env}");
    rig.stdin = None;
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn the_guard_holds_no_end_of_the_childs_pipes() {
    let mut rig = run("cat", &[]);
    let leader = rig.started().await;
    let pipes = [0, 1, 2].map(|number| fs::read_link(format!("/proc/{leader}/fd/{number}")).unwrap());
    let guard = rig.guard();
    for entry in fs::read_dir(format!("/proc/{guard}/fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap();
        assert!(!pipes.contains(&target), "{target:?}");
    }
    // So the end of the child's output is there with the child's end.
    rig.stdin = None;
    assert_eq!(rig.rest().await, "");
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn the_guard_is_a_session_of_its_own() {
    let mut rig = run("cat", &[]);
    rig.started().await;
    let stat = fs::read_to_string(format!("/proc/{}/stat", rig.guard())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!((fields[2], fields[3]), (&*rig.guard().to_string(), &*rig.guard().to_string()));
    rig.stdin = None;
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn the_environment_is_the_commands_and_nothing_else() {
    let (mut command, mark) = crate::rig::command("env", &[]);
    command.env.push(("EMPTY".into(), "".into()));
    let expected: String =
        command.env.iter().map(|(key, value)| format!("{}={}\n", key.display(), value.display())).collect();
    let mut rig = crate::rig::start(&command, mark);
    assert_eq!(rig.rest().await, expected);
    rig.started().await;
    rig.exited().await;
    rig.empty().await;
}
