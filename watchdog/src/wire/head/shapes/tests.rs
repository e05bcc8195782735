use proptest::prelude::*;

use super::super::super::samples;
use super::super::scan;
use super::oracle::{check, check_alike, check_two};
use super::places::HOLES;
use super::*;

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"echo","arguments":{"s":"xxxxx"}}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":17,"result":{"content":[{"type":"text","text":"xxxxx"}]}}"#;
const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1,"total":9,"message":"m"}}"#;
const STATELESS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":1,"traceparent":"00-1"},"name":"echo","arguments":{"s":"xxxxx"}}}"#;

/// Whether what stands `there` in a line may be something `else` in another one of its shape.
fn may_be(line: &str, there: &str, other: &str) -> bool {
    assert_eq!(line.matches(there).count(), 1, "{there} is once in {line}");
    check_two(line.as_bytes(), line.replace(there, other).as_bytes())
}

/// Of each line of a stream, whether it has a shape that is known.
fn recalled(shapes: &mut Shapes, lines: &[&str]) -> Vec<bool> {
    let known = |line: &&str| {
        let mut found = Scan::unread();
        let Scan::Message(head) = &mut found else { return false };
        let known = shapes.recall(line.as_bytes(), head).is_some();
        if !known {
            shapes.scan(line.as_bytes(), &mut found);
        }
        assert_eq!(found, scan(line.as_bytes()));
        known
    };
    lines.iter().map(known).collect()
}

