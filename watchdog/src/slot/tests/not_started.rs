//! A start that fails before there is anything to start: no guard, no pipes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use super::{Stage, stage_of};
use crate::back::StartError;
use crate::back::runtime::{Back, News, Runtime};
use crate::config::{Delays, Server, Start};
use crate::core::slot::Role;
use crate::core::testing::{INITIALIZE, millis, secs, server as usual};
use crate::event_loop::Watcher;
use crate::telemetry::LogHandle;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;

/// What a process was given that answers nothing.
#[derive(Clone, Default)]
struct Given(Arc<Mutex<Vec<Bytes>>>);

impl Runtime for Given {
    fn poll_news(&mut self, _: &mut Context<'_>, _: bool) -> Poll<News> {
        Poll::Pending
    }

    fn next_line(&mut self) -> Option<Line<'_>> {
        None
    }

    fn send(&mut self, line: &Framed<'_>, _: u64, _: bool) {
        self.0.lock().unwrap().push(line.to_bytes());
    }

    fn flush(&mut self, _: &mut Context<'_>) {}

    fn backlog(&self) -> usize {
        0
    }

    fn stop(&mut self, _: bool, _: Duration, _: Duration) -> HashMap<u64, Bytes> {
        HashMap::new()
    }

    fn kill(&mut self) {}
}

/// Starts that fail so many times, and then one that does not.
struct Failing {
    left: u32,
    given: Given,
}

impl Back for Failing {
    fn start(&mut self, _: &Server, _: &LogHandle) -> Result<Box<dyn Runtime>, StartError> {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Err(StartError::Pipes(std::io::ErrorKind::OutOfMemory.into()))
            }
            None => Ok(Box::new(self.given.clone())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_it_was_to_be_given_is_given_to_the_next_process_once() {
    let mut server = usual();
    server.start = Start::Lazy;
    server.restart.delays = Delays::Schedule(vec![secs(0)]);
    server.restart.min_attempt_interval = millis(10);
    let given = Given::default();
    let back = Failing { left: 100, given: given.clone() };
    let role = Role { served: true, ..Role::default() };
    let Stage { driver, mut client, handle: _handle, events: _ } =
        stage_of(Box::new(back), server, role, Watcher::Runtime);
    let driving = tokio::spawn(driver.run());
    client.write_all(format!("{INITIALIZE}\n").as_bytes()).await.unwrap();
    tokio::time::sleep(secs(4)).await;
    assert_eq!(*given.0.lock().unwrap(), [INITIALIZE]);
    driving.abort();
}
