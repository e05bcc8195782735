use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{PathText, yaml};
use super::*;
use crate::config::text::Written;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only faults are looked at")]
struct Shape {
    flag: Option<Written<bool>>,
    names: Option<Vec<Written<String>>>,
    inner: Option<BTreeMap<String, Inner>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only faults are looked at")]
struct Inner {
    size: Option<Written<usize>>,
}

impl<T: fmt::Debug> fmt::Debug for Written<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn fault(text: &str) -> (String, String) {
    let node = yaml::parse(text, 0).unwrap();
    let fault = Shape::deserialize(Reader(&node)).unwrap_err();
    (PathText(&fault.path()).to_string(), fault.to_string())
}

#[test]
fn faults_know_their_path() {
    for (text, path, message) in [
        ("{flag: maybe}", "flag", "expected `true` or `false`, not \"maybe\""),
        ("{flag: {a: b}}", "flag", "expected `true` or `false`, found a map"),
        ("{names: [a, [b]]}", "names[1]", "expected a string, found a list"),
        ("{names: [a, ~]}", "names[1]", "expected a string, found nothing"),
        ("{names: a}", "names", "expected a list, found a single value"),
        ("{inner: {x: {size: -1}}}", "inner.x.size", "expected a whole number, not \"-1\""),
        ("{inner: {x: {sise: 1}}}", "inner.x.sise", "unknown field"),
        ("{inner: {x: 5}}", "inner.x", "expected a map of keys, found a single value"),
        ("[a]", "", "expected a map of keys, found a list"),
    ] {
        assert_eq!(fault(text), (path.to_owned(), message.to_owned()), "{text}");
    }
}

#[test]
fn a_fault_of_type_does_not_quote_the_value() {
    let (_, message) = fault("{inner: s3cr3t}");
    assert!(!message.contains("s3cr3t"), "{message}");
}

#[test]
fn opaque_values_keep_their_types() {
    let node = yaml::parse("{a: 1, b: -1, c: 1.5, d: true, e: x, f: ~, g: [1], h: {i: '1'}}", 0).unwrap();
    let value = serde_json::Value::deserialize(Reader(&node)).unwrap();
    let expected = r#"{"a":1,"b":-1,"c":1.5,"d":true,"e":"x","f":null,"g":[1],"h":{"i":"1"}}"#;
    assert_eq!(value, serde_json::from_str::<serde_json::Value>(expected).unwrap());
}
