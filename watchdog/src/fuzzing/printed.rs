//! What processes print: their stderr, and what goes from there to people.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, Write};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use super::feed::{Feed, cut};
use crate::probe::printed::Printed;
use crate::stream::StderrTail;
use crate::stream::stderr_tail::LONGEST_LINE;
use crate::telemetry::{LogHandle, plain};

/// What fits into a pipe.
const FITS: usize = 60_000;
/// Characters are looked at one by one, so that more of them show nothing more.
const LOOKED_AT: usize = 2048;
/// Lines of a tail.
const TAIL: usize = 10;
/// Characters of a line of a tail, and the mark of a cut.
const LONGEST_TAIL_LINE: usize = 501;

/// Text of strangers: it is split into lines however it is cut, it ends, and nothing of it does anything to a terminal.
pub fn printed(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let lengths = feed.lengths();
    let stream = feed.rest();
    stderr(stream, &lengths);
    harmless(&String::from_utf8_lossy(&stream[..stream.len().min(LOOKED_AT)]));
    reader(&stream[..stream.len().min(FITS)], &lengths);
}

fn stderr(stream: &[u8], lengths: &[usize]) {
    let mut tail = StderrTail::new();
    let mut lines = Vec::new();
    for piece in cut(stream, lengths) {
        tail.push(piece, |line| lines.push(trimmed(line)));
    }
    tail.finish(|line| lines.push(trimmed(line)));
    let expected = stream.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let expected = expected.filter(|line| !line.is_empty()).map(|line| trimmed(&line[..line.len().min(LONGEST_LINE)]));
    // A return that stands where a line is cut may go with the end.
    let lines = lines.into_iter().filter(|line| !line.is_empty());
    assert!(lines.eq(expected.filter(|line| !line.is_empty())), "lines do not depend on how they come");
    let kept = tail.tail(TAIL);
    assert!(kept.len() <= TAIL);
    kept.iter().for_each(|line| assert_harmless(line, LONGEST_TAIL_LINE));
}

fn trimmed(line: &[u8]) -> Vec<u8> {
    line.strip_suffix(b"\r").unwrap_or(line).to_vec()
}

fn harmless(text: &str) {
    for most in [1, 20, text.len()] {
        let plain = plain::text(text, most);
        assert_harmless(&plain, most + 1);
        assert_eq!(plain::text(&plain, most), plain, "what is harmless stays as it is");
    }
    let mut escaped = String::new();
    plain::escaped(&mut escaped, text).unwrap_or_else(|_| panic!("a String takes everything"));
    assert_harmless(&escaped, usize::MAX);
}

fn assert_harmless(text: &str, most: usize) {
    let mut count = 0;
    for character in text.chars() {
        let reorders = matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!character.is_control() && !reorders, "{text:?}");
        count += 1;
    }
    assert!(count <= most, "{count} characters");
}

thread_local! {
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

/// The reader of a pipe comes to the end of it, in bounded pieces.
fn reader(stream: &[u8], lengths: &[usize]) {
    RUNTIME.with_borrow_mut(|runtime| {
        let runtime = runtime.get_or_insert_with(|| {
            let built = Builder::new_current_thread().enable_all().start_paused(true).build();
            built.unwrap_or_else(|error| panic!("{error}"))
        });
        runtime.block_on(read_all(stream, lengths)).unwrap_or_else(|error| panic!("{error}"));
    });
}

async fn read_all(stream: &[u8], lengths: &[usize]) -> io::Result<()> {
    let (read, mut write) = io::pipe()?;
    let mut printed = Printed::new(read.into(), "p".to_owned(), LogHandle::discard())?;
    for piece in cut(stream, lengths).into_iter().take(8) {
        write.write_all(piece)?;
        poll_fn(|cx| Poll::Ready(printed.poll(cx).is_ready())).await;
    }
    drop(write);
    let end = tokio::time::timeout(Duration::from_secs(60), poll_fn(|cx| printed.poll(cx))).await;
    assert!(end.is_ok(), "it does not come to its end");
    Ok(())
}
