use proptest::prelude::*;

use super::reference::{Owned, all, reference, split};
use super::*;
use crate::wire::id::Id;

fn whole(text: &str) -> Owned {
    Owned::Whole(text.into())
}

#[test]
fn ends_marks_and_blank_lines_are_dropped() {
    let stream = "\u{feff}{\"a\":1}\r\n\n \t\r\n\r\r\n{}\n\u{feff}\n\u{feff}[]\r\r\nx\u{feff} \ntorn";
    let expected = vec![whole("{\"a\":1}"), whole("{}"), whole("[]\r"), whole("x\u{feff} ")];
    assert_eq!(split(stream.as_bytes(), 100, []), (expected, 4));
}

#[test]
fn only_lf_ends_a_line() {
    let stream = "a\u{2028}b\u{85}c\rd\u{b}\n";
    assert_eq!(split(stream.as_bytes(), 100, []).0, [whole("a\u{2028}b\u{85}c\rd\u{b}")]);
}

#[test]
fn the_limit_counts_the_content_alone() {
    let stream = b"\xEF\xBB\xBF12345\r\n123456\n12345\n";
    for pieces in [vec![], vec![1; stream.len()]] {
        let (lines, _) = split(stream, 5, pieces);
        assert_eq!(lines[0], whole("12345"));
        assert!(matches!(&lines[1], Owned::TooLong(Oversized { len: 6, messages }) if messages.is_empty()));
        assert_eq!(lines[2], whole("12345"));
    }
}

#[test]
fn a_line_is_not_copied_and_a_long_one_can_be_shared() {
    for long in [false, true] {
        let text = "x".repeat(if long { SHORT + 1 } else { SHORT });
        let mut lines = Lines::new(usize::MAX);
        lines.spare(64).extend_from_slice(format!("{text}\n{text}\n").as_bytes());
        let start = lines.buffer.as_ptr();
        for place in [start, start.wrapping_add(text.len() + 1)] {
            let Some(Line::Whole(line)) = lines.next() else { panic!("a line") };
            assert_eq!(line.as_ptr(), place);
            assert_eq!(line.to_bytes().as_ptr() == place, long);
        }
    }
}

