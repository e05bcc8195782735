//! Plugins that do what none should: each gets a clear verdict, and costs nothing but its own process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness::plugins::{c_example, c_plugin, empty_file, rust_plugin, text_file};
use harness::{Value, is_running, json};
use probe_api::testing::{Answer, FakeContext};
use probe_api::{Probe, Verdict};
use watchdog::events::EventKind;
use watchdog::probe::plugin::{Around, Launcher, OnError, Options, PluginProbe, inspect};
use watchdog::probe::tell::Tell;
use watchdog::telemetry::LogHandle;

use crate::rig::WATCHDOG;

pub(crate) fn options(library: PathBuf, config: Value) -> Options {
    Options { library, config, sha256: None, on_error: OnError::default() }
}

pub(crate) fn launcher() -> Launcher {
    Launcher { program: WATCHDOG.into(), env: std::env::vars_os().collect(), log: LogHandle::discard() }
}

/// A probe that does not wait after a failure, and what it tells.
pub(crate) fn probe_and_events(options: Options) -> (PluginProbe, Arc<Mutex<Vec<EventKind>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = events.clone();
    let tell = move |kind| heard.lock().expect("no test panics with it").push(kind);
    let around = Around {
        name: "p".into(),
        interval: Some(Duration::ZERO),
        launcher: launcher(),
        tell: Tell::new(tell),
        broken: Arc::default(),
    };
    (PluginProbe::new(options, around), events)
}

pub(crate) fn probe(options: Options) -> PluginProbe {
    probe_and_events(options).0
}

pub(crate) fn hostile(config: Value) -> PluginProbe {
    probe(options(rust_plugin("hostile-rs"), config))
}

pub(crate) fn c(name: &str) -> PluginProbe {
    probe(options(c_plugin(name), Value::Null))
}

pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made").block_on(test)
}

pub(crate) fn context() -> FakeContext {
    FakeContext::new().remaining_for(Duration::from_secs(10)).on("ping", Answer::Result(json!({ "a": 1 })))
}

#[track_caller]
pub(crate) fn assert_inconclusive(verdict: &Verdict, reason: &str) {
    assert!(matches!(verdict, Verdict::Inconclusive(text) if text.contains(reason)), "{verdict:?} for {reason:?}");
}

