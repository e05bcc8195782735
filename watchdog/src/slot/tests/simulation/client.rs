//! A client that works by day and leaves things as they are by night.

use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use super::world::Shared;
use crate::core::testing::{INITIALIZE, INITIALIZED, call_line, cancel_line, millis, secs};

/// The hours of the night.
const NIGHT: std::ops::Range<u64> = 1..6;

/// Lives for so long, and closes its end; `last` is how long the watchdog may take after that.
pub(super) async fn live(world: Shared, stream: UnixStream, length: Duration, last: Duration) {
    let (hears, says) = stream.into_split();
    let (sender, lines) = unbounded_channel();
    let saying = tokio::task::spawn_local(say_all(says, lines));
    let hearing = tokio::task::spawn_local(hear_all(world.clone(), hears, sender.clone()));
    let rng = world.lock().unwrap().rng.fork();
    Work { world: world.clone(), sender, rng, next_id: 0 }.work(length).await;
    saying.await.unwrap();
    timeout(last, hearing).await.expect("the watchdog closes its end").unwrap();
}

/// Writes lines up to the end, which closes this end of the stream.
async fn say_all(mut says: OwnedWriteHalf, mut lines: UnboundedReceiver<Option<String>>) {
    while let Some(mut line) = lines.recv().await.flatten() {
        line.push('\n');
        says.write_all(line.as_bytes()).await.expect("the watchdog reads");
    }
}

async fn hear_all(world: Shared, hears: OwnedReadHalf, sender: UnboundedSender<Option<String>>) {
    let mut lines = BufReader::new(hears).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let mut world = world.lock().unwrap();
        world.say("client", &format!("hears {line}"));
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let from = [&message["params"]["from"], &message["result"]["from"]].into_iter().find_map(Value::as_u64);
        if let Some(from) = from {
            world.heard_of(from);
        }
        match (message["method"].as_str(), &message["id"]) {
            (Some(_), Value::Null) => {}
            // Nobody may be there any more who would write it.
            (Some(_), id) => _ = sender.send(Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))),
            (None, id) => world.answered(&id.to_string(), &message["error"]),
        }
    }
}

struct Work {
    world: Shared,
    sender: UnboundedSender<Option<String>>,
    rng: Rng,
    next_id: u64,
}

impl Work {
    async fn work(mut self, length: Duration) {
        self.world.lock().unwrap().asked("0.0", "initialize");
        self.say(INITIALIZE.to_owned());
        sleep(millis(500)).await;
        self.say(INITIALIZED.to_owned());
        loop {
            let elapsed = self.world.lock().unwrap().elapsed();
            if elapsed >= length {
                self.world.lock().unwrap().closing = true;
                self.sender.send(None).expect("there is somebody who writes");
                return;
            }
            if NIGHT.contains(&(elapsed.as_secs() / 3600)) {
                sleep(secs(600)).await;
                continue;
            }
            let pause = millis(self.rng.u64(0..20_000));
            sleep(pause).await;
            self.act();
        }
    }

    fn act(&mut self) {
        match self.rng.u32(0..100) {
            0..5 => (0..self.rng.u32(5..20)).for_each(|_| self.request("tools/call")),
            5..10 => self.request("tools/list"),
            10..12 => self.request("ping"),
            12..15 => self.request("resources/read"),
            15..20 => {
                self.request("tools/call");
                self.cancel();
            }
            20..22 => self.cancel(),
            22 => self.say(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#.to_owned()),
            _ => self.request("tools/call"),
        }
    }

    fn request(&mut self, method: &'static str) {
        self.next_id += 1;
        let n = self.next_id;
        let id = if n.is_multiple_of(3) { format!("\"s{n}\"") } else { n.to_string() };
        self.world.lock().unwrap().asked(&id, method);
        self.say(match method {
            "tools/call" => call_line(&id, "t"),
            _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"uri":"u"}}}}"#),
        });
    }

    fn cancel(&mut self) {
        let mut world = self.world.lock().unwrap();
        let Some(id) = world.open().filter(|id| id != "0.0") else { return };
        world.cancelled(&id);
        drop(world);
        self.say(cancel_line(&id));
    }

    fn say(&self, line: String) {
        self.world.lock().unwrap().say("client", &format!("says {line}"));
        self.sender.send(Some(line)).expect("there is somebody who writes");
    }
}
