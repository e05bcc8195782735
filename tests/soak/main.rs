//! Hours of load with a fault every few seconds: what the watchdog has, in memory, descriptors, threads and processes, must
//! not grow, and every request must have its one answer.
//!
//! `cargo run --release -p watchdog-tests --bin soak -- --bin target/release/mcp-watchdog --minutes 120`
#![cfg(target_os = "linux")]

mod client;
mod fault;
mod report;
mod sample;
mod server;
mod subject;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use report::Report;
use subject::{Kind, Subject};

/// What was asked for.
#[derive(Debug, Clone)]
struct Options {
    bin: PathBuf,
    length: Duration,
    /// Between two faults of a subject.
    every: Duration,
    seed: u64,
}

const USAGE: &str = "soak --bin PATH [--minutes N] [--every-ms N] [--seed N]";

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options =
            Self { bin: PathBuf::new(), length: Duration::from_secs(120 * 60), every: Duration::from_secs(3), seed: 1 };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value; {USAGE}"))?;
            let number = || value.parse::<f64>().map_err(|_| format!("{name} {value}: not a number"));
            match name.as_str() {
                "--bin" => options.bin = PathBuf::from(&value),
                "--minutes" => options.length = Duration::from_secs_f64(number()? * 60.0),
                "--every-ms" => options.every = Duration::from_secs_f64(number()? / 1000.0),
                "--seed" => options.seed = value.parse().map_err(|_| format!("{name} {value}: not a number"))?,
                _ => return Err(format!("{name} is not known; {USAGE}")),
            }
        }
        match options.bin.canonicalize() {
            Ok(bin) => Ok(Self { bin, ..options }),
            Err(error) => Err(format!("--bin {}: {error}; {USAGE}", options.bin.display())),
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().is_some_and(|first| first == server::ROLE) {
        return server::run();
    }
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(error) => {
            _ = writeln!(io::stderr(), "{error}");
            return ExitCode::from(78);
        }
    };
    match soak(&options) {
        Ok(reports) => {
            let mut out = io::stdout().lock();
            _ = report::table(&mut out, &reports);
            let faults: Vec<String> = reports.iter().flat_map(Report::faults).collect();
            for fault in &faults {
                _ = writeln!(out, "FAULT {fault}");
            }
            if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(125)
        }
    }
}

/// All subjects side by side, each with threads of its own.
fn soak(options: &Options) -> io::Result<Vec<Report>> {
    let folder = tempfile::Builder::new().prefix("soak").tempdir()?;
    let end = Instant::now() + options.length;
    let subjects: Vec<Subject> =
        Kind::ALL.iter().map(|kind| Subject::start(*kind, options, folder.path())).collect::<io::Result<_>>()?;
    let running: Vec<_> = subjects.into_iter().map(|subject| std::thread::spawn(move || subject.run(end))).collect();
    let mut reports = Vec::new();
    for thread in running {
        match thread.join() {
            Ok(report) => reports.push(report?),
            Err(_) => return Err(io::Error::other("a thread of the soak itself has panicked")),
        }
    }
    Ok(reports)
}
