//! A probe host as the engine holds it: a task that owns the process, and a connection to it.
//!
//! The task is there from the start of the process until nothing of its tree is left, whoever waits for it. Whatever a plugin
//! does between two checks is noticed by it, and no guard stays unreaped.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as BlockingStream;
use std::time::Duration;

use nix::libc;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, timeout};

use super::super::printed::Printed;
use super::Launcher;
use super::due::{Admission, Due, REPORTS};
use crate::back::{Child, ChildEnds, ChildEvent, Ending};
use crate::exit::chain_text;
use crate::guard::message::Frames;
use crate::probe_host::message::{LONGEST_REPORT, Report, from_body};
use crate::telemetry::allowance::Allowance;

/// How long a host may take for an orderly end: it calls `destroy` for 300 ms at most.
const ORDERLY: Duration = Duration::from_millis(500);
/// How long a host whose socket has ended may take to end itself: the reason is worth more than the fact.
const EXPLANATION: Duration = Duration::from_millis(200);
/// How long what it printed may take to be read when it is gone.
const LAST_LINES: Duration = Duration::from_millis(200);
/// Orders that wait to be written: answers to calls, above all.
const ORDERS: usize = 32;
/// Room for one read, in bytes. One turn takes no more.
const READ: usize = 16 * 1024;
/// Reads of what a host said before it ended: more than its socket holds.
const LAST_READS: usize = 256;

/// The way to a host. Dropping it kills the host with all that came of it; [`close`](Self::close) ends it in order.
pub(super) struct Connection {
    orders: mpsc::Sender<(Vec<u8>, Option<Due>)>,
    reports: mpsc::Receiver<Report>,
    ended: oneshot::Receiver<String>,
    kill: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
}

impl Connection {
    /// Starts a host.
    pub(super) fn start(launcher: &Launcher, name: &str) -> Result<Self, String> {
        let cannot = |error: io::Error| format!("no probe host can be started for the plugin: {error}");
        let (ours, host) = BlockingStream::pair().map_err(cannot)?;
        let (printed, stdout) = io::pipe().map_err(cannot)?;
        let stderr = OwnedFd::from(stdout.try_clone().map_err(cannot)?);
        let ends = ChildEnds { stdin: host.into(), stdout: stdout.into(), stderr };
        ours.set_nonblocking(true).map_err(cannot)?;
        let socket = UnixStream::from_std(ours).map_err(cannot)?;
        let child = Child::start_on(&launcher.program, &launcher.command(), &ends)
            .map_err(|error| format!("no probe host can be started for the plugin: {}", chain_text(&error)))?;
        let mut printed = Printed::new(printed.into(), name.to_owned(), launcher.log.clone()).map_err(cannot)?;
        let printed = tokio::spawn(async move { std::future::poll_fn(|cx| printed.poll(cx)).await });
        let (orders, queued) = mpsc::channel(ORDERS);
        let (reporter, reports) = mpsc::channel(REPORTS);
        let (end, ended) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let process = Process {
            child,
            socket: Some(socket),
            frames: Frames::new(LONGEST_REPORT),
            outgoing: Vec::new(),
            reporter: Some((reporter, end)),
            due: Due::Nothing,
            reported_lines: Allowance::of_a_sender(std::time::Instant::now()),
            lines: Allowance::new(std::time::Instant::now()),
            name: name.to_owned(),
            cut_off: None,
        };
        let task = tokio::spawn(process.run(queued, killed, printed));
        Ok(Self { orders, reports, ended, kill: Some(kill), task: Some(task) })
    }

    /// Sends a frame that wants no answer. To one that has gone it does nothing: [`report`](Self::report) says so.
    pub(super) async fn send(&self, frame: Vec<u8>) {
        _ = self.orders.send((frame, None)).await;
    }

    /// Sends a frame that has something come back.
    pub(super) async fn ask(&self, frame: Vec<u8>, due: Due) {
        _ = self.orders.send((frame, Some(due))).await;
    }

    /// The next report.
    ///
    /// # Errors
    /// The host has ended, and how. Nothing more comes.
    pub(super) async fn report(&mut self) -> Result<Report, String> {
        match self.reports.recv().await {
            Some(report) => Ok(report),
            None => Err((&mut self.ended).await.unwrap_or_else(|_| "the plugin's host is gone".to_owned())),
        }
    }

    /// Whether the host has ended.
    pub(super) fn is_over(&self) -> bool {
        self.reports.is_closed()
    }

    /// Ends it in order, and gives the task that ends when nothing is left of it.
    pub(super) fn close(mut self) -> Option<JoinHandle<()>> {
        self.kill = None;
        self.task.take()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(kill) = self.kill.take() {
            // A task that has ended has nothing left to kill.
            _ = kill.send(());
        }
    }
}

/// The task's side.
struct Process {
    child: Child,
    /// `None` once one of the two ends is closed.
    socket: Option<UnixStream>,
    frames: Frames,
    outgoing: Vec<u8>,
    /// `None` once the end is told.
    reporter: Option<(mpsc::Sender<Report>, oneshot::Sender<String>)>,
    due: Due,
    /// What a host of ours may send, which asks its own allowance before it sends a line.
    reported_lines: Allowance,
    /// What goes to the log.
    lines: Allowance,
    name: String,
    /// When the socket has ended. The process is ended for that if it does not end by itself.
    cut_off: Option<Instant>,
}

