//! Plugins for tests: libraries that are built when they are first asked for, and files that are none.
//!
//! ```no_run
//! let library = harness::plugins::rust_plugin("hostile-rs"); // config: {"do": "panic_in_check"}, see its `Deed`
//! let library = harness::plugins::c_plugin("stuck"); // tests/plugins/stuck.c
//! ```

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the sources of the tests are written for.
const CFLAGS: [&str; 6] = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"];

/// What makes a plugin of them.
const PLUGIN: [&str; 3] = ["-shared", "-fPIC", "-fvisibility=hidden"];

/// A plugin of `tests/plugins`: `c_plugin("stuck")` is built from `stuck.c`.
#[must_use]
pub fn c_plugin(name: &str) -> PathBuf {
    let source = checkout().join("tests/plugins").join(name).with_extension("c");
    c_built(&source, &format!("{name}.so"), &PLUGIN)
}

/// The plugin of `examples/probe-c`. Its `config` is `{"max_ms": 200}`.
#[must_use]
pub fn c_example() -> PathBuf {
    c_built(&checkout().join("examples/probe-c/latency.c"), "latency.so", &PLUGIN)
}

/// `tests/abi/host.c`: a host that is no watchdog.
#[must_use]
pub fn c_host() -> PathBuf {
    c_built(&checkout().join("tests/abi/host.c"), "host", &["-pedantic", "-ldl"])
}

/// A plugin in Rust on which `tests` depends, so that cargo has built it beside the test that runs: `hostile-rs`.
#[must_use]
pub fn rust_plugin(name: &str) -> PathBuf {
    let beside = running_test();
    let library = beside.with_file_name(format!("lib{}.so", name.replace('-', "_")));
    assert!(library.is_file(), "{} is not there: cargo builds it for the tests of this package", library.display());
    library
}

/// Text that is called a library.
#[must_use]
pub fn text_file() -> PathBuf {
    kept("text.so", 0, |path| fs::write(path, "This is no library.\n").expect("the build folder is writable"))
}

/// Nothing that is called a library.
#[must_use]
pub fn empty_file() -> PathBuf {
    kept("empty.so", 0, |path| fs::write(path, "").expect("the build folder is writable"))
}

/// The folder of the public header.
#[must_use]
pub fn include() -> PathBuf {
    checkout().join("probe-api/include")
}

/// Runs `cc` and hands back what it printed; its failure is the test's.
#[track_caller]
pub fn cc(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{error}: {command:?}\nThese tests need a C and C++ compiler (Debian: apt install gcc g++)")
    });
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn c_built(source: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let mut hash = DefaultHasher::new();
    for part in [source.to_owned(), source.with_file_name("base.h"), include().join("mcp_probe.h")] {
        hash.write(&fs::read(part).unwrap_or_default());
    }
    kept(name, hash.finish(), |to| {
        // Libraries come behind what needs them.
        cc(Command::new("cc").args(CFLAGS).arg("-I").arg(include()).arg("-o").arg(to).arg(source).args(flags));
    })
}

/// A file in the build folder that is made once for each state of its sources, however many tests want it at a time. It is
/// never replaced: a watchdog that has it loaded would see another file.
fn kept(name: &str, state: u64, make: impl FnOnce(&Path)) -> PathBuf {
    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);
    let folder = running_test().with_file_name(format!("plugins-{state:016x}"));
    let kept = folder.join(name);
    if !kept.exists() {
        // A plugin that others may write to is refused.
        let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(&folder);
        made.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let own = folder.join(format!("{name}.{}.{}", id(), ATTEMPTS.fetch_add(1, Ordering::Relaxed)));
        make(&own);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("it is our file");
        // Unlike a rename, this leaves a file alone that another test has finished first.
        let linked = fs::hard_link(&own, &kept);
        assert!(kept.exists(), "{}: {linked:?}", kept.display());
        let _ = fs::remove_file(&own);
    }
    kept
}

/// The program of the running test, beside which cargo puts what belongs to it.
fn running_test() -> PathBuf {
    std::env::current_exe().expect("the running test has a path")
}

fn checkout() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}
