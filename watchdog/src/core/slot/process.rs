//! News of processes.

use std::collections::HashMap;
use std::time::Instant;

use bytes::Bytes;

use super::answer::CANNOT_START;
use super::{Effect, Opening, Slot};
use crate::core::ending::Ending;
use crate::core::ids::Generation;
use crate::core::ledger::Request;
use crate::core::lifecycle::Event;
use crate::core::refusal::Code;
use crate::core::session::Era;
use crate::exit::Exit;
use crate::wire::head::Method;

/// How a process was lost.
#[derive(Debug, Clone, Default)]
pub struct Lost {
    /// How it ended; `None` if it closed its stdout and lives, or nothing is known.
    pub ending: Option<Ending>,
    /// Whether writing to it or reading from it failed in another way than by its end.
    pub transport_error: Option<String>,
    /// The last lines of its stderr.
    pub tail: Vec<String>,
    /// Lines that it was never given, by the tag they were forwarded with.
    pub unsent: HashMap<u64, Bytes>,
}

impl Slot {
    /// A process ended, or closed its stdout, or cannot be talked to.
    #[cold]
    pub fn lost(&mut self, now: Instant, generation: Generation, lost: Lost, out: &mut Vec<Effect>) {
        let live = self.life.live() == Some(generation);
        if !live && self.hearing != Some(generation) {
            return self.emit_stale("exit", out);
        }
        self.failure = failure_of(&lost);
        self.unsent.extend(lost.unsent);
        self.failed_at = Some(now);
        self.emit_exited(now, generation, lost.ending, out);
        if !live {
            // It ends because the end has begun; whoever still waits is told when the tree is gone.
            return;
        }
        if self.closing.is_some() {
            let reason = crate::core::lifecycle::Reason::TransportExit;
            self.fail_in_flight(now, crate::core::lifecycle::Loss::Disconnected(reason), out);
            self.event(now, Event::Remove, out);
            return;
        }
        let died_of_the_question = self.died_of_the_question();
        if died_of_the_question {
            self.life.forgive();
        }
        let event =
            if lost.transport_error.is_some() { Event::TransportError(generation) } else { Event::Lost(generation) };
        self.event(now, event, out);
        if died_of_the_question {
            // It does not count as a failed start: the client goes on in the other era, with a new process.
            let _ = self.retry(now, out);
        }
    }

    /// Servers of the handshake era may end on a `server/discover` (wire.md). The client may have gone on in that era meanwhile.
    fn died_of_the_question(&self) -> bool {
        let asked = |request: &Request| request.method == Method::Discover;
        let unopened = self.session.era() == Era::Probing || self.session.awaits_handshake();
        unopened && self.opening == Opening::Transparent && self.ledger.iter().any(asked)
    }

    /// The program could not be executed, or nobody can tell whether it was (`may_have_run`). At the first start that ends the
    /// watchdog, loudly.
    #[cold]
    pub fn cannot_start(
        &mut self,
        now: Instant,
        generation: Generation,
        why: String,
        exit: Exit,
        may_have_run: bool,
        out: &mut Vec<Effect>,
    ) {
        if self.life.live() != Some(generation) {
            return self.emit_stale("start", out);
        }
        self.failure = super::Failure { error: Some(why), ending: None, tail: Vec::new() };
        self.failed_at = Some(now);
        // Whatever its pipe has taken, nobody was there to read it.
        let early = std::mem::take(&mut self.early);
        if !may_have_run {
            self.unsent.extend(early);
        }
        if self.life.connected_once() || generation.0 > 1 || self.role.served {
            self.event(now, Event::AttemptFailed(generation), out);
            return;
        }
        self.emit_cannot_start(out);
        let waiting = self.hold.take_all().into_iter().flat_map(|held| held.requests);
        let waiting: Vec<_> = self.ledger.drain().into_iter().chain(waiting).collect();
        for mut request in waiting {
            request.sent &= may_have_run;
            self.refuse(&request, Code::PermanentlyFailed, CANNOT_START, out);
        }
        self.close_for_want_of_server(now, exit, out);
    }

    /// A process tree is gone; the survivors are processes that could not be ended.
    #[cold]
    pub fn torn_down(&mut self, now: Instant, generation: Generation, survivors: &[u32], out: &mut Vec<Effect>) {
        if !survivors.is_empty() {
            self.emit_close_failed(survivors, out);
        }
        // An attempt that failed after the end had begun is not followed by another one.
        if self.closing.is_some_and(|closing| !closing.unread) {
            self.event(now, Event::Remove, out);
        }
        self.event(now, Event::TornDown(generation, survivors.is_empty()), out);
    }
}

/// What to tell of a loss.
fn failure_of(lost: &Lost) -> super::Failure {
    let error = match (&lost.transport_error, lost.ending) {
        (Some(error), _) => error.clone(),
        (None, Some(ending @ Ending::Signal(_))) => format!("signal {ending}"),
        (None, Some(ending)) => ending.to_string(),
        (None, None) => "it closed its stdout".to_owned(),
    };
    super::Failure { error: Some(error), ending: lost.ending, tail: lost.tail.clone() }
}
