//! Generated messages for the tests of this room: any key order, spacing, escapes, nesting, duplicates.

use proptest::prelude::*;

/// JSON text of any value.
pub(super) fn json() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec((space(), inner.clone(), space()), 0..4).prop_map(|items| {
                let items: Vec<_> = items.into_iter().map(|(a, item, b)| a + &item + &b).collect();
                format!("[{}]", items.join(","))
            }),
            prop::collection::vec((string(), inner), 0..4).prop_map(|members| object(&members, " ")),
        ]
    })
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        string(),
        id(),
        prop::sample::select(vec!["true", "false", "null", "-0.5e-3", "{}", "[]"]).prop_map(str::to_owned)
    ]
}

/// A string or a number.
pub(super) fn id() -> impl Strategy<Value = String> {
    let spelled =
        vec!["0", "1", "-1", "1.0", "1e2", "9007199254740993", "18446744073709551616", r#""""#, r#""a\u0062""#];
    prop_oneof![prop::sample::select(spelled).prop_map(str::to_owned), string()]
}

fn string() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        "é",
        "😀",
        "id",
        r"\n",
        r"\\",
        r#"\""#,
        r"\u0041",
        r"\ud83d\ude00",
        r"\/",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "a longer piece of text, so that more than a block of bytes is filled by a few of them",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..8).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn space() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "", "", " ", "\t ", "\r"]).prop_map(str::to_owned)
}

/// One of these names, now and then with an escape in it.
fn name(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    (prop::sample::select(names), any::<prop::sample::Index>(), 0..4).prop_map(|(name, at, escaped)| {
        let at = at.index(name.len());
        let character = char::from(name.as_bytes()[at]);
        match escaped {
            0 if character == '/' => format!("\"{}\\/{}\"", &name[..at], &name[at + 1..]),
            0 => format!("\"{}\\u{:04x}{}\"", &name[..at], u32::from(character), &name[at + 1..]),
            _ => format!("\"{name}\""),
        }
    })
}

fn object(members: &[(String, String)], space: &str) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("{space}{name}{space}:{space}{value}{space}")).collect();
    format!("{{{}}}", members.join(","))
}

fn method() -> impl Strategy<Value = String> {
    let spelled = vec![
        r#""tools/call""#,
        r#""notifications\/message""#,
        r#""pin\u0067""#,
        r#""initialize""#,
        r#""x/list""#,
        "null",
        "5",
        "{}",
    ];
    prop::sample::select(spelled).prop_map(str::to_owned)
}

/// An object whose members are mostly those that the scan looks for.
fn members(
    names: &'static [&'static str],
    value: impl Fn(&str) -> BoxedStrategy<String> + Clone + 'static,
) -> impl Strategy<Value = String> {
    let member = name(names).prop_flat_map(move |name| {
        let plain: String = serde_json::from_str(&name).expect("a string");
        value(&plain).prop_map(move |value| (name.clone(), value))
    });
    (prop::collection::vec(member, 0..6), space()).prop_map(|(members, space)| object(&members, &space))
}

fn meta() -> impl Strategy<Value = String> {
    let names = &[
        "progressToken",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/subscriptionId",
        "io.modelcontextprotocol/clientInfo",
        "requestId",
    ];
    prop_oneof![6 => members(names, |_| json().boxed()), 1 => json()]
}

fn params() -> impl Strategy<Value = String> {
    let names = &[
        "_meta",
        "_meta",
        "progressToken",
        "requestId",
        "uri",
        "name",
        "cursor",
        "task",
        "inputResponses",
        "requestState",
        "arguments",
        "id",
        "method",
    ];
    let value = |name: &str| {
        if name == "_meta" { meta().boxed() } else { json().boxed() }
    };
    prop_oneof![6 => members(names, value), 1 => json()]
}

/// A line with an object: most often, but not always, a message.
pub(super) fn line() -> impl Strategy<Value = String> {
    let names =
        &["id", "id", "method", "method", "params", "params", "result", "error", "jsonrpc", "Method", "progressToken"];
    let value = |name: &str| match name {
        "id" => prop_oneof![4 => id(), 1 => json()].boxed(),
        "method" => method().boxed(),
        "params" => params().boxed(),
        _ => json().boxed(),
    };
    members(names, value)
}

/// A line in which a few bytes were lost, changed or added.
pub(super) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![prop::sample::select(&b"{}[]\",:\\ 0nte.\xff\xef"[..]), any::<u8>()];
    let edit = (any::<prop::sample::Index>(), 0..3, byte);
    (line(), prop::collection::vec(edit, 1..4)).prop_map(|(line, edits)| {
        let mut bytes = line.into_bytes();
        for (at, kind, byte) in edits {
            let at = at.index(bytes.len() + 1);
            match kind {
                0 if at < bytes.len() => drop(bytes.remove(at)),
                1 if at < bytes.len() => bytes[at] = byte,
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}
