//! The head scan, in bytes a second. The goal is 8 GB/s from 64 KiB up where the processor has AVX2.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use watchdog::wire::head::scan;

const SIZES: [(&str, usize); 5] =
    [("100 B", 100), ("1 KiB", 1 << 10), ("64 KiB", 1 << 16), ("1 MiB", 1 << 20), ("16 MiB", 16 << 20)];

/// A line of about so many bytes: what stands around the payload, and what the payload is made of.
fn line(around: [&str; 2], piece: &str, size: usize) -> Vec<u8> {
    let room = size.saturating_sub(around.map(str::len).iter().sum());
    let payload = piece.repeat(room / piece.len());
    format!("{}{}{}", around[0], payload.trim_end_matches(','), around[1]).into_bytes()
}

fn payloads() -> [(&'static str, [&'static str; 2], &'static str); 5] {
    const TEXT: [&str; 2] =
        [r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":""#, r#""}}}"#];
    const LIST: [&str; 2] =
        [r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"f","arguments":{"a":["#, r#"]}}}"#];
    const LAST: [&str; 2] =
        [r#"{"params":{"arguments":{"a":""#, r#""},"name":"f"},"method":"tools/call","id":1,"jsonrpc":"2.0"}"#];
    [
        ("plain", TEXT, "The quick brown fox jumps over the lazy dog. "),
        ("escaped", TEXT, r#"if x == \"a\\b\" {\n    print(\"\u00e9\");\n}\n"#),
        ("nested", LIST, r#"{"path":"src/main.rs","line":12,"range":[[1,2],[3,40]],"ok":true},"#),
        ("flat", LIST, r#""a","b","#),
        ("id last", LAST, "The quick brown fox jumps over the lazy dog. "),
    ]
}

fn head(criterion: &mut Criterion) {
    for (name, around, piece) in payloads() {
        let mut group = criterion.benchmark_group(name);
        for (shown, size) in SIZES {
            let line = line(around, piece, size);
            assert!(matches!(scan(&line), watchdog::wire::head::Scan::Message(_)), "{name}, {shown}");
            group.throughput(Throughput::Bytes(line.len().try_into().unwrap_or(u64::MAX)));
            group.bench_with_input(BenchmarkId::from_parameter(shown), &line, |bench, line| {
                bench.iter(|| scan(black_box(line)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, head);
criterion_main!(benches);
