//! Starts, and starts that fail.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use nix::libc;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use watchdog::back::{Child, ChildEvent, Ending, StartError, Step};

use crate::rig::{binary, command, marked, run, shell, start, within};

async fn refused(program: &str, cwd: Option<&str>) -> (i32, Step) {
    let (mut command, mark) = command(program, &[]);
    command.cwd = cwd.map(Into::into);
    let mut rig = start(&command, mark);
    let refusal = match rig.event().await {
        ChildEvent::CannotStart { errno, step } => (errno, step),
        other => panic!("{other:?}"),
    };
    rig.empty().await;
    refusal
}

#[tokio::test]
async fn bytes_go_in_and_come_out() {
    let mut rig = run("cat", &[]);
    rig.started().await;
    rig.write("ping\n").await;
    assert_eq!(rig.line().await, "ping");
    rig.stdin = None;
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
}

#[tokio::test]
async fn what_is_written_before_the_start_is_read() {
    let mut rig = run("cat", &[]);
    rig.write("early\n").await;
    rig.stdin = None;
    assert_eq!(rig.rest().await, "early\n");
    rig.started().await;
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
}

#[tokio::test]
async fn stderr_has_a_pipe_of_its_own() {
    let mut rig = shell("echo complaint >&2");
    rig.started().await;
    rig.exited().await;
    let mut stderr = String::new();
    // Its writer has ended, so everything is there, and then the end.
    std::fs::File::from(rig.stderr.take().unwrap()).read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "complaint\n");
    rig.empty().await;
}

#[tokio::test]
async fn a_missing_program_is_told_from_an_exit_code_127() {
    assert_eq!(refused("no-such-program-anywhere", None).await, (libc::ENOENT, Step::Exec));
    assert_eq!(refused("/no/such/program", None).await, (libc::ENOENT, Step::Exec));
    assert_eq!(refused("", None).await, (libc::ENOENT, Step::Exec));
    let mut rig = shell("exit 127");
    rig.started().await;
    assert_eq!(rig.exited().await, Ending::Code(127));
    rig.empty().await;
}

#[tokio::test]
async fn a_file_that_may_not_or_cannot_be_executed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(refused(plain.to_str().unwrap(), None).await, (libc::EACCES, Step::Exec));
    // No shell is asked to make sense of it.
    std::fs::write(&plain, "exit 0\n").unwrap();
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(refused(plain.to_str().unwrap(), None).await, (libc::ENOEXEC, Step::Exec));
    assert_eq!(refused(folder.path().to_str().unwrap(), None).await, (libc::EACCES, Step::Exec));
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_another_step() {
    assert_eq!(refused("true", Some("/no/such/folder")).await, (libc::ENOENT, Step::Chdir));
    assert_eq!(refused("true", Some("/dev/null")).await, (libc::ENOTDIR, Step::Chdir));
}

