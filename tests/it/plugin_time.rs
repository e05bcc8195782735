//! Plugins and time: how long they may take, when they are asked again, and when they are loaded anew.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::json;
use harness::plugins::{c_plugin, rust_plugin};
use probe_api::testing::{Answer, FakeContext};
use probe_api::{Probe, Snapshot, Trigger, Verdict};
use watchdog::probe::plugin::{Around, Options, PluginProbe, inspect};
use watchdog::probe::tell::Tell;

use crate::plugin::{assert_inconclusive, c, context, hostile, launcher, options, probe, run};

/// Far longer than anything here takes.
const INTERVAL: Duration = Duration::from_secs(120);

/// A check that will not return.
fn short_context() -> FakeContext {
    context().remaining_for(Duration::from_millis(300))
}

/// A check that nobody asked for.
fn periodic() -> FakeContext {
    let snapshot = Snapshot::new("fake", 1, Trigger::Periodic);
    FakeContext::with_snapshot(snapshot).remaining_for(Duration::from_secs(10)).on("ping", Answer::Result(json!({})))
}

/// With the interval of a real health check.
fn patient(library: &Path) -> PluginProbe {
    let around = Around {
        name: "p".into(),
        interval: Some(INTERVAL),
        launcher: launcher(),
        tell: Tell::nobody(),
        broken: Arc::default(),
    };
    PluginProbe::new(options(library.to_owned(), json!(null)), around)
}

/// A probe, and whether there is a process with its environment.
fn marked(library: Options, mark: &Path) -> (PluginProbe, impl Fn() -> bool) {
    let mark = mark.display().to_string();
    let mut launcher = launcher();
    launcher.env.push(("PLUGIN_TEST_MARK".into(), mark.clone().into()));
    let around = Around { name: "p".into(), interval: None, launcher, tell: Tell::nobody(), broken: Arc::default() };
    let is_there = move || {
        let numbers =
            fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let environment = |pid: &String| fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        numbers.into_iter().any(|pid| String::from_utf8_lossy(&environment(&pid)).contains(&mark))
    };
    (PluginProbe::new(library, around), is_there)
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect(what);
}

#[test]
fn a_check_that_does_not_return_is_killed_at_its_time() {
    run(async {
        for mut probe in [c("stuck"), hostile(json!({ "do": "never_return" })), hostile(json!({ "do": "spin" }))] {
            let found = probe.prepare().await.unwrap();
            let (begin, cx) = (Instant::now(), short_context());
            let verdict = probe.check(&cx).await;
            let took = begin.elapsed();
            assert_eq!(cx.calls().len(), 1, "{found:?} was asked");
            assert_inconclusive(
                &verdict,
                "did not return within the 300ms of this check: have it mind its `remaining`",
            );
            assert_inconclusive(&verdict, "raise the link's `timeout`");
            assert!(Duration::from_millis(350) <= took && took < Duration::from_secs(2), "{took:?}");
            assert_eq!(probe.status().failures, 1);
        }
    });
}

/// A machine that is busy may have a check that is a little late be much too late, or hide from the engine that its time was over;
/// what comes out agrees with the clock each time, and comes out as it should in the end.
#[test]
fn a_check_may_be_a_little_late() {
    const TIME: Duration = Duration::from_millis(100);
    run(async {
        for (late, is_in_time) in [(20, true), (200, false)] {
            let late_by = Duration::from_millis(late);
            let mut came_out = false;
            for _ in 0..50 {
                let mut probe = hostile(json!({ "do": "late", "ms": late }));
                probe.prepare().await.unwrap();
                let begin = Instant::now();
                let verdict = probe.check(&context().remaining_for(TIME)).await;
                let took = begin.elapsed();
                let returned = verdict == Verdict::Pass;
                if returned {
                    // Whole milliseconds are told.
                    assert!(took + Duration::from_millis(2) > TIME + late_by, "{took:?}");
                } else {
                    assert_inconclusive(&verdict, "did not return within the 100ms of this check");
                    assert!(took >= TIME + Duration::from_millis(50), "{took:?}");
                }
                assert_eq!(probe.status().failures, u32::from(!returned));
                came_out = returned == is_in_time;
                if came_out {
                    break;
                }
            }
            assert!(came_out, "{late} ms late");
        }
    });
}

