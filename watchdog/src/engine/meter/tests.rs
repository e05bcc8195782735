use std::time::Duration;

use super::*;
use crate::core::ending::Ending;
use crate::core::slot::RequestOutcome;
use crate::core::testing::{base, millis, secs};
use crate::events::EventKind as E;
use crate::wire::head::Method;

fn starting() -> E {
    E::ServerStarting { attempt: 1 }
}

fn connected() -> E {
    E::ServerConnected { pid: None, protocol_version: None, attempts_taken: 1, start_ms: 1 }
}

fn reconnected() -> E {
    E::ServerReconnected {
        capabilities: serde_json::Value::Null,
        capabilities_changed: false,
        old_hash: None,
        new_hash: None,
        attempts_taken: 1,
        down_ms: 1,
        lost: Vec::new(),
        preserved: Vec::new(),
    }
}

fn disconnected(reason: &'static str, exit: Option<Ending>) -> E {
    E::ServerDisconnected { intentional: false, reason: reason.into(), exit }
}

fn attempt_failed() -> E {
    E::McpRestartFailed { attempt: 1, reason: "start-failure".into(), last_error: String::new(), is_error: true }
}

/// Folds events, each with its second and its generation.
fn fold(story: impl IntoIterator<Item = (u64, u64, E)>) -> Tally {
    let mut tally = Tally::default();
    for (second, generation, kind) in story {
        tally.event(base() + secs(second), generation, &kind);
    }
    tally
}

fn counts<const N: usize>(counts: &Counts<N>) -> Vec<(&'static str, u64)> {
    counts.iter().filter(|(_, count)| *count > 0).collect()
}

#[test]
fn an_outage_with_a_failed_attempt() {
    let exited = E::ServerExited { pid: 1, exit: Ending::Signal(9), uptime_ms: 1, stderr_tail: Vec::new() };
    let tally = fold([
        (0, 1, starting()),
        (1, 1, connected()),
        (10, 1, exited),
        (10, 1, disconnected("transport-exit", Some(Ending::Signal(9)))),
        (10, 2, starting()),
        (12, 2, attempt_failed()),
        (15, 3, starting()),
        (16, 3, reconnected()),
    ]);
    assert_eq!(counts(&tally.restarts), [("transport-exit", 2)]);
    assert_eq!(counts(&tally.attempts), [("success", 2), ("failure", 1)]);
    assert_eq!(counts(&tally.reconnects), [("success", 1), ("failure", 1)]);
    assert_eq!(counts(&tally.exits), [("signal", 1)]);
    assert_eq!(tally.downtime(base() + secs(100)), secs(6));
    assert_eq!(tally.catalog_generation, 3);
}

#[test]
fn a_server_that_never_starts_is_no_outage() {
    let tally = fold([(0, 1, starting()), (0, 1, attempt_failed()), (5, 2, starting())]);
    assert_eq!(counts(&tally.restarts), [("start-failure", 1)]);
    assert_eq!(counts(&tally.attempts), [("failure", 1)]);
    assert_eq!(counts(&tally.reconnects), []);
    assert_eq!(tally.downtime(base() + secs(9)), Duration::ZERO);
}

#[test]
fn downtime_grows_while_it_lasts_and_ends_where_nobody_wants_the_server() {
    let mut tally = fold([(0, 1, connected()), (10, 1, disconnected("probe-failure", None))]);
    assert_eq!(tally.downtime(base() + secs(17)), secs(7));
    tally.event(base() + secs(20), 1, &E::ServerDisabled { by: "operator".into() });
    assert_eq!(tally.downtime(base() + secs(99)), secs(10));
    tally.event(base() + secs(99), 2, &starting());
    assert_eq!(counts(&tally.restarts), [("enable", 1)]);
    let off = fold([(0, 1, connected()), (10, 1, disconnected("disabled", None))]);
    assert_eq!(off.downtime(base() + secs(99)), Duration::ZERO);
}

#[test]
fn a_server_that_closes_its_stdout_and_one_that_is_killed() {
    let tally = fold([
        (0, 1, disconnected("transport-exit", None)),
        (1, 2, E::ServerKilled { pid: None, reason: "health".into(), is_warning: true }),
        (1, 2, disconnected("health", None)),
        (2, 3, starting()),
    ]);
    assert_eq!(counts(&tally.exits), [("close", 1), ("kill", 1)]);
    assert_eq!(counts(&tally.restarts), [("health", 1)]);
}

