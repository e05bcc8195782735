//! What has to hold of a stream of any lines.

use super::super::{Scan, scan};
use super::Shapes;
use super::shape::Shape;

/// Of each line of a stream the same is found as of the line alone.
pub(crate) fn check<'a>(lines: impl IntoIterator<Item = &'a [u8]>) {
    let mut shapes = Shapes::default();
    for line in lines {
        let mut found = Scan::unread();
        shapes.read(line, &mut found);
        assert_eq!(found, scan(line), "{}", String::from_utf8_lossy(line));
    }
}

/// The shape of a line finds in that line, and in another one, what the scan finds; whether the other one has it.
pub(crate) fn check_two(line: &[u8], other: &[u8]) -> bool {
    let Scan::Message(head) = scan(line) else { return false };
    let Some(shape) = Shape::of(line, &head) else { return false };
    assert!(has(&shape, line), "no shape of its own: {}", String::from_utf8_lossy(line));
    has(&shape, other)
}

/// Of a line and others that are nearly the same, in any order, the same is found as of each alone. If it has more than one line, they
/// are a stream of their own.
pub(crate) fn check_alike(line: &[u8]) {
    let pieces = || line.split(|&byte| byte == b'\n');
    check(pieces().chain(pieces()).chain(pieces()));
    check([line; 3].into_iter().chain(pieces()).chain([line]));
    for (one, other) in pieces().zip(pieces().skip(1)) {
        check_two(one, other);
        check_two(other, one);
    }
    let Scan::Message(head) = scan(line) else { return };
    let Some(shape) = Shape::of(line, &head) else { return };
    // Not all of them: a fuzzer comes by often.
    let step = line.len() / 16 + 1;
    for at in (0..line.len()).step_by(step) {
        for byte in [b'"', b'\\', b'}', b'{', b'0', b' '] {
            let mut other = line.to_vec();
            other[at] = byte;
            has(&shape, &other);
            other.insert(at, line[at]);
            has(&shape, &other);
            other.remove(at + 1);
            other.remove(at);
            has(&shape, &other);
        }
        assert!(!has(&shape, &line[..at]), "a torn line is none: {}", String::from_utf8_lossy(line));
    }
    for span in [head.id, head.params, head.body, head.name, head.progress_token].into_iter().flatten() {
        for value in ["1", "-1", "01", "\"\"", "\"}\"", "{}", "[]", "{]}", "[}]", "null", "1,\"a\":2", "{},\"id\":{}"] {
            has(&shape, &[&line[..span.start], value.as_bytes(), &line[span.end..]].concat());
        }
    }
}

/// Whether a line has a shape; what is found by it is what the scan finds.
fn has(shape: &Shape, line: &[u8]) -> bool {
    let mut found = Scan::unread();
    let Scan::Message(head) = &mut found else { return false };
    let has = shape.read(line, head).is_some();
    let expected = if has { scan(line) } else { Scan::unread() };
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(line));
    has
}
