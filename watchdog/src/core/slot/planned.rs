//! Replacements that the watchdog itself decides on: of a process that has lived for long enough, that has grown too large, or
//! whose files have changed.
//!
//! Such a replacement is due first, and made as soon as nothing of the client is in flight: never in the middle of a call, of a
//! question to the client, or of a task. Requests that come in between wait for the new process, so that the client sees
//! no error. `idle` has the other decision of this kind.

use std::time::{Duration, Instant};

use super::{Effect, Slot};
use crate::core::backoff::spread;
use crate::core::ids::Generation;
use crate::core::ledger::Request;
use crate::core::lifecycle::{Event, Reason, State};
use crate::core::soonest::Soonest;
use crate::core::tasks::Tasks;
use crate::events::EventKind;
use crate::wire::head::Method;

/// Editors and compilers write several files, and each in several steps: what follows so soon belongs together.
const SETTLED: Duration = Duration::from_millis(300);
/// Files that never settle do not put off the replacement for longer.
const UNSETTLED: Duration = Duration::from_secs(1);
/// Files that change so soon after a server was there may have been written by itself.
const EARLY: Duration = Duration::from_secs(2);
/// So many times in a row are no accident: from then on there are pauses, so that a server which writes where it is watched
/// does not restart without end.
const ACCIDENTS: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Between two looks at the memory of a server that has a limit.
const WEIGH: Duration = Duration::from_secs(5);
/// A process that is too large from its start on is kept for `restart.min_uptime`, then twice as long, and so on up to this.
const LONGEST_STAY: Duration = Duration::from_secs(3600);
/// The least of it, where `restart.min_uptime` is none; and what one has that was older than it may be when it was connected.
const SHORTEST_STAY: Duration = Duration::from_secs(1);

/// Many servers that were started together are not to be replaced together.
const JITTER: f64 = 0.1;

/// What the client said last reaches the server before it goes.
const LAST_WORD: Duration = Duration::from_millis(50);

/// What is known about the end that the live process is going to meet, beside that of its own.
#[derive(Debug, Default)]
pub(super) struct Planned {
    /// Why it is to be replaced as soon as nothing is in flight.
    pub(super) due: Option<Reason>,
    /// When to look once more whether something is.
    look_at: Option<Instant>,
    /// Until when it waits for the client's answers to the process's questions.
    asked_until: Option<Instant>,
    lifetime_at: Option<Instant>,
    weigh_at: Option<Instant>,
    weighed_at: Option<Instant>,
    /// Whether it was told that this process is too large.
    told: bool,
    /// Processes in a row that were too large as soon as they might be replaced.
    heavy: u32,
    files: Option<Files>,
    /// Changes in a row that came early.
    early: u32,
    /// Whether files have changed since a process was there, so that lists of the last one may be wrong.
    pub(super) outdated: bool,
    /// What the live process works on without being asked for it any more.
    pub(super) tasks: Tasks,
    /// When the client was last heard, or answered.
    pub(super) used_at: Option<Instant>,
    pub(super) idle_at: Option<Instant>,
}

/// Files that have changed, and may go on changing.
#[derive(Debug)]
struct Files {
    first: String,
    others: bool,
    since: Instant,
    at: Instant,
    /// Whether it is a pause that ends then.
    paused: bool,
}

impl Planned {
    /// Whether [`Self::wake`] may find a time.
    #[inline]
    pub(super) const fn has_times(&self) -> bool {
        self.due.is_some()
            | self.files.is_some()
            | self.look_at.is_some()
            | self.asked_until.is_some()
            | self.lifetime_at.is_some()
            | self.weigh_at.is_some()
            | self.idle_at.is_some()
    }

    /// When [`Slot::check_planned`] has something to do.
    pub(super) fn wake(&self, now: Option<Instant>) -> Option<Instant> {
        Soonest::of(self.files.as_ref().map(|files| files.at))
            .and(now.filter(|_| self.due.is_some()).and_then(|now| self.tasks.wake(now)))
            .and(self.look_at)
            .and(self.asked_until)
            .and(self.lifetime_at)
            .and(self.weigh_at)
            .and(self.idle_at)
            .get()
    }

