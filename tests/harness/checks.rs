//! What every session owes, whatever it is about (the general checks of the acceptance pack).

use serde_json::Value;

use crate::lives::What;
use crate::state::{Head, Line, State};

impl State {
    /// Whether all that was seen was right; `complete` where every request had to be answered.
    pub(crate) fn check(&self, complete: bool) -> Result<(), String> {
        self.lines.iter().try_for_each(check_line)?;
        if !self.partial.is_empty() {
            return Err(format!("stdout ends in half a line: {}", String::from_utf8_lossy(&self.partial)));
        }
        self.check_answers()?;
        self.check_own_errors()?;
        self.check_lives()?;
        if complete { self.check_complete() } else { Ok(()) }
    }

    /// Nobody is answered who did not ask, and nobody twice.
    fn check_answers(&self) -> Result<(), String> {
        for (id, answers) in &self.answers {
            if !self.sent.contains_key(id) {
                return Err(format!("an answer to id {id}, which was never sent: {}", answers[0].value));
            }
            if answers.len() != 1 {
                return Err(format!("{} answers to id {id}", answers.len()));
            }
            if self.cancelled.contains(id) {
                return Err(format!("the cancelled id {id} was answered"));
            }
        }
        Ok(())
    }

    /// Errors that no server wrote are the watchdog's, and in its form.
    fn check_own_errors(&self) -> Result<(), String> {
        let wrote = self.entries.iter().filter_map(|entry| match &entry.what {
            What::Wrote(line) => Some(line),
            _ => None,
        });
        let by_server: Vec<String> = wrote
            .flat_map(|line| Head::all(line))
            .filter(|(head, _)| head.method.is_none())
            .filter_map(|(head, _)| head.id().map(str::to_owned))
            .collect();
        let errors = self
            .answers
            .iter()
            .filter(|(id, answers)| answers[0].value.get("error").is_some() && !by_server.contains(id));
        for (id, answers) in errors {
            answers[0].check_own_error().map_err(|why| format!("error for id {id}: {why}: {}", answers[0].value))?;
        }
        Ok(())
    }

    /// No life begins while a process of an earlier one is there.
    fn check_lives(&self) -> Result<(), String> {
        let overlap = self.entries.iter().find_map(|entry| match &entry.what {
            What::Event(text) => Some((entry.life, text.strip_prefix("overlap ")?)),
            _ => None,
        });
        match overlap {
            Some((life, pid)) => Err(format!("life {life} began while process {pid} of an earlier one lived")),
            None => Ok(()),
        }
    }

    /// Every request is answered.
    fn check_complete(&self) -> Result<(), String> {
        let excused = |id: &&String| self.cancelled.contains(*id) || self.optional.contains(*id);
        let open: Vec<_> =
            self.sent.keys().filter(|id| !self.answers.contains_key(*id) && !excused(id)).cloned().collect();
        if open.is_empty() { Ok(()) } else { Err(format!("no answer to id {}", open.join(", "))) }
    }
}

/// A line of stdout is one message, or a batch of them.
fn check_line(line: &Line) -> Result<(), String> {
    let is_message = |value: &Value| value["jsonrpc"] == "2.0";
    let right = match &line.value {
        Some(Value::Array(items)) => !items.is_empty() && items.iter().all(is_message),
        Some(value) => is_message(value),
        None => false,
    };
    if right && !line.text.contains('\r') {
        Ok(())
    } else {
        Err(format!("not a protocol line on stdout: {:?}", line.text))
    }
}
