//! Lines that only pass through.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::fake::Fake;
use super::{Stage, stage};
use crate::core::testing::{INITIALIZE, INITIALIZED, secs, server as usual};
use crate::event_loop::Watcher;

#[tokio::test(start_paused = true)]
async fn each_goes_on_as_it_is_and_is_counted_and_requests_can_be_taken_back() {
    let fake = Fake::default();
    let Stage { driver, client, handle, events: _ } = stage(Box::new(fake.clone()), usual(), Watcher::Runtime);
    let driving = tokio::spawn(driver.run());
    let (read, mut write) = client.into_split();
    let mut read = BufReader::new(read).lines();
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"é"}}"#;
    let (mut sent, mut received) = (0, 0);
    for line in [INITIALIZE, INITIALIZED, ping, ping, notification] {
        write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        sent += line.len();
        if line == INITIALIZE || line == ping {
            received += read.next_line().await.unwrap().unwrap().len();
        }
    }
    fake.say(notification);
    assert_eq!(read.next_line().await.unwrap().unwrap(), notification);
    received += notification.len();
    tokio::time::sleep(secs(1)).await;

    let given = fake.given();
    let lines: Vec<&str> = given.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(lines, [INITIALIZE, INITIALIZED, ping, ping, notification]);
    // Each request has a tag of its own, by which it is taken back from a process that did not get it.
    let tags: std::collections::BTreeSet<u64> = given.iter().map(|(_, tag)| *tag).collect();
    assert_eq!(tags.len(), 4, "{given:?}");
    assert_eq!((given[1].1, given[4].1), (0, 0));
    let counted =
        [&handle.meter.messages_in, &handle.meter.messages_out, &handle.meter.bytes_in, &handle.meter.bytes_out];
    assert_eq!(counted.map(|cell| cell.get()), [5, 4, sent as u64, received as u64]);
    driving.abort();
}
