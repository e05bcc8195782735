use std::time::Duration;

use probe_api::{ConfigError, Context, ProbeKind, Verdict, async_trait};
use serde_json::json;

use super::*;

fn link(kind: &str, options: Value) -> config::Link {
    config::Link::new(kind, options)
}

fn refusal(kind: &str, options: Value) -> String {
    Registry::with_builtins().check(&link(kind, options), None).unwrap_err()
}

/// Those that need no options.
fn plain() -> impl Iterator<Item = &'static str> {
    ["ping", "discover", "tools_list", "process", "activity", "cpu"].into_iter()
}

fn known_types() -> String {
    let names: Vec<_> = Registry::with_builtins().names().collect();
    format!("; known types: {}", names.join(", "))
}

fn loaded(chain: Vec<config::Link>) -> Result<Vec<LoadedLink>, String> {
    let mut server = crate::core::testing::server();
    server.probe.chain = chain;
    Registry::with_builtins().load(&server, &LogHandle::discard())
}

#[test]
fn every_built_in_probe_is_known() {
    let registry = Registry::with_builtins();
    for name in probes::builtin().iter().map(|entry| entry.name).chain(["exec", "plugin"]) {
        assert_eq!(registry.names().filter(|known| *known == name).count(), 1, "{name}");
    }
    for name in plain() {
        assert_eq!(registry.check(&link(name, json!({})), None), Ok(()));
        assert_eq!(registry.check(&link(name, Value::Null), None), Ok(()));
    }
}

#[test]
fn an_unknown_type_names_the_nearest_one() {
    let known = known_types();
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
    let plain = "probe \"ping\": unknown field `colour`";
    assert_eq!(refusal("ping", json!({ "colour": 1 })), plain);
    let timeout = "probe \"ping\": unknown field `timout` (did you mean \"timeout\"?)";
    assert_eq!(refusal("ping", json!({ "timout": "3s" })), timeout);
}

#[test]
fn keys_of_the_link_are_offered_for_slips_among_the_options() {
    let refused = |key: &str| refusal("ping", json!({ key: 1 }));
    assert!(refused("allow_method").ends_with("(did you mean \"allow_methods\"?)"));
    assert!(refused("allow-methods").ends_with("(did you mean \"allow_methods\"?)"));
    assert!(refused("nmae").ends_with("(did you mean \"name\"?)"));
}

#[test]
fn a_chain_is_loaded_with_its_limits_names_and_methods() {
    let mut listing = link("tools_list", json!({}));
    listing.timeout = Some(Duration::from_millis(200));
    listing.name = "tools".to_owned();
    listing.allow_methods = vec!["resources/read".to_owned()];
    let links = loaded(vec![link("ping", json!({})), listing]).unwrap();
    let seen: Vec<_> =
        links.iter().map(|link| (link.name.as_str(), link.timeout.as_millis(), link.skippable)).collect();
    assert_eq!(seen, [("ping", 3000, true), ("tools", 200, false)]);
    assert_eq!((links[0].methods.len(), &links[1].methods[..]), (0, &["resources/read".to_owned()][..]));

    let error = loaded(vec![link("ping", json!({})), link("pin", json!({}))]).unwrap_err();
    assert!(error.starts_with("chain[1]: unknown probe type \"pin\""), "{error}");
}

#[test]
fn a_program_is_looked_for_when_it_is_checked_and_not_when_it_is_made() {
    let missing = link("exec", json!({ "command": ["/no/such/program"] }));
    let server = crate::core::testing::server();
    let registry = Registry::with_builtins();
    let error = registry.check(&missing, Some(&server.command)).unwrap_err();
    assert!(error.starts_with("probe \"exec\": cannot execute `/no/such/program`: there is no such file"), "{error}");
    assert_eq!(registry.check(&missing, None), Ok(()));
    assert_eq!(loaded(vec![missing]).map(|links| links.len()), Ok(1));
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
    let check = |options| registry.check(&link("picky", options), None);
    assert_eq!(check(json!({ "port": 80 })), Ok(()));
    assert_eq!(check(json!({ "port": 0 })), Err("probe \"picky\": port 0 cannot be asked".to_owned()));
    assert_eq!(check(json!({})), Err("probe \"picky\": missing field `port`".to_owned()));
    let unknown = "probe \"picky\": unknown field `prot`, expected `port`";
    assert_eq!(check(json!({ "port": 80, "prot": 1 })), Err(unknown.to_owned()));
}

#[cfg(not(feature = "plugins"))]
#[test]
fn a_build_without_plugins_names_the_remedy() {
    let refusal = refusal("plugin", json!({ "library": "/a.so" }));
    assert!(refusal.starts_with("probe \"plugin\": this build loads no plugins"), "{refusal}");
    assert!(refusal.contains("`type: exec`") && refusal.contains("dynamically linked"), "{refusal}");
}