#[test]
fn an_oversized_line_streams_by_in_bounded_memory_and_its_id_is_found_at_its_end() {
    const READ: usize = 64 << 10;
    const MAX: usize = 1 << 20;
    let mut lines = Lines::new(MAX);
    let mut stream = br#"{"method":"tools/call","params":{"data":[""#.to_vec();
    stream.resize(32 << 20, b'x');
    stream.extend_from_slice(br#""]},"jsonrpc":"2.0","id":"last"}"#);
    let len = length(stream.len());
    stream.extend_from_slice(b"\n{}\n");
    let mut found = Vec::new();
    let mut fed = 0;
    for piece in stream.chunks(READ) {
        lines.spare(READ).extend_from_slice(piece);
        assert!(lines.buffer.capacity() <= 2 * (MAX + READ) + UNCOUNTED, "{}", lines.buffer.capacity());
        found.extend(all(&mut lines));
        fed += length(piece.len());
        if found.is_empty() {
            assert_eq!(lines.partial_len(), fed);
        }
    }
    let request = OversizedMessage { id: Some(Id::text("last")), kind: OversizedKind::Request };
    let oversized = Oversized { len, messages: vec![request] };
    assert_eq!(found, [Owned::TooLong(oversized), whole("{}")]);
    assert!(lines.buffer.capacity() <= 2 * READ);
}

#[test]
fn of_a_line_that_comes_in_several_reads_it_is_known_what_it_is() {
    let long = |size: usize| {
        format!("\u{feff}{{\"method\":\"x\",\"params\":{{\"a\":\"{}\"}}}}\r\n", "\u{e9}".repeat(size / 2))
    };
    let known = |size: usize, read: usize| {
        let mut lines = Lines::new(1 << 20);
        let mut known = Vec::new();
        for piece in format!("{}{{}}\n{}", long(size), long(10)).as_bytes().chunks(read) {
            lines.spare(64).extend_from_slice(piece);
            while let Some(line) = lines.next() {
                known.push(matches!(line, Line::Whole(line) if line.seen.is_some()));
            }
        }
        known
    };
    assert_eq!(known(200_000, 60_000), [true, false, false]);
    assert_eq!(known(200_000, 1), [true, false, false]);
    // At once, or short: nothing was to be done while waiting.
    assert_eq!(known(200_000, 300_000), [false; 3]);
    assert_eq!(known(PIECE / 2, 100), [false; 3]);
}

#[test]
fn the_buffer_shrinks_after_a_large_line() {
    let mut lines = Lines::new(64 << 20);
    lines.spare(64).extend_from_slice(&vec![b'x'; 20 << 20]);
    assert_eq!(lines.next(), None);
    lines.spare(64).extend_from_slice(b"\nrest");
    assert!(matches!(lines.next(), Some(Line::Whole(line)) if line.len() == 20 << 20));
    assert!(lines.buffer.capacity() < 1024);
    lines.spare(64).extend_from_slice(b"\n");
    assert_eq!(all(&mut lines), [whole("rest")]);
}

#[test]
fn a_long_line_is_let_go_once_the_next_one_is_asked_for() {
    let mut lines = Lines::new(usize::MAX);
    for end in ["", "{}\n", "{"] {
        lines.spare(64).extend_from_slice(format!("{}\n{end}", "x".repeat(SHORT + 1)).as_bytes());
        let line = lines.next().map(|line| match line {
            Line::Whole(line) => line.to_bytes(),
            Line::TooLong(_) => panic!("there is no limit"),
        });
        assert!(line.as_ref().is_some_and(|line| !line.is_unique()));
        _ = lines.next();
        assert!(lines.long.is_none());
        _ = lines.finish();
        assert!(line.is_some_and(|line| line.is_unique()));
    }
}

#[test]
fn a_buffer_whose_lines_were_given_is_used_from_its_beginning() {
    let mut lines = Lines::new(1000);
    let mut places = Vec::new();
    for text in ["one\n", "two\nthr", "ee\n", "four\n"] {
        let buffer = lines.spare(64 << 10);
        places.push(buffer.spare_capacity_mut().as_ptr().addr());
        buffer.extend_from_slice(text.as_bytes());
        _ = all(&mut lines);
    }
    let begin = places[0];
    assert_eq!(places, [begin, begin, begin + 7, begin]);
}

#[test]
fn a_line_that_goes_on_is_moved_only_for_want_of_room() {
    let mut lines = Lines::new(usize::MAX);
    let mut places = std::collections::HashSet::new();
    lines.spare(1000).extend_from_slice(b"{}\n");
    _ = all(&mut lines);
    for _ in 0..1000 {
        let buffer = lines.spare(1000);
        buffer.extend_from_slice(&[b'x'; 1000]);
        places.insert(buffer.as_ptr());
        _ = all(&mut lines);
    }
    assert!(places.len() < 10, "{}", places.len());
    lines.spare(1000).extend_from_slice(b"\n");
    assert_eq!(all(&mut lines), [whole(&"x".repeat(1_000_000))]);
}

#[test]
fn after_the_end_it_starts_anew() {
    let mut lines = Lines::new(2);
    lines.spare(64).extend_from_slice(b"12345678");
    assert_eq!(lines.next(), None);
    assert_eq!((lines.partial_len(), lines.finish(), lines.partial_len()), (8, 8, 0));
    lines.spare(64).extend_from_slice(b"{}\n");
    assert_eq!(all(&mut lines), [whole("{}")]);
    assert_eq!(lines.finish(), 0);
}

#[test]
fn lines_that_were_given_take_no_memory_though_no_read_ends_with_one() {
    const READ: usize = 64 << 10;
    let mut lines = Lines::new(usize::MAX);
    let stream = format!("{}\n", "x".repeat(98)).repeat(READ);
    let mut rest = stream.as_bytes();
    while !rest.is_empty() {
        let buffer = lines.spare(READ);
        // As much as there is room for, as a reader does.
        let (piece, after) = rest.split_at((buffer.capacity() - buffer.len()).min(rest.len()));
        buffer.extend_from_slice(piece);
        rest = after;
        _ = all(&mut lines);
        assert!(lines.buffer.capacity() <= 4 * READ, "{}", lines.buffer.capacity());
    }
    assert_eq!(lines.partial_len(), 0);
}

#[test]
fn what_is_not_utf8_is_seen_wherever_the_line_was_cut() {
    let mut stream = vec![b'{'; 300];
    stream.push(b'\n');
    for at in 0..300 {
        stream[at] = 0xFF;
        for cut in [at.saturating_sub(1), at, at + 1, 255, 256, 299, 300] {
            let (found, _) = split(&stream, 1000, [cut]);
            assert_eq!(found, [Owned::Whole(stream[..300].to_vec())]);
        }
        stream[at] = b'{';
    }
}

proptest! {
    #[test]
    fn pieces_of_long_lines_do_not_matter(
        sizes in prop::collection::vec(prop_oneof![0_usize..100, PIECE - 99..4 * PIECE], 1..6),
        end in prop::sample::select(vec!["\n", "\r\n", "\\\n", "\u{e9}\n", "\"\n"]),
        max_line in prop_oneof![Just(3 * PIECE), Just(usize::MAX)],
        pieces in prop::collection::vec(prop_oneof![0_usize..100, 0..3 * PIECE], 0..20),
    ) {
        let line = |size: &usize| format!("\u{feff}{{\"id\":1,\"result\":[\"{}\"]}}{end}", r#"é\""#.repeat(size / 4));
        let stream: String = sizes.iter().map(line).collect();
        let expected = reference(stream.as_bytes(), max_line);
        prop_assert_eq!(&split(stream.as_bytes(), max_line, pieces), &expected);
    }

    #[test]
    fn pieces_do_not_matter(
        parts in prop::collection::vec(prop::sample::select(vec![
            "\n", "\n", "\r\n", "\r", " ", "\u{feff}", r#"{"id":1,"method":"x"}"#, r#"{"params":["a",{}],"#, r#""method":"y","id":"z"}"#,
            r#"{"result":1,"id":2}"#, "x", "\"", "!", "é",
        ]), 0..40),
        max_line in prop_oneof![0_usize..8, 15_usize..60],
        pieces in prop::collection::vec(0_usize..30, 0..60),
    ) {
        let mut stream = parts.concat().into_bytes();
        // Not everything is UTF-8.
        stream.iter_mut().filter(|byte| **byte == b'!').for_each(|byte| *byte = 0xC3);
        let expected = reference(&stream, max_line);
        prop_assert_eq!(&split(&stream, max_line, []), &expected);
        prop_assert_eq!(&split(&stream, max_line, vec![1; stream.len()]), &expected);
        prop_assert_eq!(&split(&stream, max_line, pieces), &expected);
    }
}
