//! The end: the client leaves, a signal comes, or the server has failed for good.
//!
//! A client that closes stdin still gets what is in flight, within `shutdown.drain`. No server is started once the end has
//! begun, except that an attempt which runs already may still answer what waits for it, or the first one of a session of `serve`.

use std::time::{Duration, Instant};

use super::{Closing, Effect, FirstWord, Slot};
use crate::core::ledger::Request;
use crate::core::lifecycle::{Event, Loss};
use crate::core::session::Era;
use crate::exit::Exit;
use crate::wire::head::Method;

/// How long a client that has not spoken yet is given to ask why there is no server. Clients speak as soon as they have
/// started us, and the program has to end soon all the same.
const FIRST_WORD: Duration = Duration::from_secs(1);

impl Slot {
    /// The client closed its end of our stdin, while back-pressure keeps us from reading what it wrote before.
    #[cold]
    pub fn client_hung_up(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.closing.is_none() {
            let drain_until = Some(now + self.config.shutdown.drain);
            self.closing = Some(Closing { exit: Exit::Done, drain_until, unread: true, client_gone: false });
            self.emit_client_left(out);
        }
    }

    /// The client closed its end of our stdin, and all that it wrote is read.
    #[cold]
    pub fn client_eof(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.client_hung_up(now, out);
        if let Some(closing) = &mut self.closing {
            closing.unread = false;
        }
        self.check_drain(now, out);
        self.first_word_spoken(out);
    }

    /// Nobody reads our stdout any more.
    #[cold]
    pub fn client_gone(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if let Some(closing) = &mut self.closing {
            closing.client_gone = true;
            closing.drain_until = None;
        } else {
            self.closing = Some(Closing { exit: Exit::Done, drain_until: None, unread: false, client_gone: true });
            self.emit_client_left(out);
        }
        self.event(now, Event::Remove, out);
        self.first_word_spoken(out);
    }

    /// A signal asks us to end; a second one, or one in an end that has begun, does not wait for anything.
    pub fn signal(&mut self, now: Instant, number: i32, out: &mut Vec<Effect>) {
        match &mut self.closing {
            None => self.close(now, Exit::Signal(number), out),
            Some(closing) => {
                let draining = closing.drain_until.take().is_some();
                closing.exit = if draining { Exit::Signal(number) } else { closing.exit.after_signal(number) };
                self.event(now, Event::Remove, out);
                self.first_word_spoken(out);
                // While answers were awaited nothing was asked of the server yet: it gets its ladder first.
                if !draining {
                    out.push(Effect::Kill);
                }
            }
        }
    }

    /// Ends with this exit code. An end that has begun because the client left waits for nothing more.
    pub(super) fn close(&mut self, now: Instant, exit: Exit, out: &mut Vec<Effect>) {
        let closing =
            self.closing.get_or_insert(Closing { exit, drain_until: None, unread: false, client_gone: false });
        closing.drain_until = None;
        if closing.exit == Exit::Done {
            closing.exit = exit;
        }
        self.event(now, Event::Remove, out);
    }

    /// Whether the end has begun.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Goes on with the end once nothing is owed, or the time for it is over.
    pub(super) fn check_drain(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Some(closing) = self.closing else { return };
        let Some(until) = closing.drain_until else { return };
        let waiting = !self.hold.is_empty() || !self.overdue.is_empty() || !self.parked.is_empty();
        // Whether COMMAND can be executed at all decides the exit code.
        let starting = self.started.is_none() && self.life.generation().0 == 1;
        let owed = closing.unread || self.owes_answers() || waiting || starting;
        // Calls of our own tools are answered without a server.
        // A client of `serve` may come, ask and leave before the process for it has been started.
        let comes = self.life.live().is_some() || self.life.awaits_first_attempt();
        if now < until && (self.manage.is_busy() || owed && comes) {
            return;
        }
        self.closing = Some(Closing { drain_until: None, ..closing });
        self.event(now, Event::Remove, out);
    }

    /// Whether the server owes an answer that somebody waits for.
    pub(super) fn owes_answers(&self) -> bool {
        self.ledger.iter().any(|request| !self.is_left_behind(request))
    }

    /// The question for the era is not waited for by a client that has gone on in the other one.
    pub(super) fn is_left_behind(&self, request: &Request) -> bool {
        request.method == Method::Discover && self.session.era() == Era::Handshake
    }

    /// The process tree is gone and nothing will be started: whoever still waits is told, and the program ends.
    pub(super) fn gone(&mut self, now: Instant, out: &mut Vec<Effect>) {
        self.fail_in_flight(now, Loss::Shutdown, out);
        self.end_managed(out);
        self.hearing = None;
        match &mut self.first_word {
            Some(first_word) => first_word.over = true,
            None => self.exit(out),
        }
    }

    fn exit(&self, out: &mut Vec<Effect>) {
        out.push(Effect::Exit(self.closing.map_or(Exit::Done, |closing| closing.exit)));
    }

    /// Ends because there is no server and will be none. A client that has not spoken yet is given a moment to do so: only
    /// the answer to a request can tell it why.
    pub(super) fn close_for_want_of_server(&mut self, now: Instant, exit: Exit, out: &mut Vec<Effect>) {
        if !self.session.has_begun() && self.closing.is_none() {
            self.first_word = Some(FirstWord { until: now + FIRST_WORD, over: false });
        }
        self.close(now, exit, out);
    }

    /// The client spoke, or will not, or its time for it is over: the end that waited for it goes on.
    pub(super) fn first_word_spoken(&mut self, out: &mut Vec<Effect>) {
        if self.first_word.take().is_some_and(|first_word| first_word.over) {
            self.exit(out);
        }
    }

    pub(super) fn check_first_word(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.first_word.is_some_and(|first_word| first_word.until <= now) {
            self.first_word_spoken(out);
        }
    }
}
