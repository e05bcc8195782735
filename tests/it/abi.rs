//! The border to plugins.

use std::path::Path;
use std::process::Command;

use harness::plugins::{c_example, c_plugin, rust_plugin};

use crate::rig::root;

/// The sources of the plugins in C, by name.
fn c_plugins() -> Vec<String> {
    let files = std::fs::read_dir(root().join("tests/plugins")).expect("the folder is there");
    let paths = files.filter_map(|entry| Some(entry.ok()?.path()));
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "c"));
    let names: Vec<_> = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    assert!(names.len() > 10, "{names:?}");
    names
}

/// The dynamic symbols that a library defines.
#[track_caller]
fn exports(library: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library).output();
    let output = output.expect("nm comes with the compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

#[test]
fn a_plugin_exports_one_symbol() {
    for name in c_plugins().iter().filter(|name| *name != "no_symbol") {
        assert_eq!(exports(&c_plugin(name)), ["mcp_probe_plugin_v1"], "{name}");
    }
    assert_eq!(exports(&c_plugin("no_symbol")), [""; 0]);
    assert_eq!(exports(&c_example()), ["mcp_probe_plugin_v1"]);
    assert_eq!(exports(&rust_plugin("hostile-rs")), ["mcp_probe_plugin_v1"]);
}
