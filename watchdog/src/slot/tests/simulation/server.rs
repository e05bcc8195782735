//! Processes that live by chance: they answer soon or late, hang, die, or do not come up at all.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};

use super::world::Shared;
use crate::back::StartError;
use crate::back::runtime::{Back, News, Runtime};
use crate::config::Server;
use crate::core::ending::Ending;
use crate::core::slot::Lost;
use crate::core::testing::{millis, secs};
use crate::exit::Exit;
use crate::telemetry::LogHandle;
use crate::wire::framed::Framed;
use crate::wire::lines::Line;

/// Makes them.
pub(super) struct Processes {
    world: Shared,
}

impl Processes {
    pub(super) const fn new(world: Shared) -> Self {
        Self { world }
    }
}

impl Back for Processes {
    fn start(&mut self, _: &Server, _: &LogHandle) -> Result<Box<dyn Runtime>, StartError> {
        let mut world = self.world.lock().unwrap();
        let generation = world.spawned();
        let (rng, connected) = (world.rng.fork(), world.connected);
        drop(world);
        Ok(Box::new(Process::new(self.world.clone(), generation, rng, connected)))
    }
}

/// What a process does, and when.
#[derive(Debug)]
enum Act {
    Start,
    CannotStart,
    Say(String),
    /// It goes on living, and reads and says nothing any more.
    Hang,
    Die(Ending),
    /// Its tree is empty.
    Gone,
}

/// How much of its end has been told.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    Ended,
    Told,
}

struct Process {
    world: Shared,
    generation: u64,
    rng: Rng,
    acts: BTreeMap<(Instant, u64), Act>,
    acted: u64,
    sleep: Pin<Box<Sleep>>,
    /// Lines that it has not read.
    outbox: VecDeque<(Bytes, u64)>,
    /// Lines that it has said.
    lines: VecDeque<Bytes>,
    /// The one of them that is lent.
    lent: Bytes,
    stage: Stage,
    started: bool,
    /// It has answered the handshake.
    ready: bool,
    deaf: bool,
    stopping: bool,
    dead: bool,
    ended: Option<Ending>,
    /// Requests of the client that it has read, not answered, and not been told to forget.
    owed: BTreeSet<String>,
}

impl Process {
    fn new(world: Shared, generation: u64, rng: Rng, connected: bool) -> Self {
        let mut process = Self {
            world,
            generation,
            rng,
            acts: BTreeMap::new(),
            acted: 0,
            sleep: Box::pin(sleep_until(Instant::now())),
            outbox: VecDeque::new(),
            lines: VecDeque::new(),
            lent: Bytes::new(),
            stage: Stage::Serving,
            started: false,
            ready: false,
            deaf: false,
            stopping: false,
            dead: false,
            ended: None,
            owed: BTreeSet::new(),
        };
        process.decide(connected);
        process
    }

    /// Its fate.
    fn decide(&mut self, connected: bool) {
        let fate = self.rng.u32(0..100);
        let start = millis(self.rng.u64(1..300));
        match fate {
            // The very first process that cannot be executed ends the watchdog.
            0..5 if connected => return self.plan(start, Act::CannotStart),
            5..15 => {
                self.plan(start, Act::Start);
                let (code, life) = (Ending::Code(self.rng.i32(0..3)), millis(self.rng.u64(0..200)));
                return self.plan(start + life, Act::Die(code));
            }
            15..18 => self.deaf = true,
            _ => {}
        }
        self.plan(start, Act::Start);
        let life = secs(self.rng.u64(10..7200));
        let end = match self.rng.u32(0..6) {
            0..2 => Act::Hang,
            2..4 => Act::Die(Ending::Signal(9)),
            _ => Act::Die(Ending::Signal(11)),
        };
        self.plan(life, end);
    }

    fn plan(&mut self, after: Duration, act: Act) {
        self.acted += 1;
        self.acts.insert((Instant::now() + after, self.acted), act);
    }

