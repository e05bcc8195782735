//! Plugins over many checks: nothing of them stays in the watchdog's process. The only test of its process, which it counts.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::plugins::{c_plugin, rust_plugin};
use harness::{Value, json};
use probe_api::testing::{Answer, FakeContext};
use probe_api::{Probe, Verdict};
use watchdog::probe::plugin::{Around, Launcher, OnError, Options, PluginProbe};
use watchdog::probe::tell::Tell;
use watchdog::telemetry::LogHandle;

/// A host that lives on is asked so often,
const CHECKS: u64 = 1000;
/// and so many are lost.
const CRASHES: usize = 40;
/// What the watchdog, a guard and a host may keep of so many checks, in KiB: less than a small message for each.
const KEPT: u64 = 256;

/// What the process has: descriptors, threads, and children, dead ones included.
fn possessions() -> (usize, usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).map_or(0, Iterator::count);
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    let children = children.map(|children| children.split_whitespace().count()).sum();
    (count("/proc/self/fd"), count("/proc/self/task"), children)
}

/// Waits for what processes take with them when they end by themselves; what stays is what counts.
async fn settled(is_settled: impl Fn((usize, usize, usize)) -> bool) -> (usize, usize, usize) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_settled(possessions()) && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    possessions()
}

/// The memory of processes that is not a file's, in KiB.
fn memory(processes: &[u32]) -> u64 {
    let of = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a process has memory")
    };
    processes.iter().map(of).sum()
}

/// This process, and all below it.
fn tree() -> Vec<u32> {
    let mut tree = vec![std::process::id()];
    let mut at = 0;
    while let Some(pid) = tree.get(at) {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
        let children: Vec<u32> = children
            .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
            .collect();
        tree.extend(children);
        at += 1;
    }
    tree
}

fn probe(library: std::path::PathBuf, config: Value) -> PluginProbe {
    let env = std::env::vars_os().collect();
    let launcher =
        Launcher { program: env!("CARGO_BIN_EXE_mcp-watchdog-under-test").into(), env, log: LogHandle::discard() };
    let options = Options { library, config, sha256: None, on_error: OnError::default() };
    // Failures do not make it wait.
    let around = Around {
        name: "p".into(),
        interval: Some(Duration::ZERO),
        launcher,
        tell: Tell::nobody(),
        broken: Arc::default(),
    };
    PluginProbe::new(options, around)
}

fn context() -> FakeContext {
    FakeContext::new().remaining_for(Duration::from_secs(10)).on("ping", Answer::Result(json!({})))
}

fn main_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made")
}

#[test]
fn many_checks_leave_nothing_behind() {
    main_runtime().block_on(async {
        let alone = possessions();
        // What a first host brings for good: the handler of SIGCHLD, and its pipes.
        let mut first = probe(c_plugin("passes"), json!({}));
        assert_eq!(first.check(&context()).await, Verdict::Pass);
        let with_host = settled(|(_, threads, _)| threads == alone.1).await;
        first.end().await;
        let before = settled(|(_, _, children)| children == 0).await;
        assert!(before.0 < with_host.0 && before.2 == 0, "{before:?} after {with_host:?}");

        let mut counting = probe(rust_plugin("hostile-rs"), json!({ "do": "count" }));
        let mut early = 0;
        for number in 1..=CHECKS {
            assert_eq!(counting.check(&context()).await, Verdict::Busy(number.to_string()), "one host for all checks");
            if number == CHECKS / 5 {
                // Whatever is kept for good is there by now.
                early = memory(&tree());
            }
        }
        let late = memory(&tree());
        assert!(tree().len() == 3 && late <= early + KEPT, "{early} KiB became {late} KiB");
        // The thread that looked at the file is on its way out.
        let now = settled(|now| now == with_host).await;
        assert_eq!(now, with_host, "descriptors, threads, children, with a host");
        let mut asking = probe(rust_plugin("hostile-rs"), json!({ "do": "call_many", "count": CHECKS }));
        assert_eq!(asking.check(&context()).await, Verdict::Pass);
        asking.end().await;
        counting.end().await;

        let mut crashing = probe(c_plugin("segfault_in_check"), json!({}));
        for _ in 0..CRASHES {
            let verdict = crashing.check(&context()).await;
            assert_eq!(verdict, Verdict::Inconclusive("the plugin was killed by SIGSEGV".into()));
        }
        let mut stuck = probe(c_plugin("stuck"), json!({}));
        for _ in 0..CRASHES / 10 {
            stuck.prepare().await.unwrap();
            let soon = context().remaining_for(Duration::from_millis(200));
            let verdict = stuck.check(&soon).await;
            let is_killed =
                matches!(&verdict, Verdict::Inconclusive(text) if text.contains("did not return within the"));
            assert!(is_killed && soon.calls().len() == 1, "{verdict:?}");
        }
        let after = settled(|after| after == before).await;
        assert_eq!(after, before, "descriptors, threads, children, without a host");
    });
}
