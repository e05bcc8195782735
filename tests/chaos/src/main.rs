//! `cargo run -p chaos -- --seed 17`, or `--faults 10000`: see `--help`.
//!
//! One binary in every role, so that building it builds all parts: the runner; the product, which is told by its name; and
//! the server of the runs with its children, which are told by the first argument.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    let name = arguments.next().unwrap_or_default();
    // The guard is the product too.
    if name.rsplit('/').next().is_some_and(|name| name.starts_with("mcp-watchdog")) {
        return watchdog::run();
    }
    let rest: Vec<_> = arguments.collect();
    match rest.first().map(String::as_str) {
        Some(chaos::server::ROLE) => chaos::server::main(),
        Some(chaos::server::CHILD_ROLE) => chaos::server::child_main(&rest[1..]),
        _ => chaos::runner::main(&rest),
    }
}