    fn soon(&mut self, least: u64, most: u64, act: Act) {
        let after = millis(self.rng.u64(least..most));
        self.plan(after, act);
    }

    fn log(&self, what: &str) {
        self.world.lock().unwrap().say("server", &format!("{} {what}", self.generation));
    }

    fn say(&mut self, least: u64, most: u64, line: String) {
        self.soon(least, most, Act::Say(line));
    }

    /// What it does about a line.
    fn read(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).into_owned();
        self.log(&format!("reads {text}"));
        let message: Value = serde_json::from_str(&text).expect("the client writes JSON");
        let (id, method) = (&message["id"], message["method"].as_str().unwrap_or_default());
        if id.is_null() {
            self.owed.remove(&message["params"]["requestId"].to_string());
            return;
        }
        if self.world.lock().unwrap().given(self.generation, &id.to_string(), method) {
            self.owed.insert(id.to_string());
        }
        if self.deaf {
            return;
        }
        let from = self.generation;
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        match method {
            "initialize" => {
                self.ready = true;
                self.world.lock().unwrap().connected = true;
                let result = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}"#;
                self.say(1, 100, answer(result));
            }
            "tools/list" => self.say(1, 20, answer(r#"{"tools":[{"name":"t"}]}"#)),
            "ping" | "resources/read" => self.say(1, 20, answer("{}")),
            "tools/call" => self.call(&id.to_string(), &answer(&format!(r#"{{"from":{from}}}"#))),
            // Answers to questions have no method.
            _ => {}
        }
    }

    fn call(&mut self, id: &str, answer: &str) {
        let from = self.generation;
        match self.rng.u32(0..200) {
            // As long as it is at work, it answers everything else.
            0..6 => {
                self.world.lock().unwrap().counts.slow += 1;
                self.say(45_000, 150_000, answer.to_owned());
            }
            6..16 => {
                let error = r#"{"code":-32602,"message":"no"}"#;
                self.say(1, 50, format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
            }
            16..20 => {
                let question = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"method":"sampling/createMessage","params":{{"from":{from}}}}}"#,
                    self.acted
                );
                self.say(1, 50, question);
                self.say(50, 500, answer.to_owned());
            }
            20..22 => self.soon(0, 50, Act::Die(Ending::Code(1))),
            22 => self.soon(0, 50, Act::Hang),
            23..26 => {
                self.say(1, 50, "Loading model ...".to_owned());
                self.say(50, 100, answer.to_owned());
            }
            _ => {
                let news =
                    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"from":{from}}}}}"#);
                self.say(0, 400, news);
                self.say(1, 500, answer.to_owned());
            }
        }
    }

    /// What it does now.
    fn act(&mut self, act: Act) -> Option<News> {
        match act {
            Act::Start => {
                self.log("starts");
                self.started = true;
                Some(News::Started { pid: 1000 + u32::try_from(self.generation).expect("few") })
            }
            Act::CannotStart => {
                self.log("cannot start");
                self.end();
                self.stage = Stage::Told;
                Some(News::CannotStart {
                    why: "there is no such program".to_owned(),
                    exit: Exit::NotFound,
                    may_have_run: false,
                })
            }
            Act::Say(_) if self.deaf => None,
            Act::Say(line) => {
                self.log(&format!("says {line}"));
                self.forget_answered(&line);
                self.lines.push_back(line.into());
                Some(News::Read { spent: false })
            }
            Act::Hang => {
                self.log("hangs");
                self.deaf = true;
                self.world.lock().unwrap().counts.hangs += 1;
                None
            }
            Act::Die(ending) => {
                self.log(&format!("dies: {ending:?}"));
                if !self.stopping {
                    self.world.lock().unwrap().died(self.generation);
                }
                self.end();
                self.ending(ending);
                Some(News::Drained)
            }
            Act::Gone => {
                self.world.lock().unwrap().gone(self.generation);
                Some(News::Gone { survivors: Vec::new() })
            }
        }
    }

    fn forget_answered(&mut self, line: &str) {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if message["method"].is_null() {
            self.owed.remove(&message["id"].to_string());
        }
    }

    fn ending(&mut self, ending: Ending) {
        self.ended = Some(ending);
        if self.stage == Stage::Serving {
            self.stage = Stage::Ended;
        }
    }

    fn unsent(&mut self) -> HashMap<u64, Bytes> {
        self.outbox.drain(..).filter(|(_, tag)| *tag != 0).map(|(line, tag)| (tag, line)).collect()
    }

    /// It does nothing any more but go away, some with children that take their time.
    fn end(&mut self) {
        self.acts.clear();
        self.dead = true;
        let lingers = if self.rng.u32(0..10) == 0 { self.rng.u64(100..1500) } else { self.rng.u64(0..10) };
        self.plan(millis(lingers), Act::Gone);
    }
}

