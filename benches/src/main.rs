//! Measures what the watchdog costs, beside the same server without it and behind other proxies; docs/performance.md says how
//! to read it.
#![cfg(target_os = "linux")]

mod book;
mod echo;
mod goals;
mod lines;
mod machine;
mod measure;
mod message;
mod process;
mod relay;
mod report;
mod session;
mod target;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use book::Book;
use machine::Machine;
use measure::{Area, Effort};
use relay::Way;
use target::{COPY, ECHO, SPLICE};

/// Measures the watchdog, beside the same server without it and behind other proxies.
#[derive(Parser)]
struct Arguments {
    /// A watchdog that is already built; otherwise it is built first, as it is released.
    #[arg(long, value_name = "PATH")]
    bin: Option<PathBuf>,
    /// Fewer rounds of fewer calls: half a minute, and less to rely on.
    #[arg(long)]
    quick: bool,
    /// Another proxy; `{}` in its command stands for the server's, which is put behind where there is none.
    #[arg(long, value_name = "NAME=COMMAND")]
    peer: Vec<String>,
    /// Only this; several are possible.
    #[arg(long, value_name = "AREA")]
    only: Vec<Area>,
    /// Writes all values to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> io::Result<()> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first().and_then(|word| word.to_str()) {
        Some(ECHO) => echo::run(),
        Some(COPY) => relay::run(Way::Copy, &words[1..]),
        Some(SPLICE) => relay::run(Way::Splice, &words[1..]),
        _ => measure(Arguments::parse()),
    }
}

fn measure(arguments: Arguments) -> io::Result<()> {
    let watchdog = arguments.bin.map_or_else(target::build, Ok)?;
    let targets = target::all(&watchdog, &arguments.peer)?;
    let (longest, patience) = (Duration::from_secs(1), Duration::from_secs(30));
    let effort = if arguments.quick {
        Effort { rounds: 5, share: 4, idle: Duration::from_secs(5), longest, patience }
    } else {
        Effort { rounds: 15, share: 1, idle: Duration::from_secs(20), longest, patience }
    };
    let machine = Machine::look(&watchdog, effort.rounds);
    let mut book = Book::default();
    for area in Area::ALL {
        if arguments.only.is_empty() || arguments.only.contains(&area) {
            area.measure(&targets, effort, &mut book);
        }
    }
    let goals = goals::check(&book);
    if let Some(path) = arguments.json {
        fs::write(path, format!("{:#}\n", report::json(&book, &goals, &machine, &targets)))?;
    }
    io::stdout().write_all(report::text(&book, &goals, &machine, &targets).as_bytes())
}
