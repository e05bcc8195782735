use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use super::rotate::RotatingFile;
use super::*;

const LONG: Duration = Duration::from_secs(60);

fn config(path: &Path, max_size: Option<usize>, keep: usize) -> EventFile {
    EventFile { path: path.to_owned(), max_size, keep }
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn lines_are_appended_to_what_is_there_for_the_owner_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("events.jsonl");
    for line in ["a\n", "b\n"] {
        let sink = FileSink::start(config(&path, None, 1)).unwrap();
        sink.push(line.to_owned());
        sink.flush().wait(LONG);
    }
    assert_eq!(lines(&path), ["a", "b"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_at_its_limit_is_put_aside_and_only_so_many_are_kept() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut file = RotatingFile::new(config(&path, Some(8), 2));
    for n in 0..9 {
        file.append(format!("{n}{n}{n}\n").as_bytes()).unwrap();
    }
    assert_eq!(lines(&path), ["888"]);
    assert_eq!(lines(&folder.path().join("events.jsonl.1")), ["666", "777"]);
    assert_eq!(lines(&folder.path().join("events.jsonl.2")), ["444", "555"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    file.append(b"longer than the limit\n").unwrap();
    assert_eq!(lines(&path), ["longer than the limit"]);
}

#[test]
fn nothing_is_kept_where_nothing_is_wanted() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut file = RotatingFile::new(config(&path, Some(4), 0));
    for line in ["aaa\n", "bbb\n"] {
        file.append(line.as_bytes()).unwrap();
    }
    assert_eq!(lines(&path), ["bbb"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn whoever_moves_the_file_away_gets_no_more_lines() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("events.jsonl");
    let mut file = RotatingFile::new(config(&path, None, 1));
    file.append(b"a\n").unwrap();
    fs::rename(&path, folder.path().join("old")).unwrap();
    file.append(b"b\n").unwrap();
    assert_eq!(lines(&path), ["b"]);
    assert_eq!(lines(&folder.path().join("old")), ["a"]);
}

/// Each writer has a file of its own, as processes have: locks belong to the opened file, not to the process.
#[test]
fn writers_that_rotate_at_the_same_time_lose_and_tear_nothing() {
    const WRITERS: usize = 4;
    const LINES: usize = 200;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("events.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                let mut file = RotatingFile::new(config(path, Some(256), 10_000));
                for n in 0..LINES {
                    file.append(format!("{writer}:{n:04}\n").as_bytes()).unwrap();
                }
            });
        }
    });
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = files.flat_map(|path| lines(&path)).collect();
    found.sort();
    let mut expected: Vec<_> =
        (0..WRITERS).flat_map(|writer| (0..LINES).map(move |n| format!("{writer}:{n:04}"))).collect();
    expected.sort();
    assert_eq!(found, expected);
}

/// A pipe that nobody reads is a disk that does not answer.
#[test]
fn a_disk_that_hangs_holds_up_nobody_and_what_is_lost_is_told_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let sink = FileSink::start(config(&path, Some(8), 1)).unwrap();
    // One is in the thread's hands, or still in the queue.
    for _ in 0..WAITING + 10 {
        sink.push("x\n".to_owned());
    }
    assert!((9..=10).contains(&sink.dropped()), "{}", sink.dropped());
    assert_eq!(sink.take_dropped(), None, "there is no room for that either");
    let dropped = sink.dropped();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || fs::read_to_string(path).unwrap()
    });
    while sink.shared.waiting.load(Relaxed) > 0 {
        std::thread::yield_now();
    }
    assert_eq!(sink.take_dropped(), Some(dropped));
    assert_eq!(sink.take_dropped(), None);
    drop(sink);
    assert_eq!(reader.join().unwrap().lines().count(), WAITING + 10 - usize::try_from(dropped).unwrap());
}

#[test]
fn a_folder_that_comes_later_is_used_then() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("later/events.jsonl");
    let sink = FileSink::start(config(&path, None, 1)).unwrap();
    sink.push("lost\n".to_owned());
    sink.flush().wait(LONG);
    assert_eq!((sink.dropped(), sink.take_dropped()), (1, None));
    fs::create_dir(folder.path().join("later")).unwrap();
    sink.push("kept\n".to_owned());
    sink.flush().wait(LONG);
    assert_eq!(sink.take_dropped(), Some(1));
    assert_eq!(lines(&path), ["kept"]);
}
