use std::future::poll_fn;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use tempfile::TempDir;

use super::entrance::Entrance;
use super::*;

fn open() -> (TempDir, PathBuf, Front) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let entrance = Entrance::open(&path).unwrap();
    (folder, path, Front::open(Door::new(vec![entrance], 1024)))
}

fn turned_away() -> Bytes {
    Bytes::from_static(b"another one is there")
}

async fn input(front: &mut Front) -> Input {
    poll_fn(|cx| front.poll_input(cx, true, false, &turned_away)).await
}

/// Lets the event loop look what is new.
async fn look() {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
}

#[tokio::test]
async fn who_comes_right_after_a_client_has_left_is_not_turned_away() {
    let (_folder, path, mut front) = open();
    let first = UnixStream::connect(&path).unwrap();
    assert_eq!(input(&mut front).await, Input::Came);
    drop(first);
    let mut second = UnixStream::connect(&path).unwrap();
    look().await;
    assert!(matches!(input(&mut front).await, Input::Eof | Input::Gone));
    front.forget_client();
    assert_eq!(input(&mut front).await, Input::Came);
    second.write_all(b"{}\n").unwrap();
    assert_eq!(input(&mut front).await, Input::Read { spent: false });
    second.set_nonblocking(true).unwrap();
    assert_eq!(second.read(&mut [0; 9]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "it was told nothing");
}

#[tokio::test]
async fn who_comes_while_a_client_is_there_is_turned_away_also_when_that_one_is_not_read() {
    for wanted in [true, false] {
        let (_folder, path, mut front) = open();
        let mut first = UnixStream::connect(&path).unwrap();
        assert_eq!(input(&mut front).await, Input::Came);
        if !wanted {
            first.write_all(b"{}\n").unwrap();
        }
        let mut second = UnixStream::connect(&path).unwrap();
        look().await;
        assert!(poll_fn(|cx| Poll::Ready(front.poll_input(cx, wanted, false, &turned_away))).await.is_pending());
        let mut told = String::new();
        second.read_to_string(&mut told).unwrap();
        assert_eq!(told, "another one is there\n");
    }
}
