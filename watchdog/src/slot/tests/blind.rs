//! A server whose memory is above its limit, and of which the system then tells nothing any more.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::fake::Fake;
use super::{Stage, stage};
use crate::core::testing::{secs, server as usual};
use crate::event_loop::Watcher;

#[tokio::test(start_paused = true)]
async fn what_the_system_does_not_tell_is_not_asked_again_and_again() {
    let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    let mut server = usual();
    server.limits.memory = Some(1);
    let fake = Fake::default();
    let Stage { driver, client, handle: _handle, events: _ } = stage(Box::new(fake.clone()), server, Watcher::Runtime);
    let driving = tokio::spawn(driver.run());
    let (read, mut write) = client.into_split();
    let mut read = BufReader::new(read).lines();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    write.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
    read.next_line().await.unwrap().unwrap();
    write.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await.unwrap();
    write
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n")
        .await
        .unwrap();
    tokio::time::sleep(secs(25)).await;
    let looks = fake.looks();
    assert!(looks > 1);
    fake.become_blind();
    fake.say(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    read.next_line().await.unwrap().unwrap();
    tokio::select! {
        end = driving => panic!("{end:?}"),
        () = tokio::time::sleep(secs(12)) => {}
    }
    assert!(fake.looks() < looks + 50);
    child.kill().unwrap();
    child.wait().unwrap();
}
