//! One watchdog under load.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Options;
use crate::client::{Book, Client, Era, LATE};
use crate::fault::Faults;
use crate::report::Report;
use crate::sample::{self, Sample};

/// Between two looks at what a watchdog has.
const LOOK: Duration = Duration::from_secs(5);
/// Between two questions of an operator.
const ASK: Duration = Duration::from_secs(15);
/// How long a client of `serve` stays.
const STAY: Duration = Duration::from_secs(10);

/// What is soaked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sidecar of a client with a handshake.
    Handshake,
    /// A sidecar of a client without.
    Stateless,
    /// Several servers, whose clients come and go.
    Serve,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Handshake, Self::Stateless, Self::Serve];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "sidecar, 2025-11-25",
            Self::Stateless => "sidecar, 2026-07-28",
            Self::Serve => "serve, 2 servers",
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Stateless => "stateless",
            Self::Serve => "serve",
        }
    }

    /// Its servers, by name.
    const fn servers(self) -> &'static [&'static str] {
        match self {
            Self::Serve => &["one", "two"],
            _ => &["one"],
        }
    }
}

/// A watchdog that runs.
pub(crate) struct Subject {
    kind: Kind,
    options: Options,
    folder: PathBuf,
    process: Child,
    /// The first words of its log that tell of a fault of its own.
    panics: Arc<Mutex<Vec<String>>>,
}

impl Subject {
    /// Starts it, with a folder of its own.
    pub(crate) fn start(kind: Kind, options: &Options, place: &Path) -> io::Result<Self> {
        let folder = place.join(kind.file());
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        fs::write(folder.join("config.yaml"), configuration(kind, &folder)?)?;
        let mut command = Command::new(&options.bin);
        if kind == Kind::Serve {
            command.arg("serve");
        }
        command.arg("--config").arg(folder.join("config.yaml"));
        command.env("MCP_WATCHDOG_RUNTIME_DIR", &folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let panics = Arc::default();
        if let Some(stderr) = process.stderr.take() {
            let panics: Arc<Mutex<Vec<String>>> = Arc::clone(&panics);
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    if line.contains("panicked") || line.contains("close_failed") {
                        panics.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                    }
                }
            });
        }
        Ok(Self { kind, options: options.clone(), folder, process, panics })
    }

    /// Loads it until then, ends it, and says what was seen.
    pub(crate) fn run(mut self, end: Instant) -> io::Result<Report> {
        let engine = self.process.id();
        let over = Arc::new(AtomicBool::new(false));
        let samples = look(engine, Arc::clone(&over));
        let asking = ask(self.options.bin.clone(), self.folder.clone(), Arc::clone(&over));
        let (book, faults) = match self.kind {
            Kind::Serve => self.come_and_go(end)?,
            Kind::Handshake => self.stay(Era::Handshake, end)?,
            Kind::Stateless => self.stay(Era::Stateless, end)?,
        };
        over.store(true, Ordering::Relaxed);
        let samples = samples.join().unwrap_or_default();
        _ = asking.join();
        let tree = sample::tree(engine);
        if self.kind == Kind::Serve {
            _ = kill(Pid::from_raw(i32::try_from(engine).map_err(io::Error::other)?), Signal::SIGTERM);
        }
        let exit = self.process.wait()?;
        // Reaped by whoever inherits them, which takes a moment.
        thread::sleep(Duration::from_secs(1));
        let survivors = tree.into_iter().filter(|pid| *pid != engine && Path::new(&format!("/proc/{pid}")).exists());
        Ok(Report {
            name: self.kind.name(),
            book,
            faults,
            samples,
            exit: exit.to_string(),
            survivors: survivors.count(),
            log: self.panics.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        })
    }

    /// One client for all the time.
    fn stay(&mut self, era: Era, end: Instant) -> io::Result<(Book, u64)> {
        let place = self.folder.join("one.pid");
        let missing = || io::Error::other("a pipe is missing");
        let to = self.process.stdin.take().ok_or_else(missing)?;
        let from: ChildStdout = self.process.stdout.take().ok_or_else(missing)?;
        let mut faults = Faults::new(self.options.seed, self.options.every);
        let mut client = Client::open(era, Box::new(to), from)?;
        client.call_until(end, || faults.due(&place))?;
        Ok((client.close(), faults.done))
    }

    /// Clients that leave after a while, one after the other at each server.
    fn come_and_go(&self, end: Instant) -> io::Result<(Book, u64)> {
        let visits: Vec<JoinHandle<io::Result<(Book, u64)>>> = (self.kind.servers().iter().zip(self.options.seed..))
            .map(|(name, seed)| {
                let socket = self.folder.join(format!("{name}.sock"));
                let place = self.folder.join(format!("{name}.pid"));
                let every = self.options.every;
                thread::spawn(move || visit(&socket, &place, Faults::new(seed, every), end))
            })
            .collect();
        let mut all = (Book::default(), 0);
        for visit in visits {
            let (book, faults) = visit.join().map_err(|_| io::Error::other("a client has panicked"))??;
            all.0.add(book);
            all.1 += faults;
        }
        Ok(all)
    }
}

