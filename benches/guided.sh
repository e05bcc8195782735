#!/usr/bin/env bash
# The watchdog, built twice: a build that counts what it does is measured by the benchmark, and the second one is laid out
# by what was counted, so that a message finds less code in its way.
#
#   benches/guided.sh [OPTIONS OF CARGO BUILD]     for a static one: RUSTFLAGS and options as in docs/deployment.md
#
# It takes four times a release build and half a minute, prints the path of the program as its last line, and needs
# `rustup component add llvm-tools`. LLVM_PROFDATA names another llvm-profdata, which has to be of rustc's LLVM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
profdata=${LLVM_PROFDATA:-$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata}
if [[ ! -x $profdata ]]; then
    echo "there is no $profdata: rustup component add llvm-tools, or name another one in LLVM_PROFDATA" >&2
    exit 1
fi
target=$(cargo metadata --no-deps --locked --format-version 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
guided=$target/guided
counts=$guided/counts

# Where it is known what is seldom needed, the whole is optimised as one piece.
export CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1

# With a named target, what runs during the build is compiled without these flags.
build() {
    RUSTFLAGS="${RUSTFLAGS:-} $1" cargo build --release --locked --package mcp-watchdog --target "$host" \
        --target-dir "$guided" "${@:2}" >&2
}

rm -rf "$counts"
build "-Cprofile-generate=$counts" "$@"
cargo run --release --locked --package mcp-watchdog-bench -- --quick --bin "$guided/$host/release/mcp-watchdog" >/dev/null
"$profdata" merge --output "$counts/merged.profdata" "$counts"/*.profraw
build "-Cprofile-use=$counts/merged.profdata" "$@"
echo "$guided/$host/release/mcp-watchdog"
