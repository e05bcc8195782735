use proptest::prelude::*;

use super::*;

/// Pushes `bytes` in the given pieces and finishes; gives the lines.
fn lines(tail: &mut StderrTail, bytes: &[u8], pieces: &[usize]) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    let mut rest = bytes;
    for piece in pieces.iter().cycle() {
        let (now, later) = rest.split_at((*piece).clamp(1, rest.len().max(1)).min(rest.len()));
        tail.push(now, |line| got.push(line.to_vec()));
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    tail.finish(|line| got.push(line.to_vec()));
    got
}

#[test]
fn lines_come_whole_and_without_their_ends() {
    let mut tail = StderrTail::new();
    let got = lines(&mut tail, b"one\r\ntwo\n\n\r\nthree \xff\nlast", &[4]);
    assert_eq!(got, [&b"one"[..], b"two", b"three \xff", b"last"]);
    assert_eq!(tail.tail(10), ["one", "two", "three \u{fffd}", "last"]);
    assert_eq!(tail.tail(2), ["three \u{fffd}", "last"]);
    assert_eq!(tail.tail(0), Vec::<String>::new());
    assert_eq!(StderrTail::new().tail(10), Vec::<String>::new());
}

#[test]
fn a_traceback_without_a_last_newline_is_in_the_tail() {
    let mut tail = StderrTail::new();
    tail.push(b"Traceback: kaput", |_| panic!("not yet whole"));
    assert_eq!(tail.tail(10), ["Traceback: kaput"]);
}

#[test]
fn an_endless_line_is_cut_and_takes_no_memory() {
    let mut tail = StderrTail::new();
    let mut got = Vec::new();
    for _ in 0..1000 {
        tail.push(&[b'x'; 10_000], |line| got.push(line.len()));
    }
    assert_eq!(got, [LONGEST_LINE]);
    assert!(tail.partial.capacity() <= 2 * LONGEST_LINE);
    tail.push(b"the rest\nnext\n", |line| got.push(line.len()));
    assert_eq!(got, [LONGEST_LINE, 4], "the rest of the line is thrown away");
    let tail = tail.tail(10);
    assert_eq!(tail, ["next"], "the torn line is left out");
}

#[test]
fn a_line_without_an_end_that_fills_the_ring_is_better_than_nothing() {
    let mut tail = StderrTail::new();
    tail.push(&[b'x'; 100_000], |_| {});
    let got = tail.tail(10);
    assert_eq!(got.len(), 1);
    assert_eq!(got[0].chars().count(), 501, "500 and the mark of a cut");
}

#[test]
fn a_tail_line_is_harmless() {
    let mut tail = StderrTail::new();
    tail.push(b"\x1b[31mError:\x1b[0m \x1b]0;owned\x07bad\n\x1b[0m\n", |_| {});
    assert_eq!(tail.tail(10), ["Error: bad"]);
}

/// A server that logs ten megabytes costs a copy of the last 64 KiB of each read, and the calls.
#[test]
fn a_flood_is_bounded() {
    let mut tail = StderrTail::new();
    let chunk: Vec<u8> = (0..1000).flat_map(|n| format!("line {n:04} {}\n", "x".repeat(54)).into_bytes()).collect();
    assert_eq!(chunk.len(), 65_000);
    let mut count = 0;
    for _ in 0..160 {
        tail.push(&chunk, |line| count += line.len());
    }
    assert_eq!(count, 160 * 64_000);
    assert!(tail.ring.capacity() <= 2 * KEPT);
    let last = tail.tail(10);
    assert!(last[0].starts_with("line 0990 ") && last[9].starts_with("line 0999 "), "{last:?}");
    assert_eq!(tail.tail(100_000).len(), KEPT / 65, "whole lines of what is kept");
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        text in proptest::collection::vec(prop_oneof![3 => Just(b'\n'), 1 => Just(b'\r'), 9 => any::<u8>()], 0..400),
        repeat in 1_usize..400,
        pieces in proptest::collection::vec(1_usize..9000, 1..10),
        count in 0_usize..20,
    ) {
        let bytes = text.repeat(repeat);
        let (mut whole, mut pieced) = (StderrTail::new(), StderrTail::new());
        let expected: Vec<Vec<u8>> = bytes
            .split(|byte| *byte == b'\n')
            .map(|line| &line[..line.len().min(LONGEST_LINE)])
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
            .filter(|line| !line.is_empty())
            .collect();
        prop_assert!(lines(&mut pieced, &bytes, &pieces) == expected);
        let _ = lines(&mut whole, &bytes, &[usize::MAX]);
        prop_assert_eq!(whole.tail(count), pieced.tail(count));
        prop_assert!(whole.ring.len() <= KEPT);
        // The ring holds the end of what came, in whatever pieces.
        let kept = [&pieced.ring[pieced.next..], &pieced.ring[..pieced.next]].concat();
        prop_assert!(bytes.ends_with(&kept));
        prop_assert_eq!(kept.len(), bytes.len().min(KEPT));
    }
}