    /// The process is gone, or will be: nothing of it is planned any more. Changes of files concern the next one too.
    pub(super) fn forget(&mut self) {
        *self = Self {
            heavy: self.heavy,
            files: self.files.take(),
            early: self.early,
            outdated: self.outdated,
            ..Self::default()
        };
    }
}

impl Slot {
    /// The server is connected: its time begins. Also when the configuration has changed.
    pub(super) fn watch_over(&mut self, now: Instant) {
        let limits = self.config.limits;
        let since = self.started.map_or(now, |process| process.since);
        let random = self.random.f64();
        let planned = &mut self.planned;
        planned.outdated = false;
        planned.due = planned.due.filter(|reason| *reason == Reason::FilesChanged);
        let lifetime = limits.max_lifetime.map(|limit| spread(limit, JITTER, random));
        planned.lifetime_at = lifetime.map(|lifetime| (since + lifetime).max(now + SHORTEST_STAY));
        planned.weigh_at = limits.memory.map(|_| now + WEIGH);
        planned.used_at = Some(planned.used_at.unwrap_or(now));
        planned.idle_at = self.config.idle_stop.map(|limit| now + limit);
    }

    /// One of the files that are watched has changed. The path is for people.
    pub fn file_changed(&mut self, now: Instant, path: String) {
        let at = now + SETTLED;
        match &mut self.planned.files {
            None => self.planned.files = Some(Files { first: path, others: false, since: now, at, paused: false }),
            Some(files) => {
                files.others |= files.first != path;
                if !files.paused {
                    files.at = at.min(files.since + UNSETTLED);
                }
            }
        }
    }

    /// The memory of the process tree, as [`Effect::Weigh`] wanted to know it; `None` where the system does not tell.
    pub fn weighed(&mut self, now: Instant, generation: Generation, resident: Option<u64>, out: &mut Vec<Effect>) {
        let (Some(limit), Some(resident)) = (self.config.limits.memory, resident) else { return };
        if self.life.live() != Some(generation) || !self.life.is_connected() {
            return;
        }
        self.planned.weighed_at = Some(now);
        let Some(above) = probes::memory_above(resident, limit) else {
            self.changed |= self.planned.due.take_if(|reason| *reason == Reason::MemoryLimit).is_some();
            return;
        };
        if !std::mem::replace(&mut self.planned.told, true) {
            Self::emit_due(Reason::MemoryLimit, above, out);
        }
        let lived = now.saturating_duration_since(self.connected_at.unwrap_or(now));
        if lived >= self.stay() {
            self.planned.due.get_or_insert(Reason::MemoryLimit);
            self.changed = true;
            self.check_due(now, out);
        }
    }

    /// How long a process that is too large is kept at least.
    fn stay(&self) -> Duration {
        let shortest = self.config.restart.min_uptime.max(SHORTEST_STAY);
        shortest.saturating_mul(1_u32.checked_shl(self.planned.heavy).unwrap_or(u32::MAX)).min(LONGEST_STAY)
    }

    pub(super) fn check_planned(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.planned.lifetime_at.take_if(|at| *at <= now).is_some() && self.planned.due.is_none() {
            let limit = self.config.limits.max_lifetime.unwrap_or_default();
            let detail = format!("it has run for {} (limits.max_lifetime)", humantime::format_duration(limit));
            Self::emit_due(Reason::MaxLifetime, detail, out);
            self.planned.due = Some(Reason::MaxLifetime);
            self.changed = true;
        }
        if let (Some(_), Some(generation)) = (self.planned.weigh_at.take_if(|at| *at <= now), self.life.live()) {
            self.planned.weigh_at = Some(now + WEIGH);
            out.push(Effect::Weigh(generation));
        }
        self.check_files(now, out);
        self.planned.look_at = self.planned.look_at.filter(|at| *at > now);
        self.planned.asked_until = self.planned.asked_until.filter(|at| *at > now);
        if self.planned.look_at.is_none() {
            self.check_due(now, out);
        }
        self.check_idle(now, out);
    }

