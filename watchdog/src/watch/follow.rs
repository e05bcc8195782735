//! Which folders the system is asked to watch, as they come and go.
//!
//! A file is watched through its folder: editors save by moving another file into its place, which is not seen at the file
//! itself. Where the folder goes away too, the nearest one above it tells when it comes back. Folders that were named are
//! watched one by one, so that those which mean nothing cost nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use notify::event::{CreateKind, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::Sender;

use super::paths::{Target, targets};
use super::{ignore, told};

/// So many folders are a mistake: a whole disk was named.
const MOST: usize = 20_000;

/// The paths that were named, and the system's watcher.
pub(super) struct Followed {
    targets: Vec<Target>,
    watcher: RecommendedWatcher,
    news: Sender<String>,
    /// What was complained of, each once.
    complaints: HashSet<String>,
}

impl Followed {
    pub(super) fn new(paths: &[PathBuf], watcher: RecommendedWatcher, news: Sender<String>) -> Self {
        let mut followed = Self { targets: targets(paths), watcher, news, complaints: HashSet::new() };
        followed.follow(|_| true);
        followed
    }

    /// Takes an event of the system.
    pub(super) fn take(&mut self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) => event,
            Err(error) => return self.complain(told(&error)),
        };
        if event.need_rescan() {
            // The system has forgotten some: anything may have changed.
            self.follow(|_| true);
            let first = self.targets.first().map(|target| target.shown(&target.path));
            return first.into_iter().for_each(|path| self.tell(path));
        }
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for path in &event.paths {
            if let Some(target) = self.targets.iter().find(|target| target.concerns(path)) {
                self.tell(target.shown(path));
            }
        }
        let moved = matches!(
            event.kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) | EventKind::Any
        );
        if moved {
            self.follow(|target| event.paths.iter().any(|path| target.hangs_on(path)));
        }
        let may_be_new_folder = matches!(
            event.kind,
            EventKind::Create(CreateKind::Folder | CreateKind::Any)
                | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Any))
        );
        if may_be_new_folder {
            let inside = |path: &&PathBuf| self.targets.iter().any(|t| t.concerns(path) && t.path != **path);
            for folder in event.paths.iter().filter(inside).filter(|path| path.is_dir()).cloned().collect::<Vec<_>>() {
                self.watch_below(&folder);
            }
        }
    }

    /// Watches what there is of some targets, and tells of those that have come back.
    fn follow(&mut self, which: impl Fn(&Target) -> bool) {
        for at in 0..self.targets.len() {
            let mut target = self.targets[at].clone();
            if !which(&target) {
                continue;
            }
            hold(|| target.anchor().map(Path::to_owned), |anchor| self.watch(anchor));
            if target.path.is_dir() {
                self.watch_below(&target.path);
            }
            let is_back = target.path.exists() && !target.present;
            target.present = target.path.exists();
            if is_back {
                self.tell(target.shown(&target.path));
            }
            self.targets[at] = target;
        }
    }

    /// Watches a folder, and all in it that mean something.
    fn watch_below(&mut self, folder: &Path) {
        let mut left = vec![folder.to_owned()];
        for _ in 0..MOST {
            let Some(folder) = left.pop() else { return };
            // Before it is looked into, so that nothing is missed that comes meanwhile.
            self.watch(&folder);
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                // Links to folders are not followed: they may lead anywhere, in circles too.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !ignore::folder(&entry.file_name()) {
                    left.push(entry.path());
                }
            }
        }
        self.complain(format!("{} has more than {MOST} folders, the others are not watched", folder.display()));
    }

    /// Watches a path; `false` where it is gone again.
    fn watch(&mut self, path: &Path) -> bool {
        match self.watcher.watch(path, RecursiveMode::NonRecursive) {
            Err(error) if is_gone(&error) => return false,
            Err(error) => self.complain(format!("{}: {}", path.display(), told(&error))),
            Ok(()) => {}
        }
        true
    }

    fn tell(&self, path: String) {
        // Full: news are waiting already. Closed: the end is near.
        drop(self.news.try_send(path));
    }

    fn complain(&mut self, what: String) {
        if self.complaints.len() < 8 && !self.complaints.contains(&what) {
            tracing::error!(target: "mcp", "`watch` misses changes: {what}");
            self.complaints.insert(what);
        }
    }
}

/// Watches the nearest folder that is there. What appears before it is watched is seen by looking once more; so is what goes away
/// before that and comes back: no event tells of it.
fn hold(anchor: impl Fn() -> Option<PathBuf>, mut watch: impl FnMut(&Path) -> bool) {
    let mut watched = None;
    for _ in 0..MOST {
        let Some(anchor) = anchor().filter(|anchor| watched.as_ref() != Some(anchor)) else { return };
        if watch(&anchor) {
            watched = Some(anchor);
        }
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound | notify::ErrorKind::WatchNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use super::*;

    /// What is watched in the end, where these are the nearest folders one after the other, and they are gone again or not when
    /// they are to be watched. The last one stays.
    fn held(steps: &[(&str, bool)]) -> Vec<String> {
        let steps = RefCell::new(VecDeque::from(steps.to_vec()));
        let mut watched = Vec::new();
        hold(
            || steps.borrow().front().map(|(path, _)| path.into()),
            |path| {
                let mut steps = steps.borrow_mut();
                let there = steps[0].1;
                if steps.len() > 1 {
                    steps.pop_front();
                }
                if there {
                    watched.push(path.display().to_string());
                }
                there
            },
        );
        watched
    }

    #[test]
    fn what_goes_away_before_it_is_watched_and_comes_back_is_watched() {
        assert_eq!(held(&[("/a/dist", false), ("/a/dist", true)]), ["/a/dist"]);
        assert_eq!(held(&[("/a/dist", false), ("/", true), ("/a/dist", false), ("/a", true)]), ["/", "/a"]);
    }

    #[test]
    fn what_appears_before_its_folder_is_watched_is_watched_too() {
        assert_eq!(held(&[("/", true), ("/a", true), ("/a/dist", true)]), ["/", "/a", "/a/dist"]);
        assert_eq!(held(&[("/a", true)]), ["/a"]);
        assert!(held(&[]).is_empty());
    }

    #[test]
    fn what_is_always_gone_is_not_tried_for_ever() {
        assert!(held(&[("/a", false)]).is_empty());
    }
}
