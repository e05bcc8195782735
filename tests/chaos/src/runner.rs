//! Many runs, and what is told of them.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::check::{Figures, Verdict, Violation, check};
use crate::client::{self, Programs};
use crate::history::{Did, Event, History};
use crate::journal::What;
use crate::plan::Plan;

const HELP: &str = "\
Runs the watchdog under everything that can happen to a server, and checks what the contract promises.

  chaos --seed N            one run; --show tells everything that happened in it
  chaos --plan FILE         one run of a plan that was printed and changed by hand
  chaos --faults N          runs from --from SEED (default 1) on until there were so many faults
  chaos --runs N            so many runs

  --jobs N                  runs at a time (default 4)
  --slack N                 time limits are multiplied by this (default 1)
  --watchdog PATH           another watchdog than the one in this binary
  --failures N              ends after so many failed runs (default 5)
  --keep FOLDER             all that happened in failed runs goes to files there
";

/// What was asked for.
#[derive(Debug)]
struct Order {
    what: Wanted,
    show: bool,
    from: u64,
    jobs: usize,
    failures: u64,
    keep: Option<PathBuf>,
    programs: Programs,
}

#[derive(Debug)]
enum Wanted {
    One(Box<Plan>),
    Faults(u64),
    Runs(u64),
}

/// Runs the command line.
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let mut out = std::io::stdout();
    if arguments.iter().any(|argument| argument == "--help") {
        let _ = out.write_all(HELP.as_bytes());
        return ExitCode::SUCCESS;
    }
    let order = match parse(arguments) {
        Ok(order) => order,
        Err(why) => {
            let _ = writeln!(out, "{why}\n\n{HELP}");
            return ExitCode::from(78);
        }
    };
    let failed = match &order.what {
        Wanted::One(plan) => one(plan, &order, &mut out),
        Wanted::Faults(_) | Wanted::Runs(_) => many(&order, &mut out),
    };
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn parse(arguments: &[String]) -> Result<Order, String> {
    let chaos = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let programs = Programs { watchdog: chaos.clone(), chaos, slack: 1 };
    let mut order = Order { what: Wanted::Runs(0), show: false, from: 1, jobs: 4, failures: 5, keep: None, programs };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if name == "--show" {
            order.show = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|error| format!("{name} {value}: {error}"));
        match name.as_str() {
            "--seed" => order.what = Wanted::One(Box::new(Plan::from_seed(number()?))),
            "--plan" => {
                let text = std::fs::read_to_string(value).map_err(|error| format!("{value}: {error}"))?;
                let plan = serde_json::from_str(&text).map_err(|error| format!("{value}: {error}"))?;
                order.what = Wanted::One(Box::new(plan));
            }
            "--faults" => order.what = Wanted::Faults(number()?),
            "--runs" => order.what = Wanted::Runs(number()?),
            "--from" => order.from = number()?,
            "--jobs" => order.jobs = usize::try_from(number()?).map_err(|error| error.to_string())?.max(1),
            "--failures" => order.failures = number()?,
            "--slack" => order.programs.slack = u32::try_from(number()?).map_err(|error| error.to_string())?.max(1),
            "--keep" => order.keep = Some(PathBuf::from(value)),
            "--watchdog" => order.programs.watchdog = PathBuf::from(value),
            _ => return Err(format!("{name} is unknown")),
        }
    }
    if matches!(order.what, Wanted::Runs(0)) {
        return Err("nothing to do".to_owned());
    }
    Ok(order)
}

/// One run, and whether a promise was broken.
fn one(plan: &Plan, order: &Order, out: &mut impl Write) -> bool {
    let (history, verdict) = match attempt(plan, &order.programs) {
        Ok(done) => done,
        Err(why) => {
            let _ = writeln!(out, "{why}");
            return true;
        }
    };
    if order.show {
        let _ = out.write_all(story(&history).as_bytes());
    }
    let _ = if verdict.violations.is_empty() {
        writeln!(out, "{}", summary(&verdict.figures))
    } else {
        write!(out, "{}", report(plan, &verdict))
    };
    !verdict.violations.is_empty()
}

/// How often a run is made again for want of a processor.
const AGAIN: u64 = 5;

/// Carries a plan out and holds it against the promises. A client that looks at its pipes every other second sees answers
/// late or not at all: where promises of time seem broken and the client itself was kept from running, the run is made
/// again, and not judged by time if that does not help. All others count as ever.
///
/// # Errors
/// When the run could not begin.
pub fn attempt(plan: &Plan, programs: &Programs) -> Result<(History, Verdict), String> {
    let mut starved = 0;
    loop {
        let run = client::run(plan, programs);
        let history = run.map_err(|error| format!("seed {} cannot be run: {error}", plan.seed))?;
        let mut verdict = check(&history, programs.slack);
        verdict.figures.starved = starved;
        let lasting = |violation: &Violation| !violation.by_time;
        if !history.is_starved() || verdict.violations.is_empty() || verdict.violations.iter().any(lasting) {
            return Ok((history, verdict));
        }
        if starved == AGAIN {
            verdict.violations.clear();
            verdict.figures.unjudged = 1;
            return Ok((history, verdict));
        }
        starved += 1;
    }
}