#[test]
fn a_value_may_be_another_one_of_its_class() {
    for (line, there, others) in [
        (CALL, "17", &["1", "18", "123456", "1234567", "123456789012", "0", "-1", "1.0", "1e5", "-0"][..]),
        (CALL, r#""echo""#, &[r#""""#, r#""f""#, r#""a longer name \\ with \" in it, and é""#, r#""\u0065""#]),
        (CALL, r#"{"s":"xxxxx"}"#, &["{}", "{ }", r#"{"s":"}"}"#, r#"{"s":{"t":[{},{}]}}"#]),
        (ANSWER, "17", &["1", "18", "123456789", "-1", "0.5"]),
        (ANSWER, r#"{"content":[{"type":"text","text":"xxxxx"}]}"#, &["{}", r#"{"content":[]}"#, r#"{"a":"]}\""}"#]),
        (PROGRESS, r#""a""#, &[r#""b""#, r#""""#]),
        (PROGRESS, "1,", &["2,", "0.5,"]),
        (PROGRESS, r#""m""#, &[r#""another""#]),
        (STATELESS, r#""progressToken":1"#, &[r#""progressToken":2345"#]),
        (STATELESS, "00-1", &["00-2", ""]),
        (STATELESS, r#""echo""#, &[r#""other""#]),
        (r#"{"id":"a","method":"ping"}"#, r#""a""#, &[r#""b""#, r#""""#, r#""\"""#]),
        (r#"{"method":"ping","id":1}"#, "1", &["2", "12345678"]),
        (r#"{"id":1,"error":{"code":-1}}"#, r#"{"code":-1}"#, &["{}", r#"{"code":-1,"message":"m"}"#]),
        (r#"{"method":"x","params":{"requestId":1,"uri":"u"}}"#, "1", &["2", "99999"]),
        (r#"{"method":"x","params":{"requestId":1,"uri":"u"}}"#, r#""u""#, &[r#""file:///x""#]),
        (r#"{"method":"x","params":{"data":[1],"level":"info"}}"#, "[1]", &["[]", "[[],[2]]"]),
    ] {
        for other in others {
            assert!(may_be(line, there, other), "{other} for {there} in {line}");
        }
    }
}

#[test]
fn a_value_may_not_be_one_of_another_class() {
    let classes = ["17", r#""a""#, "{}", "[]", "null", "true", "NaN", "-Infinity"];
    for (line, there) in [
        (CALL, "17"),
        (CALL, r#""echo""#),
        (CALL, r#"{"s":"xxxxx"}"#),
        (ANSWER, r#"{"content":[{"type":"text","text":"xxxxx"}]}"#),
        (r#"{"method":"x","params":{"data":[1]}}"#, "[1]"),
    ] {
        let like = classes.iter().filter(|value| may_be(line, there, value)).count();
        assert_eq!(like, 1, "of one class alone for {there} in {line}");
    }
    for (there, other) in [("17", "01"), ("17", "1 "), ("17", ""), (r#"{"s":"xxxxx"}"#, r#"{"s":"xxxxx"]"#)] {
        assert!(!may_be(CALL, there, other), "{other} for {there}");
    }
}

#[test]
fn the_text_around_values_stays() {
    for line in [CALL, ANSWER, PROGRESS, STATELESS] {
        let other = |at: usize, byte: u8| {
            let mut other = line.as_bytes().to_vec();
            other[at] = byte;
            check_two(line.as_bytes(), &other)
        };
        for at in 0..line.len() {
            _ = other(at, b'"');
            _ = other(at, b' ');
            assert!(!check_two(line.as_bytes(), &line.as_bytes()[..at]), "{at} of {line}");
        }
        assert!(!check_two(line.as_bytes(), format!("{line} ").as_bytes()));
        assert!(!other(2, b'J') && !other(0, b'['));
    }
    assert!(!may_be(CALL, "tools/call", "tools/list"));
    assert!(!may_be(STATELESS, "2026-07-28", "2026-07-29"));
}

#[test]
fn a_value_that_ends_early_is_no_other_value() {
    // The rest of the line looks like what stands behind the value.
    assert!(!may_be(CALL, r#""echo""#, r#""a","arguments":{},"b":1"#));
    assert!(!may_be(CALL, "17", r#"17,"method":"x""#));
    assert!(!may_be(ANSWER, "17", r#"1,"result":{},"id":17"#));
    assert!(!may_be(CALL, r#"{"s":"xxxxx"}"#, r#"{}},"params":{}"#));
}

#[test]
fn long_text_around_values_is_not_learned() {
    let line = |length: usize| format!(r#"{{"id":1,"method":"{}"}}"#, "m".repeat(length));
    let learned = |line: &str| check_two(line.as_bytes(), line.as_bytes());
    assert!(learned(&line(1000)) && !learned(&line(1010)));
    let values = |count: usize| format!(r#"{{"method":"m","params":{{{}"a":1}}}}"#, r#""a":1,"#.repeat(count - 1));
    assert!(learned(&values(7)) && !learned(&values(8)));
    let long = format!(r#"{{"id":1,"result":{{"a":"{}"}}}}"#, "x".repeat(LONG));
    assert_eq!(recalled(&mut Shapes::default(), &[&long, &long, &long]), [false; 3]);
}

#[test]
fn the_second_line_of_a_shape_teaches_it_and_two_are_kept() {
    let mut shapes = Shapes::default();
    assert_eq!(recalled(&mut shapes, &[CALL, CALL, CALL, CALL]), [false, false, true, true]);
    let mut shapes = Shapes::default();
    assert_eq!(recalled(&mut shapes, &[ANSWER, ANSWER, PROGRESS, PROGRESS]), [false; 4]);
    assert_eq!(recalled(&mut shapes, &[ANSWER, PROGRESS, ANSWER, PROGRESS]), [true; 4]);
    // What comes in between leaves both as they are.
    assert_eq!(recalled(&mut shapes, &[CALL, ANSWER, CALL, PROGRESS]), [false, true, false, true]);
}

#[test]
fn a_stream_without_shapes_learns_seldom() {
    let new = |nth: usize| format!(r#"{{"id":1,"result":{{}},"{nth}":1}}"#);
    let too_many = |_| format!(r#"{{"id":1,"method":"m","params":{{{}"z":1}}}}"#, r#""a":1,"#.repeat(HOLES));
    for line in [&new as &dyn Fn(usize) -> String, &too_many] {
        let mut shapes = Shapes::default();
        let tried = (0..1000).filter(|nth| {
            shapes.read(line(*nth).as_bytes(), &mut Scan::unread());
            shapes.misses == 0
        });
        assert!(tried.count() < 25);
    }
    let mut shapes = Shapes::default();
    for nth in 0..1000 {
        shapes.read(new(nth).as_bytes(), &mut Scan::unread());
    }
    // And still it learns what comes to stay.
    let hits = (0..200).filter(|_| {
        shapes.read(CALL.as_bytes(), &mut Scan::unread());
        !shapes.known[shapes.latest].is_new
    });
    assert!(hits.count() > 100);
    assert_eq!(shapes.patience, PATIENCE);
}

/// A line, and what becomes of it in the stream: it comes again, with other values, or damaged.
fn stream() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let known = prop::sample::select(vec![CALL, ANSWER, PROGRESS, STATELESS]).prop_map(str::to_owned);
    let value = prop_oneof![
        samples::json(),
        samples::id(),
        prop::sample::select(vec![
            "01",
            "-0",
            "1e5",
            "NaN",
            "null",
            "{",
            "]",
            "",
            "{]}",
            r#""\""#,
            r#""a","b":1"#,
            "{[}]"
        ])
        .prop_map(str::to_owned)
    ];
    let edit = (any::<prop::sample::Index>(), 0..6_u8, any::<prop::sample::Index>(), any::<u8>(), value);
    (prop_oneof![samples::line(), known], prop::collection::vec(edit, 1..12)).prop_map(|(line, edits)| {
        let mut lines = vec![line.clone().into_bytes(); 3];
        for (at, kind, other, byte, value) in edits {
            lines.push(edited(line.as_bytes(), at.index(line.len()), kind, other.index(line.len()), byte, &value));
        }
        lines
    })
}

fn edited(line: &[u8], at: usize, kind: u8, other: usize, byte: u8, value: &str) -> Vec<u8> {
    let mut line = line.to_vec();
    match kind {
        0 => line.truncate(at),
        1 => line[at] = byte,
        2 => line[at] = b"{}[]\",:\\ 0nte-"[usize::from(byte) % 14],
        3 => drop(line.splice(at.min(other)..at.max(other), value.bytes())),
        // In place of a value.
        _ => {
            if let Scan::Message(head) = scan(&line) {
                let Head { id, params, body, name, uri, progress_token, meta_progress_token, .. } = head;
                let spans: Vec<_> =
                    [id, params, body, name, uri, progress_token, meta_progress_token].into_iter().flatten().collect();
                if let Some(span) = spans.get(usize::from(byte) % spans.len().max(1)) {
                    drop(line.splice(span.clone(), value.bytes()));
                }
            }
        }
    }
    line
}

proptest! {
    #[test]
    fn a_stream_is_read_as_its_lines_are(lines in stream(), more in stream(), order in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        check(lines.iter().map(Vec::as_slice));
        for other in &lines {
            check_two(&lines[0], other);
            check_two(other, &lines[0]);
        }
        check_alike(&lines.concat());
        check_alike(&lines.join(&b'\n'));
        let all: Vec<&[u8]> = lines.iter().chain(&more).map(Vec::as_slice).collect();
        check(order.iter().map(|at| all[at.index(all.len())]));
    }

    #[test]
    fn damaged_lines_are_read_as_they_are(lines in prop::collection::vec(samples::mutated(), 1..4), line in samples::line()) {
        let stream = lines.iter().map(Vec::as_slice);
        check(stream.clone().chain([line.as_bytes(); 3]).chain(stream));
        for other in &lines {
            check_two(line.as_bytes(), other);
            check_alike(other);
        }
    }
}
