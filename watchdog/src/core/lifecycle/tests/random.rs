//! Random walks, watched by a book of its own: it knows what was spawned, torn and armed only from the actions. The book is the
//! reference: who runs, who waits for what, what may be admitted, and the counters.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::core::testing::model;

/// What happens next. News are of the live (or dying) generation or, now and then, of another one.
#[derive(Debug, Clone)]
enum Step {
    News(News, Aim),
    Ring(bool),
    Operator(Event),
    Wait(u64),
}

#[derive(Debug, Clone, Copy)]
enum News {
    AttemptOk,
    AttemptFailed,
    Lost,
    TransportError,
    ToolTimeout,
    ProbePassed,
    ProbeFailed,
    TornDown(bool),
    Health(bool),
}

#[derive(Debug, Clone, Copy)]
enum Aim {
    Current,
    Older,
    Unborn,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let news = prop::sample::select(vec![
        News::AttemptOk,
        News::AttemptOk,
        News::AttemptFailed,
        News::Lost,
        News::TransportError,
        News::ToolTimeout,
        News::ProbePassed,
        News::ProbeFailed,
        News::TornDown(true),
        News::TornDown(true),
        News::TornDown(false),
        News::Health(true),
        News::Health(false),
    ]);
    let aim = prop_oneof![8 => Just(Aim::Current), 1 => Just(Aim::Older), 1 => Just(Aim::Unborn)];
    let operator = prop::sample::select(vec![
        Event::Start,
        Event::Start,
        Event::Request,
        Event::Request,
        Event::Request,
        Event::ForceRetry,
        Event::Disable,
        Event::Remove,
        Event::Cancel,
        Event::Configure(false),
        Event::Configure(true),
        Event::Wake,
        Event::Replace(Reason::MaxLifetime),
        Event::Replace(Reason::MemoryLimit),
        Event::Replace(Reason::FilesChanged),
        Event::Idle,
    ]);
    let step = prop_oneof![
        10 => (news, aim).prop_map(|(news, aim)| Step::News(news, aim)),
        4 => prop::bool::weighted(0.9).prop_map(Step::Ring),
        4 => operator.prop_map(Step::Operator),
        2 => (0_u64..20).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..80)
}

fn policy() -> impl Strategy<Value = Server> {
    let delays = prop::sample::select(vec![vec![0], vec![0, 4, 8], vec![2], vec![0, 0, 5]]);
    let on_call = prop::sample::select(vec![OnCall::Attempt, OnCall::Wait, OnCall::Error]);
    let on_failure = prop::sample::select(vec![
        OnProbeFailure::Restart,
        OnProbeFailure::Warn,
        OnProbeFailure::Count,
        OnProbeFailure::Close,
    ]);
    let numbers = (prop::option::of(1_u32..4), 1_u32..4, prop::sample::select(vec![0_u64, 10]));
    (delays, on_call, on_failure, numbers, any::<(bool, bool, bool)>()).prop_map(
        |(delays, on_call, on_failure, (max_attempts, threshold, min_uptime), (lazy, restart, enabled))| {
            let mut server = server();
            server.restart.delays = Delays::Schedule(delays.into_iter().map(secs).collect());
            server.restart.on_call = on_call;
            server.restart.max_attempts = max_attempts;
            server.restart.min_uptime = secs(min_uptime);
            server.probe.on_failure = on_failure;
            server.health.threshold = threshold;
            server.health.on_unhealthy = if restart { OnUnhealthy::Restart } else { OnUnhealthy::Warn };
            server.start = if lazy { Start::Lazy } else { Start::Eager };
            server.enabled = enabled;
            server
        },
    )
}

