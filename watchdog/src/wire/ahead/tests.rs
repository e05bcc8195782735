use proptest::prelude::*;

use super::super::head::oracle::check_in_pieces;
use super::super::head::{is_utf8, scan};
use super::super::samples;
use super::*;

/// A call whose arguments are so, in a member and in a string that the scan looks at.
fn call(arguments: &str, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","params":{{"arguments":{arguments},"uri":"{uri}","name":"f"}},"method":"tools/call","id":1}}"#
    )
}

/// What comes of a line that grows by so many bytes each time.
fn fed(line: &[u8], by: usize) -> Ahead {
    let mut ahead = Ahead::default();
    for there in (by..line.len()).step_by(by) {
        ahead.feed(&line[..there]);
    }
    ahead
}

#[test]
fn a_long_value_is_passed_over_once() {
    let text = r#"x \"é\" \\"#.repeat(1000);
    let line = call(&format!(r#"{{"a":"{text}","b":[[{}]]}}"#, "1,".repeat(3000) + "1"), &text);
    let mut ahead = fed(line.as_bytes(), 1000);
    ahead.feed(line.as_bytes());
    let spans = ahead.values.ended.clone();
    assert!(matches!(&spans[..], [_, _]), "{spans:?}");
    let again = ahead.looked_at;
    ahead.scan(line.as_bytes());
    assert!(ahead.looked_at - again < 200, "nothing but what is between them is looked at");
    let seen = ahead.end(line.as_bytes());
    assert_eq!((seen.scan, seen.is_utf8), (scan(line.as_bytes()), true));
}

#[test]
fn work_grows_with_the_line_however_it_comes() {
    const SIZE: usize = 1 << 19;
    let many = |piece: &str| piece.repeat(SIZE / piece.len());
    let lines = [
        call(&format!("[{}1]", many(r#"{"a":[1,"b\\"]},"#)), ""),
        call("1", &many(r#"\"\\"#)),
        format!(r#"{{"id":1,"params":{{{}"z":1}}}}"#, many(r#""a":"bc","#)),
        format!(r#"{{{}"z":1}}"#, many(r#""a":[],"#)),
        format!("[{}1]", many(r#"{"method":"x"},"#)),
        format!("[{}1]", format!("\"{}\",", "x".repeat(LONG)).repeat(SIZE / LONG)),
        format!(r#"{{"{}":1}}"#, many("x")),
        format!(r#"{{"id":{}}}"#, many("1")),
        format!(r#"{{"id":1{}}}"#, many(" ")),
        format!(r#"{{"params":{}{}}}"#, "[".repeat(SIZE / 2), "]".repeat(SIZE / 2)),
        format!(r#"{{"params":[{}"#, many("}[")),
        many("a line of a log "),
    ];
    for line in &lines {
        let line = line.as_bytes();
        let ahead = fed(line, 64);
        assert!(ahead.looked_at <= (AGAIN + 1) * line.len(), "{} {}", ahead.looked_at, line.len());
        let spans = ahead.values.ended.len();
        assert!(spans <= line.len() / LONG, "{spans}");
        let seen = ahead.end(line);
        assert_eq!((seen.scan, seen.is_utf8), (scan(line), true));
    }
}

#[test]
fn jumps_over_long_values_are_work_too() {
    let line = format!("[{}1]", format!("\"{}\",", "x".repeat(LONG)).repeat(1500)).into_bytes();
    let (mut ahead, mut jumps) = (Ahead::default(), 0);
    for there in (0..line.len()).step_by(LONG / 2) {
        let before = ahead.looked_at;
        ahead.feed(&line[..there]);
        if ahead.looked_at > before {
            jumps += ahead.values.next;
        }
    }
    assert!(jumps > 0 && jumps * JUMP <= (AGAIN + 1) * line.len(), "{jumps}");
}

#[test]
fn a_cr_that_was_read_and_is_no_part_of_the_line_changes_nothing() {
    for line in
        [r#"{"id":1,"method":"x"}"#, r#"{"id":1,"method":"x"#, r#"{"id":[1"#, "{\"id\":\"\u{e9}", "{\"id\":\"\\"]
    {
        let mut ahead = Ahead::default();
        ahead.feed(format!("{line}\r").as_bytes());
        let seen = ahead.end(line.as_bytes());
        assert_eq!((seen.scan, seen.is_utf8), (scan(line.as_bytes()), true), "{line}");
    }
}

#[test]
fn characters_may_be_cut_and_faults_are_found_all_the_same() {
    let sound = "\"a\u{e9}\u{2028}\u{1f600}\"".repeat(20).into_bytes();
    let faults: [&[u8]; 6] = [b"\xff", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\x80"];
    for by in 1..9 {
        assert!(fed(&sound, by).end(&sound).is_utf8);
        for fault in faults {
            for at in [0, 1, 50, sound.len()] {
                let line = [&sound[..at], fault, &sound[at..]].concat();
                assert_eq!(fed(&line, by).end(&line).is_utf8, is_utf8(&line), "{fault:?} {at} {by}");
            }
        }
    }
}

proptest! {
    #[test]
    fn finds_what_a_scan_of_the_whole_finds(
        line in prop_oneof![
            samples::line().prop_map(String::into_bytes),
            samples::mutated(),
            prop::collection::vec(samples::json(), 0..6).prop_map(|items| format!("[{}]", items.join(",")).into_bytes()),
            prop::collection::vec(prop::sample::select(&b"{}[]\":,\\ 1n\xc3\xa9\r"[..]), 0..200),
        ],
        lengths in prop::collection::vec(0_usize..40, 0..60),
    ) {
        check_in_pieces(&line, lengths);
    }

    #[test]
    fn finds_it_behind_long_values_too(
        parts in prop::collection::vec((0_usize..9000, prop::sample::select(vec!["x", "\\\\", "\\\"", "\u{e9}", "]", "{"])), 1..5),
        members in prop::collection::vec((samples::json(), prop::sample::select(vec!["a", "uri", "_meta", "arguments"])), 0..4),
        torn in 0_usize..40,
        lengths in prop::collection::vec(prop_oneof![0_usize..9000, 0_usize..100], 0..30),
    ) {
        let text: String = parts.iter().map(|(count, piece)| piece.repeat(*count)).collect();
        let more: String = members.iter().map(|(value, name)| format!(",\"{name}\":{value}")).collect();
        let line = format!(r#"{{"params":{{"arguments":["{text}"],"uri":"{text}"{more}}},"id":"{text}","method":"x"}}"#);
        check_in_pieces(line.as_bytes(), lengths.iter().copied());
        check_in_pieces(&line.as_bytes()[..line.len() - torn], lengths);
    }
}
