//! Real files and the real watcher. Each wait is for something that has to come, so that a slow machine is only slow.

use std::fs;
use std::future::poll_fn;
use std::path::Path;
use std::time::Duration;

use super::*;

struct Rig {
    watch: Watch,
    folder: tempfile::TempDir,
}

impl Rig {
    /// A folder with these files, of which these paths are watched.
    fn new(files: &[&str], paths: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "1").unwrap();
        }
        let paths: Vec<_> = paths.iter().map(|path| root.join(path)).collect();
        let watch = Watch::start(&paths).unwrap().unwrap();
        Self { watch, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    async fn next(&mut self) -> String {
        let change = poll_fn(|cx| self.watch.poll_change(cx));
        tokio::time::timeout(Duration::from_secs(30), change).await.expect("a change is seen")
    }

    /// What is told within a moment, if anything.
    async fn soon(&mut self) -> Option<String> {
        let next = poll_fn(|cx| self.watch.poll_change(cx));
        tokio::time::timeout(Duration::from_millis(200), next).await.ok()
    }

    /// Makes a change again and again until it is told: the thread may not have begun to watch there. What is told of
    /// earlier changes is passed over first, and of others meanwhile.
    async fn until(&mut self, expected: &str, change: impl Fn(&Path)) {
        while self.soon().await.is_some() {}
        let root = self.path("");
        let end = tokio::time::Instant::now() + Duration::from_secs(30);
        while tokio::time::Instant::now() < end {
            change(&root);
            while let Some(path) = self.soon().await {
                if path == expected {
                    return;
                }
            }
        }
        panic!("a change of {expected} is not told");
    }

    /// All that is told until the watcher tells of `mark`, which is changed now.
    async fn told_before(&mut self, mark: &str) -> Vec<String> {
        fs::write(self.path(mark), "mark").unwrap();
        let mut told = Vec::new();
        loop {
            match self.next().await {
                path if path == mark => return told,
                path => told.push(path),
            }
        }
    }
}

fn write(name: &str) -> impl Fn(&Path) {
    let name = name.to_owned();
    move |root| fs::write(root.join(&name), "2").unwrap()
}

/// Saves as most editors do: another file takes the place of the old one.
fn move_over(root: &Path, name: &str) {
    fs::write(root.join("saving.tmp"), "3").unwrap();
    fs::rename(root.join("saving.tmp"), root.join(name)).unwrap();
}

#[tokio::test]
async fn a_file_is_seen_when_it_is_written_and_when_another_one_takes_its_place() {
    let mut rig = Rig::new(&["main.py", "other.py"], &["main.py"]);
    rig.until("main.py", write("main.py")).await;
    for _ in 0..3 {
        rig.until("main.py", |root| move_over(root, "main.py")).await;
    }
    fs::write(rig.path("other.py"), "2").unwrap();
    let told = rig.told_before("main.py").await;
    assert!(told.iter().all(|path| path == "main.py"), "{told:?}");
}

#[tokio::test]
async fn a_file_that_goes_away_and_comes_back_is_seen() {
    let mut rig = Rig::new(&["main.py"], &["main.py"]);
    rig.until("main.py", write("main.py")).await;
    for _ in 0..3 {
        fs::remove_file(rig.path("main.py")).unwrap();
        assert_eq!(rig.next().await, "main.py");
        rig.until("main.py", write("main.py")).await;
    }
}

/// As `rm -rf dist` and a build do it.
#[tokio::test]
async fn a_file_whose_folder_is_made_anew_is_seen() {
    let mut rig = Rig::new(&["a/dist/index.js"], &["a/dist/index.js"]);
    rig.until("index.js", write("a/dist/index.js")).await;
    for _ in 0..3 {
        fs::remove_dir_all(rig.path("a")).unwrap();
        fs::create_dir_all(rig.path("a/dist")).unwrap();
        rig.until("index.js", write("a/dist/index.js")).await;
    }
}

#[tokio::test]
async fn folders_are_watched_with_all_that_is_in_them_and_comes_into_them() {
    let mut rig = Rig::new(&["src/a/b/c.py"], &["src"]);
    rig.until("src/a/b/c.py", write("src/a/b/c.py")).await;
    fs::create_dir_all(rig.path("src/new/deep")).unwrap();
    rig.until("src/new/deep/d.py", write("src/new/deep/d.py")).await;
    fs::remove_dir_all(rig.path("src")).unwrap();
    fs::create_dir_all(rig.path("src")).unwrap();
    rig.until("src/fresh.py", write("src/fresh.py")).await;
}

#[tokio::test]
async fn what_means_nothing_is_not_told_and_what_was_named_is() {
    let files = ["src/main.py", "src/target/debug/server", "src/node_modules/x/i.js", "src/__pycache__/m.pyc"];
    let mut rig = Rig::new(&files, &["src", "src/target/debug/server"]);
    rig.until("src/main.py", write("src/main.py")).await;
    for name in ["src/node_modules/x/i.js", "src/__pycache__/m.pyc", "src/m.pyc", "src/.main.py.swp", "src/target/x"] {
        fs::write(rig.path(name), "2").unwrap();
    }
    fs::create_dir_all(rig.path("src/.git/objects")).unwrap();
    fs::write(rig.path("src/.git/index"), "2").unwrap();
    fs::read(rig.path("src/main.py")).unwrap();
    let told = rig.told_before("src/main.py").await;
    assert!(told.iter().all(|path| path == "src/main.py"), "{told:?}");
    rig.until("server", write("src/target/debug/server")).await;
}

#[test]
fn nothing_is_watched_where_nothing_is_named() {
    assert!(Watch::start(&[]).unwrap().is_none());
}

#[tokio::test]
async fn the_thread_ends_with_its_handle() {
    let rig = Rig::new(&["main.py"], &["main.py"]);
    let Rig { watch, folder: _folder } = rig;
    let orders = watch.orders.clone();
    drop(watch);
    // The thread's end of the channel is gone once it has ended.
    while orders.send(Order::End).is_ok() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
