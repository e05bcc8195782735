use std::path::{Path, PathBuf};

use super::*;
use crate::config::load::{self, Input};
use crate::config::{duration, keys};
use crate::probe::Registry;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn ours() -> Value {
    schema(Registry::with_builtins().names())
}

#[test]
fn the_committed_schema_is_current() {
    let committed = std::fs::read_to_string(root().join("schema/mcp-watchdog.schema.json")).unwrap();
    let current = format!("{}\n", serde_json::to_string_pretty(&ours()).unwrap());
    assert!(committed == current, "make it anew: cargo run -- print-schema > schema/mcp-watchdog.schema.json");
}

#[test]
fn every_key_is_there_and_described() {
    let schema = ours();
    for (base, keys, texts) in [("/$defs/Server", keys::server(), help::SERVER), ("", keys::top(), help::TOP)] {
        let mut keys: Vec<_> = keys.into_iter().map(|key| key.path).collect();
        let mut described: Vec<_> = texts.iter().map(|(key, _)| (*key).to_owned()).collect();
        for key in &keys {
            let description = at(&schema, base, key).and_then(|here| here.get("description"));
            assert!(description.is_some_and(Value::is_string), "{key}");
        }
        keys.sort();
        described.sort();
        assert_eq!(described, keys);
    }
    assert_eq!(at(&schema, "/$defs/Server", "restart.hold").unwrap()["default"], "10s");
    assert_eq!(at(&schema, "/$defs/Server", "health.interval").unwrap()["default"], "120s");
    assert_eq!(at(&schema, "", "log.level").unwrap()["default"], "info");
}

/// What of a value the schema refuses: as much of the dialect as it uses, and a panic at the rest.
fn faults(schema: &Value, here: &Value, value: &Value, path: &str) -> Vec<String> {
    let Value::Object(rules) = here else {
        return if *here == Value::Bool(false) { vec![format!("{path}: is not allowed")] } else { Vec::new() };
    };
    let mut found = Vec::new();
    let mut fail = |ok: bool, rule: &str| {
        if !ok {
            found.push(format!("{path}: {rule}"));
        }
    };
    for (rule, wanted) in rules {
        match rule.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
            "type" => {
                let types = wanted.as_array().map_or_else(|| std::slice::from_ref(wanted), Vec::as_slice);
                fail(types.iter().any(|name| has_type(value, name.as_str().unwrap())), rule);
            }
            "enum" => fail(wanted.as_array().unwrap().contains(value), rule),
            "const" => fail(wanted == value, rule),
            "minimum" => fail(value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()), rule),
            "exclusiveMinimum" => fail(value.as_f64().is_none_or(|n| n > wanted.as_f64().unwrap()), rule),
            "maximum" => fail(value.as_f64().is_none_or(|n| n <= wanted.as_f64().unwrap()), rule),
            "pattern" => fail(value.as_str().is_none_or(|text| fits(text, wanted)), rule),
            "required" => {
                let has = |key: &Value| value.get(key.as_str().unwrap()).is_some();
                fail(!value.is_object() || wanted.as_array().unwrap().iter().all(has), rule);
            }
            "propertyNames" => {
                let good = |key: &String| faults(schema, wanted, &Value::from(key.as_str()), path).is_empty();
                fail(value.as_object().is_none_or(|map| map.keys().all(good)), rule);
            }
            "anyOf" => {
                let fits = |form: &Value| faults(schema, form, value, path).is_empty();
                fail(wanted.as_array().unwrap().iter().any(fits), rule);
            }
            "$ref" | "items" | "properties" | "patternProperties" | "additionalProperties" => {}
            other => panic!("the schema has a rule that this test does not know: {other}"),
        }
    }
    if let Some(reference) = rules.get("$ref").and_then(Value::as_str) {
        found.extend(faults(schema, schema.pointer(&reference[1..]).unwrap(), value, path));
    }
    if let (Some(rule), Some(items)) = (rules.get("items"), value.as_array()) {
        found.extend(items.iter().flat_map(|item| faults(schema, rule, item, &format!("{path}[]"))));
    }
    for (key, child) in value.as_object().into_iter().flatten() {
        let own = rules.get("properties").and_then(|own| own.get(key));
        let extension = rules.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let extension =
            extension.filter(|(pattern, _)| fits(key, &Value::from(pattern.as_str()))).map(|(_, rule)| rule).next();
        let rule = own.or(extension).or_else(|| rules.get("additionalProperties"));
        found.extend(rule.into_iter().flat_map(|rule| faults(schema, rule, child, &format!("{path}.{key}"))));
    }
    found
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    }
}

