//! The paths that the user has named, and which paths of events concern them.

use std::path::{Path, PathBuf};

use super::ignore;

/// One path that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Absolute.
    pub(super) path: PathBuf,
    /// Whether it was there when it was looked at last.
    pub(super) present: bool,
}

impl Target {
    /// Whether the user wants to know of a change at this path. What was named itself is never ignored.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        path.strip_prefix(&self.path).is_ok_and(|rest| !ignore::below(rest))
    }

    /// Whether this path is the target's, or leads to it.
    pub(super) fn hangs_on(&self, path: &Path) -> bool {
        self.path.starts_with(path)
    }

    /// A path for people: from the folder on in which the target lies.
    pub(super) fn shown(&self, path: &Path) -> String {
        let from = self.path.parent().unwrap_or(&self.path);
        path.strip_prefix(from).unwrap_or(path).display().to_string()
    }

    /// The nearest folder above it that is there.
    pub(super) fn anchor(&self) -> Option<&Path> {
        self.path.ancestors().skip(1).find(|path| path.is_dir())
    }
}

/// Each path once, and what it leads to where links are in it: events may come under either name.
pub(super) fn targets(paths: &[PathBuf]) -> Vec<Target> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths.iter().cloned().chain(paths.iter().filter_map(|path| path.canonicalize().ok())) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all.into_iter().map(|path| Target { path, present: true }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Target {
        Target { path: path.into(), present: true }
    }

    #[test]
    fn what_is_below_counts_unless_it_means_nothing() {
        let folder = target("/w/src");
        assert!(folder.concerns(Path::new("/w/src")) && folder.concerns(Path::new("/w/src/a/b.py")));
        assert!(!folder.concerns(Path::new("/w/srcs/a")) && !folder.concerns(Path::new("/w/README")));
        assert!(!folder.concerns(Path::new("/w/src/__pycache__/b.pyc")));
        assert!(target("/w/target/debug/server").concerns(Path::new("/w/target/debug/server")), "it was named");
    }

    #[test]
    fn what_leads_to_it_may_go_and_come_back() {
        let file = target("/w/dist/index.js");
        assert!(file.hangs_on(Path::new("/w/dist")) && file.hangs_on(Path::new("/w/dist/index.js")));
        assert!(!file.hangs_on(Path::new("/w/dis")) && !file.hangs_on(Path::new("/w/dist/index.js/x")));
    }

    #[test]
    fn paths_are_shown_from_where_the_user_named_them() {
        assert_eq!(target("/w/src").shown(Path::new("/w/src/a/b.py")), "src/a/b.py");
        assert_eq!(target("/w/main.py").shown(Path::new("/w/main.py")), "main.py");
    }

    #[test]
    fn a_link_is_watched_at_both_ends() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real.py");
        std::fs::write(&real, "").unwrap();
        let link = real.with_file_name("link.py");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let found = targets(&[link.clone(), real.clone()]);
        assert_eq!(found.iter().map(|target| target.path.clone()).collect::<Vec<_>>(), [link, real]);
    }
}
