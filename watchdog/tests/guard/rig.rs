//! A child under test.

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use watchdog::back::{Child, ChildEvent, Ending};
use watchdog::config;

/// Longer than anything here takes on a busy machine; reaching it is a failure.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The variable that marks everything of one child.
const MARK: &str = "GUARD_TEST_MARK";

pub(crate) struct Rig {
    pub(crate) child: Child,
    pub(crate) stdin: Option<Sender>,
    pub(crate) stdout: BufReader<Receiver>,
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) mark: String,
}

pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mcp-watchdog"))
}

pub(crate) fn new_mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A command with our PATH and a mark.
pub(crate) fn command(program: &str, args: &[&str]) -> (config::Command, String) {
    let mark = new_mark();
    let path = std::env::var_os("PATH").unwrap();
    let env = vec![("PATH".into(), path), (MARK.into(), OsString::from(&mark))];
    let args = args.iter().map(OsString::from).collect();
    let bounds = config::Bounds::default();
    (config::Command { program: program.into(), args, cwd: None, env, bounds }, mark)
}

/// The living processes that carry a mark.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let carries = |pid: &i32| {
        let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        env.split(|&byte| byte == 0).any(|pair| pair == wanted.as_bytes()) && is_alive(*pid)
    };
    pids.filter(carries).collect()
}

/// The state letter, `None` for a process that has gone.
pub(crate) fn state(pid: i32) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit(')').next()?.trim().chars().next()
}

pub(crate) fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

pub(crate) fn send_signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

pub(crate) async fn within<F: Future>(what: &str, future: F) -> F::Output {
    tokio::time::timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what} within {LIMIT:?}"))
}

/// Waits for something that no event tells.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let poll = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(what, poll).await;
}

pub(crate) fn start(command: &config::Command, mark: String) -> Rig {
    let (child, pipes) = Child::start_with(binary(), command).unwrap();
    Rig {
        child,
        stdin: Some(Sender::from_owned_fd(pipes.stdin).unwrap()),
        stdout: BufReader::new(Receiver::from_owned_fd(pipes.stdout).unwrap()),
        stderr: Some(pipes.stderr),
        mark,
    }
}

pub(crate) fn run(program: &str, args: &[&str]) -> Rig {
    let (command, mark) = command(program, args);
    start(&command, mark)
}

pub(crate) fn shell(script: &str) -> Rig {
    run("sh", &["-c", script])
}

impl Rig {
    pub(crate) async fn event(&mut self) -> ChildEvent {
        within("an event", self.child.event()).await
    }

    /// Waits for the guard alone.
    pub(crate) async fn guarded(&mut self) {
        let guarded = std::future::poll_fn(|cx| {
            // What it may have said by then is of no interest here.
            _ = self.child.poll_event(cx);
            if self.child.guard_pid().is_some() { Poll::Ready(()) } else { Poll::Pending }
        });
        within("a guard", guarded).await;
    }

    pub(crate) async fn started(&mut self) -> i32 {
        match self.event().await {
            ChildEvent::Started { pid } => {
                assert_eq!(self.child.pid(), Some(pid));
                i32::try_from(pid).unwrap()
            }
            other => panic!("{other:?} instead of a start"),
        }
    }

    pub(crate) async fn exited(&mut self) -> Ending {
        match self.event().await {
            ChildEvent::Exited(ending) => ending,
            other => panic!("{other:?} instead of an exit"),
        }
    }

    /// The last event, with nothing left anywhere, and nothing after it.
    pub(crate) async fn empty(&mut self) {
        assert_eq!(self.event().await, ChildEvent::Empty { survivors: vec![] });
        assert_eq!(marked(&self.mark), [0; 0]);
        let more = tokio::time::timeout(Duration::from_millis(1), self.child.event()).await;
        assert!(more.is_err(), "{more:?} after the last event");
    }

    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        within("a line", self.stdout.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    /// A line that is a number: most scripts here tell their pids.
    pub(crate) async fn number(&mut self) -> i32 {
        let line = self.line().await;
        line.parse().unwrap_or_else(|_| panic!("a number, not {line:?}"))
    }

    pub(crate) async fn rest(&mut self) -> String {
        let mut rest = String::new();
        within("the end of stdout", self.stdout.read_to_string(&mut rest)).await.unwrap();
        rest
    }

    pub(crate) async fn write(&mut self, text: &str) {
        within("a write", self.stdin.as_mut().unwrap().write_all(text.as_bytes())).await.unwrap();
    }

    /// Closes the child's stdin and begins the ladder, as the engine does.
    pub(crate) fn stop(&mut self, eof_grace: u64, term_grace: u64) -> Instant {
        self.stdin = None;
        self.child.stop(Duration::from_millis(eof_grace), Duration::from_millis(term_grace));
        Instant::now()
    }

    pub(crate) fn guard(&self) -> i32 {
        i32::try_from(self.child.guard_pid().unwrap()).unwrap()
    }
}
