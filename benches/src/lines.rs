//! Lines from a descriptor, with as little work as can be: what the client and the server of the measurements do must not
//! hide what stands between them.

use std::io::{self, Read};
use std::ops::Range;

use memchr::memchr;

/// Room for a read of short lines, in bytes.
const ROOM: usize = 64 * 1024;
/// The most that one read asks for, in bytes.
const LARGEST: usize = 1 << 20;

/// A reader of lines that keeps its buffer.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// What is read and not yet taken.
    unread: Range<usize>,
    /// How much of that is known to have no line end.
    searched: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; ROOM], unread: 0..0, searched: 0 }
    }

    /// The next line without its line end, from what is already read.
    pub(crate) fn buffered(&mut self) -> Option<&[u8]> {
        let from = self.unread.start + self.searched;
        let Some(more) = memchr(b'\n', &self.buffer[from..self.unread.end]) else {
            self.searched = self.unread.len();
            return None;
        };
        let line = self.unread.start..from + more;
        self.unread.start = line.end + 1;
        self.searched = 0;
        Some(&self.buffer[line])
    }

    /// Reads once.
    ///
    /// # Errors
    /// `UnexpectedEof` at the end, and what the read says.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        if self.unread.is_empty() {
            self.unread = 0..0;
        }
        if self.buffer.len() - self.unread.end < ROOM {
            self.make_room();
        }
        let end = self.buffer.len().min(self.unread.end + LARGEST);
        let read = self.source.read(&mut self.buffer[self.unread.end..end])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unread.end += read;
        Ok(())
    }

    fn make_room(&mut self) {
        if self.unread.start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.len();
        } else {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }

    /// Waits for the next line.
    ///
    /// # Errors
    /// As [`Self::fill`].
    pub(crate) fn next(&mut self) -> io::Result<&[u8]> {
        while self.buffered_end().is_none() {
            self.fill()?;
        }
        Ok(self.buffered().unwrap_or_default())
    }

    /// Where the line ends that [`Self::buffered`] would give.
    fn buffered_end(&mut self) -> Option<usize> {
        let from = self.unread.start + self.searched;
        let end = memchr(b'\n', &self.buffer[from..self.unread.end]);
        self.searched = match end {
            Some(more) => self.searched + more,
            None => self.unread.len(),
        };
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes a read.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(self.0.len()).min(room.len());
            let (now, later) = self.0.split_at(size);
            room[..size].copy_from_slice(now);
            self.0 = later;
            Ok(size)
        }
    }

    #[test]
    fn lines_of_all_lengths_come_whole_however_they_are_read() {
        let lines: Vec<_> = [0, 1, 5, 70_000, 3, 200_000, 2].map(|length| vec![b'x'; length]).into();
        let text: Vec<u8> = lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect();
        for piece in [1, 7, 65_536, usize::MAX] {
            let mut reader = Lines::new(Trickle(&text, piece));
            for line in &lines {
                assert!(reader.next().unwrap() == &line[..], "{} bytes, {piece} a read", line.len());
            }
            assert_eq!(reader.next().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
