use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};

use super::*;
use crate::config::{EventForm, EventFormat, Events};
use crate::core::slot::{Count, RequestOutcome, Role, Slot};
use crate::core::testing::server;
use crate::engine::Info;
use crate::engine::handle::Published;
use crate::events::{Bus, EventWriter};
use crate::telemetry::LogHandle;
use crate::wire::head::Method;

const OPENMETRICS_ACCEPT: &str =
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";

fn slot(name: &str, socket: bool) -> SlotHandle {
    let snapshot = Slot::new(Arc::new(server()), Role::default(), 0).snapshot();
    SlotHandle {
        name: name.into(),
        command: "server".into(),
        commands: mpsc::unbounded_channel().0,
        published: watch::channel(Published { slot: snapshot, last_probe: None, fence: None }).1,
        meter: Arc::new(Meter::new(socket)),
    }
}

/// A process with two servers, one of which was asked something and has a name that needs quoting.
fn handle() -> Handle {
    let events = Events { stderr: EventForm::Off, format: EventFormat::Jsonl, file: None, ring: 1, throttle: None };
    let bus = Bus::new(EventWriter::new(LogHandle::discard(), &events), 1);
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_813_200);
    let info = Info { version: "0.1.0", pid: 7, started, started_at: Instant::now(), config_file: None };
    let handle = Handle::new(info, bus, mpsc::unbounded_channel().0);
    let (one, other) = (slot("say \"hi\"\\\n", false), slot("files", true));
    let elapsed = Some(Duration::from_millis(250));
    one.meter.count(Count::Request { method: Method::ToolsCall, outcome: RequestOutcome::Ok, elapsed });
    one.meter.tally().probed("ping", "pass", false, Duration::from_millis(2));
    one.meter.messages_in.add(3);
    other.meter.client_came(Instant::now());
    other.meter.client_left(Instant::now());
    handle.set_slots(vec![one, other]);
    handle
}

/// A metric family as it was read back.
#[derive(Debug, Default)]
struct Read {
    kind: String,
    unit: Option<String>,
    samples: Vec<(String, String, f64)>,
}

