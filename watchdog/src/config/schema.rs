//! The JSON Schema of a configuration file, for editors: made of the file shapes, so that it cannot tell of other keys.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::builtin;
use super::duration::Above;
use super::file::{Link, Top};
use super::keys::ALIASES;
use super::preset::Preset;
use super::text::{FromText, Written};

mod help;

impl<T: FromText> JsonSchema for Written<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::EXPECTED.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl JsonSchema for Link {
    fn schema_name() -> Cow<'static, str> {
        "Link".into()
    }

    /// The options of a link are known to its probe alone, and the kinds of probes to their registry.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One of `probe.chain`: `type`, perhaps `timeout`, and the probe's own options",
            "type": "object",
            "properties": {
                "type": { "description": "The kind of the probe", "type": "string" },
                "timeout": generator.subschema_for::<Option<Written<Above>>>(),
            },
            "required": ["type"],
        })
    }
}

/// The schema of a file, in the dialect of 2020-12, with these kinds of probes.
#[must_use]
pub(crate) fn schema<'a>(kinds: impl IntoIterator<Item = &'a str>) -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Top>().to_value();
    put(&mut schema, "/title", "Configuration of mcp-watchdog".into());
    put(&mut schema, "/description", "What `mcp-watchdog --config` reads".into());
    put(&mut schema, "/$defs/Link/properties/type/enum", kinds.into_iter().collect());
    put(&mut schema, "/$defs/Server/description", "A server; what `defaults` has holds for all of them".into());
    names(&mut schema);
    aliases(&mut schema);
    // Keys for notes and anchors.
    put(&mut schema, "/patternProperties", json!({ "^x-": true }));
    put(&mut schema, "/$defs/Server/patternProperties", json!({ "^x-": true }));
    describe(&mut schema);
    schema
}

/// Sets a value under a JSON pointer, whose parent exists.
fn put(schema: &mut Value, pointer: &str, value: Value) {
    if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(Value::Object(parent)) = schema.pointer_mut(parent)
    {
        parent.insert(key.to_owned(), value);
    }
}

/// The names of servers.
fn names(schema: &mut Value) {
    put(schema, "/properties/servers/propertyNames", json!({ "pattern": "^[A-Za-z0-9._-]{1,64}$" }));
}

/// Other names of keys, which the shapes do not know, and the key that is also one word.
fn aliases(schema: &mut Value) {
    for (alias, key) in ALIASES {
        let meant = match alias {
            "healthProbe" => json!({ "enum": ["ping", "listTools", null] }),
            _ => at(schema, "/$defs/Server", key).cloned().unwrap_or_default(),
        };
        put(schema, &format!("/$defs/Server/properties/{alias}"), meant);
    }
    if let Some(Value::Array(forms)) = schema.pointer_mut("/$defs/Events/properties/throttle/anyOf") {
        forms.push(json!({ "const": "off" }));
    }
}

/// Says of every key what it is for, and what holds where it is not written.
fn describe(schema: &mut Value) {
    for (base, texts, layers) in [
        ("/$defs/Server", help::SERVER, &[builtin::SERVER, Preset::Relentless.section()][..]),
        ("", help::TOP, &[builtin::TOP]),
    ] {
        for (key, text) in texts {
            if let Some(Value::Object(described)) = at_mut(schema, base, key) {
                described.insert("description".to_owned(), (*text).into());
            }
        }
        for layer in layers {
            // They are our own and are read at every start.
            let values: Value = serde_yaml::from_str(layer).unwrap_or_default();
            defaults(schema, base, "", &values);
        }
    }
}

fn defaults(schema: &mut Value, base: &str, path: &str, value: &Value) {
    let inner = match value {
        Value::Object(inner) if !inner.is_empty() => inner,
        leaf => {
            if let Some(Value::Object(described)) = at_mut(schema, base, path) {
                described.insert("default".to_owned(), leaf.clone());
            }
            return;
        }
    };
    for (key, value) in inner {
        let deeper = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        defaults(schema, base, &deeper, value);
    }
}

/// The JSON pointer of a dotted key, from the object schema at `base`.
fn pointer(schema: &Value, base: &str, dotted: &str) -> Option<String> {
    let mut at = base.to_owned();
    for key in dotted.split('.') {
        at = format!("{}/properties/{key}", definition(schema, &at)?);
    }
    Some(at)
}

/// Where the object is that a schema refers to, perhaps as one of several forms.
fn definition(schema: &Value, at: &str) -> Option<String> {
    let here: &Map<String, Value> = schema.pointer(at)?.as_object()?;
    if here.contains_key("properties") {
        return Some(at.to_owned());
    }
    let forms = here.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let mut references = forms.chain([schema.pointer(at)?]).filter_map(|form| form.get("$ref")?.as_str());
    references.next().map(|reference| reference.trim_start_matches('#').to_owned())
}

fn at<'a>(schema: &'a Value, base: &str, dotted: &str) -> Option<&'a Value> {
    schema.pointer(&pointer(schema, base, dotted)?)
}

fn at_mut<'a>(schema: &'a mut Value, base: &str, dotted: &str) -> Option<&'a mut Value> {
    let pointer = pointer(schema, base, dotted)?;
    schema.pointer_mut(&pointer)
}

#[cfg(test)]
mod tests;
