//! The log: stderr, and nothing but stderr.
//!
//! Whoever logs never waits: lines go into a bounded queue, and one small thread writes them. Where nobody reads stderr
//! the queue fills, lines are dropped and counted, and one line says so once there is room again. Where nobody can ever
//! read it (EPIPE, EBADF) everything is thrown away.
//!
//! Through it go, each on one line: what `tracing` is given, events (`events::write`), the server's stderr, and stray
//! lines of its stdout. The target `mcp` is for what is said about a server; in text it is shown as `[mcp]` (requirement
//! S285).
pub(crate) mod allowance;
mod fields;
mod format;
pub mod plain;
mod queue;

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;

use crate::config::{Log, LogFormat, LogLevel};
use crate::stream::stderr_tail::LONGEST_LINE;
use format::Layout;
use queue::Queue;

/// The log's own descriptor lies above those that programs address by number.
const FIRST: i32 = 10;

/// Starts the log of this process: makes a `tracing` subscriber the global one and gives the handle for everything else.
/// `name` is the server's, for the prefix of its lines.
///
/// To be called once; a second call makes a second log but leaves the subscriber. Where no descriptor or thread is to be
/// had, the log is silent: that must not keep a server from being served. [`LogHandle::last_word`] is heard all the same.
#[must_use]
pub fn init(log: &Log, name: &str) -> LogHandle {
    let stderr = io::stderr();
    // Where the limit of open files leaves no such number, any one will do to say so.
    let fd = crate::stream::duplicate(stderr.as_fd(), FIRST).or_else(|_| crate::stream::duplicate(stderr.as_fd(), 3));
    let handle = fd.and_then(|fd| LogHandle::start(fd, log, name)).unwrap_or_else(|_| LogHandle::new(None, log, name));
    let subscriber = subscriber(&handle);
    // An error says that there is a subscriber, which may belong to whoever embeds us.
    let _ = tracing::subscriber::set_global_default(subscriber);
    handle
}

/// What `tracing` is given goes to `handle`.
pub(crate) fn subscriber(handle: &LogHandle) -> impl tracing::Subscriber + Send + Sync + use<> {
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(handle.clone())
        .event_format(Layout(handle.format()))
        .fmt_fields(Layout(handle.format()));
    tracing_subscriber::registry().with(filter(handle.shared.level)).with(layer)
}

const fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// The way into the log. Cheap to clone; no method waits but [`LogHandle::flush`].
#[derive(Debug, Clone)]
pub struct LogHandle {
    shared: Arc<Shared>,
    speaker: Arc<Speaker>,
}

/// Whose lines they are.
#[derive(Debug)]
struct Speaker {
    name: String,
    /// `[mcp] name: `
    prefix: String,
}

impl Speaker {
    fn new(name: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), prefix: format!("[mcp] {name}: ") })
    }
}

#[derive(Debug)]
struct Shared {
    queue: Option<Queue>,
    level: LogLevel,
    format: LogFormat,
}

impl LogHandle {
    /// A log that goes to `fd`. At level `off` it throws everything away, and needs no thread.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(fd: OwnedFd, log: &Log, name: &str) -> io::Result<Self> {
        let format = log.format;
        let queue = match log.level {
            LogLevel::Off => None,
            _ => Some(Queue::start(fd, move |lost| format::dropped(format, lost))?),
        };
        Ok(Self::new(queue, log, name))
    }

    /// A log that throws everything away.
    #[must_use]
    pub fn discard() -> Self {
        Self::new(None, &Log { level: LogLevel::Off, format: LogFormat::Text }, "")
    }

    fn new(queue: Option<Queue>, log: &Log, name: &str) -> Self {
        let shared = Shared { queue, level: log.level, format: log.format };
        Self { shared: Arc::new(shared), speaker: Speaker::new(name) }
    }

    /// The way into the same log for another speaker.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        Self { shared: self.shared.clone(), speaker: Speaker::new(name) }
    }

    /// The form of the lines.
    #[must_use]
    pub fn format(&self) -> LogFormat {
        self.shared.format
    }

    /// Whether lines of this level are written.
    #[must_use]
    pub fn enabled(&self, level: tracing::Level) -> bool {
        self.shared.queue.is_some() && level <= filter(self.shared.level)
    }

    /// A line that the server wrote to stderr, without its end: `[mcp] name: line`, or a JSON object with the target
    /// `stderr`. In text the bytes are passed on as they are, colours included; at most 8 KiB of them.
    pub fn line(&self, line: &[u8]) {
        self.server_line("stderr", None, "", line);
    }

    /// A line that the server wrote to stdout and that is not a message: `[mcp] name: stdout: line`, or a JSON object
    /// with the target `stdout`.
    pub fn stray(&self, line: &[u8]) {
        self.server_line("stdout", None, "stdout: ", line);
    }

    /// A line that a process of a probe wrote: `[mcp] name: probe check-db: line`, or a JSON object with the target `probe` and
    /// the link's name in `probe`.
    pub fn probe_line(&self, link: &str, line: &[u8]) {
        self.server_line("probe", Some(link), &format!("probe {link}: "), line);
    }

    /// Says how many of the server's lines, or of a probe's, were left out, where there are any: at every level at which the lines
    /// themselves are written. `which` they are stands behind the word "lines".
    pub fn left_out(&self, which: &str, lines: u64) {
        if lines > 0 {
            self.raw(format::left_out(self.format(), &self.speaker.name, which, lines).as_bytes());
        }
    }

    fn server_line(&self, target: &str, probe: Option<&str>, label: &str, line: &[u8]) {
        let Some(queue) = &self.shared.queue else { return };
        let line = &line[..line.len().min(LONGEST_LINE)];
        match self.shared.format {
            LogFormat::Text => queue.push(&[self.speaker.prefix.as_bytes(), label.as_bytes(), line]),
            // Where there is no room for the line, there is none for the object: making it would be most of the work of a flood.
            LogFormat::Json if !queue.admits(line.len()) => {}
            LogFormat::Json => {
                let object = format::server_line(target, &self.speaker.name, probe, line, SystemTime::now());
                queue.push(&[object.as_bytes()]);
            }
        }
    }

    /// A whole line as it is, without its end.
    pub fn raw(&self, line: &[u8]) {
        if let Some(queue) = &self.shared.queue {
            queue.push(&[line]);
        }
    }

    /// Says why the program ends with a failure, on stderr itself where there is no other way to it. At level `off` nothing is said.
    pub fn last_word(&self, why: &str) {
        if self.shared.queue.is_some() {
            tracing::error!("{why}");
        } else if self.shared.level != LogLevel::Off {
            let line = format!("{} ERROR {why}\n", timestamp(SystemTime::now()));
            // There is nobody to tell that it cannot be written.
            _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// Waits, at most for `limit`, until everything is written, for the exit; says whether it is. It blocks its thread.
    pub fn flush(&self, limit: Duration) -> bool {
        self.shared.queue.as_ref().is_none_or(|queue| queue.flush(limit))
    }
}

impl<'a> tracing_subscriber::fmt::MakeWriter<'a> for LogHandle {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter(self)
    }
}

/// Takes each formatted line of `tracing` in one piece.
#[derive(Debug)]
pub struct LineWriter<'a>(&'a LogHandle);

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.raw(line.strip_suffix(b"\n").unwrap_or(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A moment as RFC 3339 in UTC with milliseconds. What lies before 1970 or after 9999 is moved to there.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    /// The last second of the year 9999, since 1970.
    const LAST: Duration = Duration::from_secs(253_402_300_799);
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().min(LAST);
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}

#[cfg(test)]
mod tests;