/// Reads an exposition by the grammar that its form has, and insists on it.
fn read(text: &str, openmetrics: bool) -> BTreeMap<String, Read> {
    let body = match openmetrics {
        true => text.strip_suffix("# EOF\n").expect("it ends with the mark of its end"),
        false => text,
    };
    assert!(body.ends_with('\n') && !body.contains("# EOF"));
    let (mut families, mut current) = (BTreeMap::<String, Read>::new(), String::new());
    let mut helped = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (word, name, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            match word {
                "HELP" => assert!(helped.insert(name.to_owned()) && rest.ends_with('.'), "{line}"),
                "TYPE" => {
                    current = name.to_owned();
                    let fresh = Read { kind: rest.to_owned(), ..Read::default() };
                    assert!(families.insert(current.clone(), fresh).is_none(), "twice: {line}");
                }
                "UNIT" if openmetrics => {
                    assert!(name == current && name.ends_with(&format!("_{rest}")), "{line}");
                    families.get_mut(name).unwrap().unit = Some(rest.to_owned());
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (name, labels, value) = sample(line);
        assert!(seen.insert((name.clone(), labels.clone())), "twice: {line}");
        let family = families.get_mut(&current).unwrap();
        let suffix = name.strip_prefix(current.as_str()).unwrap_or_else(|| panic!("{line} in {current}"));
        let allowed: &[&str] = match (family.kind.as_str(), openmetrics) {
            ("counter", true) => &["_total"],
            ("counter", false) => &[""],
            ("gauge", _) => &[""],
            ("info", true) => &["_info"],
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            other => panic!("a family of kind {other:?}"),
        };
        assert!(allowed.contains(&suffix), "{line} in {} {current}", family.kind);
        assert!(family.kind != "counter" || name.ends_with("_total") && value >= 0.0, "{line}");
        family.samples.push((name, labels, value));
    }
    assert_eq!(helped, families.keys().cloned().collect());
    families
}

/// The name, the labels as they are written, and the value of a sample.
fn sample(line: &str) -> (String, String, f64) {
    let (head, value) = line.rsplit_once(' ').unwrap();
    let (name, labels) =
        head.split_once('{').map_or((head, ""), |(name, rest)| (name, rest.strip_suffix('}').unwrap()));
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
    let mut rest = labels;
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"").unwrap();
        assert!(key.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{line}");
        let mut escaped = false;
        let end = after.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let after = &after[end.expect("a label value ends") + 1..];
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    (name.to_owned(), labels.to_owned(), value.parse().unwrap())
}

fn value(families: &BTreeMap<String, Read>, family: &str, label: &str) -> f64 {
    let found: Vec<_> = families[family].samples.iter().filter(|(_, labels, _)| labels.contains(label)).collect();
    assert_eq!(found.len(), 1, "{family} {label}: {found:?}");
    found[0].2
}

#[test]
fn openmetrics_is_written_by_its_rules() {
    let (kind, text) = render(&handle(), Some(OPENMETRICS_ACCEPT));
    assert_eq!(kind, OPENMETRICS);
    let families = read(&text, true);
    assert_eq!(families["mcp_watchdog_request_duration_seconds"].unit.as_deref(), Some("seconds"));
    assert_eq!(families["mcp_watchdog_build"].kind, "info");
    assert_eq!(value(&families, "mcp_watchdog_messages", r#"\n",direction="in""#), 3.0);
    assert_eq!(value(&families, "mcp_watchdog_requests", r#"method="tools/call",outcome="ok""#), 1.0);
    assert!(text.contains(r#"server="say \"hi\"\\\n""#), "{text}");
}

#[test]
fn plain_text_is_written_by_its_rules() {
    for accept in [None, Some("*/*"), Some("text/plain"), Some("application/openmetrics-text;q=0, */*")] {
        let (kind, text) = render(&handle(), accept);
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        let families = read(&text, false);
        assert_eq!(families["mcp_watchdog_requests_total"].kind, "counter");
        assert_eq!(value(&families, "mcp_watchdog_build_info", r#"version="0.1.0""#), 1.0);
        assert_eq!(value(&families, "process_start_time_seconds", ""), 1_795_813_200.0);
    }
}

#[test]
fn the_form_follows_the_weights() {
    assert!(wants_openmetrics("application/openmetrics-text"));
    assert!(wants_openmetrics(OPENMETRICS_ACCEPT));
    assert!(wants_openmetrics("text/plain;q=0.2 , Application/OpenMetrics-Text; version=1.0.0; q=0.3"));
    assert!(!wants_openmetrics("text/plain, application/openmetrics-text;q=0.9"));
    assert!(!wants_openmetrics("application/openmetrics-text;q=x"));
    assert!(!wants_openmetrics("*/*"));
}

#[test]
fn exactly_one_state_is_set_and_both_forms_say_the_same() {
    let families = read(&render(&handle(), None).1, false);
    let states: Vec<_> = families["mcp_watchdog_server_state"].samples.iter().map(|(_, _, value)| *value).collect();
    assert_eq!((states.len(), states.iter().sum::<f64>()), (14, 2.0));
    assert_eq!(value(&families, "mcp_watchdog_connections", "unix"), 0.0);
    let duration = &families["mcp_watchdog_connection_duration_seconds"];
    assert!(duration.samples.iter().all(|(_, labels, _)| labels.contains("unix")), "only where clients come and go");
    let open = read(&render(&handle(), Some(OPENMETRICS_ACCEPT)).1, true);
    assert_eq!(open.len(), families.len());
}

#[test]
fn histograms_are_cumulative_and_end_with_infinity() {
    let families = read(&render(&handle(), None).1, false);
    let family = &families["mcp_watchdog_request_duration_seconds"];
    let buckets: Vec<_> = family.samples.iter().filter(|(name, ..)| name.ends_with("_bucket")).collect();
    assert_eq!(buckets.len(), 15);
    assert!(buckets.is_sorted_by_key(|(_, _, count)| *count as u64));
    assert!(buckets[14].1.contains(r#"le="+Inf""#) && buckets[14].2 == 1.0);
    assert_eq!((buckets[4].2, buckets[5].2), (0.0, 1.0), "250 ms lie between 0.2 and 0.5");
}

/// The names under which Prometheus stores what is exposed.
fn stored() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, family) in read(&render(&handle(), None).1, false) {
        match family.kind.as_str() {
            "histogram" => names.extend(["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}"))),
            _ => drop(names.insert(name)),
        }
    }
    names
}

fn paper(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Words of a text that are names of ours.
fn names_in(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    text.split(|c| !is_part(c))
        .filter(|word| word.starts_with("mcp_watchdog_") || word.starts_with("process_"))
        .collect()
}

#[test]
fn s292_alerts_and_dashboard_use_names_that_exist() {
    let stored = stored();
    let alerts: serde_json::Value = serde_yaml::from_str(&paper("examples/prometheus/alerts.yml")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&paper("examples/grafana/dashboard.json")).unwrap();
    let mut expressions = Vec::new();
    for paper in [&alerts, &dashboard] {
        let before = expressions.len();
        collect(paper, &mut expressions);
        assert!(expressions.len() > before + 4);
    }
    for expression in expressions {
        let names = names_in(expression);
        assert!(!names.is_empty(), "{expression}");
        let unknown: Vec<_> = names.iter().filter(|name| !stored.contains(**name)).collect();
        assert!(unknown.is_empty(), "{unknown:?} in {expression}");
    }
}

/// Expressions of rules and panels, and queries of variables.
fn collect<'a>(value: &'a serde_json::Value, found: &mut Vec<&'a str>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value.as_str()) {
                    ("expr" | "query", Some(text)) if text != "prometheus" => found.push(text),
                    _ => collect(value, found),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

#[test]
fn the_table_in_the_documentation_is_complete() {
    let text = paper("docs/metrics.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split_once('`'));
    let documented: BTreeSet<_> = rows.map(|(name, _)| name).collect();
    let families = read(&render(&handle(), None).1, false);
    let exposed: BTreeSet<_> = families.keys().map(String::as_str).collect();
    assert_eq!(documented, exposed);
}
