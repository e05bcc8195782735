//! The file of a plugin: whether it is still the one that was loaded.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probes::aside::Aside;

/// How long a look may take: a disk that does not answer must not cost a check its time, and the session nothing at all.
const LOOK: Duration = Duration::from_millis(100);

/// A file that is looked at before each check.
pub(super) struct Watched {
    path: PathBuf,
    look: Aside<Option<Stamp>>,
    last: Option<Stamp>,
}

impl Watched {
    /// One that was not looked at yet.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, look: Aside::default(), last: None }
    }

    /// Whether there is another file than at the last look. Where that cannot be told in time, there is not.
    pub(super) async fn has_changed(&mut self) -> bool {
        let path = self.path.clone();
        self.look(move || Stamp::of(&path)).await
    }

    async fn look(&mut self, look: impl FnOnce() -> Option<Stamp> + Send + 'static) -> bool {
        let now = self.look.run(LOOK, look).await.unwrap_or(self.last);
        std::mem::replace(&mut self.last, now) != now
    }
}

/// Which file a path leads to, and since when: it tells a file that was replaced or written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// `None` where there is no such file.
    fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        Some(Self { device: facts.dev(), inode: facts.ino(), modified: (facts.mtime(), facts.mtime_nsec()) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_stamp_tells_files_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.so");
        assert_eq!(Stamp::of(&path), None);
        fs::write(&path, "a").unwrap();
        let first = Stamp::of(&path);
        assert!(first.is_some() && first == Stamp::of(&path));
        fs::write(folder.path().join("b.so"), "a").unwrap();
        fs::rename(folder.path().join("b.so"), &path).unwrap();
        assert_ne!(Stamp::of(&path), first);
    }

    /// Time stands still while a thread is waited for, until there is nothing else to wait for but the time.
    #[tokio::test(start_paused = true)]
    async fn a_disk_that_does_not_answer_changes_nothing() {
        let stamp = |inode| Some(Stamp { device: 1, inode, modified: (0, 0) });
        let mut file = Watched::new("/a.so".into());
        file.last = stamp(1);
        let (release, stuck) = channel::<()>();
        let begin = tokio::time::Instant::now();
        let look = move || {
            _ = stuck.recv();
            None
        };
        assert!(!file.look(look).await, "unknown");
        assert_eq!(begin.elapsed(), LOOK);
        assert!(!file.look(move || stamp(2)).await, "the first look is still under way");
        drop(release);
        tokio::time::resume();
        while !file.look(move || stamp(2)).await {}
        assert!(!file.look(move || stamp(2)).await);
        assert!(file.look(|| None).await);
    }
}