#[test]
fn the_next_client_is_a_reason_of_its_own() {
    let meter = Meter::new(true);
    meter.client_came(base());
    meter.tally().event(base(), 1, &connected());
    meter.client_left(base() + secs(3));
    meter.tally().event(base() + secs(3), 2, &starting());
    let tally = meter.tally();
    assert_eq!(counts(&tally.restarts), [("next-client", 1)]);
    assert_eq!((tally.connections.count(), tally.connections.seconds()), (1, 3.0));
}

#[test]
fn every_reason_of_the_lifecycle_has_a_place() {
    use crate::core::lifecycle::Reason as R;
    let reasons = [R::TransportExit, R::TransportError, R::ProbeFailure, R::Health, R::Force, R::Config];
    for reason in reasons {
        let tally = fold([(0, 1, disconnected(reason.name(), None)), (0, 2, starting())]);
        assert_eq!(counts(&tally.restarts), [(reason.name(), 1)]);
    }
}

#[test]
fn what_is_not_known_counts_under_the_last_name() {
    let mut tally = fold([(0, 1, E::StaleResult { what: "x of a later version".into() })]);
    assert_eq!(counts(&tally.stale), [("other", 1)]);
    for n in 0..200 {
        tally.probed(&format!("probe {n}"), "pass", false, millis(1));
    }
    assert_eq!(tally.probes().count(), 65, "64 names and `other`");
    let (_, other) = tally.probes().find(|(name, _)| *name == "other").unwrap();
    assert_eq!(other.verdicts.get("pass"), 200 - 64);
}

#[test]
fn plugins_that_break() {
    let mut tally = Tally::default();
    tally.plugin(&E::PluginLoaded { plugin: "p".into() });
    tally.plugin(&E::PluginError { plugin: "p".into(), error: "SIGSEGV".into() });
    assert_eq!(tally.plugin_errors, 1);
}

#[test]
fn probes_and_checks() {
    let mut tally = Tally::default();
    tally.probed("ping", "fail", true, millis(900));
    tally.probed("ping", "pass", false, millis(3));
    tally.check_failed(true);
    tally.check_failed(false);
    let (name, ping) = tally.probes().next().unwrap();
    assert_eq!((name, counts(&ping.verdicts)), ("ping", vec![("pass", 1), ("fail", 1)]));
    assert_eq!(counts(&tally.timeouts), [("health", 1), ("probe", 1)]);
    assert_eq!((tally.health_failures, ping.durations.count()), (2, 2));
}

#[test]
fn requests_by_method_and_outcome() {
    let meter = Meter::default();
    let ended = |method, outcome, elapsed| meter.count(Count::Request { method, outcome, elapsed });
    ended(Method::ToolsCall, RequestOutcome::Ok, Some(millis(15)));
    ended(Method::ToolsCall, RequestOutcome::Refused, Some(secs(400)));
    ended(Method::SubscriptionsListen, RequestOutcome::Cancelled, None);
    ended(Method::Other, RequestOutcome::Error, Some(millis(1)));
    // Only servers ask this.
    ended(Method::RootsList, RequestOutcome::Error, Some(millis(1)));
    let told: Vec<_> = meter
        .requests
        .asked()
        .map(|asked| {
            (asked.name, asked.outcomes().map(|(_, count)| count).collect::<Vec<_>>(), asked.durations().count())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("other", vec![0, 2, 0, 0, 0], 2),
            ("tools/call", vec![1, 0, 1, 0, 0], 2),
            ("subscriptions/listen", vec![0, 0, 0, 1, 0], 0),
        ]
    );
    let buckets = meter.requests.asked().nth(1).unwrap().durations().buckets();
    assert_eq!((buckets[1], buckets[14]), ((0.02, 1), (f64::INFINITY, 1)));
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 2);
}

#[test]
fn the_bound_of_a_bucket_is_in_it() {
    let histogram = Histogram::default();
    histogram.observe(millis(10));
    assert_eq!(histogram.buckets()[0], (0.01, 1));
}