#[test]
fn a_plugin_gives_verdicts_and_keeps_its_state() {
    run(async {
        for (config, expected) in [
            (json!({ "do": "pass" }), Verdict::Pass),
            (json!({ "do": "busy", "text": "b" }), Verdict::Busy("b".into())),
            (json!({ "do": "fail", "text": "f" }), Verdict::Fail("f".into())),
            (json!({ "do": "inconclusive", "text": "i" }), Verdict::Inconclusive("i".into())),
            (json!({ "do": "unsupported" }), Verdict::Unsupported),
            (json!({ "do": "call", "text": "ping" }), Verdict::Busy(r#"Result(Object {"a": Number(1)})"#.into())),
        ] {
            let mut probe = hostile(config);
            assert_eq!(probe.check(&context()).await, expected);
            assert_eq!(probe.status().failures, 0);
        }
        let mut probe = hostile(json!({ "do": "count" }));
        for number in 1..4 {
            assert_eq!(probe.check(&context()).await, Verdict::Busy(number.to_string()));
        }
        let mut example = self::probe(options(c_example(), json!({ "max_ms": 5000 })));
        assert_eq!(example.check(&context()).await, Verdict::Pass);
    });
}

#[test]
fn what_cannot_be_loaded_says_why() {
    run(async {
        for (library, reason) in [
            (c_plugin("wrong_magic"), "is not a probe plugin: its descriptor begins with"),
            (c_plugin("wrong_major"), "this watchdog speaks 1.0"),
            (c_plugin("small_size"), "rebuild it"),
            (c_plugin("min_host_minor"), "or later, this one speaks 1.0"),
            (c_plugin("null_check"), "has no `check` in its descriptor"),
            (c_plugin("null_create"), "has no `create` in its descriptor"),
            (c_plugin("null_name"), "has no name in its descriptor"),
            (c_plugin("no_symbol"), "is not a probe plugin: it does not export `mcp_probe_plugin_v1`"),
            (c_plugin("undefined_symbol"), "undefined symbol"),
            (c_plugin("segfault_in_constructor"), "the plugin was killed by SIGSEGV"),
            (c_plugin("create_null"), "refuses its `config:`: it does not say why"),
            (text_file(), "as a shared library of this system"),
            (empty_file(), "as a shared library of this system"),
            ("/no/such/file.so".into(), "cannot open /no/such/file.so: No such file"),
            ("file.so".into(), "is not absolute"),
        ] {
            let options = options(library, Value::Null);
            let why = inspect(&options, &launcher(), "p").await.unwrap_err();
            assert!(why.contains(reason), "{why:?} for {reason:?}");
            let named = why.contains(&options.library.display().to_string());
            assert!(named || why.contains("create_null"), "{why}");
            assert_inconclusive(&probe(options).check(&context()).await, reason);
        }
    });
}

#[test]
fn a_descriptor_is_read() {
    run(async {
        let found = inspect(&options(rust_plugin("hostile-rs"), json!({ "do": "pass" })), &launcher(), "p").await;
        let found = found.unwrap();
        assert_eq!((found.abi.as_str(), found.name.as_str()), ("1.0", "hostile"));
        assert_eq!(found.config_schema.as_deref(), Some(r#"{"type":"object","required":["do"]}"#));
        let found = inspect(&options(c_plugin("without_options"), Value::Null), &launcher(), "p").await.unwrap();
        assert_eq!((found.name.as_str(), found.config_schema), ("without_options", None));
    });
}

#[test]
fn a_pin_keeps_other_files_out() {
    run(async {
        let mut pinned = options(c_plugin("passes"), Value::Null);
        pinned.sha256 = Some("0".repeat(64));
        let why = inspect(&pinned, &launcher(), "p").await.unwrap_err();
        let found = why.split("has the SHA-256 ").nth(1).unwrap()[..64].to_owned();
        pinned.sha256 = Some(found);
        assert!(inspect(&pinned, &launcher(), "p").await.is_ok());
    });
}

#[test]
fn a_configuration_is_refused_in_the_plugins_words() {
    run(async {
        let why = |config: Value| async move {
            let options = options(rust_plugin("hostile-rs"), config);
            inspect(&options, &launcher(), "p").await.unwrap_err()
        };
        assert_eq!(why(json!({ "do": "refuse", "text": "no\nway" })).await, "hostile refuses its `config:`: no way");
        assert!(why(json!({ "do": "pass", "x": 1 })).await.contains("unknown field `x`"));
        assert!(why(json!({ "do": "panic_in_new" })).await.contains("panicked: in new"));
        let crashed = why(json!({ "do": "abort_in_new" })).await;
        let library = rust_plugin("hostile-rs");
        let expected = format!("{} did not take its `config:`: the plugin was killed by SIGABRT", library.display());
        assert_eq!(crashed, expected);
    });
}

#[test]
fn a_crash_costs_the_process_and_the_next_check_has_another() {
    run(async {
        for (mut probe, reason) in [
            (c("segfault_in_check"), "the plugin was killed by SIGSEGV"),
            (c("kills_itself"), "the plugin was killed by SIGKILL"),
            (hostile(json!({ "do": "abort" })), "the plugin was killed by SIGABRT"),
            (hostile(json!({ "do": "panic_in_panic" })), "the plugin was killed by SIGABRT"),
            (hostile(json!({ "do": "stack_overflow" })), "the plugin was killed by SIG"),
            (hostile(json!({ "do": "exit" })), "the plugin ended its process with exit code 0"),
        ] {
            for failures in 1..3 {
                assert_inconclusive(&probe.check(&context()).await, reason);
                assert_eq!(probe.status().failures, failures);
            }
        }
    });
}

#[test]
fn panics_are_verdicts_and_the_instance_stays() {
    run(async {
        assert_inconclusive(&hostile(json!({ "do": "panic_in_check" })).check(&context()).await, "panicked: in check");
        assert_inconclusive(&hostile(json!({ "do": "panic_in_payload" })).check(&context()).await, "panicked");
        let mut probe = hostile(json!({ "do": "panic_in_turns" }));
        assert_inconclusive(&probe.check(&context()).await, "in check 1");
        assert_eq!(probe.check(&context()).await, Verdict::Pass);
        assert_inconclusive(&probe.check(&context()).await, "in check 3");
        assert_eq!(probe.status().failures, 0, "a verdict was returned");
        let mut probe = hostile(json!({ "do": "panic_in_drop" }));
        assert_eq!(probe.check(&context()).await, Verdict::Pass);
        probe.end().await;
    });
}

#[test]
fn a_plugin_that_floods_the_watchdog_in_its_hosts_name_is_ended_and_starves_nobody() {
    run(async {
        let mut longest = Duration::ZERO;
        let others = async {
            loop {
                let begin = Instant::now();
                tokio::time::sleep(Duration::from_millis(10)).await;
                longest = longest.max(begin.elapsed());
            }
        };
        let (mut probe, cx) = (c("forges_log"), context());
        let verdict = tokio::select! {
            () = others => unreachable!("it has no end"),
            verdict = probe.check(&cx) => verdict,
        };
        assert_inconclusive(&verdict, "in place of its host");
        assert!(longest < Duration::from_secs(1), "nobody else had a turn for {longest:?}");
    });
}

#[test]
fn what_a_plugin_starts_ends_with_it() {
    run(async {
        let mut probe = hostile(json!({ "do": "spawn_children" }));
        let Verdict::Busy(numbers) = probe.check(&context()).await else { panic!("no children") };
        let numbers: Vec<u32> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        assert!(numbers.len() == 3 && numbers.iter().all(|pid| is_running(*pid)), "{numbers:?}");
        probe.end().await;
        let left: Vec<_> = numbers.into_iter().filter(|pid| is_running(*pid)).collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn strange_texts_are_made_harmless() {
    run(async {
        let Verdict::Busy(text) = hostile(json!({ "do": "garbage" })).check(&context()).await else { panic!() };
        assert_eq!(text, "one  two  redend");
        let Verdict::Busy(text) = hostile(json!({ "do": "huge_detail" })).check(&context()).await else { panic!() };
        assert!(text.len() <= 4096 + 8, "{}", text.len());
        let Verdict::Busy(text) = c("detail_garbage").check(&context()).await else { panic!() };
        assert!(text.starts_with("bad \u{fffd}\u{fffd} text") && !text.contains('\n'), "{text:?}");
        assert_inconclusive(&c("unknown_verdict").check(&context()).await, "the plugin gave 42, which is no verdict");
    });
}

#[test]
fn calls_are_bounded_and_come_back() {
    run(async {
        let outcome = |config: Value, cx: FakeContext| async move { hostile(config).check(&cx).await };
        let invalid = Verdict::Busy("Invalid".into());
        assert_eq!(outcome(json!({ "do": "huge_call" }), context()).await, invalid);
        let refused = context().on("tools/call", Answer::Invalid);
        assert_eq!(outcome(json!({ "do": "call_tools_call", "text": "x" }), refused).await, invalid);
        let silent = context().on("slow", Answer::Silence);
        let silence = Verdict::Busy("Timeout".into());
        assert_eq!(outcome(json!({ "do": "call", "text": "slow" }), silent).await, silence);
        let gone = context().on("dead", Answer::Gone);
        assert_eq!(outcome(json!({ "do": "call", "text": "dead" }), gone).await, Verdict::Busy("Gone".into()));
        assert_eq!(outcome(json!({ "do": "call_many", "count": 300 }), context()).await, Verdict::Pass);
    });
}

#[test]
fn what_a_plugin_forks_does_not_speak_for_it() {
    run(async {
        let mut probe = c("forks");
        for _ in 0..2 {
            assert_eq!(probe.check(&context()).await, Verdict::Busy("the first process".into()));
        }
        assert_eq!(probe.status().failures, 0);
    });
}

#[test]
fn a_thread_that_waits_in_a_stream_holds_up_nobody() {
    run(async {
        let mut probe = c("reads_in_thread");
        for number in 1..4 {
            assert_eq!(probe.check(&context()).await, Verdict::Busy(number.to_string()));
        }
    });
}

#[test]
fn a_stale_check_is_not_served() {
    run(async {
        let mut probe = c("late_thread_call");
        assert_eq!(probe.check(&context()).await, Verdict::Pass);
        assert_eq!(probe.check(&context()).await, Verdict::Busy("only the second".into()));
    });
}

#[test]
fn the_standard_streams_lead_nowhere() {
    run(async {
        let read = hostile(json!({ "do": "read_stdin" })).check(&context()).await;
        assert_eq!(read, Verdict::Busy("Ok(0)".into()));
        assert_eq!(hostile(json!({ "do": "print", "text": "x" })).check(&context()).await, Verdict::Pass);
        let mut probe = hostile(json!({ "do": "leak_thread" }));
        for _ in 0..5 {
            assert_eq!(probe.check(&context()).await, Verdict::Pass);
        }
        // The verdict cannot be sent any more.
        let soon = context().remaining_for(Duration::from_millis(500));
        let mut probe = hostile(json!({ "do": "close_all" }));
        probe.prepare().await.unwrap();
        assert_inconclusive(&probe.check(&soon).await, "did not return within the 500ms of this check");
    });
}

#[test]
fn three_failures_break_it_with_one_event_and_a_verdict_mends_it() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("x.so");
        std::fs::copy(c_plugin("segfault_in_check"), &library).unwrap();
        let (mut probe, events) = probe_and_events(options(library.clone(), Value::Null));
        for _ in 0..5 {
            probe.check(&context()).await;
        }
        assert!(probe.status().is_broken());
        let expected = EventKind::PluginError {
            plugin: "p".into(),
            error: "broken, after 3 checks in a row without a verdict: the plugin was killed by SIGSEGV".into(),
        };
        assert_eq!(*events.lock().unwrap(), [expected]);
        std::fs::remove_file(&library).unwrap();
        std::fs::copy(c_plugin("passes"), &library).unwrap();
        assert_eq!(probe.check(&context()).await, Verdict::Pass);
        assert_eq!(probe.status(), watchdog::probe::plugin::Status::default());
    });
}

fn check_plugin(library: &std::path::Path, more: &[&str]) -> (Option<i32>, String, String) {
    let output = std::process::Command::new(WATCHDOG)
        .args(["plugins", "check"])
        .arg(library)
        .args(more)
        .output()
        .expect("the watchdog can be started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_command_tries_a_plugin() {
    let hostile = rust_plugin("hostile-rs");
    let (code, out, err) = check_plugin(&c_example(), &["--config", "{max_ms: 5000}"]);
    assert_eq!(code, Some(0), "{out}{err}");
    for part in [": loads\n", "\n  ABI         1.0\n", "\n  check       pass after "] {
        assert!(out.contains(part), "{out}");
    }
    let (code, out, _) = check_plugin(&hostile, &["--json", "--config", r#"{"do":"call","text":"tools/list"}"#]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, found["verdict"].as_str(), found["returned"].as_bool()), (Some(0), Some("busy"), Some(true)));
    assert!(found["reason"].as_str().unwrap().contains("add"), "{out}");
    assert_eq!(found["configSchema"]["type"], "object");

    let (code, out, err) = check_plugin(&hostile, &["--config", "{do: print, text: hello}"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(err.contains("hello on stdout") && err.contains("hello on stderr") && !out.contains("hello"), "{out}{err}");

    let (code, out, err) = check_plugin(&c_plugin("reads_in_thread"), &[]);
    assert!(code == Some(0) && err.contains("a line through C"), "{out}{err}");

    let (code, out, err) = check_plugin(&hostile, &["--config", "{do: abort}"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("inconclusive") && out.contains("SIGABRT"), "{out}");
    let (code, _, err) = check_plugin(&text_file(), &[]);
    assert!(code == Some(1) && err.starts_with("error: cannot load "), "{err}");
    let (code, _, err) = check_plugin(&hostile, &["--config", "{"]);
    assert!(code == Some(78) && err.starts_with("error: --config is not YAML or JSON"), "{err}");
}