fn many(order: &Order, out: &mut (impl Write + Send)) -> bool {
    let (runs, faults) = match order.what {
        Wanted::Faults(faults) => (u64::MAX, faults),
        Wanted::Runs(runs) => (runs, u64::MAX),
        Wanted::One(_) => (1, u64::MAX),
    };
    let start = Instant::now();
    let out = Mutex::new(out);
    let tell = |text: &str| {
        let _ = writeln!(out.lock().unwrap_or_else(PoisonError::into_inner), "{text}");
    };
    let tell_failed = |history: &History, verdict: &Verdict| {
        tell(&report(&history.plan, verdict));
        if let Some(folder) = &order.keep {
            let path = folder.join(format!("seed-{}", history.plan.seed));
            let text = format!("{}\n{}", story(history), report(&history.plan, verdict));
            if let Err(error) = std::fs::write(&path, text) {
                tell(&format!("{}: {error}", path.display()));
            }
        }
    };
    let seeds = order.from..order.from.saturating_add(runs);
    let campaign = Campaign { seeds, faults, failures: order.failures, jobs: order.jobs, programs: &order.programs };
    let (figures, failed) = campaign.run(&tell_failed, &tell);
    let took = start.elapsed().as_secs();
    tell(&format!("{failed} failed runs in {took} s, seeds from {}\n{}", order.from, summary(&figures)));
    failed > 0
}

/// Many runs.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// Of these seeds,
    pub seeds: Range<u64>,
    /// until there were so many faults,
    pub faults: u64,
    /// or so many failed runs.
    pub failures: u64,
    /// So many at a time.
    pub jobs: usize,
    /// With these programs.
    pub programs: &'a Programs,
}

impl Campaign<'_> {
    /// Carries them out, and tells each failed run, and from time to time how far it is. The figures of all, and how many
    /// failed.
    pub fn run(
        &self,
        tell_failed: &(dyn Fn(&History, &Verdict) + Sync),
        tell: &(dyn Fn(&str) + Sync),
    ) -> (Figures, u64) {
        let (next, failed) = (AtomicU64::new(self.seeds.start), AtomicU64::new(0));
        let total = Mutex::new(Figures::default());
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                let enough = failed.load(Ordering::Relaxed) >= self.failures
                    || total.lock().unwrap_or_else(PoisonError::into_inner).faults >= self.faults;
                if enough || seed >= self.seeds.end {
                    break;
                }
                match attempt(&Plan::from_seed(seed), self.programs) {
                    Ok((history, verdict)) => {
                        if !verdict.violations.is_empty() {
                            tell_failed(&history, &verdict);
                            failed.fetch_add(1, Ordering::Relaxed);
                        }
                        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                        total.add(verdict.figures);
                        if total.runs.is_multiple_of(100) {
                            tell(&summary(&total));
                        }
                    }
                    Err(why) => {
                        tell(&why);
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        };
        std::thread::scope(|scope| (0..self.jobs).for_each(|_| drop(scope.spawn(work))));
        (total.into_inner().unwrap_or_else(PoisonError::into_inner), failed.into_inner())
    }
}

/// What has to be known of a failed run.
#[must_use]
pub fn report(plan: &Plan, verdict: &Verdict) -> String {
    let broken: Vec<_> = verdict.violations.iter().map(|violation| format!("  {violation}")).collect();
    let seed = plan.seed;
    format!(
        "seed {seed} broke promises:\n{}\nits plan:\n{}again: cargo run -p chaos -- --seed {seed} --show\n",
        broken.join("\n"),
        plan.text()
    )
}

/// The figures in a few lines.
#[must_use]
pub fn summary(figures: &Figures) -> String {
    format!(
        "{} runs, {} faults, {} processes of servers, {} requests of which servers answered {}\n\
         from a death to the answer:  {}\nfrom a hang to the answer:   {}\nhasty probes: {}, hangs taken for work in order: {}, runs made again on a busy machine: {}, not judged by time: {}",
        figures.runs,
        figures.faults,
        figures.lives,
        figures.requests,
        figures.served,
        times(&figures.deaths),
        times(&figures.hangs),
        figures.hasty,
        figures.in_order,
        figures.starved,
        figures.unjudged
    )
}

fn times(all: &[u64]) -> String {
    let mut all = all.to_vec();
    all.sort_unstable();
    let at = |part: usize| all.get((all.len() * part / 1000).min(all.len().saturating_sub(1))).copied().unwrap_or(0);
    let ms = |nanoseconds: u64| Duration::from_nanos(nanoseconds).as_secs_f64() * 1000.0;
    let late = all.iter().filter(|took| **took > 100_000_000).count();
    format!(
        "{} times, median {:.1} ms, 99 % {:.1} ms, 99.9 % {:.1} ms, longest {:.1} ms, {late} above 100 ms",
        all.len(),
        ms(at(500)),
        ms(at(990)),
        ms(at(999)),
        ms(at(1000))
    )
}

/// The plan, everything that happened, and what the watchdog said.
fn story(history: &History) -> String {
    format!("{}\n{}\n{}\n", history.plan.text(), timeline(history), history.stderr)
}

/// Everything that happened, in the order of time.
fn timeline(history: &History) -> String {
    let mut lines: Vec<(u64, String)> = history.client.iter().map(|event| (event.at, client_line(event))).collect();
    for (life, entries) in history.numbered() {
        lines.extend(entries.iter().map(|entry| (entry.at, format!("    life {life} {}", life_line(&entry.what)))));
    }
    lines.sort();
    let start = lines.first().map_or(0, |(at, _)| *at);
    let ms = |at: u64| (at - start) as f64 / 1e6;
    lines.iter().map(|(at, text)| format!("{:9.3} {text}\n", ms(*at))).collect()
}

fn client_line(event: &Event) -> String {
    match &event.what {
        Did::Send(message) => format!("-> {}", short(&message.head)),
        Did::Receive(message) => format!("<- {}", short(&message.head)),
        other => format!("** {other:?}"),
    }
}

fn life_line(what: &What) -> String {
    match what {
        What::Read(message) => format!("read  {}", short(&message.head)),
        What::Writing(message) => format!("write {}", short(&message.head)),
        other => format!("{other:?}"),
    }
}

fn short(text: &str) -> String {
    text.chars().take(200).collect()
}
