//! The first line that a program writes, however much it writes.

use crate::telemetry::plain;

/// The most bytes that are kept (design: probes.md, section 7).
const KEPT: usize = 4 * 1024;

/// Collects it.
#[derive(Debug, Default)]
pub(super) struct FirstLine {
    kept: Vec<u8>,
}

impl FirstLine {
    /// Takes what was read; everything behind the first 4 KiB is thrown away.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = KEPT - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// The first line that has something on it, without control characters, and with `�` for what is not UTF-8.
    pub(super) fn text(&self) -> String {
        let lines = self.kept.split(|byte| *byte == b'\n');
        let mut texts = lines.map(|line| plain::text(&String::from_utf8_lossy(line), KEPT));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(parts: &[&[u8]]) -> String {
        let mut line = FirstLine::default();
        parts.iter().for_each(|part| line.push(part));
        line.text()
    }

    #[test]
    fn it_is_the_first_that_says_something() {
        assert_eq!(first(&[b"a", b"b\nc\n"]), "ab");
        assert_eq!(first(&[b"\n \r\nOK - 3 users\r\nmore"]), "OK - 3 users");
        assert_eq!(first(&[b"no end"]), "no end");
        assert_eq!(first(&[]), "");
        assert_eq!(first(&[b"\n\n"]), "");
    }

    #[test]
    fn it_is_harmless_and_bounded() {
        assert_eq!(first(&[b"\x1b[31mred\x1b[0m\x07 \xff!"]), "red \u{fffd}!");
        let long = vec![b'x'; 3000];
        assert_eq!(first(&[&long, &long, &long]).len(), KEPT);
    }
}