/// What the actions say is there.
#[derive(Debug, Default)]
struct Book {
    live: Option<Generation>,
    connected: bool,
    dying: Option<Generation>,
    armed: BTreeSet<u64>,
    /// Whether the next attempt was planned, and costs nothing.
    planned: bool,
    /// Whether that was said of the attempt that runs. One that is redone with another configuration is still that attempt.
    free: bool,
    /// Whether it was stopped when it was idle. The request that starts it again need not wait: nothing has failed.
    stopped: bool,
    /// Attempts since the last request, operator's word or proof of stability.
    unasked: u32,
    removed: bool,
    /// Whether an operator, or the configuration, has switched it off.
    off: bool,
    /// Whether each success is a new row, since `min_uptime` is none.
    stable_at_once: bool,
    /// Late news, and trees that could not be ended in full.
    counts: (u64, u32),
    /// The last start, and how far apart starts are that requests cause.
    spawned_at: Option<Instant>,
    apart: Duration,
}

impl Book {
    /// Whether an event is about something that is not there.
    fn is_stale(&self, event: Event) -> bool {
        match event {
            Event::AttemptOk(g) | Event::AttemptFailed(g) => self.live != Some(g) || self.connected,
            Event::Lost(g) | Event::TransportError(g) => self.live != Some(g),
            Event::ToolTimeout(g) | Event::ProbePassed(g) | Event::ProbeFailed(g) | Event::Health(g, _) => {
                self.live != Some(g) || !self.connected
            }
            Event::TornDown(g, _) => self.dying != Some(g),
            Event::Timer(token) => !self.armed.contains(&token.0),
            _ => false,
        }
    }

    fn before(&mut self, event: Event) {
        match event {
            Event::TornDown(_, clean) => {
                self.dying = None;
                self.counts.1 += u32::from(!clean);
            }
            Event::Timer(token) => {
                self.armed.remove(&token.0);
                // The timer of a connected server says that it is stable.
                self.unasked = if self.connected { 0 } else { self.unasked };
            }
            Event::AttemptOk(_) => {
                self.connected = true;
                self.unasked = if self.stable_at_once { 0 } else { self.unasked };
            }
            Event::Remove => self.removed = true,
            Event::Disable => self.off = true,
            Event::Start => (self.off, self.unasked) = (false, 0),
            Event::Configure(replace) => {
                self.planned |= replace && self.free && self.live.is_some() && !self.connected;
                self.unasked = 0;
            }
            Event::Request | Event::ForceRetry | Event::Wake => self.unasked = 0,
            Event::Replace(reason) => {
                let files = reason == Reason::FilesChanged;
                self.planned |= self.connected || files;
                self.unasked = if files { 0 } else { self.unasked };
            }
            Event::Idle => self.stopped |= self.connected,
            _ => {}
        }
    }

    /// What an event is answered with, and what has to go with what.
    fn judge(
        &self,
        now: Instant,
        event: Event,
        answer: Option<Admission>,
        actions: &[Action],
    ) -> Result<(), TestCaseError> {
        let has = |wanted: fn(&Action) -> bool| actions.iter().any(wanted);
        if has(|action| matches!(action, Action::Notice(Notice::Connected { .. } | Notice::Reconnected { .. }))) {
            prop_assert!(has(|action| *action == Action::FlushHeld), "who was held is sent: {:?}", actions);
            prop_assert!(
                has(|action| *action == Action::SettleOverdue(true)),
                "who was overdue is told: {:?}",
                actions
            );
        }
        if has(|action| *action == Action::Notice(Notice::AttemptFailed)) {
            prop_assert!(has(|action| matches!(action, Action::RejectHeld(_))), "who was held is told: {:?}", actions);
            prop_assert!(
                has(|action| *action == Action::SettleOverdue(false)),
                "who was overdue is told: {:?}",
                actions
            );
        }
        if has(|action| matches!(action, Action::Tear(_))) {
            prop_assert!(has(|action| matches!(action, Action::FailInFlight(_))), "who waits is told: {:?}", actions);
        }
        let starts = has(|action| matches!(action, Action::Spawn(_)));
        prop_assert!(!(starts && self.off), "a start of what is switched off");
        match (event, answer) {
            (Event::Request, Some(Admission::Forward)) => prop_assert!(self.connected),
            (Event::Request, Some(Admission::Hold)) => {
                prop_assert!(!self.connected && !self.removed && !self.off);
            }
            (Event::Request, Some(Admission::Reject(why))) => {
                prop_assert!(!self.connected);
                prop_assert_eq!(why == Rejection::Disabled, self.off && !self.removed);
            }
            _ => {}
        }
        if event == Event::Request && starts {
            let soon = !self.stopped && self.spawned_at.is_some_and(|last| now < last + self.apart);
            prop_assert!(!soon, "attempts that requests cause are too close to each other");
        }
        Ok(())
    }