#[test]
fn a_plugin_that_takes_long_to_start_is_ready_for_a_later_check() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let lines = folder.path().join("lines");
        let mut probe = hostile(json!({ "do": "created_late", "text": lines }));
        for _ in 0..2 {
            assert_inconclusive(
                &probe.check(&short_context()).await,
                "is still starting after the 300ms of this check",
            );
        }
        fs::write(folder.path().join("go"), "").unwrap();
        let mut verdict = probe.check(&short_context()).await;
        while verdict != Verdict::Busy("1".into()) {
            assert_inconclusive(&verdict, "of this check: wait for the next one, or raise the link's `timeout`");
            verdict = probe.check(&short_context()).await;
        }
        assert_eq!(probe.status().failures, 0, "that is nobody's failure");
        assert_eq!(fs::read_to_string(&lines).unwrap(), "created\n", "one start for all of them");
    });
}

#[test]
fn a_start_ends_with_its_probe_and_at_its_own_time() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let never = options(rust_plugin("hostile-rs"), json!({ "do": "never_created" }));
        let (mut probe, is_there) = marked(never.clone(), folder.path());
        assert_inconclusive(&probe.check(&short_context()).await, "is still starting");
        assert!(is_there());
        drop(probe);
        until("the host is killed", || !is_there()).await;
        let why = inspect(&never, &launcher(), "p").await.unwrap_err();
        let expected = format!("{} did not take its `config:` within 5s: have its `create`", never.library.display());
        assert!(why.starts_with(&expected), "{why}");
    });
}

#[test]
fn a_check_that_is_dropped_kills_its_host() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (mut probe, is_there) = marked(options(c_plugin("stuck"), json!(null)), folder.path());
        let cx = context();
        tokio::select! {
            verdict = probe.check(&cx) => panic!("{verdict:?}"),
            () = until("it is asked", || !cx.calls().is_empty()) => {}
        }
        assert!(is_there());
        until("the host is killed", || !is_there()).await;
        assert_eq!(probe.status().failures, 0, "that is nobody's failure");
    });
}

#[test]
fn while_it_fails_it_is_asked_less_often_but_for_who_asks_by_hand() {
    run(async {
        let mut probe = patient(&c_plugin("segfault_in_check"));
        assert_inconclusive(&probe.check(&periodic()).await, "killed by SIGSEGV");
        let Verdict::Inconclusive(text) = probe.check(&periodic()).await else { panic!() };
        assert!(text.starts_with("the plugin was killed by SIGSEGV; not asked again for "), "{text}");
        assert_eq!(probe.status().failures, 1);
        let Verdict::Inconclusive(text) = probe.check(&context()).await else { panic!() };
        assert_eq!((text.as_str(), probe.status().failures), ("the plugin was killed by SIGSEGV", 2));
        assert_inconclusive(&probe.check(&periodic()).await, "not asked again for ");
    });
}

#[test]
fn a_plugin_that_was_mended_is_asked_at_once() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (library, next) = (folder.path().join("x.so"), folder.path().join("next.so"));
        let mut probe = patient(&library);
        let replace = |name: &str| {
            fs::copy(c_plugin(name), &next).unwrap();
            fs::rename(&next, &library).unwrap();
        };
        for (name, reason) in [(None, "No such file"), (Some("segfault_in_check"), "the plugin was killed by SIGSEGV")]
        {
            name.iter().for_each(|name| replace(name));
            assert_inconclusive(&probe.check(&periodic()).await, reason);
            assert_inconclusive(&probe.check(&periodic()).await, "not asked again for ");
        }
        assert_eq!(probe.status().failures, 2);
        replace("passes");
        assert_eq!(probe.check(&periodic()).await, Verdict::Pass);
        assert_eq!(probe.status().failures, 0);
    });
}

#[test]
fn a_file_that_has_changed_is_loaded_again() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let (library, next) = (folder.path().join("x.so"), folder.path().join("next.so"));
        fs::copy(rust_plugin("hostile-rs"), &library).unwrap();
        let mut probe = probe(options(library.clone(), json!({ "do": "count" })));
        assert_eq!(probe.check(&context()).await, Verdict::Busy("1".into()));
        assert_eq!(probe.check(&context()).await, Verdict::Busy("2".into()));
        fs::copy(rust_plugin("hostile-rs"), &next).unwrap();
        fs::rename(&next, &library).unwrap();
        assert_eq!(probe.check(&context()).await, Verdict::Busy("1".into()));
    });
}