/// A soak that fails leaves nothing behind.
impl Drop for Subject {
    fn drop(&mut self) {
        // An error says that it has ended already.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

fn visit(socket: &Path, place: &Path, mut faults: Faults, end: Instant) -> io::Result<(Book, u64)> {
    let mut all = Book::default();
    let mut era = Era::Handshake;
    while Instant::now() < end {
        let (stream, mut client) = knock(socket, era)?;
        client.call_until(end.min(Instant::now() + STAY), || faults.due(place))?;
        all.add(client.close());
        _ = stream.shutdown(std::net::Shutdown::Both);
        era = if era == Era::Handshake { Era::Stateless } else { Era::Handshake };
    }
    Ok((all, faults.done))
}

/// Opens a session once the place of the client before is free.
fn knock(socket: &Path, era: Era) -> io::Result<(UnixStream, Client)> {
    let end = Instant::now() + LATE;
    loop {
        let opened = UnixStream::connect(socket).and_then(|stream| {
            let client = Client::open(era, Box::new(stream.try_clone()?), stream.try_clone()?)?;
            Ok((stream, client))
        });
        match opened {
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(50)),
            Ok(opened) => return Ok(opened),
        }
    }
}

/// Looks at what the watchdog has until it is over.
fn look(engine: u32, over: Arc<AtomicBool>) -> JoinHandle<Vec<Sample>> {
    thread::spawn(move || {
        let mut samples = Vec::new();
        while !over.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            samples.extend(Sample::of(engine));
        }
        samples
    })
}

/// An operator who looks in now and then.
fn ask(bin: PathBuf, folder: PathBuf, over: Arc<AtomicBool>) -> JoinHandle<()> {
    thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            thread::sleep(ASK);
            let mut command = Command::new(&bin);
            command.args(["status", "--json"]).env("MCP_WATCHDOG_RUNTIME_DIR", &folder);
            _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    })
}

fn configuration(kind: Kind, folder: &Path) -> io::Result<String> {
    let program = std::env::current_exe()?;
    let mut text = String::from(
        "version: 1\n\
         defaults:\n  \
           tool_timeout: 1s\n  \
           restart: { delays: [0s, 100ms, 500ms], hold: 20s }\n  \
           shutdown: { eof_grace: 200ms, term_grace: 200ms }\n  \
           health: { interval: 2s, timeout: 1s }\n  \
           probe: { mode: all, timeout: 500ms, total_timeout: 1s, chain: [{ type: ping }, { type: exec, command: [\"true\"] }] }\n\
         servers:\n",
    );
    for name in kind.servers() {
        let place = folder.join(format!("{name}.pid"));
        text += &format!("  {name}:\n    command: {program:?}\n    args: [\"{}\", {place:?}]\n", crate::server::ROLE);
        if kind == Kind::Serve {
            text += &format!("    listen: [\"unix://{}\"]\n", folder.join(format!("{name}.sock")).display());
        }
    }
    Ok(text)
}
