//! The rules of framing, applied to a stream as a whole: what the splitter is compared with.

use super::super::head;
use super::{Line, Lines, Outline, Oversized, content, length, without_mark};

/// A line that is not lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owned {
    Whole(Vec<u8>),
    TooLong(Oversized),
}

/// All lines of a stream, and what is dropped at its end.
pub(crate) fn reference(stream: &[u8], max_line: usize) -> (Vec<Owned>, u64) {
    let mut pieces: Vec<&[u8]> = stream.split(|&byte| byte == b'\n').collect();
    let torn = pieces.pop().unwrap_or_default();
    let lines = pieces.into_iter().filter_map(|piece| {
        let content = &piece[content(piece)];
        if content.len() > max_line {
            let mut outline = Outline::default();
            outline.feed(without_mark(piece));
            return Some(Owned::TooLong(Oversized { len: length(piece.len()), messages: outline.end() }));
        }
        let blank = content.trim_ascii().is_empty();
        (!blank).then(|| Owned::Whole(content.to_vec()))
    });
    (lines.collect(), length(torn.len()))
}

/// The same from the splitter, which is given the stream in such pieces.
pub(crate) fn split(stream: &[u8], max_line: usize, pieces: impl IntoIterator<Item = usize>) -> (Vec<Owned>, u64) {
    let mut lines = Lines::new(max_line);
    let mut found = Vec::new();
    let mut rest = stream;
    for length in pieces.into_iter().chain([stream.len()]) {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        lines.spare(64).extend_from_slice(piece);
        found.extend(all(&mut lines));
        rest = after;
    }
    (found, lines.finish())
}

/// The lines that have ended. What is known of a line is what a look at all of it says.
pub(crate) fn all(lines: &mut Lines) -> Vec<Owned> {
    let (mut found, mut shapes) = (Vec::new(), head::Shapes::default());
    while let Some(line) = lines.next() {
        found.push(match line {
            Line::TooLong(line) => Owned::TooLong(line.clone()),
            Line::Whole(line) => {
                let mut scan = head::Scan::unread();
                line.scan_into(&mut shapes, &mut scan);
                assert_eq!((scan, line.is_utf8()), (head::scan(&line), head::is_utf8(&line)));
                assert_eq!(line.to_bytes(), &line[..]);
                Owned::Whole(line.to_vec())
            }
        });
    }
    found
}
