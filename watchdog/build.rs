//! Tells the program by which compiler it was built, for `build_info`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("--version").output().ok();
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    // "rustc 1.88.0 (6b00bc388 2025-06-23)"
    println!("cargo::rustc-env=RUSTC_VERSION={}", said.split_whitespace().nth(1).unwrap_or("unknown"));
}
