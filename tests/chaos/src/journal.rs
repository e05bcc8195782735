//! What the lives of a server leave behind. Each life has a file, each entry is one `write` to it in append mode, and so
//! whatever was noted is there after a SIGKILL.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::message::Message;
use crate::processes::Process;

/// Nanoseconds of a clock that all processes of the machine share and nobody sets.
#[must_use]
pub fn now() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("there is such a clock");
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    part(time.tv_sec()) * 1_000_000_000 + part(time.tv_nsec())
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was noted.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What a life tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum What {
    /// It began, as this process, below this guard.
    Start { pid: i32, guard: i32 },
    /// A process of an earlier life was there then.
    Overlap { life: u64, process: Process },
    /// It read a line.
    Read(Message),
    /// It is about to write a line.
    Writing(Message),
    /// It has written the answer to the request with this number.
    Answered(u64),
    /// It is about to end like this.
    Dying(String),
    /// From here on it does not do what a server does.
    Failing(String),
    /// It read the end of stdin.
    Eof,
    /// It got the answer to a question of another life.
    StrayAnswer(Message),
}

/// The journal of one life, while it is written.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    file: File,
    life: u64,
}

impl Journal {
    /// Begins the next life of the folder.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        for life in 1.. {
            match OpenOptions::new().append(true).create_new(true).open(path(folder, life)) {
                Ok(file) => return Ok(Self { folder: folder.to_owned(), file, life }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no more numbers"))
    }

    /// The number of this life.
    #[must_use]
    pub const fn life(&self) -> u64 {
        self.life
    }

    /// Notes something. The run is over if that fails, and nobody is there to be told.
    pub fn note(&self, what: What) {
        let entry = Entry { at: now(), what };
        let mut line = serde_json::to_vec(&entry).unwrap_or_default();
        line.push(b'\n');
        let _ = (&self.file).write_all(&line);
    }

    /// Notes a process of this life where all lives look for those of others.
    pub fn register(&self, process: &Process) {
        register(&self.folder, self.life, process);
    }

    /// The processes of earlier lives that still run.
    #[must_use]
    pub fn overlaps(&self) -> Vec<(u64, Process)> {
        let all = processes(&self.folder).into_iter();
        all.filter(|(life, process)| *life < self.life && process.is_running()).collect()
    }
}

fn path(folder: &Path, life: u64) -> PathBuf {
    folder.join(format!("life-{life}"))
}

/// Notes a process of a life.
pub fn register(folder: &Path, life: u64, process: &Process) {
    let file = OpenOptions::new().append(true).create(true).open(folder.join("processes"));
    let line = serde_json::to_string(&(life, process)).unwrap_or_default();
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }
}

/// All processes that were noted, with their lives.
#[must_use]
pub fn processes(folder: &Path) -> Vec<(u64, Process)> {
    let text = fs::read_to_string(folder.join("processes")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The journals of all lives, in their order. The last entry of a life may be cut short.
#[must_use]
pub fn lives(folder: &Path) -> Vec<Vec<Entry>> {
    let read = |life| fs::read_to_string(path(folder, life)).ok();
    let entries = |text: String| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (1..).map_while(read).map(entries).collect()
}
