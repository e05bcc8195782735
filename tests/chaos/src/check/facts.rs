//! A history with the questions answered that every check asks.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::Figures;
use crate::history::{Did, History};
use crate::journal::What;
use crate::message::{Kind, Message};

/// A request of the client and what came back.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The request.
    pub message: &'a Message,
    /// When it was sent.
    pub at: u64,
    /// When it was taken back.
    pub cancelled: Option<u64>,
    /// The answers, with the times and their places in the history of the client.
    pub answers: Vec<(u64, usize, &'a Message)>,
}

impl Asked<'_> {
    /// How a report calls it.
    #[must_use]
    pub fn name(&self) -> String {
        let id = self.message.id.as_deref().unwrap_or("no id");
        match self.message.stamp.n {
            Some(n) => format!("request {n} ({}, id {id})", self.message.method()),
            None => format!("{} with id {id}", self.message.method()),
        }
    }

    /// Whether it may be sent twice.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        harness::is_read_only(self.message.method())
    }
}

/// A history, indexed.
#[derive(Debug)]
pub struct Facts<'a> {
    /// All of it.
    pub history: &'a History,
    /// The requests by their ids, which are unique.
    pub asked: HashMap<&'a str, Asked<'a>>,
    /// Answers to ids that the client never sent.
    pub unasked: Vec<&'a Message>,
    /// The lives that read each number, in order.
    pub readers: BTreeMap<u64, Vec<u64>>,
    /// The lives by the generation that the watchdog calls them.
    generations: HashMap<u64, u64>,
    /// When the client read nothing.
    pauses: Vec<(u64, u64)>,
}

impl<'a> Facts<'a> {
    /// Indexes a history.
    #[must_use]
    pub fn new(history: &'a History) -> Self {
        let mut facts = Self {
            history,
            asked: HashMap::new(),
            unasked: Vec::new(),
            readers: BTreeMap::new(),
            generations: generations(history),
            pauses: Vec::new(),
        };
        let mut paused = None;
        for (place, event) in history.client.iter().enumerate() {
            match &event.what {
                Did::Send(message) => facts.sent(event.at, message),
                Did::Receive(message) if message.is_answer() => facts.answered(event.at, place, message),
                Did::StopReading => paused = Some(event.at),
                Did::GoOnReading | Did::End => facts.pauses.extend(paused.take().map(|from| (from, event.at))),
                _ => {}
            }
        }
        for (life, _) in history.numbered() {
            let numbers = history.read_by(life).filter(|(_, message)| message.kind == Kind::Request);
            for n in numbers.filter_map(|(_, message)| message.stamp.n) {
                facts.readers.entry(n).or_default().push(life);
            }
        }
        facts
    }

    fn sent(&mut self, at: u64, message: &'a Message) {
        match (message.kind, message.id.as_deref()) {
            (Kind::Request, Some(id)) => {
                let asked = Asked { message, at, cancelled: None, answers: Vec::new() };
                self.asked.insert(id, asked);
            }
            (Kind::Notification, _) if message.method() == "notifications/cancelled" => {
                let id = message.request_id.as_deref().unwrap_or_default();
                if let Some(asked) = self.asked.get_mut(id) {
                    asked.cancelled = Some(at);
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, at: u64, place: usize, message: &'a Message) {
        match message.id.as_deref().and_then(|id| self.asked.get_mut(id)) {
            Some(asked) => asked.answers.push((at, place, message)),
            None => self.unasked.push(message),
        }
    }

    /// The request with this number.
    #[must_use]
    pub fn numbered(&self, n: u64) -> Option<&Asked<'a>> {
        self.asked.values().find(|asked| asked.message.stamp.n == Some(n))
    }

    /// The requests in the order in which they were sent.
    #[must_use]
    pub fn in_order(&self) -> Vec<&Asked<'a>> {
        let mut all: Vec<_> = self.asked.values().collect();
        all.sort_by_key(|asked| asked.at);
        all
    }

    /// The life that the watchdog means by a generation.
    #[must_use]
    pub fn life_of(&self, generation: u64) -> Option<u64> {
        self.generations.get(&generation).copied()
    }

    /// Whether the watchdog says that it has ended this life.
    #[must_use]
    pub fn was_killed(&self, life: u64) -> bool {
        let pid = self.history.pid_of(life).map(i64::from);
        let mut events = self.history.stderr.lines().filter(|line| line.contains("\"server_killed\""));
        events.any(|line| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            event["type"] == "server_killed" && event["data"]["pid"].as_i64() == pid
        })
    }

    /// Whether the client read all the time between these.
    #[must_use]
    pub fn was_reading(&self, from: u64, to: u64) -> bool {
        self.pauses.iter().all(|(start, end)| *end <= from || *start >= to)
    }

    /// For how long the client got no processor between these times, when the others of the run hardly did either.
    #[must_use]
    pub fn stalled(&self, from: u64, to: u64) -> u64 {
        let stalls = self.history.client.iter().filter_map(|event| match event.what {
            Did::Stalled(late) => Some((event.at.saturating_sub(late).max(from), event.at.min(to))),
            _ => None,
        });
        stalls.map(|(begin, end)| end.saturating_sub(begin)).sum()
    }

    /// Whether a line is an answer that the watchdog took from its catalog: another request's.
    #[must_use]
    pub fn is_cached(&self, message: &Message) -> bool {
        const LISTS: [&str; 4] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
        let asked = message.id.as_deref().and_then(|id| self.asked.get(id));
        message.kind == Kind::Result
            && asked.is_some_and(|asked| {
                LISTS.contains(&asked.message.method()) && asked.message.stamp.n != message.stamp.n
            })
    }

    /// Counts what there is to count.
    pub(super) fn count(&self, figures: &mut Figures) {
        figures.runs += 1;
        figures.requests += self.asked.len() as u64;
        let served = |asked: &&Asked<'_>| asked.answers.iter().any(|(_, _, answer)| answer.error.is_none());
        figures.served += self.asked.values().filter(served).count() as u64;
        figures.lives += self.history.lives.len() as u64;
        let own = self.history.lives.iter().flatten();
        figures.faults += own.filter(|entry| matches!(entry.what, What::Dying(_) | What::Failing(_))).count() as u64;
        let outside = self.history.client.iter();
        figures.faults += outside.filter(|event| matches!(event.what, Did::Kill(..))).count() as u64;
        figures.faults += u64::from(self.history.plan.end == crate::plan::End::Kill);
    }
}

/// Which life is which generation, from the events that name the process.
fn generations(history: &History) -> HashMap<u64, u64> {
    let lives: HashMap<_, _> =
        history.numbered().filter_map(|(life, _)| Some((i64::from(history.pid_of(life)?), life))).collect();
    let events = history.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let named = events.filter_map(|event| {
        let pid = event["data"]["pid"].as_i64()?;
        Some((event["generation"].as_u64()?, *lives.get(&pid)?))
    });
    named.collect()
}
