//! The rules of framing, applied to a stream as a whole: what the splitter is compared with.

use bytes::Bytes;

use super::super::head;
use super::{Line, Lines, Outline, Oversized, content, length, without_mark};

/// All lines of a stream, and what is dropped at its end.
pub(crate) fn reference(stream: &[u8], max_line: usize) -> (Vec<Line>, u64) {
    let mut pieces: Vec<&[u8]> = stream.split(|&byte| byte == b'\n').collect();
    let torn = pieces.pop().unwrap_or_default();
    let lines = pieces.into_iter().filter_map(|piece| {
        let content = content(piece);
        if content.len() > max_line {
            let mut outline = Outline::default();
            outline.feed(without_mark(piece));
            return Some(Line::TooLong(Oversized { len: length(piece.len()), messages: outline.end() }));
        }
        let blank = content.trim_ascii().is_empty();
        (!blank).then(|| Line::Whole(Bytes::copy_from_slice(content).into()))
    });
    (lines.collect(), length(torn.len()))
}

/// The same from the splitter, which is given the stream in such pieces. What it says of a line is what a look at all of it says.
pub(crate) fn split(stream: &[u8], max_line: usize, pieces: impl IntoIterator<Item = usize>) -> (Vec<Line>, u64) {
    let mut lines = Lines::new(max_line);
    let mut found = Vec::new();
    let mut rest = stream;
    for length in pieces.into_iter().chain([stream.len()]) {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        lines.spare(64).extend_from_slice(piece);
        found.extend(&mut lines);
        rest = after;
    }
    for line in &found {
        if let Line::Whole(line) = line {
            let mut scan = head::Scan::unread();
            line.scan_into(&mut scan);
            assert_eq!((scan, line.is_utf8()), (head::scan(line), head::is_utf8(line)));
        }
    }
    (found, lines.finish())
}
