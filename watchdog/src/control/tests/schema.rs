//! As much of JSON Schema as the document uses: enough to tell whether a body has the form that was promised.

use serde_json::Value;

/// What is wrong with `value`, by its place.
pub(in crate::control) fn faults(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, value, at, &mut found);
    found
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(&reference[1..]).unwrap_or_else(|| panic!("{reference} leads nowhere"));
        check(document, target, value, at, found);
    }
    if !has_type(&schema["type"], value) {
        found.push(format!("{at}: {value} is not of type {}", schema["type"]));
    }
    if let Some(choices) = schema["anyOf"].as_array()
        && !choices.iter().any(|choice| faults(document, choice, value, at).is_empty())
    {
        found.push(format!("{at}: {value} is none of {choices:?}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    if let (Some(known), Some(members)) = (schema["properties"].as_object(), value.as_object()) {
        for (name, member) in members {
            let place = format!("{at}/{name}");
            match known.get(name) {
                Some(schema) => check(document, schema, member, &place, found),
                // Nothing of ours is said that is not described.
                None => found.push(format!("{place}: not described")),
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(document, &schema["items"], item, &format!("{at}/{index}"), found);
    }
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is no type"),
        },
        Value::Array(names) => names.iter().any(|name| has_type(name, value)),
        _ => true,
    }
}

#[test]
fn faults_are_found() {
    let document = serde_json::json!({ "s": {
        "type": "object", "required": ["a"],
        "properties": {
            "a": { "type": ["integer", "null"] },
            "b": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
        },
    } });
    let schema = serde_json::json!({ "$ref": "#/s" });
    let count = |value: Value| faults(&document, &schema, &value, "").len();
    assert_eq!(count(serde_json::json!({ "a": null, "b": ["x", null] })), 0);
    assert_eq!(count(serde_json::json!({ "a": "1", "b": [1], "c": 0 })), 3);
    assert_eq!(count(serde_json::json!({})), 1);
    assert_eq!(count(serde_json::json!([])), 2);
}
