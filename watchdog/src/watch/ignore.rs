//! What changes without meaning: what version control, package managers, interpreters and editors write beside the files
//! that matter. A server whose interpreter keeps byte code beside the source must not restart because it was started.

use std::ffi::OsStr;
use std::path::Path;

/// Folders, and all that is in them.
const FOLDERS: [&str; 18] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "__pycache__",
    "target",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".cache",
    ".idea",
    ".vscode",
    ".direnv",
];

/// Beginnings of names of files that editors, desktops and compilers make and take away.
const BEGINNINGS: [&str; 4] = [".#", "#", ".goutputstream-", "___jb_"];

/// Ends of such names.
const ENDS: [&str; 10] = ["~", ".swp", ".swo", ".swx", ".tmp", ".temp", ".bak", ".pyc", ".pyo", ".part"];

/// The rest: the file by which vim tries whether it may write, and what a desktop leaves.
const NAMES: [&str; 2] = ["4913", ".DS_Store"];

/// Whether a folder of this name is left out.
pub(super) fn folder(name: &OsStr) -> bool {
    FOLDERS.iter().any(|known| name == *known)
}

/// Whether a change below a folder means nothing; the path starts from there.
pub(super) fn below(path: &Path) -> bool {
    path.iter().any(folder) || path.file_name().is_some_and(|name| file(&name.to_string_lossy()))
}

fn file(name: &str) -> bool {
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_write_beside_the_source_means_nothing() {
        for path in [
            ".git/index.lock",
            "node_modules/x/index.js",
            "a/__pycache__/m.cpython-312.pyc",
            "a/m.pyc",
            "target/debug/server",
            "target",
            ".venv/bin/python",
            "a/.main.py.swp",
            "a/4913",
            "a/main.py~",
            "a/.#main.py",
            "a/#main.py#",
            "a/main.py.tmp",
            "a/main.py___jb_tmp___.tmp",
        ] {
            assert!(below(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn source_and_what_is_built_from_it_means_something() {
        for path in
            ["main.py", "src/lib.rs", "dist/index.js", "build/server", ".env", "targets/a", "a/git", "tmp/x", ""]
        {
            assert!(!below(Path::new(path)), "{path}");
        }
    }
}
