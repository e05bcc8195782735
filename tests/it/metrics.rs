//! The numbers of a running watchdog, asked over its control socket.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use harness::{Session, json, tool_call};

use crate::rig::{EAGER, poll_until, setup};

/// What `/metrics` says: samples by name and labels.
struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    #[track_caller]
    fn of(session: &Session) -> Self {
        let end = format!("-{}.sock", session.pid());
        let mut socket = None;
        poll_until("control socket", || {
            let paths =
                fs::read_dir(session.folder()).expect("the folder is there").flatten().map(|entry| entry.path());
            let found: Option<PathBuf> = paths.into_iter().find(|path| path.to_string_lossy().ends_with(&end));
            socket = found.and_then(|path| UnixStream::connect(path).ok());
            socket.is_some()
        });
        let mut socket = socket.expect("it was waited for");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("it is open");
        socket.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("it is read");
        let mut text = String::new();
        socket.read_to_string(&mut text).expect("the answer is text and comes to an end");
        let (head, body) = text.split_once("\r\n\r\n").expect("there is a body");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.to_lowercase().contains("content-type: text/plain; version=0.0.4"), "{head}");
        let samples = body.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        Self(samples.map(|(name, value)| (name.to_owned(), value.parse().expect("a value is a number"))).collect())
    }

    /// The one sample of this name whose labels contain these.
    #[track_caller]
    fn get(&self, name: &str, labels: &str) -> f64 {
        let start = format!("mcp_watchdog_{name}{{");
        let mut found = self.0.iter().filter(|(key, _)| key.starts_with(&start) && key.contains(labels));
        match (found.next(), found.next()) {
            (Some((_, value)), None) => *value,
            other => panic!("{name} {labels}: {other:?}"),
        }
    }
}

#[test]
fn s129_a_call_a_death_and_a_restart_are_counted() {
    let session = setup().options(EAGER).start();
    session.initialize();
    session.send(tool_call(1, "life", json!({})));
    session.answer(1);
    let before = Scrape::of(&session);
    assert_eq!(before.get("server_up", ""), 1.0);
    assert_eq!(before.get("requests_total", r#"method="tools/call",outcome="ok""#), 1.0);
    assert_eq!(before.get("restarts_total", r#"reason="transport-exit""#), 0.0, "it is there before the first one");
    assert_eq!(before.get("downtime_seconds_total", ""), 0.0);

    session.kill_server();
    session.wait_life(2);
    session.send(tool_call(2, "life", json!({})));
    assert_eq!(session.answer(2).text(), "2");
    session.send(tool_call(3, "no such tool", json!({})));
    session.answer(3);
    let after = Scrape::of(&session);
    assert_eq!(after.get("server_generation", ""), 2.0);
    assert_eq!(after.get("restarts_total", r#"reason="transport-exit""#), 1.0);
    assert_eq!(after.get("exits_total", r#"cause="signal""#), 1.0);
    assert_eq!(after.get("reconnects_total", r#"outcome="success""#), 1.0);
    assert_eq!(after.get("connect_attempts_total", r#"outcome="success""#), 2.0);
    assert_eq!(after.get("server_state", r#"state="Connected""#), 1.0);
    assert_eq!(after.get("request_duration_seconds_count", r#"method="tools/call""#), 3.0);
    assert_eq!(
        after.get("request_duration_seconds_count", r#"method="initialize""#),
        1.0,
        "the replay is not the client's"
    );
    assert!(after.get("downtime_seconds_total", "") > 0.0);
    assert_eq!(after.get("messages_total", r#"direction="in""#), 5.0);
    session.finish();
}

/// What `promtool` and Grafana would look for in vain.
#[test]
fn s292_the_alerts_and_the_dashboard_find_their_numbers_in_a_running_watchdog() {
    let session = setup().options(EAGER).start();
    session.initialize();
    let scrape = Scrape::of(&session);
    let names: Vec<_> = scrape.0.keys().map(|key| key.split('{').next().unwrap_or_default()).collect();
    // These appear with the first check.
    let later = ["mcp_watchdog_probes_total"];
    for path in ["examples/prometheus/alerts.yml", "examples/grafana/dashboard.json"] {
        let text = fs::read_to_string(crate::rig::root().join(path)).expect("the example is there");
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let used: Vec<_> = words.filter(|word| word.starts_with("mcp_watchdog_")).collect();
        assert!(used.len() > 5, "{path}");
        for name in used {
            assert!(names.contains(&name) || later.contains(&name), "{name} of {path}");
        }
    }
    session.finish();
}
