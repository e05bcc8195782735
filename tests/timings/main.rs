//! How long an end takes, for each way to it: the figures in docs/reliability.md, and a check of the limits that it states.
//!
//! A binary of its own, with one test, so that nothing else runs meanwhile. Three runs of each by default, of which the median has to be
//! within the limit; the document's table is made by a hundred, of which 99 have to be:
//!
//! ```sh
//! MCP_TIMINGS_RUNS=100 cargo test --release -p watchdog-tests --test timings -- --nocapture
//! ```
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use harness::{Session, Setup, Signal, Value, What, json, tool_call};

const WATCHDOG: &str = env!("CARGO_BIN_EXE_mcp-watchdog-under-test");
const FIXTURE: &str = env!("CARGO_BIN_EXE_mcp-fixture");

/// What `shutdown.eof_grace`, `shutdown.term_grace` and `shutdown.drain` are here.
const EOF_GRACE: Duration = Duration::from_millis(200);
const TERM_GRACE: Duration = Duration::from_millis(200);
const DRAIN: Duration = Duration::from_millis(300);
/// What an end may take beyond what it has to wait for.
const MARGIN: Duration = Duration::from_millis(150);
/// So long a call takes that is in flight.
const CALL: Duration = Duration::from_millis(100);

/// One way to the end.
struct Way {
    name: &'static str,
    /// What has to be waited for by the configuration, at the least and at the most.
    waits: (Duration, Duration),
    /// One end: how long it took.
    run: fn() -> Duration,
}

const WAYS: [Way; 9] = [
    Way { name: "SIGTERM, server ends with its stdin", waits: (Duration::ZERO, Duration::ZERO), run: well_behaved },
    Way { name: "SIGTERM, server ignores the end of stdin", waits: (EOF_GRACE, EOF_GRACE), run: ignores_eof },
    Way { name: "SIGTERM, server ignores that and SIGTERM", waits: (BOTH, BOTH), run: ignores_all },
    Way { name: "SIGTERM, deaf child in a session of its own", waits: (TERM_GRACE, TERM_GRACE), run: with_escapee },
    Way { name: "SIGTERM, server stopped by SIGSTOP", waits: (EOF_GRACE, EOF_GRACE), run: stopped },
    Way { name: "client leaves, idle", waits: (Duration::ZERO, Duration::ZERO), run: client_leaves },
    Way { name: "client leaves during a call of 100 ms", waits: (Duration::ZERO, CALL), run: leaves_in_call },
    Way { name: "client leaves, call never answered", waits: (DRAIN, DRAIN), run: leaves_in_hung_call },
    Way { name: "second SIGTERM, server ignores all", waits: (Duration::ZERO, Duration::ZERO), run: second_signal },
];
const BOTH: Duration = EOF_GRACE.saturating_add(TERM_GRACE);

fn setup() -> Setup {
    let millis = |key: &str, time: Duration| format!("shutdown.{key}={}ms", time.as_millis());
    let graces = [millis("eof_grace", EOF_GRACE), millis("term_grace", TERM_GRACE), millis("drain", DRAIN)];
    let options = graces.iter().flat_map(|grace| ["--set", grace]);
    Setup::new(WATCHDOG, FIXTURE).options(options)
}

fn opened(setup: Setup) -> Session {
    let session = setup.start();
    session.initialize();
    session.wait_read("notifications/initialized", 1);
    session
}

/// How long it takes from `ask` to the end of the watchdog, at which nothing may be left.
fn measure(mut session: Session, code: i32, ask: impl FnOnce(&mut Session)) -> Duration {
    let begin = Instant::now();
    ask(&mut session);
    session.wait_exit(Duration::from_secs(10));
    let took = begin.elapsed();
    let left = session.survivors();
    assert!(left.is_empty(), "the tree is gone before the watchdog is: {left:?}");
    session.ended(code);
    took
}

fn terminated(session: Session) -> Duration {
    measure(session, 143, |session| session.signal(Signal::SIGTERM))
}

fn deaf(more: Value) -> Setup {
    let mut script = json!({ "ignore_eof": true });
    script.as_object_mut().expect("it is one").extend(more.as_object().cloned().unwrap_or_default());
    setup().script(script)
}

fn well_behaved() -> Duration {
    terminated(opened(setup()))
}

fn ignores_eof() -> Duration {
    terminated(opened(deaf(json!({}))))
}

fn ignores_all() -> Duration {
    terminated(opened(deaf(json!({ "ignore_signals": ["TERM"] }))))
}

fn with_escapee() -> Duration {
    let session = opened(setup().script(json!({ "rules": [{ "on": "boot", "do": [{ "child": ["session"] }] }] })));
    session.wait_entry("the child", |entry| matches!(entry.what, What::Child(_)).then_some(()));
    terminated(session)
}

fn stopped() -> Duration {
    let session = opened(setup());
    let server = session.signal_server(Signal::SIGSTOP);
    let end = Instant::now() + Duration::from_secs(5);
    while !fs::read_to_string(format!("/proc/{server}/stat")).unwrap_or_default().contains(") T ") {
        assert!(Instant::now() < end, "the server stops");
        std::thread::yield_now();
    }
    terminated(session)
}

fn client_leaves() -> Duration {
    measure(opened(setup()), 0, Session::close_stdin)
}

fn leaves_in_call() -> Duration {
    let session = opened(setup());
    session.send(tool_call(1, "sleep_ms", json!({ "ms": CALL.as_millis() })));
    session.wait_read("tools/call", 1);
    // That the call has its answer is checked at the end, as of every session.
    measure(session, 0, Session::close_stdin)
}

fn leaves_in_hung_call() -> Duration {
    let session = opened(setup());
    session.send(tool_call(1, "silence", json!({})));
    session.wait_read("tools/call", 1);
    measure(session, 0, Session::close_stdin)
}

fn second_signal() -> Duration {
    let setup = deaf(json!({ "ignore_signals": ["TERM"] })).options(["--set", "shutdown.eof_grace=1h"]);
    let session = opened(setup);
    session.signal(Signal::SIGTERM);
    session.wait_entry("the end of stdin", |entry| (entry.what == What::Event("eof".to_owned())).then_some(()));
    terminated(session)
}

/// The value below which so many in a hundred lie, of sorted ones.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}

fn number(variable: &str) -> Option<f64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_end_is_within_its_limit() {
    let runs = number("MCP_TIMINGS_RUNS").map_or(3, |runs| runs as usize).max(1);
    let margin = MARGIN.mul_f64(number("MCP_HARNESS_SLACK").unwrap_or(1.0).max(1.0));
    let judged = if runs < 20 { 50 } else { 99 };
    let mut late = Vec::new();
    eprintln!("| end | has to wait | p50 | p99 | most |\n|---|---|---|---|---|");
    for way in &WAYS {
        let mut took: Vec<_> = (0..runs).map(|_| (way.run)()).collect();
        took.sort();
        let [half, most_of, all] = [50, 99, 100].map(|percent| percentile(&took, percent));
        let (least, most) = way.waits;
        eprintln!("| {} | {most:?} | {half:.1?} | {most_of:.1?} | {all:.1?} |", way.name);
        assert!(took[0] >= least, "{}: {:?} is less than the graces", way.name, took[0]);
        let judged_by = percentile(&took, judged);
        if judged_by > most + margin {
            late.push(format!("{}: {judged_by:?}, and {:?} is the limit", way.name, most + margin));
        }
    }
    assert!(late.is_empty(), "p{judged} of {runs} runs:\n  {}", late.join("\n  "));
}