impl Runtime for Process {
    fn poll_news(&mut self, cx: &mut Context<'_>, wanted: bool) -> Poll<News> {
        if self.stage == Stage::Ended {
            self.stage = Stage::Told;
            let lost = Lost { ending: self.ended, tail: vec!["it was not me".to_owned()], ..Lost::default() };
            return Poll::Ready(News::Lost(Lost { unsent: self.unsent(), ..lost }));
        }
        loop {
            // Who is not read from waits, and can die all the same.
            let next = self.acts.iter().find(|(_, act)| wanted || !matches!(act, Act::Say(_))).map(|(key, _)| *key);
            let Some(key) = next else { return Poll::Pending };
            if key.0 > Instant::now() {
                self.sleep.as_mut().reset(key.0);
                match self.sleep.as_mut().poll(cx) {
                    Poll::Ready(()) => continue,
                    Poll::Pending => return Poll::Pending,
                }
            }
            let act = self.acts.remove(&key).expect("it was just there");
            if let Some(news) = self.act(act) {
                return Poll::Ready(news);
            }
        }
    }

    fn next_line(&mut self) -> Option<Line<'_>> {
        self.lent = self.lines.pop_front()?;
        Some(Line::Whole((&self.lent).into()))
    }

    fn send(&mut self, line: &Framed<'_>, tag: u64, urgent: bool) {
        let line = line.to_bytes();
        if urgent { self.outbox.push_front((line, tag)) } else { self.outbox.push_back((line, tag)) }
    }

    fn flush(&mut self, cx: &mut Context<'_>) {
        if !self.started || self.dead || self.stopping || self.outbox.is_empty() {
            return;
        }
        while let Some((line, _)) = self.outbox.pop_front() {
            self.read(&line);
        }
        cx.waker().wake_by_ref();
    }

    fn backlog(&self) -> usize {
        self.outbox.iter().map(|(line, _)| line.len() + 1).sum()
    }

    fn stop(&mut self, hear: bool, eof_grace: Duration, term_grace: Duration) -> HashMap<u64, Bytes> {
        self.log(if hear { "is to end" } else { "is given up" });
        if self.ready && !self.deaf && !self.dead {
            self.world.lock().unwrap().stopped_well(self.generation, &self.owed);
        }
        self.stopping = true;
        if !hear {
            self.lines.clear();
            self.stage = Stage::Told;
            self.acts.retain(|_, act| !matches!(act, Act::Say(_)));
        }
        if !self.dead {
            match (self.deaf, self.rng.bool()) {
                (false, _) => self.soon(1, 20, Act::Die(Ending::Code(0))),
                (true, true) => self.plan(eof_grace, Act::Die(Ending::Signal(15))),
                (true, false) => self.plan(eof_grace + term_grace, Act::Die(Ending::Signal(9))),
            }
        }
        self.unsent()
    }

    fn kill(&mut self) {
        if !self.dead {
            self.log("is killed");
            self.plan(Duration::ZERO, Act::Die(Ending::Signal(9)));
        }
    }

    fn stderr_tail(&self, _: usize) -> Vec<String> {
        vec!["it was not me".to_owned()]
    }
}
