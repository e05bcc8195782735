//! What a client is still given when its session has ended, by how it takes it.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::fake::Fake;
use super::{Stage, stage};
use crate::core::testing::{INITIALIZE, INITIALIZED, millis, secs, server as usual};
use crate::engine::{Command, SlotHandle};
use crate::event_loop::Watcher;
use crate::exit::Exit;

/// More than a socket holds.
const BYTES: usize = 1 << 20;

/// A client that has asked for much and closed its sending side; the server is gone, and all of the answer waits for the client.
async fn left_half() -> (JoinHandle<Exit>, UnixStream, SlotHandle) {
    // The end does not wait for the client to take so much that the rest is read.
    let (driving, mut client, handle) = asked(Duration::ZERO).await;
    client.shutdown().await.unwrap();
    (driving, client, handle)
}

/// A client that has asked for much, and has been answered.
async fn asked(drain: Duration) -> (JoinHandle<Exit>, UnixStream, SlotHandle) {
    let fake = Fake::default();
    let mut server = usual();
    server.shutdown.drain = drain;
    let Stage { driver, client, handle, events: _ } = stage(Box::new(fake.clone()), server, Watcher::Runtime);
    let driving = tokio::spawn(driver.run());
    let mut client = BufReader::new(client);
    client.write_all(format!("{INITIALIZE}\n{INITIALIZED}\n").as_bytes()).await.unwrap();
    client.read_line(&mut String::new()).await.unwrap();
    let call = r#"{"jsonrpc":"2.0","id":"big","method":"tools/call","params":{"name":"t"}}"#;
    client.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    tokio::time::sleep(millis(100)).await;
    fake.say(&format!(r#"{{"jsonrpc":"2.0","id":"big","result":{{"x":"{}"}}}}"#, "x".repeat(BYTES)));
    (driving, client.into_inner(), handle)
}

/// Takes up to so many bytes each half second; all of them in the end.
async fn take(client: &mut UnixStream, most: usize, times: usize) -> usize {
    let (mut room, mut taken) = (vec![0; most], 0);
    for _ in 0..times {
        tokio::time::sleep(millis(500)).await;
        match client.read(&mut room).await.unwrap() {
            0 => break,
            bytes => taken += bytes,
        }
    }
    taken
}

/// A socket that has taken all it holds has room again only when three quarters of that are read.
#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_slow_client_of_a_socket_is_given_all_of_it() {
    let (driving, mut client, _handle) = left_half().await;
    let begin = Instant::now();
    assert!(take(&mut client, 40 << 10, usize::MAX).await > BYTES);
    assert!(begin.elapsed() > secs(10), "it was slow");
    assert_eq!(driving.await.unwrap(), Exit::Done);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_more_is_given_up_after_a_second() {
    let (driving, mut client, _handle) = left_half().await;
    assert_eq!(take(&mut client, 40 << 10, 10).await, 400 << 10);
    let begin = Instant::now();
    assert_eq!(driving.await.unwrap(), Exit::Done);
    // It is looked after once a second.
    assert!((secs(1)..=secs(2)).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() < BYTES - (400 << 10), "{}", rest.len());
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn who_takes_its_time_does_not_hold_up_the_end_of_the_program() {
    for (drain, limit) in [(secs(5), secs(5)), (Duration::ZERO, secs(1))] {
        let (driving, mut client, handle) = asked(drain).await;
        take(&mut client, 40 << 10, 2).await;
        let begin = Instant::now();
        handle.commands.send(Command::Shutdown(15)).ok().unwrap();
        let taking = tokio::spawn(async move { take(&mut client, 40 << 10, usize::MAX).await });
        assert_eq!(driving.await.unwrap(), Exit::Signal(15));
        let steps = secs(2);
        assert!((limit..limit + steps).contains(&begin.elapsed()), "{drain:?}: {:?}", begin.elapsed());
        assert!(taking.await.unwrap() < BYTES);
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_says_not_to_wait() {
    let (driving, mut client, handle) = left_half().await;
    take(&mut client, 40 << 10, 4).await;
    let begin = Instant::now();
    handle.commands.send(Command::Shutdown(15)).ok().unwrap();
    assert_eq!(driving.await.unwrap(), Exit::Done);
    assert_eq!(begin.elapsed(), Duration::ZERO);
}
