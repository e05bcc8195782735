//! A server whose memory is above its limit, and of which the system then tells nothing any more.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::{Stage, stage};
use crate::back::runtime::{Back, News, Runtime};
use crate::back::{Fence, StartError, facts};
use crate::config::Server;
use crate::core::testing::{secs, server as usual};
use crate::event_loop::Watcher;
use crate::telemetry::LogHandle;
use crate::wire::lines::Line;

#[derive(Default)]
struct State {
    told: bool,
    lines: VecDeque<String>,
    fresh: bool,
    waker: Option<Waker>,
    blind: bool,
    looks: usize,
    blind_looks: usize,
}

#[derive(Clone, Default)]
pub(super) struct Fake(Arc<Mutex<State>>);

impl Fake {
    fn say(&self, line: &str) {
        let mut state = self.0.lock().unwrap();
        state.lines.push_back(line.to_owned());
        state.fresh = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

impl Back for Fake {
    fn start(&mut self, _: &Server, _: &LogHandle) -> Result<Box<dyn Runtime>, StartError> {
        Ok(Box::new(self.clone()))
    }
}

impl Runtime for Fake {
    fn poll_news(&mut self, cx: &mut Context<'_>, _: bool) -> Poll<News> {
        let mut state = self.0.lock().unwrap();
        if !std::mem::replace(&mut state.told, true) {
            return Poll::Ready(News::Started { pid: 1 });
        }
        if std::mem::take(&mut state.fresh) {
            return Poll::Ready(News::Read { spent: false });
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn next_line(&mut self) -> Option<Line> {
        let line = self.0.lock().unwrap().lines.pop_front()?;
        Some(Line::Whole(Bytes::from(line).into()))
    }

    fn send(&mut self, line: Bytes, _: u64, _: bool) {
        let message: serde_json::Value = serde_json::from_slice(&line).unwrap();
        if message["method"] == "initialize" {
            self.say(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"result":{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"x","version":"1"}}}}}}"#,
                message["id"]
            ));
        } else if message["method"] == "ping" {
            self.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, message["id"]));
        }
    }

    fn flush(&mut self, _: &mut Context<'_>) {}

    fn backlog(&self) -> usize {
        0
    }

    fn stop(&mut self, _: bool, _: Duration, _: Duration) -> HashMap<u64, Bytes> {
        HashMap::new()
    }

    fn kill(&mut self) {}

    fn stderr_tail(&self, _: usize) -> Vec<String> {
        Vec::new()
    }

    fn fence(&self) -> Option<&Fence> {
        None
    }

    fn processes(&self) -> Option<facts::Processes> {
        let mut state = self.0.lock().unwrap();
        state.looks += 1;
        if state.blind {
            state.blind_looks += 1;
            assert!(state.blind_looks < 10_000, "it looks again and again");
            return None;
        }
        Some(facts::Processes { guard: std::process::id(), leader: None })
    }
}

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
    {
        let mut state = fake.0.lock().unwrap();
        assert!(state.looks > 1);
        state.blind = true;
    }
    fake.say(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    read.next_line().await.unwrap().unwrap();
    tokio::select! {
        end = driving => panic!("{end:?}"),
        () = tokio::time::sleep(secs(12)) => {}
    }
    assert!(fake.0.lock().unwrap().blind_looks < 50);
    child.kill().unwrap();
    child.wait().unwrap();
}
