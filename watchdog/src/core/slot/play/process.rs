//! What the processes do.

use std::collections::BTreeSet;

use super::Play;
use super::lines::{elements, reaction, text};
use super::step::Step;
use crate::core::ending::Ending;
use crate::core::ids::Generation;
use crate::core::slot::{Effect, Lost};
use crate::core::testing::{answer_line, raw_id};

impl Play {
    pub(super) fn process_step(&mut self, step: &Step) {
        match step {
            Step::Answer(which, ok) if !self.book.inbox.is_empty() => self.answer(which % self.book.inbox.len(), *ok),
            Step::AnswerAll => {
                while !self.book.inbox.is_empty() && self.book.live.is_some() {
                    self.answer(0, true);
                }
            }
            Step::Stray(which) => self.stray(*which),
            Step::Ask(id) => self.ask(&id.to_string()),
            Step::Progress(which) => {
                let tokens: Vec<_> =
                    self.book.requests.iter().filter(|(_, entry)| entry.token).map(|(id, _)| id.clone()).collect();
                if let Some(id) = tokens.iter().rev().nth(*which) {
                    self.hear(format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id}}}}}"#
                    ));
                }
            }
            Step::Chatter => {
                let from = self.book.live.unwrap_or_default();
                self.hear("Listening on stdio".to_owned());
                self.hear(format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"from":{from}}}}}"#
                ));
            }
            Step::Ghost(which) => self.haunt(*which),
            Step::Started => {
                if let Some(live) = self.book.live {
                    self.tell(|slot, now, out| slot.started(now, live, 77, out));
                }
            }
            Step::Dies(unread) => self.die(*unread),
            Step::TornDown(clean) => {
                if let Some(dying) = self.book.dying.take() {
                    let survivors: &[u32] = if *clean { &[] } else { &[7] };
                    self.tell(|slot, now, out| slot.torn_down(now, dying, survivors, out));
                }
            }
            _ => {}
        }
    }

    /// The live process writes a line.
    pub(super) fn hear(&mut self, line: String) {
        let Some(live) = self.book.live else { return };
        self.tell(|slot, now, out| {
            slot.heard(now, live);
            slot.server_told(now, live, line, out);
        });
    }

    /// The live process answers this line of its inbox.
    fn answer(&mut self, which: usize, ok: bool) {
        let (line, tag) = self.book.inbox.remove(which);
        self.book.lines.remove(&tag);
        self.hear(reaction(&line, ok));
    }

    fn stray(&mut self, which: usize) {
        let given: BTreeSet<_> = self.book.inbox.iter().map(|(line, _)| raw_id(line)).collect();
        let others = self.book.requests.iter().filter(|(id, entry)| !given.contains(*id) && !entry.is_listen());
        let id = others.rev().nth(which).map_or_else(|| "12345".to_owned(), |(id, _)| id.clone());
        let open = self.open_requests();
        self.hear(answer_line(&id));
        assert!(!open.contains(&id) || self.book.requests[&id].is_open(), "an answer that nobody gave");
    }

    fn ask(&mut self, id: &str) {
        let Some(live) = self.book.live.filter(|_| !self.stateless) else { return };
        if self.book.questions.iter().any(|(_, from, asked, _)| *from == live && *asked == id) {
            return;
        }
        self.book.asking = Some(id.to_owned());
        self.hear(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{"from":{live}}}}}"#
        ));
    }

    /// A process that is not live says something about a request that is open. Nobody hears it.
    fn haunt(&mut self, which: usize) {
        let ghost = self.book.dying.unwrap_or_else(|| Generation(self.book.latest.0.saturating_sub(1)));
        let id = self.open_requests().into_iter().rev().nth(which).unwrap_or_else(|| "12345".to_owned());
        for line in [
            answer_line(&id),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"from":{ghost}}}}}"#),
        ] {
            let mut out = Vec::new();
            self.slot.heard(self.now, ghost);
            self.slot.server_told(self.now, ghost, line, &mut out);
            self.slot.settle(self.now, &mut out);
            self.slot.lost(self.now, ghost, Lost::default(), &mut out);
            self.slot.settle(self.now, &mut out);
            assert!(out.iter().all(|effect| matches!(effect, Effect::Emit(_))), "{out:?}");
        }
        self.book.agrees_with(&self.slot);
    }

    /// The live process ends. The last `unread` lines with requests were never given to it.
    fn die(&mut self, unread: usize) {
        let Some(live) = self.book.live else { return };
        let mut lost = Lost { ending: Some(Ending::Signal(9)), ..Lost::default() };
        let tags: Vec<u64> = self.book.lines.keys().copied().collect();
        for tag in tags.iter().rev().take(unread) {
            let Some(line) = self.book.lines.remove(tag) else {
                continue;
            };
            for element in elements(&text(&line)) {
                if let Some(entry) = self.book.requests.get_mut(&raw_id(&element)) {
                    entry.written.retain(|generation| *generation != live);
                    entry.waits_since = Some(self.now);
                }
            }
            lost.unsent.insert(*tag, line);
        }
        self.book.excused = true;
        self.tell(|slot, now, out| slot.lost(now, live, lost, out));
        self.book.nobody_waits_for(live);
    }
}
