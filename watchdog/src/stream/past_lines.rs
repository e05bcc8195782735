//! What processes have said on stderr that have ended: whoever asks why a server died asks when the next one runs.

use std::collections::VecDeque;

use super::stderr_tail::KEPT;

/// The last lines of earlier processes, oldest first: as many bytes as are kept of one process.
#[derive(Debug, Default)]
pub struct PastLines {
    lines: VecDeque<String>,
    bytes: usize,
}

impl PastLines {
    /// Takes the lines of a process that has ended after all others.
    pub fn add(&mut self, lines: Vec<String>) {
        self.bytes += lines.iter().map(String::len).sum::<usize>();
        self.lines.extend(lines);
        while self.bytes > KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// The last `count` lines of these and of `live`, which came after them.
    #[must_use]
    pub fn before(&self, live: Vec<String>, count: usize) -> Vec<String> {
        let past = count.saturating_sub(live.len()).min(self.lines.len());
        let mut lines: Vec<String> = self.lines.range(self.lines.len() - past..).cloned().collect();
        lines.extend(live);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(of: &[&str]) -> Vec<String> {
        of.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn the_lines_of_all_processes_are_one_row() {
        let mut past = PastLines::default();
        assert_eq!(past.before(lines(&["live"]), 9), ["live"]);
        past.add(lines(&["a", "b"]));
        past.add(lines(&[]));
        past.add(lines(&["c"]));
        assert_eq!(past.before(lines(&["d", "e"]), 9), ["a", "b", "c", "d", "e"]);
        assert_eq!(past.before(lines(&["d", "e"]), 3), ["c", "d", "e"]);
        assert_eq!(past.before(lines(&["d", "e"]), 2), ["d", "e"]);
        assert_eq!(past.before(Vec::new(), 2), ["b", "c"]);
        assert_eq!(past.before(Vec::new(), 0), Vec::<String>::new());
    }

    #[test]
    fn no_more_is_kept_than_of_one_process() {
        let mut past = PastLines::default();
        for life in 0..200 {
            past.add(vec![format!("{life:03} {}", "x".repeat(496)); 3]);
        }
        let kept = past.before(Vec::new(), usize::MAX);
        assert_eq!(kept.len(), KEPT / 500, "whole lines");
        assert!(kept[0].starts_with("156 ") && kept.last().is_some_and(|last| last.starts_with("199 ")), "{}", kept[0]);
    }
}
