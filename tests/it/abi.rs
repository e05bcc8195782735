//! The border to plugins: what compilers other than the watchdog's make of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::plugins::{c_example, c_plugin, cc, include, rust_plugin};
use probe_api::abi::SYMBOL;
use tempfile::TempDir;

use crate::rig::root;

mod drive;
mod layout;
mod outside;

/// What the most careful author of a plugin may ask of the header.
const CAREFUL: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The sources of the plugins in C.
fn c_sources() -> Vec<PathBuf> {
    let mut sources = files("tests/plugins", "c");
    assert!(sources.len() > 10, "{sources:?}");
    sources.push(root().join("examples/probe-c/latency.c"));
    sources
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// A folder for what a test builds once, with one file in it.
fn scratch(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("there is room for temporary files");
    (folder, path)
}

/// The dynamic symbols that a library defines.
#[track_caller]
fn exports(library: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library).output();
    let output = output.expect("`nm` comes with the compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

#[test]
fn a_plugin_exports_one_symbol() {
    for path in files("tests/plugins", "c") {
        let name = path.file_stem().expect("it has an extension").to_string_lossy();
        let expected: &[&str] = if name == "no_symbol" { &[] } else { &[SYMBOL] };
        assert_eq!(exports(&c_plugin(&name)), expected, "{name}");
    }
    assert_eq!(exports(&c_example()), [SYMBOL]);
    assert_eq!(exports(&rust_plugin("hostile-rs")), [SYMBOL]);
}

#[test]
fn the_header_is_clean_in_every_dialect() {
    let dialects = [("cc", "c", "c99"), ("cc", "c", "c17"), ("c++", "c++", "c++11"), ("c++", "c++", "c++17")];
    let (_folder, unit) = scratch("dialect.h", "#include <mcp_probe.h>\n#include <mcp_probe.h>\n");
    for (compiler, language, dialect) in dialects {
        let mut command = Command::new(compiler);
        command.args(CAREFUL).args(["-fsyntax-only", "-x", language, &format!("-std={dialect}")]);
        cc(command.arg("-I").arg(include()).arg(&unit));
    }
}

#[test]
fn a_plugin_in_cpp_exports_the_symbol_and_hides_the_rest() {
    let text = r#"
        #include <mcp_probe.h>
        namespace {
        void *create(const mcp_probe_host *, mcp_str, mcp_check *) { return new int(0); }
        int32_t check(void *, const mcp_probe_host *, mcp_check *, mcp_str) { return MCP_PROBE_PASS; }
        void destroy(void *self) { delete static_cast<int *>(self); }
        }
        void hidden() {}
        const mcp_probe_plugin mcp_probe_plugin_v1 = {
            MCP_PROBE_MAGIC, sizeof(mcp_probe_plugin), MCP_PROBE_ABI_MAJOR, MCP_PROBE_ABI_MINOR, 0, 0, 0,
            "cpp", "1.0", nullptr, create, check, destroy, nullptr };
    "#;
    let (folder, unit) = scratch("plugin.cpp", text);
    let library = folder.path().join("plugin.so");
    let mut command = Command::new("c++");
    command.args(CAREFUL).args(["-std=c++11", "-shared", "-fPIC", "-fvisibility=hidden"]);
    cc(command.arg("-I").arg(include()).arg("-o").arg(&library).arg(unit));
    assert_eq!(exports(&library), [SYMBOL]);
}

/// The frozen headers with their versions, the newest last.
fn frozen() -> Vec<((u16, u16), PathBuf)> {
    let version = |path: &Path| {
        let (major, minor) = path.file_stem()?.to_str()?.strip_prefix("mcp_probe-")?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    let headers = files("tests/abi", "h").into_iter();
    let mut headers: Vec<_> = headers
        .map(|path| (version(&path).unwrap_or_else(|| panic!("{}: mcp_probe-MAJOR.MINOR.h", path.display())), path))
        .collect();
    headers.sort();
    assert!(!headers.is_empty(), "no frozen header in tests/abi");
    headers
}

#[test]
fn plugins_are_built_with_every_header_that_was_ever_published() {
    for (_, header) in frozen() {
        let (folder, _) = scratch("mcp_probe.h", &fs::read_to_string(header).expect("it is there"));
        for source in c_sources() {
            cc(Command::new("cc").args(["-Wall", "-Werror", "-fsyntax-only", "-I"]).arg(folder.path()).arg(source));
        }
    }
}

#[test]
fn the_header_is_the_newest_frozen_one() {
    let ((major, minor), newest) = frozen().pop().expect("there is one");
    assert_eq!((major, minor), (probe_api::abi::ABI_MAJOR, probe_api::abi::ABI_MINOR), "{}", newest.display());
    let now = fs::read(include().join("mcp_probe.h")).expect("it is there");
    assert!(
        now == fs::read(&newest).expect("it is there"),
        "probe-api/include/mcp_probe.h is not tests/abi/mcp_probe-{major}.{minor}.h.\n\
         If only words have changed, copy it there. If the ABI has grown, by fields at the end of a struct or by new values, let \
         MCP_PROBE_ABI_MINOR and probe-api/src/abi.rs say {}, and copy the header to tests/abi/mcp_probe-{major}.{}.h. \
         Nothing else may change within a major version.",
        minor + 1,
        minor + 1
    );
}
