use std::io::Read;

use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::Mode;

use super::*;

/// For what should happen soon.
const SOON: Duration = Duration::from_secs(20);

fn pipe(size: i32) -> (File, OwnedFd) {
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC).unwrap();
    fcntl(&write, FcntlArg::F_SETPIPE_SZ(size)).unwrap();
    (read.into(), write)
}

fn start(fd: OwnedFd) -> Queue {
    Queue::start(fd, |lost| format!("dropped {lost}")).unwrap()
}

fn read_to_end(mut file: File) -> Vec<String> {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn line");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_arrive_in_order() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    for n in 0..100 {
        queue.push(&[b"line ", n.to_string().as_bytes()]);
    }
    assert!(queue.flush(SOON));
    drop(queue);
    let expected: Vec<_> = (0..100).map(|n| format!("line {n}")).collect();
    assert_eq!(read_to_end(read), expected);
}

#[test]
fn what_is_queued_when_the_queue_goes_is_written() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    let line = "x".repeat(99);
    for _ in 0..1000 {
        queue.push(&[line.as_bytes()]);
    }
    drop(queue);
    assert_eq!(read_to_end(read).len(), 1000);
}

/// ACC-13: nobody reads stderr.
#[test]
fn an_unread_pipe_blocks_nobody_and_the_loss_is_told() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    let line = "x".repeat(79);
    let total = 125_000;
    for _ in 0..total {
        queue.push(&[line.as_bytes()]);
        let state = queue.shared.lock();
        assert!(state.pending.len() + state.writing <= LIMIT);
    }
    assert!(queue.shared.lock().pending.capacity() <= 2 * LIMIT);
    assert!(!queue.flush(Duration::from_millis(20)), "it cannot have been written");

    // Somebody begins to read.
    let reader = std::thread::spawn(move || read_to_end(read));
    assert!(queue.flush(SOON));
    queue.push(&[b"after"]);
    assert!(queue.flush(SOON));
    drop(queue);
    let lines = reader.join().unwrap();
    let (told, whole): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.starts_with("dropped "));
    assert_eq!(told.len(), 1, "{told:?}");
    let dropped: usize = told[0]["dropped ".len()..].parse().unwrap();
    assert!(whole[..whole.len() - 1].iter().all(|text| **text == line));
    assert_eq!(whole.last().unwrap().as_str(), "after");
    assert_eq!(whole.len() - 1 + dropped, total, "every line is written or counted");
    assert!(dropped > total / 2);
}

#[test]
fn a_loss_is_told_before_the_line_that_follows_it() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    let big = vec![b'x'; LIMIT];
    queue.push(&[&big]);
    queue.push(&[b"small"]);
    assert!(queue.flush(SOON));
    drop(queue);
    assert_eq!(read_to_end(read), ["dropped 1", "small"]);
}

#[test]
fn a_loss_is_told_without_another_line() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    queue.push(&[&vec![b'x'; LIMIT]]);
    assert!(queue.flush(SOON));
    drop(queue);
    assert_eq!(read_to_end(read), ["dropped 1"]);
}

#[test]
fn a_reader_that_is_gone_ends_the_log() {
    let (read, write) = pipe(4096);
    drop(read);
    let queue = start(write);
    queue.push(&[b"one"]);
    assert!(queue.flush(SOON), "nothing is left to do");
    assert!(queue.shared.lock().dead);
    for _ in 0..10_000 {
        queue.push(&[b"more"]);
    }
    assert_eq!(queue.shared.lock().pending.capacity(), 0);
    let start = std::time::Instant::now();
    while Arc::strong_count(&queue.shared) > 1 {
        assert!(start.elapsed() < SOON, "the thread stays");
        std::thread::yield_now();
    }
}

#[test]
fn a_descriptor_that_cannot_be_written_ends_the_log() {
    let queue = start(open("/dev/null", OFlag::O_RDONLY, Mode::empty()).unwrap());
    queue.push(&[b"one"]);
    assert!(queue.flush(SOON));
    assert!(queue.shared.lock().dead);
}

#[test]
fn a_full_disk_does_not_end_the_log() {
    let queue = start(open("/dev/full", OFlag::O_WRONLY, Mode::empty()).unwrap());
    queue.push(&[b"one"]);
    assert!(queue.flush(SOON));
    assert!(!queue.shared.lock().dead);
}

/// Some parents make the descriptions that they share with us non-blocking.
#[test]
fn a_nonblocking_description_loses_nothing() {
    let (read, write) = pipe(4096);
    fcntl(&write, FcntlArg::F_SETFL(OFlag::O_WRONLY | OFlag::O_NONBLOCK)).unwrap();
    let queue = start(write);
    let line = "x".repeat(99);
    for _ in 0..1000 {
        queue.push(&[line.as_bytes()]);
    }
    let reader = std::thread::spawn(move || read_to_end(read));
    assert!(queue.flush(SOON));
    drop(queue);
    assert_eq!(reader.join().unwrap().len(), 1000);
}

#[test]
fn buffers_shrink_after_a_flood() {
    let (read, write) = pipe(4096);
    let queue = start(write);
    for _ in 0..100_000 {
        queue.push(&[b"0123456789"]);
    }
    let reader = std::thread::spawn(move || read_to_end(read));
    assert!(queue.flush(SOON));
    queue.push(&[b"small"]);
    assert!(queue.flush(SOON));
    // The thread swaps two buffers: after two rounds both have been small.
    queue.push(&[b"small"]);
    assert!(queue.flush(SOON));
    assert!(queue.shared.lock().pending.capacity() <= KEEP);
    drop(queue);
    reader.join().unwrap();
}