    fn note(&mut self, now: Instant, action: Action) -> Result<(), TestCaseError> {
        match action {
            Action::Spawn(generation) => {
                (self.spawned_at, self.stopped) = (Some(now), false);
                prop_assert_eq!(self.dying, None, "a spawn while a tree is dying");
                prop_assert_eq!(self.live, None, "a spawn while one is live");
                prop_assert!(!self.removed, "a spawn after the end");
                self.live = Some(generation);
                self.connected = false;
                self.free = std::mem::take(&mut self.planned);
                self.unasked += u32::from(!self.free);
            }
            Action::Tear(generation) => {
                prop_assert_eq!(self.live, Some(generation), "only what is live is torn");
                prop_assert_eq!(self.dying, None, "two trees are dying");
                self.dying = self.live.take();
                self.connected = false;
            }
            Action::Arm(token, at) => {
                prop_assert!(at >= now && self.armed.insert(token.0), "a timer of the past, or a token that was used");
            }
            Action::Disarm(token) => prop_assert!(self.armed.remove(&token.0), "only what is armed is disarmed"),
            // The first connection is no restart.
            Action::Notice(Notice::Connected { .. }) => self.unasked = 0,
            Action::Gone => prop_assert!(self.live.is_none() && self.dying.is_none(), "gone with something left"),
            _ => {}
        }
        Ok(())
    }

    fn check(&self, life: &Lifecycle) -> Result<(), TestCaseError> {
        prop_assert_eq!((self.live, self.dying), (life.live(), life.dying()));
        prop_assert_eq!(self.counts, life.counts());
        prop_assert_eq!(self.connected, life.is_connected(), "a live and established server is Connected");
        let armed = self.armed.len();
        match life.state() {
            State::Connecting(phase)
            | State::Reconnecting { phase, .. }
            | State::PermanentlyFailed { trial: Some(phase) } => {
                let pending =
                    (self.live.is_some(), armed == 1, self.live.is_none() && armed == 0 && self.dying.is_some());
                let expected = match phase {
                    Phase::Attempting => (true, false, false),
                    Phase::Waiting { .. } => (false, true, false),
                    Phase::Clearing => (false, false, true),
                };
                prop_assert_eq!(pending, expected, "exactly one of attempt, timer, clearing: {:?}", life.state());
            }
            State::Connected(runtime) => prop_assert_eq!(armed, usize::from(runtime.uptime.is_some())),
            State::Disabling(_) => prop_assert!(self.live.is_none() && self.dying.is_some() && armed == 0),
            State::Disabled | State::Disconnected { .. } => {
                prop_assert!(self.live.is_none() && self.dying.is_none() && armed == 0, "something is still owned");
            }
            State::PermanentlyFailed { trial: None } => prop_assert!(self.live.is_none() && armed == 0),
        }
        if let (_, Some(max)) = life.attempts() {
            prop_assert!(self.unasked <= max, "{} attempts that nobody asked for", self.unasked);
        }
        Ok(())
    }
}

