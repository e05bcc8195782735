//! A plugin as its author has it: a crate of its own, far from this checkout, that depends on `probe-api` alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::fcntl::{Flock, FlockArg};
use probe_api::abi::SYMBOL;

use super::exports;
use crate::rig::root;

/// The place of the copy. It stays in the build folder, for what cargo has built of it, and belongs to one test at a time.
fn locked_folder() -> (PathBuf, Flock<File>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    fs::create_dir_all(folder.join("src")).expect("the build folder is writable");
    let file = File::create(folder.join(".lock")).expect("the build folder is writable");
    let lock = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| error);
    (folder, lock.expect("a file can be locked"))
}

/// Copies `examples/probe-rust`, and makes it a workspace of its own.
fn copy_the_example(to: &Path) {
    let from = root().join("examples/probe-rust");
    let read = |path: &str| fs::read_to_string(from.join(path)).expect("it is there");
    let manifest = read("Cargo.toml");
    let api = root().join("probe-api");
    let moved = manifest.replace("../../probe-api", &api.display().to_string());
    assert_ne!(moved, manifest, "the example depends on ../../probe-api");
    let dependencies = moved.split("[dependencies]").nth(1).expect("it has dependencies");
    assert_eq!(dependencies.lines().filter(|line| line.contains('=')).count(), 1, "on nothing else: {dependencies}");
    write(&to.join("Cargo.toml"), &format!("{moved}\n[workspace]\n"));
    // An author who forbids what the macro needs is not in its way.
    write(&to.join("src/lib.rs"), &format!("#![forbid(unsafe_code)]\n#![deny(warnings)]\n{}", read("src/lib.rs")));
    // The versions that are at hand without a network.
    fs::copy(root().join("Cargo.lock"), to.join("Cargo.lock")).expect("it is there");
}

/// Cargo looks at times: what has not changed is not built again.
fn write(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).expect("the build folder is writable");
    }
}

fn cargo(folder: &Path, command: &str, last: &[&str]) -> Output {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    Command::new(cargo)
        .args([command, "--offline", "--quiet", "--target-dir"])
        .arg(folder.join("target"))
        .args(last)
        .current_dir(folder)
        .output()
        .expect("cargo runs this test")
}

/// One test for both, as they share the build.
#[test]
fn a_plugin_needs_probe_api_alone_and_unwinding() {
    let (folder, _lock) = locked_folder();
    copy_the_example(&folder);
    let built = cargo(&folder, "build", &[]);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    assert_eq!(exports(&folder.join("target/debug/libprobe_tools_present.so")), [SYMBOL]);

    let refused = cargo(&folder, "rustc", &["--", "-C", "panic=abort"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && why.contains("a probe is built with `panic = \"unwind\"`"), "{why}");
}