fn fits(text: &str, pattern: &Value) -> bool {
    regex_lite::Regex::new(pattern.as_str().unwrap()).unwrap().is_match(text)
}

fn of_file(yaml: &str) -> Vec<String> {
    let schema = ours();
    faults(&schema, &schema, &serde_yaml::from_str(yaml).unwrap(), "")
}

#[test]
fn the_examples_are_good() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            assert_eq!(of_file(&std::fs::read_to_string(&path).unwrap()), [""; 0], "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 2);
}

/// The schema and the program agree about a file.
#[test]
fn what_the_program_refuses_is_marked() {
    for (yaml, good) in [
        ("servers: {a: {command: x, restart: {max_attempts: unlimited, jitter: 1, hold_max_bytes: 1 MiB}}}", true),
        (
            "servers: {a: {command: x, disabled: true, max_retries: 3, retry_base_delay: 1s, healthProbe: ping, envFile: null}}",
            true,
        ),
        ("servers: {a: {command: x, args: [1, true, y], env: {A: 1, B: null}}}", true),
        ("x-note: 1\nservers: {a: {command: x, x-why: [1]}}", true),
        ("version: 1\ndefaults: {preset: patient}\nevents: {throttle: off}\nservers: {a: {command: x}}", true),
        ("servers: {a: {command: x, probe: {chain: [{type: ping, timeout: 1s}]}}}", true),
        ("version: 2\nservers: {a: {command: x}}", false),
        ("servers: {a: {comand: x}}", false),
        ("servers: {a b: {command: x}}", false),
        ("servers: {a: {command: [x]}}", false),
        ("servers: {a: {command: x, start: later}}", false),
        ("servers: {a: {command: x, enabled: 1}}", false),
        ("servers: {a: {command: x, tool_timeout: 0}}", false),
        ("servers: {a: {command: x, tool_timeout: soon}}", false),
        ("servers: {a: {command: x, tool_timeouts: {t: -1s}}}", false),
        ("servers: {a: {command: x, restart: {max_attempts: 0}}}", false),
        ("servers: {a: {command: x, restart: {jitter: 2}}}", false),
        ("servers: {a: {command: x, restart: {hold: 1s, holt: 1s}}}", false),
        ("servers: {a: {command: x, limits: {max_line: 10}}}", false),
        ("servers: {a: {command: x, probe: {chain: [{timeout: 1s}]}}}", false),
        ("servers: {a: {command: x, probe: {chain: [{type: pink}]}}}", false),
        ("servers: {a: {command: x}}\ncontrol: {listen: somewhere}", false),
    ] {
        let found = of_file(yaml);
        assert_eq!(found.is_empty(), good, "{yaml}: {found:?}");
        let registry = Registry::with_builtins();
        let input = Input { config: Some("c.yaml".into()), text: Some(yaml.to_owned()), ..Input::default() };
        let loaded = load::check(&input, &|link, command| registry.check(link, command));
        assert_eq!(loaded.is_ok(), good, "{yaml}: {loaded:?}");
    }
}

#[test]
fn patterns_take_what_is_read() {
    fn agree<T: FromText>(texts: &[&str]) {
        let pattern = T::schema().get("pattern").cloned().unwrap();
        for text in texts {
            assert_eq!(fits(text, &pattern), T::from_text(text).is_ok(), "{}: {text:?}", T::EXPECTED);
        }
    }
    let spans = [
        "0", "1", "1.5", "30s", "1h30m", "1h 30m", "1.5 s", "500ms", "", "s", "-1s", "1x", "1 2", "1.", "30 m 5 s",
        "never", "1e3",
    ];
    agree::<std::time::Duration>(&spans);
    agree::<duration::OrOff>(&spans);
    agree::<duration::Size>(&[
        "0",
        "1",
        "1KiB",
        "1 MiB",
        "2gb",
        "3B",
        "",
        "KiB",
        "-1",
        "1.5KiB",
        "1K",
        "1TiB",
        "unlimited",
    ]);
    agree::<crate::config::text::Attempts>(&["unlimited", "never"]);
    agree::<crate::config::TcpAddress>(&["127.0.0.1:1", "tcp://[::1]:2", "x", ":1"]);
    agree::<crate::config::Listen>(&["unix:///x", "unix://x", "/x"]);
    agree::<crate::config::ControlListen>(&["auto", "off", "unix:///x", "tcp://h:1", "tcp://h", "on"]);
}
