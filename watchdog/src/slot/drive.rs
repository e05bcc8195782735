//! One turn of the driver: look at everything, until nothing is new.

use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use super::chain::ChainNews;
use super::clock::Gap;
use super::last_words::Patience;
use super::{Driver, FULL, passing, reports};
use crate::back::runtime::News;
use crate::core::soonest::Soonest;
use crate::event_loop::yield_turn;
use crate::exit::Exit;
use crate::front::Input;
use crate::wire::lines::Line;

/// Turns of one poll; then others have theirs, however much is new here.
const TURNS: usize = 8;
/// Lines that one turn takes from a side. A read may bring tens of thousands of short ones, and each costs work.
const LINES: usize = 1024;

impl Driver {
    /// Ready when the program ends.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        self.stirred |= !self.quiet.lasts(&self.watcher);
        let mut now = self.clock.now();
        for turn in 0..TURNS {
            if turn > 0 {
                now = self.clock.now();
            }
            let mut busy = if self.exit.is_some() { self.last_turn(cx, now) } else { self.turn(cx, now) };
            // A client that has its answer may look at once how the server is.
            self.publish_changes();
            self.flush(cx);
            busy |= self.stirred;
            if let Some(exit) = self.exit {
                match self.leave(cx, now, exit) {
                    Poll::Ready(Some(exit)) => return Poll::Ready(exit),
                    Poll::Ready(None) => busy = true,
                    Poll::Pending => {}
                }
            }
            if !busy {
                self.publish();
                let wake = Soonest::of(self.core.next_wake()).and(self.last_words.due()).and(self.strays.due());
                self.clock.arm(cx, now, wake.get(), &self.watcher);
                self.quiet.begin(&self.watcher);
                return Poll::Pending;
            }
        }
        self.publish();
        yield_turn(cx);
        Poll::Pending
    }

    /// Ready when the session that has ended is over: with the exit of the program, or with none where the next session begins.
    #[cold]
    #[inline(never)]
    fn leave(&mut self, cx: &mut Context<'_>, now: Instant, exit: Exit) -> Poll<Option<Exit>> {
        if !self.has_left(cx, now) {
            return Poll::Pending;
        }
        if !self.goes_on_after(exit) {
            return Poll::Ready(Some(exit));
        }
        self.next_session(now);
        Poll::Ready(None)
    }

    /// Whether the client, whose session has ended, is waited for no more: it has been given all, or has not taken it for too long.
    fn has_left(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let patience = match self.ending {
            true => Patience::at_the_end(self.server.shutdown.drain),
            false => Patience::with_one_that_left(self.front.is_open()),
        };
        match self.last_words.poll(cx, &mut self.front, now, patience) {
            Poll::Ready(true) => return true,
            Poll::Pending if !self.hurried => return false,
            _ => {}
        }
        tracing::warn!(bytes = self.front.backlog(), "the client did not take all that was for it");
        true
    }

    /// Looks once at everything that may be new. Whether one of the two sides may have more; all else has stirred then.
    ///
    /// Messages are what is new most of the time, and both sides are looked at until they have none. All else has told that
    /// it will wake us, and is not asked again for each message.
    fn turn(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        self.look_at_time(now);
        // With what the time has stirred: all of that is looked at in this turn.
        let stirred = std::mem::take(&mut self.stirred);
        let commands = stirred && self.look_at_commands(cx, now);
        let server = self.look_at_server(cx, now);
        let client = self.look_at_client(cx, now);
        if stirred | self.stirred {
            self.stirred |= commands | self.look_at_others(cx, now);
        }
        server | client
    }

    /// Looks at what is new less often than messages.
    #[cold]
    #[inline(never)]
    fn look_at_others(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let chain = self.look_at_chain(cx, now);
        let managed = self.look_at_managed(cx, now);
        let files = self.look_at_files(cx, now);
        chain | managed | files
    }

    /// The same where the session has ended: what a client says now is for nobody.
    #[cold]
    #[inline(never)]
    fn last_turn(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        self.look_at_time(now);
        let stirred = std::mem::take(&mut self.stirred);
        self.stirred |= stirred && self.look_at_commands(cx, now);
        false
    }

    /// The timer is armed again at the end of the last turn; until then it counts as rung.
    fn look_at_time(&mut self, now: Instant) {
        if let Some(gap) = self.clock.rung(now) {
            self.time_has_come(now, gap);
        }
    }

    #[cold]
    #[inline(never)]
    fn time_has_come(&mut self, now: Instant, gap: Option<Gap>) {
        if self.strays.due().is_some_and(|due| due <= now) {
            self.strays.tell_left_out();
        }
        if let Some(gap) = gap {
            tracing::debug!(still = ?gap.still, jump = ?gap.jump, "time went by that does not count");
            self.core.stood_still(gap.still);
            if let Some(jump) = gap.jump {
                self.core.wake(now, jump, &mut self.effects);
            }
        }
        self.core.tick(now, &mut self.effects);
        self.carry_out(now);
    }

    #[cold]
    #[inline(never)]
    fn look_at_commands(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Poll::Ready(Some(command)) = self.commands.poll_recv(cx) else { return false };
        self.obey(now, command);
        self.carry_out(now);
        true
    }

    /// The server is held back while the client does not take what it said. Whether there may be more to see.
    fn look_at_server(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        // What an earlier turn has left comes before anything new, the server's end above all.
        if self.server_lines_left {
            self.take_server_lines(now);
            return true;
        }
        let wanted = self.front.backlog() < FULL;
        let Some((generation, runtime)) = &mut self.runtime else { return false };
        let generation = *generation;
        let Poll::Ready(news) = runtime.poll_news(cx, wanted) else { return false };
        let mut more = true;
        match news {
            News::Started { pid } => self.core.started(now, generation, pid, &mut self.effects),
            News::CannotStart { why, exit, may_have_run } => {
                self.core.cannot_start(now, generation, why, exit, may_have_run, &mut self.effects);
            }
            News::Read { spent } => {
                if !self.take_server_lines(now) {
                    self.core.heard(now, generation);
                }
                more = !spent | self.server_lines_left;
            }
            News::Drained => {
                self.take_server_lines(now);
            }
            News::Lost(lost) => self.core.lost(now, generation, lost, &mut self.effects),
            News::Gone { survivors } => {
                if let Some((_, runtime)) = self.runtime.take() {
                    self.past_stderr.add(runtime.stderr_tail(usize::MAX));
                }
                self.strays.tell_left_out();
                self.core.torn_down(now, generation, &survivors, &mut self.effects);
            }
        }
        self.carry_out(now);
        more
    }

    /// Takes what was read, as much as one turn may. Whether there was a line.
    fn take_server_lines(&mut self, now: Instant) -> bool {
        self.server_lines_left = false;
        for taken in 0..LINES {
            let Some((generation, runtime)) = &mut self.runtime else { return taken > 0 };
            let generation = *generation;
            // Looked at where it is: what has just been written is slow to be moved.
            let found = runtime.next_line();
            let Some(line) = &found else { return taken > 0 };
            match line {
                Line::Whole(line) => {
                    self.core.server_line(now, generation, line, &mut self.effects);
                    if passing::to_client(&mut self.effects, line, &mut self.front, &self.meter) {
                        continue;
                    }
                }
                Line::TooLong(line) => self.core.server_oversized(now, generation, line, &mut self.effects),
            }
            self.carry_out(now);
        }
        self.server_lines_left = true;
        true
    }

    /// The client is held back while the server does not take what it said. Whether there may be more to see.
    fn look_at_client(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        if self.client_lines_left {
            self.take_client_lines(now);
            return true;
        }
        let wanted =
            self.runtime.as_ref().is_none_or(|(_, runtime)| runtime.backlog() < FULL) && self.front.backlog() < FULL;
        let core = &self.core;
        let input = self.front.poll_input(cx, wanted, core.is_closing(), &|| core.turned_away());
        let Poll::Ready(input) = input else { return false };
        match input {
            Input::Read { spent } => {
                self.take_client_lines(now);
                return !spent | self.client_lines_left;
            }
            Input::Came => {
                self.client_spoke = false;
                self.meter.client_came(now);
            }
            // Somebody who only looked whether there is somebody: there was no session.
            Input::Eof | Input::Gone if self.front.is_open() && !self.client_spoke => {
                self.meter.client_left(now);
                self.front.forget_client();
            }
            Input::HungUp => self.core.client_hung_up(now, &mut self.effects),
            Input::Eof => self.core.client_eof(now, &mut self.effects),
            Input::Gone => self.core.client_gone(now, &mut self.effects),
        }
        self.carry_out(now);
        true
    }

    /// Takes what was read, as much as one turn may.
    fn take_client_lines(&mut self, now: Instant) {
        self.client_lines_left = false;
        for _ in 0..LINES {
            let found = self.front.next_line();
            let Some(line) = &found else { return };
            self.client_spoke = true;
            self.meter.messages_in.add(1);
            match line {
                Line::Whole(line) => {
                    self.meter.bytes_in.add(line.len() as u64);
                    self.core.client_line(now, line, &mut self.effects);
                    if passing::to_server(&mut self.effects, line, self.runtime.as_mut()) {
                        continue;
                    }
                }
                Line::TooLong(line) => self.core.client_oversized(now, line, &mut self.effects),
            }
            self.carry_out(now);
        }
        self.client_lines_left = true;
    }

    fn look_at_chain(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let wanted = self.runtime.as_ref().is_none_or(|(_, runtime)| runtime.backlog() < FULL);
        let Poll::Ready(news) = self.chains.poll_news(cx, wanted) else { return false };
        match news {
            ChainNews::Call { generation, call, method, params } => {
                let passes = self.runtime.as_ref().is_some_and(|(_, runtime)| runtime.backlog() > 0);
                self.core.probe_call(now, generation, call, &method, params.as_deref(), &mut self.effects);
                if passes {
                    self.core.probe_passed(call);
                }
            }
            ChainNews::Done { generation, report, cpu_before } => {
                let processes = self.runtime.as_ref().and_then(|(_, runtime)| runtime.processes());
                let cpu_now = processes.and_then(|processes| processes.look().cpu_ms);
                let used = match (cpu_before, cpu_now) {
                    (Some(before), Some(now)) => Duration::from_millis(now).saturating_sub(before),
                    _ => Duration::ZERO,
                };
                let found = self.core.chain_done(now, generation, &report.chain, used, &mut self.effects);
                reports::tally(&mut self.meter.tally(), &report.links, found.as_ref());
                self.report(found.map(|found| reports::report(&report, &found, SystemTime::now())));
            }
            ChainNews::Broken(generation) => {
                self.core.chain_broken(now, generation, &mut self.effects);
                self.report(None);
            }
        }
        self.carry_out(now);
        true
    }

    fn look_at_managed(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Poll::Ready((call, result)) = self.managed.poll_done(cx) else { return false };
        self.core.managed(now, call, result, &mut self.effects);
        self.carry_out(now);
        true
    }

    fn look_at_files(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        let Poll::Ready(path) = watch.poll_change(cx) else { return false };
        self.core.file_changed(now, path);
        true
    }

    /// Writes what both sides take. Where one of them has room again, the other one, which was held back and not looked at, has
    /// to be looked at now, since nothing else would wake us for it.
    fn flush(&mut self, cx: &mut Context<'_>) {
        let waiting = self.front.backlog();
        if waiting > 0 {
            _ = self.front.flush(cx);
            self.stirred |= waiting >= FULL && self.front.backlog() < FULL;
        }
        if let Some((_, runtime)) = &mut self.runtime {
            let waiting = runtime.backlog();
            if waiting > 0 {
                runtime.flush(cx);
                self.stirred |= waiting >= FULL && runtime.backlog() < FULL;
            }
        }
    }
}