#[tokio::test]
async fn the_search_follows_the_childs_path_and_passes_over_what_may_not_be_executed() {
    let folder = tempfile::tempdir().unwrap();
    let (denied, good) = (folder.path().join("denied"), folder.path().join("good"));
    for (place, mode) in [(&denied, 0o644), (&good, 0o755)] {
        std::fs::create_dir(place).unwrap();
        let file = place.join("odd-name");
        std::fs::write(&file, "#!/bin/sh\necho found\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let (mut command, mark) = command("odd-name", &[]);
    command.env[0].1 = format!("/no/such:{}:{}", denied.display(), good.display()).into();
    let mut rig = start(&command, mark.clone());
    assert_eq!(rig.line().await, "found");
    rig.started().await;
    rig.exited().await;
    rig.empty().await;
    command.env[0].1 = format!("{}:/no/such", denied.display()).into();
    let mut rig = start(&command, mark);
    assert_eq!(rig.event().await, ChildEvent::CannotStart { errno: libc::EACCES, step: Step::Exec });
    rig.empty().await;
}

#[tokio::test]
async fn the_working_directory_is_the_one_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (mut command, mark) = command("pwd", &["-P"]);
    command.cwd = Some(folder.path().to_owned());
    let mut rig = start(&command, mark);
    assert_eq!(rig.line().await, folder.path().canonicalize().unwrap().to_str().unwrap());
    rig.started().await;
    rig.exited().await;
    rig.empty().await;
}

#[tokio::test]
async fn arguments_and_environment_arrive_byte_for_byte_and_may_be_large() {
    let (mut command, mark) = command("sh", &["-c", "printf %s \"$1\" | od -An -tx1; echo ${#BIG}", "sh"]);
    command.args.push(OsString::from_vec(vec![0xff, b' ', b'\'', 0x80]));
    // Above what the control socket takes at once; one string may be 128 KiB on Linux.
    command.env.push(("BIG".into(), "x".repeat(120_000).into()));
    command.env.extend((0..8).map(|index| (format!("BIG{index}").into(), "y".repeat(120_000).into())));
    let mut rig = start(&command, mark);
    rig.started().await;
    assert_eq!(rig.line().await.trim(), "ff 20 27 80");
    assert_eq!(rig.line().await, "120000");
    assert_eq!(rig.exited().await, Ending::Code(0));
    rig.empty().await;
}

#[tokio::test]
async fn what_no_system_can_carry_is_an_error_at_once() {
    let (command, _) = command("echo", &["a\0b"]);
    assert!(matches!(Child::start_with(binary(), &command), Err(StartError::Nul)));
}

#[tokio::test]
async fn a_guard_that_cannot_be_started_is_a_failed_start() {
    let (command, _) = command("true", &[]);
    let nowhere = std::path::Path::new("/no/such/binary");
    let (mut child, _pipes) = Child::start_with(nowhere, &command).unwrap();
    let first = within("an event", child.event()).await;
    assert_eq!(first, ChildEvent::CannotStart { errno: libc::ENOENT, step: Step::Guard });
    let last = within("an event", child.event()).await;
    assert_eq!(last, ChildEvent::Empty { survivors: vec![] });
    assert_eq!(child.guard_pid(), None);
}

#[tokio::test]
async fn too_many_arguments_are_refused_by_the_system_not_by_us() {
    let (mut command, mark) = command("true", &[]);
    command.args.push("x".repeat(200_000).into());
    let mut rig = start(&command, mark);
    assert_eq!(rig.event().await, ChildEvent::CannotStart { errno: libc::E2BIG, step: Step::Exec });
    rig.empty().await;
}

/// A binary that is no guard says nothing and goes away.
#[tokio::test]
async fn a_guard_that_dies_before_the_start_is_a_failed_start() {
    let (command, _) = command("true", &[]);
    let (mut child, _pipes) = Child::start_with(std::path::Path::new("/bin/true"), &command).unwrap();
    let first = within("an event", child.event()).await;
    assert_eq!(first, ChildEvent::CannotStart { errno: libc::EPIPE, step: Step::Guard });
    let last = within("an event", child.event()).await;
    assert_eq!(last, ChildEvent::Empty { survivors: vec![] });
}

#[tokio::test]
async fn an_order_that_overtakes_the_start_ends_it_in_good_order() {
    for _ in 0..20 {
        let mut rig = run("sleep", &["60"]);
        rig.child.kill();
        match rig.event().await {
            ChildEvent::Started { .. } => assert_eq!(rig.exited().await, Ending::Signal(libc::SIGKILL)),
            ChildEvent::CannotStart { .. } => {}
            other => panic!("{other:?}"),
        }
        rig.empty().await;
    }
}

/// The file of the guard is leased to this test, and whoever executes it waits until that is given back.
#[tokio::test]
async fn a_guard_that_hangs_in_exec_holds_up_nobody_and_starts_nothing_later() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("guard");
    std::fs::copy(binary(), &copy).unwrap();
    let file = std::fs::File::open(&copy).unwrap();
    if !lease(&file, libc::F_WRLCK).await {
        return eprintln!("SKIPPED: files of {} cannot be leased", folder.path().display());
    }
    let (command, mark) = command("sh", &["-c", "echo it runs; sleep 600"]);
    let (mut child, pipes) = Child::start_with(&copy, &command).unwrap();
    let nothing = tokio::time::timeout(Duration::from_millis(20), child.event()).await;
    assert!(nothing.is_err(), "{nothing:?}");
    // With time enough for a program that was started all the same to say so.
    child.stop(Duration::from_millis(500), Duration::ZERO);
    let first = within("an event", child.event()).await;
    assert_eq!(first, ChildEvent::CannotStart { errno: libc::ETIMEDOUT, step: Step::Guard });
    let last = within("an event", child.event()).await;
    assert_eq!(last, ChildEvent::Empty { survivors: vec![] });
    // By name: whoever hangs there has a copy of our descriptor.
    assert!(lease(&file, libc::F_UNLCK).await);
    // The other ends are in the socket, then the guard's, then those of what it starts.
    let mut stdout = Receiver::from_owned_fd(pipes.stdout).unwrap();
    let mut said = String::new();
    within("the end of the late guard", stdout.read_to_string(&mut said)).await.unwrap();
    assert_eq!(said, "");
    let mut next = shell("true");
    next.started().await;
    assert_eq!(next.exited().await, Ending::Code(0));
    next.empty().await;
    assert_eq!(marked(&mark), [0; 0]);
}

/// Leases a file, which nobody else may have open, or gives it back. A process that is made at this moment may have a copy of our descriptor.
async fn lease(file: &std::fs::File, kind: i32) -> bool {
    let fcntl = |command, argument: i32| {
        // SAFETY: these commands take an integer and touch no memory.
        #[expect(unsafe_code, reason = "leases have no safe form")]
        unsafe {
            libc::fcntl(file.as_raw_fd(), command, argument)
        }
    };
    // The signal that asks for it back: one that does nothing.
    const F_SETSIG: i32 = 10;
    fcntl(F_SETSIG, libc::SIGURG);
    for _ in 0..100 {
        if fcntl(libc::F_SETLEASE, kind) == 0 {
            return true;
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