/// The event that a step stands for here and now.
fn event(step: &Step, book: &Book, life: &Lifecycle) -> Option<Event> {
    let aimed = |aim: Aim, current: Option<Generation>| match aim {
        Aim::Current => current.unwrap_or_else(|| life.generation()),
        Aim::Older => Generation(life.generation().0.saturating_sub(1)),
        Aim::Unborn => life.generation().next(),
    };
    Some(match step {
        Step::Wait(_) => return None,
        Step::Operator(event) => *event,
        Step::Ring(true) => Event::Timer(Token(*book.armed.first()?)),
        Step::Ring(false) => Event::Timer(Token(0)),
        Step::News(News::TornDown(clean), aim) => Event::TornDown(aimed(*aim, book.dying), *clean),
        Step::News(news, aim) => {
            let generation = aimed(*aim, book.live);
            match news {
                News::AttemptOk => Event::AttemptOk(generation),
                News::AttemptFailed => Event::AttemptFailed(generation),
                News::Lost => Event::Lost(generation),
                News::TransportError => Event::TransportError(generation),
                News::ToolTimeout => Event::ToolTimeout(generation),
                News::ProbePassed => Event::ProbePassed(generation),
                News::ProbeFailed => Event::ProbeFailed(generation),
                News::Health(ok) => Event::Health(generation, *ok),
                News::TornDown(clean) => Event::TornDown(generation, *clean),
            }
        }
    })
}

/// Feeds one event and checks everything.
fn feed(machine: &mut Machine, book: &mut Book, event: Event) -> Result<(), TestCaseError> {
    let stale = book.is_stale(event);
    let before = machine.life.state().clone();
    let answer = machine.on(event);
    prop_assert_eq!(answer.is_some(), matches!(event, Event::Request) || answer.is_some_and(is_refusal));
    if stale {
        prop_assert_eq!(&machine.actions[..], &[Action::Notice(Notice::Stale)]);
        prop_assert_eq!(machine.life.state(), &before);
        book.counts.0 += 1;
        return book.check(&machine.life);
    }
    prop_assert!(!machine.told(Notice::Stale), "{:?} is current", event);
    let was_there = book.connected;
    book.before(event);
    let actions = machine.actions.clone();
    book.judge(machine.now, event, answer, &actions)?;
    for action in actions {
        book.note(machine.now, action)?;
    }
    if answer == Some(Admission::Hold) {
        let comes = book.live.is_some() || book.dying.is_some() || !book.armed.is_empty();
        prop_assert!(comes && !was_there, "a request is held, and nothing is on its way: {:?}", machine.life.state());
    }
    book.check(&machine.life)
}

fn is_refusal(admission: Admission) -> bool {
    matches!(admission, Admission::Reject(_))
}

/// Plays a walk to its end.
fn walk(server: &Server, steps: &[Step]) -> Result<(), TestCaseError> {
    let life = Lifecycle::new(Policy::new(server), server.enabled, 1);
    let mut machine = Machine { life, now: base(), actions: Vec::new() };
    let mut book = Book {
        off: !server.enabled,
        stable_at_once: server.restart.min_uptime.is_zero(),
        apart: server.restart.min_attempt_interval,
        ..Book::default()
    };
    feed(&mut machine, &mut book, Event::Start)?;
    for step in steps {
        if let Step::Wait(seconds) = step {
            machine.wait(*seconds);
        }
        if let Some(event) = event(step, &book, &machine.life) {
            feed(&mut machine, &mut book, event)?;
        }
    }
    feed(&mut machine, &mut book, Event::Remove)?;
    if let Some(dying) = book.dying {
        feed(&mut machine, &mut book, Event::TornDown(dying, true))?;
    }
    prop_assert_eq!(machine.life.state(), &State::Disconnected { removed: true });
    prop_assert!(book.live.is_none() && book.dying.is_none() && book.armed.is_empty(), "nothing is owned");
    Ok(())
}

/// `MODEL_STEPS` makes it longer.
#[test]
fn a_slot_owns_one_process_and_forgets_none() {
    model("lifecycle", 40_000, |done| {
        proptest!(ProptestConfig::with_cases(50), |(server in policy(), steps in steps())| {
            done.add(steps.len());
            walk(&server, &steps)?;
        });
    });
}