impl Process {
    async fn run(
        mut self,
        mut orders: mpsc::Receiver<(Vec<u8>, Option<Due>)>,
        mut killed: oneshot::Receiver<()>,
        mut printed: JoinHandle<()>,
    ) {
        let mut is_held = true;
        loop {
            tokio::select! {
                event = self.child.event() => match event {
                    ChildEvent::Started { .. } => {}
                    ChildEvent::CannotStart { errno, .. } => {
                        let error = io::Error::from_raw_os_error(errno);
                        self.tell_end(format!("no probe host can be started for the plugin: {error}"));
                    }
                    ChildEvent::Exited(ending) => {
                        // What it said before it ended is in the socket.
                        for _ in 0..LAST_READS {
                            if !self.read() {
                                break;
                            }
                        }
                        self.tell_end(self.describe(ending));
                    }
                    ChildEvent::Empty { survivors } => {
                        if !survivors.is_empty() {
                            let plugin = self.name.as_str();
                            tracing::warn!(target: "mcp", plugin, ?survivors, "processes of a plugin cannot be ended");
                        }
                        break;
                    }
                },
                kill = &mut killed, if is_held => {
                    is_held = false;
                    self.let_go(kill.is_ok());
                }
                Some((frame, due)) = orders.recv(), if self.outgoing.is_empty() && self.socket.is_some() => {
                    self.outgoing = frame;
                    self.due = due.unwrap_or(self.due);
                    self.write();
                }
                () = ready(self.socket.as_ref(), Direction::Write), if !self.outgoing.is_empty() => self.write(),
                () = ready(self.socket.as_ref(), Direction::Read) => {
                    if self.read() {
                        // A plugin that writes without end must not keep the session waiting.
                        yield_now().await;
                    }
                }
            }
        }
        if timeout(LAST_LINES, &mut printed).await.is_err() {
            // Somebody who could not be ended holds the pipe.
            printed.abort();
        }
    }

    /// Nobody holds the connection any more.
    fn let_go(&mut self, kill: bool) {
        self.reporter = None;
        self.close();
        if kill {
            self.child.kill();
        } else {
            self.child.stop(ORDERLY, Duration::ZERO);
        }
    }

    fn close(&mut self) {
        self.socket = None;
        self.outgoing = Vec::new();
    }

    fn write(&mut self) {
        let Some(socket) = &self.socket else { return };
        match socket.try_write(&self.outgoing) {
            Ok(length) => drop(self.outgoing.drain(..length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // What it said before that can be read still.
            Err(_) => self.outgoing = Vec::new(),
        }
    }

    /// Reads a piece of what is there. Whether there may be more.
    fn read(&mut self) -> bool {
        let mut piece = [0; READ];
        let Some(socket) = &self.socket else { return false };
        match socket.try_read(&mut piece) {
            Ok(length) if length > 0 => {
                self.frames.push(piece.get(..length).unwrap_or_default());
                if !self.hear() {
                    // Nothing it does after this matters.
                    self.tell_end("the plugin spoke to the watchdog in place of its host".to_owned());
                    self.child.kill();
                }
                self.socket.is_some()
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            _ => {
                self.cut_off = Some(Instant::now());
                self.close();
                self.child.stop(EXPLANATION, Duration::ZERO);
                false
            }
        }
    }

    /// Takes the frames that are there. Whether all was as it has to be.
    fn hear(&mut self) -> bool {
        loop {
            match self.frames.next().map(|body| body.map(|body| from_body(&body))) {
                Ok(None) => return true,
                Ok(Some(Some(Report::Log { level, text }))) => {
                    if self.reported_lines.admit(std::time::Instant::now()).is_none() {
                        return false;
                    }
                    self.log(level, &text);
                }
                Ok(Some(Some(report))) => match (self.due.admit(&report), &self.reporter) {
                    (Admission::Late, _) => {}
                    (Admission::Due, Some((reporter, _))) if reporter.try_send(report).is_ok() => {}
                    // Nobody asked for it, or for so much.
                    _ => return false,
                },
                Ok(Some(None)) | Err(_) => return false,
            }
        }
    }

    fn log(&mut self, level: i32, text: &str) {
        use probe_api::abi::log;
        let plugin = self.name.as_str();
        let text = super::one_line(text);
        let Some(left_out) = self.lines.admit_line(std::time::Instant::now(), text.len()) else { return };
        if left_out > 0 {
            tracing::warn!(target: "mcp", plugin, "{left_out} lines of the plugin were left out: too many");
        }
        match level {
            log::ERROR => tracing::error!(target: "mcp", plugin, "{text}"),
            log::WARN => tracing::warn!(target: "mcp", plugin, "{text}"),
            log::DEBUG => tracing::debug!(target: "mcp", plugin, "{text}"),
            _ => tracing::info!(target: "mcp", plugin, "{text}"),
        }
    }

    fn describe(&self, ending: Ending) -> String {
        match ending {
            // That was our answer, which comes after a while. What comes earlier has closed the socket, and not the plugin.
            Ending::Signal(libc::SIGTERM | libc::SIGKILL)
                if self.cut_off.is_some_and(|cut_off| cut_off.elapsed() >= EXPLANATION) =>
            {
                "the plugin closed the connection to the watchdog".to_owned()
            }
            Ending::Code(_) => format!("the plugin ended its process with {ending}"),
            Ending::Signal(_) | Ending::OutOfMemory { .. } => format!("the plugin was killed by {ending}"),
        }
    }

    /// The waiter gets all reports first, then the reason.
    fn tell_end(&mut self, why: String) {
        self.close();
        if let Some((_, end)) = self.reporter.take() {
            // Nobody may wait for it.
            _ = end.send(why);
        }
    }
}

enum Direction {
    Read,
    Write,
}

/// Ready when the socket may be; never without one.
async fn ready(socket: Option<&UnixStream>, direction: Direction) {
    match (socket, direction) {
        (Some(socket), Direction::Read) => drop(socket.readable().await),
        (Some(socket), Direction::Write) => drop(socket.writable().await),
        (None, _) => std::future::pending().await,
    }
}
