//! Bytes as choices.

/// Takes bytes from the front of an input. One that is used up goes on with zeros.
pub(super) struct Feed<'a>(&'a [u8]);

impl<'a> Feed<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn byte(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    /// Up to 15 lengths of at least one.
    pub(super) fn lengths(&mut self) -> Vec<usize> {
        let count = self.byte() % 16;
        (0..count).map(|_| self.byte() + 1).collect()
    }

    pub(super) const fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// Bytes in pieces of such lengths, again and again; in one piece where there are none.
pub(super) fn cut<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if bytes.is_empty() {
            return pieces;
        }
        let (piece, rest) = bytes.split_at((*length).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    vec![bytes]
}
