//! Taking the standard streams changes the whole process: each case is a process of its own, this test binary run again.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use super::*;

/// Set for the process under test.
const MARK: &str = "WATCHDOG_TEST_STDIO";

/// What the process under test writes first: the test runner has printed before.
const READY: &[u8] = b"READY\n";

/// The process under test: takes its streams, lets a library print, echoes until the end of stdin.
#[test]
#[ignore = "run by the other tests of this module, as a process of its own"]
fn the_process_under_test() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let before = inheritable();
        let (mut source, mut sink) = super::super::stdio::take(&Watcher::Runtime).unwrap();
        println!("a library prints");
        assert_eq!(target(0), "/dev/null");
        assert_eq!(target(1), target(2));
        assert_eq!(inheritable(), before, "children would inherit more");
        write_all(&mut sink, READY).await.unwrap();
        if std::env::var(MARK).as_deref() == Ok("leave") {
            return;
        }
        loop {
            let bytes = read(&mut source).await.unwrap();
            if bytes.is_empty() {
                break;
            }
            write_all(&mut sink, &bytes).await.unwrap();
        }
    });
}

fn target(number: i32) -> String {
    std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap().to_string_lossy().into_owned()
}

/// The descriptors that an exec does not close, but for the standard ones.
fn inheritable() -> Vec<i32> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let mut numbers: Vec<i32> = open.map(|name| name.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    numbers.retain(|number| *number > 2 && !is_closed_on_exec(*number));
    numbers.sort_unstable();
    numbers
}

/// Also for one that is not open any more.
fn is_closed_on_exec(number: i32) -> bool {
    let Ok(info) = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else {
        return true;
    };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    i32::from_str_radix(flags.trim(), 8).unwrap() & nix::libc::O_CLOEXEC != 0
}

fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>, mode: &str) -> Child {
    let test = concat!(module_path!(), "::the_process_under_test");
    let test = test.split_once("::").unwrap().1;
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(MARK, mode)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end; gives what it wrote to stderr.
fn finish(mut child: Child) -> String {
    let mut stderr = child.stderr.take().unwrap();
    let (done, end) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        done.send(text).unwrap();
    });
    let Ok(text) = end.recv_timeout(DEADLINE) else {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("it does not end");
    };
    assert!(child.wait().unwrap().success(), "{text}");
    assert!(text.contains("a library prints"), "not on stderr: {text}");
    text
}

/// What follows [`READY`].
fn after_ready(bytes: &[u8]) -> &[u8] {
    let at = bytes.windows(READY.len()).position(|window| window == READY).expect("the process was not ready");
    assert!(!bytes.windows(7).any(|window| window == b"library"), "a print reached the protocol");
    &bytes[at + READY.len()..]
}

fn read_all(fd: OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    File::from(fd).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn pipes() {
    let mut child = start(Stdio::piped(), Stdio::piped(), "echo");
    child.stdin.take().unwrap().write_all(b"hello\n").unwrap();
    let out = read_all(child.stdout.take().unwrap().into());
    finish(child);
    assert_eq!(after_ready(&out), b"hello\n");
}

#[test]
fn one_socket_for_both() {
    let (ours, theirs) = sockets();
    let child = start(theirs.try_clone().unwrap(), theirs, "echo");
    nix::unistd::write(&ours, b"hello\n").unwrap();
    nix::sys::socket::shutdown(ours.as_raw_fd(), nix::sys::socket::Shutdown::Write).unwrap();
    let out = read_all(ours);
    finish(child);
    assert_eq!(after_ready(&out), b"hello\n");
}

#[test]
fn files() {
    let (input, output) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    std::fs::write(input.path(), b"hello\n").unwrap();
    finish(start(input.reopen().unwrap(), output.reopen().unwrap(), "echo"));
    assert_eq!(after_ready(&std::fs::read(output.path()).unwrap()), b"hello\n");
}

#[test]
fn null() {
    finish(start(Stdio::null(), Stdio::null(), "echo"));
}

/// A read is pending in a thread when the process ends: it must not hold up the exit.
#[test]
fn a_terminal_that_nobody_types_on_does_not_hold_up_the_exit() {
    let (ours, theirs) = terminal();
    let child = start(ours.try_clone().unwrap(), ours, "leave");
    finish(child);
    drop(theirs);
}

#[test]
fn closed_streams_become_dev_null() {
    let exe = std::env::current_exe().unwrap();
    let test = concat!(module_path!(), "::the_process_under_test").split_once("::").unwrap().1;
    let child = Command::new("sh")
        .args(["-c", r#"exec "$0" "$1" --exact --ignored --nocapture --test-threads=1 <&- >&-"#])
        .arg(exe)
        .arg(test)
        .env(MARK, "echo")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    finish(child);
}
