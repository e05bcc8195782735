//! The lifecycle of a slot: the state table of lifecycle.md as a reducer.
//!
//! Time is an argument, randomness comes from a seeded generator, and what follows is returned as [`Action`]s. The stale
//! guard stands in front: news of a generation or timer that is not current changes nothing. Two invariants hold in every
//! state: at most one generation is live or dying, and in `Connecting` and `Reconnecting` exactly one of {an attempt, a
//! timer, a process tree that must be gone first} is pending.

mod operator;
mod state;
mod transitions;

use std::time::{Duration, Instant};

pub use state::{Action, Admission, Event, Loss, Notice, Phase, Reason, Rejection, Runtime, State, Target};

use super::backoff::Backoff;
use super::ids::{Generation, Token};
use crate::config;

/// A shorter delay that is held, or that rows begin with which are forgotten at once, is none: attempts that nobody asked for would
/// follow each other without a pause and without end.
const SHORTEST_HELD: Duration = Duration::from_millis(10);
/// Those are so far apart instead, or as far as attempts that requests cause, if that is less.
const HELD_APART: Duration = Duration::from_millis(200);

/// What the configuration says about the lifecycle.
#[derive(Debug, Clone)]
pub struct Policy {
    restart: config::Restart,
    threshold: u32,
    on_unhealthy: config::OnUnhealthy,
    on_probe_failure: config::OnProbeFailure,
    lazy: bool,
}

impl Policy {
    /// Reads the policy from a server's configuration.
    #[must_use]
    pub fn new(server: &config::Server) -> Self {
        Self {
            restart: server.restart.clone(),
            threshold: server.health.threshold,
            on_unhealthy: server.health.on_unhealthy,
            on_probe_failure: server.probe.on_failure,
            lazy: server.start == config::Start::Lazy,
        }
    }
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    policy: Policy,
    state: State,
    backoff: Backoff,
    random: fastrand::Rng,
    /// The latest generation; 0 before the first.
    generation: Generation,
    /// The generation whose process is being started or serves.
    live: Option<Generation>,
    /// The generation whose process tree is not known to be empty.
    dying: Option<Generation>,
    last_attempt: Option<Instant>,
    /// Whether an attempt was made for this session.
    attempted: bool,
    /// Whether it was removed from `PermanentlyFailed`.
    ended_failed: bool,
    /// Whether the next request starts a process, and nothing else does.
    standby: bool,
    /// Whether it was removed while that was so.
    ended_standby: bool,
    /// Whether this follows the session of another client, whose attempts count.
    follows: bool,
    next_token: u64,
    connected_once: bool,
    close_failures: u32,
    stale: u64,
}

impl Lifecycle {
    /// A slot in which nothing has happened: `Disabled`, or `Disconnected` until [`Event::Start`].
    #[must_use]
    pub fn new(policy: Policy, enabled: bool, seed: u64) -> Self {
        let state = if enabled { State::Disconnected { removed: false } } else { State::Disabled };
        Self {
            backoff: Backoff::new(&policy.restart),
            policy,
            state,
            random: fastrand::Rng::with_seed(seed),
            generation: Generation::default(),
            live: None,
            dying: None,
            last_attempt: None,
            attempted: false,
            ended_failed: false,
            standby: false,
            ended_standby: false,
            follows: false,
            next_token: 0,
            connected_once: false,
            close_failures: 0,
            stale: 0,
        }
    }

    /// A slot in which nothing has happened, but whose generations and counts go on from here.
    #[must_use]
    pub fn successor(&self, enabled: bool, seed: u64) -> Self {
        let next = Self::new(self.policy.clone(), enabled, seed);
        // A budget that is used up is not given back by a client that leaves.
        let failed = enabled && self.ended_failed;
        let state = if failed { State::PermanentlyFailed { trial: None } } else { next.state };
        Self {
            state,
            backoff: self.backoff.clone(),
            ended_standby: self.ended_standby,
            follows: true,
            generation: self.generation,
            close_failures: self.close_failures,
            stale: self.stale,
            last_attempt: self.last_attempt,
            ..next
        }
    }

    /// Where the slot is.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// The latest generation.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// The generation whose process is being started or serves.
    #[must_use]
    pub const fn live(&self) -> Option<Generation> {
        self.live
    }

    /// The generation whose process tree must be gone before another one starts.
    #[must_use]
    pub const fn dying(&self) -> Option<Generation> {
        self.dying
    }

