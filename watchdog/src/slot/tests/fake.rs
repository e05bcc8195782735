//! A server without a process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use crate::back::runtime::{Back, News, Runtime};
use crate::back::{StartError, facts};
use crate::config::Server;
use crate::telemetry::LogHandle;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;

#[derive(Default)]
struct State {
    told: bool,
    lines: VecDeque<String>,
    fresh: bool,
    stopped: bool,
    waker: Option<Waker>,
    /// Whether the system tells nothing of its processes.
    blind: bool,
    looks: usize,
    /// What it was given, with its tags.
    given: Vec<(String, u64)>,
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Answers the opening and pings, and says what else it is told to.
#[derive(Clone, Default)]
pub(super) struct Fake(Arc<Mutex<State>>, Bytes);

impl Fake {
    /// How often the system was asked about its processes.
    pub(super) fn looks(&self) -> usize {
        self.0.lock().unwrap().looks
    }

    /// What it was given so far, with its tags.
    pub(super) fn given(&self) -> Vec<(String, u64)> {
        self.0.lock().unwrap().given.clone()
    }

    /// From now on the system tells nothing of them.
    pub(super) fn become_blind(&self) {
        self.0.lock().unwrap().blind = true;
    }

    pub(super) fn say(&self, line: &str) {
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
        if state.stopped {
            return Poll::Ready(News::Gone { survivors: Vec::new() });
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn next_line(&mut self) -> Option<Line<'_>> {
        self.1 = self.0.lock().unwrap().lines.pop_front()?.into();
        Some(Line::Whole((&self.1).into()))
    }

    fn send(&mut self, line: &Framed<'_>, tag: u64, _: bool) {
        self.0.lock().unwrap().given.push((String::from_utf8_lossy(line).into_owned(), tag));
        let message: serde_json::Value = serde_json::from_slice(line).unwrap();
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
        let mut state = self.0.lock().unwrap();
        state.stopped = true;
        state.wake();
        HashMap::new()
    }

    fn kill(&mut self) {}

    fn processes(&self) -> Option<facts::Processes> {
        let mut state = self.0.lock().unwrap();
        state.looks += 1;
        assert!(state.looks < 10_000, "it looks again and again");
        (!state.blind).then(|| facts::Processes { guard: std::process::id(), leader: None })
    }
}
