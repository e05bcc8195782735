use std::time::Duration;

use probe_api::{ConfigError, Context, ProbeKind, Verdict, async_trait};
use serde_json::json;

use super::*;

fn link(kind: &str, options: Value) -> config::Link {
    config::Link { kind: kind.to_owned(), timeout: None, options }
}

fn refusal(kind: &str, options: Value) -> String {
    Registry::with_builtins().check(&link(kind, options)).unwrap_err()
}

#[test]
fn every_built_in_probe_is_known() {
    let registry = Registry::with_builtins();
    let builtin: Vec<_> = probes::builtin().iter().map(|entry| entry.name).collect();
    assert_eq!(registry.names().collect::<Vec<_>>(), builtin);
    for name in ["ping", "discover", "tools_list", "process", "activity", "cpu"] {
        assert_eq!(registry.check(&link(name, json!({}))), Ok(()));
        assert_eq!(registry.check(&link(name, Value::Null)), Ok(()));
    }
}

#[test]
fn an_unknown_type_names_the_nearest_one() {
    let known: Vec<_> = Registry::with_builtins().names().collect();
    let known = format!("; known types: {}", known.join(", "));
    let refusal = |kind| refusal(kind, json!({}));
    assert_eq!(refusal("pign"), format!("unknown probe type \"pign\" (did you mean \"ping\"?){known}"));
    assert_eq!(
        refusal("Tools/List"),
        format!("unknown probe type \"Tools/List\" (did you mean \"tools_list\"?){known}")
    );
    assert_eq!(refusal("zzz"), format!("unknown probe type \"zzz\"{known}"));
    assert_eq!(refusal(""), format!("unknown probe type \"\"{known}"));
}

#[test]
fn an_unknown_option_is_named() {
    let plain = "probe \"ping\": unknown field `colour`, there are no fields";
    assert_eq!(refusal("ping", json!({ "colour": 1 })), plain);
    let timeout = "probe \"ping\": unknown field `timout`, there are no fields (did you mean \"timeout\"?)";
    assert_eq!(refusal("ping", json!({ "timout": "3s" })), timeout);
}

#[test]
fn a_chain_is_loaded_with_its_limits() {
    let own = Duration::from_millis(200);
    let chain = vec![link("ping", json!({})), config::Link { timeout: Some(own), ..link("tools_list", json!({})) }];
    let mut probe = chain_of(chain);
    let loaded = Registry::with_builtins().load(&probe).unwrap();
    let seen: Vec<_> = loaded.iter().map(|link| (link.name.as_str(), link.timeout, link.skippable)).collect();
    assert_eq!(seen, [("ping", probe.timeout, true), ("tools_list", own, false)]);
    probe.chain.push(link("pin", json!({})));
    let error = Registry::with_builtins().load(&probe).unwrap_err();
    assert!(error.starts_with("chain[2]: unknown probe type \"pin\""), "{error}");
}

fn chain_of(chain: Vec<config::Link>) -> config::Probe {
    config::Probe {
        mode: config::ChainMode::Any,
        timeout: Duration::from_secs(3),
        total_timeout: Duration::from_secs(10),
        confirmations: 1,
        busy_grace: Duration::from_secs(60),
        busy_max: Duration::from_secs(600),
        on_failure: config::OnProbeFailure::Restart,
        chain,
    }
}

struct Picky;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    port: u16,
}

#[async_trait]
impl Probe for Picky {
    async fn check(&mut self, _cx: &dyn Context) -> Verdict {
        Verdict::Pass
    }
}

impl ProbeKind for Picky {
    const NAME: &'static str = "picky";
    type Config = Port;

    fn new(config: Port) -> Result<Self, ConfigError> {
        if config.port == 0 { Err(ConfigError("port 0 cannot be asked".to_owned())) } else { Ok(Self) }
    }
}

#[test]
fn a_probe_can_be_added_and_checks_its_own_options() {
    let mut registry = Registry::with_builtins();
    registry.add(Entry::of::<Picky>(false));
    registry.add(Entry::of::<Picky>(false));
    assert_eq!(registry.names().filter(|name| *name == "picky").count(), 1);
    let check = |options| registry.check(&link("picky", options));
    assert_eq!(check(json!({ "port": 80 })), Ok(()));
    assert_eq!(check(json!({ "port": 0 })), Err("probe \"picky\": port 0 cannot be asked".to_owned()));
    assert_eq!(check(json!({})), Err("probe \"picky\": missing field `port`".to_owned()));
    let unknown = "probe \"picky\": unknown field `prot`, expected `port`";
    assert_eq!(check(json!({ "port": 80, "prot": 1 })), Err(unknown.to_owned()));
}
