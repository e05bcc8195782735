//! The client's book: what it asked, and what it heard from the watchdog on two pipes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use serde_json::Value;

use super::log::LogLine;

/// How much of the log a failure shows, in lines.
const LOG_TAIL: usize = 30;

/// A message from the watchdog.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// When it was read.
    pub(super) at: Instant,
    message: Value,
}

impl Answer {
    /// The result, where it is one.
    pub(super) fn result(&self) -> Option<&Value> {
        self.message.get("result")
    }

    /// The text of a tool's result.
    pub(super) fn text(&self) -> Option<&str> {
        self.result()?["content"][0]["text"].as_str()
    }

    /// The error, where it is one.
    pub(super) fn error(&self) -> Option<&Value> {
        self.message.get("error")
    }

    /// The whole message.
    pub(super) fn json(&self) -> String {
        self.message.to_string()
    }
}

/// What comes from the watchdog.
pub(super) enum Heard {
    /// A line of its stdout.
    Message(Instant, Vec<u8>),
    /// A line of its stderr, read and as it is.
    Log(LogLine, Vec<u8>),
}

impl Heard {
    /// A line of stderr.
    pub(super) fn log(at: Instant, line: Vec<u8>) -> Self {
        Self::Log(LogLine::read(at, &String::from_utf8_lossy(&line)), line)
    }
}

/// What was asked, what was heard.
#[derive(Default)]
pub(super) struct Book {
    /// The answers to each request, by its id.
    answers: BTreeMap<u64, Vec<Answer>>,
    /// What is no answer to anything.
    strange: Vec<String>,
    /// Lines that nobody has looked at.
    log: VecDeque<LogLine>,
    /// The last lines as they are.
    tail: VecDeque<String>,
}

impl Book {
    /// A new request, with an id that none had before.
    pub(super) fn ask(&mut self) -> u64 {
        let id = self.answers.last_key_value().map_or(1, |(last, _)| last + 1);
        self.answers.insert(id, Vec::new());
        id
    }

    /// Writes down what was heard.
    pub(super) fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Message(at, line) => self.message(at, &line),
            Heard::Log(line, raw) => {
                self.log.push_back(line);
                self.tail.push_back(String::from_utf8_lossy(&raw).into_owned());
                if self.tail.len() > LOG_TAIL {
                    self.tail.pop_front();
                }
            }
        }
    }

    /// The first answer to a request.
    pub(super) fn answer(&self, id: u64) -> Option<Answer> {
        self.answers.get(&id)?.first().cloned()
    }

    /// The first line of the log that is wanted; those before it are looked at no more.
    pub(super) fn find_in_log(&mut self, wanted: impl Fn(&LogLine) -> bool) -> Option<LogLine> {
        let at = self.log.iter().position(wanted)?;
        self.log.drain(..=at).next_back()
    }

    /// Forgets what the log has said so far.
    pub(super) fn forget_log(&mut self) {
        self.log.clear();
    }

    /// How many requests were sent.
    pub(super) fn sent(&self) -> usize {
        self.answers.len()
    }

    /// How many of them have exactly one answer.
    pub(super) fn answered_once(&self) -> usize {
        self.answers.values().filter(|answers| answers.len() == 1).count()
    }

    /// What came from the watchdog and was no answer to anything.
    pub(super) fn strange(&self) -> &[String] {
        &self.strange
    }

    /// The last lines of the log, as they are.
    pub(super) fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }

    fn message(&mut self, at: Instant, line: &[u8]) {
        let message = serde_json::from_slice::<Value>(line).unwrap_or_default();
        let is_answer = message.get("result").is_some() != message.get("error").is_some();
        let asked = message["id"].as_u64().and_then(|id| self.answers.get_mut(&id));
        match asked {
            Some(answers) if is_answer => answers.push(Answer { at, message }),
            _ => self.strange.push(String::from_utf8_lossy(line).into_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