    /// Files that have changed and come to rest.
    fn check_files(&mut self, now: Instant, out: &mut Vec<Effect>) {
        let Some(mut files) = self.planned.files.take_if(|files| files.at <= now) else { return };
        if matches!(self.life.state(), State::Disabled | State::Disabling(_) | State::Disconnected { .. }) {
            // The next process has the new ones.
            self.planned.outdated = true;
            return;
        }
        let settled = self.life.is_connected() && self.connected_at.is_some_and(|at| at + EARLY <= now);
        if !files.paused {
            self.planned.early = if self.life.live().is_some() && !settled { self.planned.early + 1 } else { 0 };
        }
        let too_often = self.planned.early.saturating_sub(ACCIDENTS);
        if too_often > 0 && !files.paused {
            let pause = Duration::from_secs(1 << too_often.min(6)).min(LONGEST_PAUSE);
            (files.at, files.paused) = (now + pause, true);
            self.planned.files = Some(files);
            return;
        }
        let others = if files.others { " and others have changed" } else { " has changed" };
        let itself = if files.paused { ", as after each start: does the server write there itself?" } else { "" };
        Self::emit_due(Reason::FilesChanged, format!("{}{others}{itself}", files.first), out);
        self.planned.due = Some(Reason::FilesChanged);
        self.planned.outdated = true;
        self.changed = true;
    }

    /// Makes the replacement that is due, if nothing stands against it now.
    pub(super) fn check_due(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if let Some(reason) = self.planned.due {
            self.replace_when_quiet(now, reason, out);
        }
    }

    #[cold]
    #[inline(never)]
    fn replace_when_quiet(&mut self, now: Instant, reason: Reason, out: &mut Vec<Effect>) {
        self.planned.asked_until = self.owed_until(now);
        if !self.life.is_connected() {
            // A server that is down, or on its way, is tried with the new files; that costs only an opening, which is repeated.
            if self.life.live().is_none() || self.owes_openings_alone(now) {
                self.planned.due = None;
                self.event(now, Event::Replace(reason), out);
            }
            return;
        }
        if !self.is_quiet(now) {
            return;
        }
        if reason == Reason::MemoryLimit {
            // What a call has used may have been given back.
            if self.planned.weighed_at != Some(now) {
                out.extend(self.life.live().map(Effect::Weigh));
                return;
            }
            let lived = now.saturating_duration_since(self.connected_at.unwrap_or(now));
            self.planned.heavy = if lived < 2 * self.stay() { self.planned.heavy + 1 } else { 0 };
        }
        self.event(now, Event::Replace(reason), out);
    }

    /// The client has said something: it may have been the last thing that was waited for.
    pub(super) fn look_again(&mut self, now: Instant) {
        if self.planned.due.is_some() && self.is_quiet(now) {
            self.planned.look_at.get_or_insert(now + LAST_WORD);
        }
    }

    /// Until when the client may answer a question of the process before that goes. One that is never answered does not keep it
    /// for longer than being busy is an excuse.
    pub(super) fn owed_until(&self, now: Instant) -> Option<Instant> {
        let until = self.asks.owed_until(self.life.live()?, self.config.probe.busy_max);
        until.filter(|until| *until > now)
    }

    /// Whether nobody owes anybody anything.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        !self.owes_answers() && self.hold.is_empty() && self.parked.is_empty() && self.owes_openings_alone(now)
    }

    /// The same, but for the client's opening and what waits for a server.
    fn owes_openings_alone(&self, now: Instant) -> bool {
        let idle = self.owed_until(now).is_none() && self.overdue.is_empty() && !self.planned.tasks.is_any_open(now);
        let steady = self.closing.is_none() && self.tearing.is_none() && self.deferred.is_empty();
        let is_opening = |request: &Request| request.method == Method::Initialize || self.is_left_behind(request);
        idle && steady && self.ledger.iter().all(is_opening)
    }

    fn emit_due(reason: Reason, detail: String, out: &mut Vec<Effect>) {
        out.push(Effect::emit(EventKind::ServerReplacementDue { reason: reason.name().into(), detail }));
    }
}
