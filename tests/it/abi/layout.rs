//! The structs and numbers of `probe_api::abi` against those that a C compiler sees in the header.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::mem::offset_of;
use std::process::Command;

use harness::plugins::{cc, include};
use probe_api::abi::{self, Host, Plugin, Str};

use super::scratch;

/// One struct: its C name, its size, and its fields with offset and size.
struct Layout {
    name: &'static str,
    size: usize,
    fields: Vec<(&'static str, usize, usize)>,
}

/// The size of what a function reads off a `T`.
fn size_of_field<T, F>(_read: fn(&T) -> F) -> usize {
    size_of::<F>()
}

macro_rules! layout {
    ($name:literal: $type:ty { $($field:ident),* }) => {
        Layout {
            name: $name,
            size: size_of::<$type>(),
            fields: vec![$((
                stringify!($field),
                offset_of!($type, $field),
                size_of_field(|value: &$type| value.$field),
            )),*],
        }
    };
}

fn structs() -> [Layout; 3] {
    [
        layout!("mcp_str": Str { ptr, len }),
        layout!("mcp_probe_host": Host { size, abi_major, abi_minor, call, remaining_ms, detail, log }),
        layout!("mcp_probe_plugin": Plugin {
            magic, size, abi_major, abi_minor, min_host_minor, flags, reserved, name, version, built_with, create, check,
            destroy, config_schema
        }),
    ]
}

fn numbers() -> Vec<(&'static str, i64)> {
    vec![
        ("MCP_PROBE_MAGIC", i64::try_from(abi::MAGIC).expect("it is ASCII")),
        ("MCP_PROBE_ABI_MAJOR", abi::ABI_MAJOR.into()),
        ("MCP_PROBE_ABI_MINOR", abi::ABI_MINOR.into()),
        ("MCP_PROBE_PASS", abi::verdict::PASS.into()),
        ("MCP_PROBE_BUSY", abi::verdict::BUSY.into()),
        ("MCP_PROBE_FAIL", abi::verdict::FAIL.into()),
        ("MCP_PROBE_INCONCLUSIVE", abi::verdict::INCONCLUSIVE.into()),
        ("MCP_PROBE_UNSUPPORTED", abi::verdict::UNSUPPORTED.into()),
        ("MCP_CALL_RESULT", abi::call::RESULT.into()),
        ("MCP_CALL_ERROR", abi::call::ERROR.into()),
        ("MCP_CALL_TIMEOUT", abi::call::TIMEOUT.into()),
        ("MCP_CALL_CANCELLED", abi::call::CANCELLED.into()),
        ("MCP_CALL_GONE", abi::call::GONE.into()),
        ("MCP_CALL_INVALID", abi::call::INVALID.into()),
        ("MCP_LOG_ERROR", abi::log::ERROR.into()),
        ("MCP_LOG_WARN", abi::log::WARN.into()),
        ("MCP_LOG_INFO", abi::log::INFO.into()),
        ("MCP_LOG_DEBUG", abi::log::DEBUG.into()),
    ]
}

/// Every expression of C whose value both sides have to agree on, with Rust's.
fn table() -> Vec<(String, i64)> {
    let number = |value: usize| i64::try_from(value).expect("a struct is small");
    let mut table: Vec<_> = numbers().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    for Layout { name, size, fields } in structs() {
        table.push((format!("sizeof({name})"), number(size)));
        for (field, offset, size) in fields {
            table.push((format!("offsetof({name}, {field})"), number(offset)));
            table.push((format!("sizeof((({name} *)0)->{field})"), number(size)));
        }
    }
    table
}

#[test]
fn c_and_rust_see_the_same_layout() {
    let table = table();
    let mut text = "#include <mcp_probe.h>\n#include <stdio.h>\nint main(void) {\n".to_owned();
    for (expression, _) in &table {
        let _ = writeln!(text, "printf(\"{expression} %lld\\n\", (long long)({expression}));");
    }
    text.push_str("return 0; }\n");
    let (folder, unit) = scratch("layout.c", &text);
    let program = folder.path().join("layout");
    cc(Command::new("cc").arg("-I").arg(include()).arg("-o").arg(&program).arg(unit));
    let output = Command::new(program).output().expect("it was just built");
    let in_c = String::from_utf8_lossy(&output.stdout).into_owned();
    let in_rust: String = table.iter().map(|(expression, value)| format!("{expression} {value}\n")).collect();
    assert_eq!(in_c, in_rust);
}

#[test]
fn the_table_leaves_nothing_out() {
    for Layout { name, size, fields } in structs() {
        let mut end = 0;
        for (field, offset, size) in fields {
            assert_eq!(offset, end, "{name} has a hole or an unlisted field before {field}");
            end = offset + size;
        }
        assert_eq!(end, size, "{name} has an unlisted field at its end");
    }
    let header = fs::read_to_string(include().join("mcp_probe.h")).expect("it is there");
    let words = header.split(|c: char| !c.is_alphanumeric() && c != '_');
    let in_header: BTreeSet<_> =
        words.filter(|word| word.starts_with("MCP_") && *word != "MCP_PROBE_H").map(str::to_owned).collect();
    let listed: BTreeSet<_> = numbers().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(in_header, listed);
}
