//! The API, over a connection.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Builder;

use super::feed::{Feed, cut};
use crate::control::fake::{Fake, FakeSlot};

/// The end of the program comes so much later. Nothing else ends who listens to events.
const CLOSING: Duration = Duration::from_secs(1000);
/// By then a connection has ended: the longest answer is bounded, and so is a peer that takes nothing.
const LATEST: Duration = Duration::from_secs(2000);

/// What a peer writes to the control socket: it is answered in HTTP or not at all, the watchdog is never at fault, and the
/// connection ends.
pub fn control(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let lengths = feed.lengths();
    let requests = feed.rest();
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    runtime.block_on(async {
        let (up, failed, off) = (FakeSlot::connected("up"), FakeSlot::failed("failed"), FakeSlot::new("off"));
        off.paint(|slot| (slot.enabled, slot.state, slot.status) = (false, "Disabled", "disconnected"));
        let fake = Fake::new(&[&up, &failed, &off]);
        let (near, far) = UnixStream::pair().unwrap_or_else(|error| panic!("{error}"));
        let talk = talk(near, requests, &lengths);
        let closing = async {
            tokio::time::sleep(CLOSING).await;
            fake.closing.send_replace(true);
        };
        let all = async { tokio::join!(fake.serve(far), talk, closing).1 };
        let answers = tokio::time::timeout(LATEST, all).await.unwrap_or_else(|_| panic!("the connection does not end"));
        check(&answers);
    });
}

/// Says everything, and hears everything.
async fn talk(stream: UnixStream, requests: &[u8], lengths: &[usize]) -> Vec<u8> {
    let (mut hears, mut says) = stream.into_split();
    let mut heard = Vec::new();
    let say = async {
        for piece in cut(requests, lengths) {
            // A peer that is refused is not heard to its end.
            if says.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        says
    };
    // The sending side stays open: to close it would break off what is being answered.
    let (_says, _) = tokio::join!(say, hears.read_to_end(&mut heard));
    heard
}

fn check(answers: &[u8]) {
    // A peer of HTTP/1.0 is answered in kind.
    let begins = |line: &[u8]| line.starts_with(b"HTTP/1.1 ") || line.starts_with(b"HTTP/1.0 ");
    assert!(answers.is_empty() || begins(answers), "{}", String::from_utf8_lossy(answers));
    for answer in answers.split(|byte| *byte == b'\n').filter(|line| begins(line)) {
        assert_ne!(answer[9..12], *b"500", "{}", String::from_utf8_lossy(answers));
    }
}
