//! What a child inherits, and what it does not.

use std::fs;

use nix::libc;
use watchdog::back::{ChildEvent, Step};

use crate::rig::{command, run, shell, start};

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
    let (mut command, mark) = command("env", &[]);
    command.env.push(("EMPTY".into(), "".into()));
    let expected: String =
        command.env.iter().map(|(key, value)| format!("{}={}\n", key.display(), value.display())).collect();
    let mut rig = start(&command, mark);
    assert_eq!(rig.rest().await, expected);
    rig.started().await;
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn limits_hold_before_the_program_runs() {
    let script = "ulimit -S -n; ulimit -H -n; grep 'core file' /proc/self/limits; cat /proc/self/oom_score_adj";
    let (mut command, mark) = command("sh", &["-c", script]);
    command.bounds.open_files = Some(321);
    command.bounds.core = Some(1 << 20);
    // Anybody may make a process more likely to be killed.
    command.bounds.oom_score_adj = Some(789);
    let mut rig = start(&command, mark);
    rig.started().await;
    assert_eq!([rig.number().await, rig.number().await], [321, 321]);
    let line = rig.line().await;
    assert_eq!(line.split_ascii_whitespace().nth(4), Some("1048576"), "{line}");
    assert_eq!(rig.number().await, 789);
    rig.exited().await;
    rig.empty().await;
}

/// Beside the three of the child there is room for the loader's one.
#[tokio::test]
async fn a_low_limit_of_open_files_is_in_the_way_of_no_other() {
    let (mut command, mark) = command("cat", &["/proc/self/oom_score_adj"]);
    command.bounds.open_files = Some(4);
    command.bounds.oom_score_adj = Some(789);
    let mut rig = start(&command, mark);
    rig.started().await;
    assert_eq!(rig.number().await, 789);
    rig.exited().await;
    rig.empty().await;
}

/// More than any system takes (`fs.nr_open`), whoever asks.
#[tokio::test]
async fn a_limit_that_the_kernel_refuses_is_named() {
    let (mut command, mark) = command("true", &[]);
    command.bounds.open_files = Some(u32::MAX.into());
    let mut rig = start(&command, mark);
    assert_eq!(rig.event().await, ChildEvent::CannotStart { errno: libc::EPERM, step: Step::OpenFiles });
    rig.empty().await;
}