    /// Whether requests go straight to the server.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_))
    }

    /// Whether the budget is used up.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        matches!(self.state, State::PermanentlyFailed { .. })
    }

    /// Whether no process is wanted until somebody asks for something: it was not started yet, or stopped when it was idle.
    #[must_use]
    pub const fn is_standby(&self) -> bool {
        self.standby
    }

    /// Whether the client's session was ever established with a server.
    #[must_use]
    pub const fn connected_once(&self) -> bool {
        self.connected_once
    }

    /// The attempts of the present row, and their limit.
    #[must_use]
    pub const fn attempts(&self) -> (u32, Option<u32>) {
        (self.backoff.attempts(), self.backoff.max_attempts())
    }

    /// The delay that a long row of attempts ends up with.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        self.backoff.delay(u32::MAX)
    }

    /// When the latest attempt began.
    #[must_use]
    pub const fn last_attempt(&self) -> Option<Instant> {
        self.last_attempt
    }

    /// When the next scheduled attempt begins, where one is scheduled.
    #[must_use]
    pub const fn next_attempt(&self) -> Option<Instant> {
        match self.phase() {
            Some(Phase::Waiting { at, .. }) => Some(at),
            _ => None,
        }
    }

    /// How many news were stale, and how many process trees could not be ended in full.
    #[must_use]
    pub const fn counts(&self) -> (u64, u32) {
        (self.stale, self.close_failures)
    }

    /// The name of the state.
    #[must_use]
    pub const fn state_name(&self) -> &'static str {
        match self.state {
            State::Disabled => "Disabled",
            State::Connecting(_) => "Connecting",
            State::Connected(_) => "Connected",
            State::Reconnecting { .. } => "Reconnecting",
            State::Disabling(_) => "Disabling",
            State::Disconnected { .. } => "Disconnected",
            State::PermanentlyFailed { .. } => "PermanentlyFailed",
        }
    }

    /// The state in the vocabulary of document 003. A first start that has failed already is shown as `retrying`.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self.state {
            State::Disabled | State::Disabling(_) | State::Disconnected { .. } => "disconnected",
            State::Connecting(Phase::Waiting { .. }) => "retrying",
            State::Connecting(_) if self.backoff.attempts() > 1 => "retrying",
            State::Connecting(_) => "connecting",
            State::Connected(_) => "connected",
            State::Reconnecting { .. } => "retrying",
            State::PermanentlyFailed { .. } => "failed",
        }
    }

    /// Feeds one event. The answer is given for [`Event::Request`], and for [`Event::ForceRetry`] where that is refused.
    pub fn on(&mut self, now: Instant, event: Event, out: &mut Vec<Action>) -> Option<Admission> {
        if self.is_stale(event) {
            self.stale += 1;
            out.push(Action::Notice(Notice::Stale));
            return None;
        }
        match event {
            Event::Start => self.start(now, out),
            Event::AttemptOk(generation) => self.attempt_ok(now, generation, out),
            Event::AttemptFailed(generation) => self.attempt_failed(now, generation, out),
            Event::Lost(generation) => self.lost(now, generation, Reason::TransportExit, out),
            Event::TransportError(generation) => self.lost(now, generation, Reason::TransportError, out),
            Event::ToolTimeout(_) => self.tool_timeout(now, out),
            Event::ProbePassed(_) => self.probe_passed(out),
            Event::ProbeFailed(_) => self.probe_failed(now, out),
            Event::Timer(token) => self.timer(now, token, out),
            Event::Request => return Some(self.request(now, out)),
            Event::ForceRetry => return self.force_retry(now, out).map(Admission::Reject),
            Event::Disable => self.disable(out),
            Event::Remove => self.remove(out),
            Event::TornDown(generation, clean) => self.torn_down(now, generation, clean, out),
            Event::Health(_, ok) => self.health(now, ok, out),
            Event::Cancel => {}
            Event::Configure(replace) => self.configured(now, replace, out),
            Event::Wake => self.wake(now, out),
            Event::Replace(reason) => self.replace_as_planned(now, reason, out),
            Event::Idle => self.stand_by(out),
        }
        None
    }

    /// The attempts of this row do not count: the server did not fail, it was asked something that it cannot know.
    pub const fn forgive(&mut self) {
        self.backoff.reset();
    }

    /// Takes a new configuration; [`Event::Configure`] says what follows from it.
    pub fn set_policy(&mut self, policy: Policy) {
        self.backoff = Backoff::new(&policy.restart);
        self.policy = policy;
    }

    /// Whether an event is about a generation or timer that is not current.
    fn is_stale(&self, event: Event) -> bool {
        match event {
            Event::AttemptOk(g) | Event::AttemptFailed(g) => self.live != Some(g) || self.is_connected(),
            Event::Lost(g) | Event::TransportError(g) => self.live != Some(g),
            Event::ToolTimeout(g) | Event::ProbePassed(g) | Event::ProbeFailed(g) | Event::Health(g, _) => {
                self.live != Some(g) || !self.is_connected()
            }
            Event::TornDown(g, _) => self.dying != Some(g),
            Event::Timer(token) => !self.knows(token),
            _ => false,
        }
    }

    fn knows(&self, token: Token) -> bool {
        match (&self.state, self.phase()) {
            (State::Connected(runtime), _) => runtime.uptime == Some(token),
            (_, Some(Phase::Waiting { token: armed, .. })) => armed == token,
            _ => false,
        }
    }

    /// What is being done to get a server, in the states that have such a thing.
    const fn phase(&self) -> Option<Phase> {
        match &self.state {
            State::Connecting(phase) | State::Reconnecting { phase, .. } => Some(*phase),
            State::PermanentlyFailed { trial } => *trial,
            _ => None,
        }
    }

    const fn token(&mut self) -> Token {
        self.next_token += 1;
        Token(self.next_token)
    }

    /// Cancels the timer of a waiting phase, if there is one.
    fn disarm(&self, out: &mut Vec<Action>) {
        if let Some(Phase::Waiting { token, .. }) = self.phase() {
            out.push(Action::Disarm(token));
        }
        if let State::Connected(Runtime { uptime: Some(token), .. }) = self.state {
            out.push(Action::Disarm(token));
        }
    }

    /// ATT: begins an attempt as soon as the old process tree is gone.
    fn attempt(&mut self, now: Instant, out: &mut Vec<Action>) -> Phase {
        if self.dying.is_some() {
            return Phase::Clearing;
        }
        self.generation = self.generation.next();
        self.backoff.attempt();
        self.last_attempt = Some(now);
        self.attempted = true;
        self.live = Some(self.generation);
        out.push(Action::Notice(Notice::Starting));
        out.push(Action::Spawn(self.generation));
        Phase::Attempting
    }

    /// WAIT: takes the next delay of the row; no delay is an attempt at once, unless it can come again without end.
    fn wait(&mut self, now: Instant, reason: Reason, out: &mut Vec<Action>) -> Phase {
        let apart = self.policy.restart.min_attempt_interval.clamp(SHORTEST_HELD, HELD_APART);
        // A row that is forgotten sooner than that begins again and again with its first delay.
        let held = self.backoff.is_held() || self.min_uptime() < apart;
        let mut delay = self.backoff.next_delay(self.random.f64());
        if held && delay < SHORTEST_HELD {
            delay = self.apart(apart, now).saturating_duration_since(now).max(delay);
        }
        let attempt = self.backoff.attempts() + 1;
        out.push(Action::Notice(Notice::Reconnecting { attempt, delay, reason }));
        if delay.is_zero() { self.attempt(now, out) } else { self.wait_until(now + delay, out) }
    }

    fn wait_until(&mut self, at: Instant, out: &mut Vec<Action>) -> Phase {
        let token = self.token();
        out.push(Action::Arm(token, at));
        Phase::Waiting { token, at }
    }

    /// TEAR: detaches the live generation; its later news are stale by construction.
    fn tear(&mut self, out: &mut Vec<Action>) {
        if let Some(generation) = self.live.take() {
            self.dying = Some(generation);
            out.push(Action::Tear(generation));
        }
    }

    /// The earliest time for an attempt that a request causes.
    fn earliest(&self, now: Instant) -> Instant {
        self.apart(self.policy.restart.min_attempt_interval, now)
    }

    /// The earliest time for an attempt so long after the last one.
    fn apart(&self, interval: Duration, now: Instant) -> Instant {
        self.last_attempt.map_or(now, |last| (last + interval).max(now))
    }

    /// How long a server has to stay connected before its row of attempts is forgotten.
    const fn min_uptime(&self) -> Duration {
        self.policy.restart.min_uptime
    }
}

#[cfg(test)]
mod tests;
